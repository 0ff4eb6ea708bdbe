// A Cloudflare Worker whose Go program (main_js.go) answers requests with a model that weft export wrote. One instance of the program serves all
// requests. Workers compile no WebAssembly at run time, so the program and the model's kernels are modules of the worker; plan and
// weights are static assets.
import './build/wasm_exec.js'
import program from './build/app.wasm'
import kernels from './build/model/kernels.wasm'
import { load } from './build/model/player/model.js'

const LIMIT = 64 << 10 // bytes of a body, as in handler.go
const PATIENCE = 10_000 // ms
const SIDE = 28 // as in picture.go
const NOTHING = new Uint8Array()
const NO_HEADERS = new Map()
const encoder = new TextEncoder()

let answer // what the Go program answers a request with, while it runs
let opening
let until = 0

const requests = new Map() // by number: { body, kind }, bytes
let last = 0

// What main_js.go imports beside package workers. A run's results wait until the program asks for them.
function offered(model, memory) {
  const ended = [] // [run, its probabilities, undefined for one that failed]
  let runs = 0
  const end = (run, probabilities) => {
    ended.push([run, probabilities])
    globalThis.context.wake()
  }
  const bytes = (at, n) => new Uint8Array(memory().buffer, at >>> 0, n)
  return {
    size: (n) => requests.get(n).body.length,
    kindSize: (n) => requests.get(n).kind.length,
    take(n, body, kind) {
      const request = requests.get(n)
      bytes(body, request.body.length).set(request.body)
      bytes(kind, request.kind.length).set(request.kind)
    },
    start(at) {
      const run = ++runs
      model.run('predict', { image: bytes(at, SIDE * SIDE).slice() }).then(({ probabilities }) => end(run, probabilities.data), (e) => {
        console.error(e)
        end(run)
      })
      return run
    },
    finished(to) {
      const [run, probabilities] = ended.shift() ?? [0]
      if (!probabilities) return -run
      new Float32Array(memory().buffer, to >>> 0, probabilities.length).set(probabilities)
      return run
    },
  }
}

async function open(env, url) {
  const model = await load(new URL('/', url), { fetch: (file) => env.ASSETS.fetch(file), kernels })
  const go = new Go()
  const binding = {}
  globalThis.context = { binding } // which package workers looks at
  const instance = new WebAssembly.Instance(program, { ...go.importObject, workers: { ready() {} }, worker: offered(model, () => instance.exports.mem) })
  go.run(instance).finally(() => { // it ends by a failure only; then the next request starts another
    answer = undefined
    until = 0
  })
  answer = binding.handleRequest
}

// The bytes of a body, or more than LIMIT of them, which is enough to be refused. A body that says how long it is, as most do, is taken at once,
// since reading a stream takes longer than all that Go does.
async function bytesOf(request) {
  const length = request.headers.get('Content-Length')
  if (length && Number(length) <= LIMIT) return new Uint8Array(await request.arrayBuffer())
  const parts = []
  let n = 0
  for await (const part of request.body) {
    parts.push(part)
    if ((n += part.length) > LIMIT) break
  }
  const all = new Uint8Array(n)
  n = 0
  for (const part of parts) {
    all.set(part, n)
    n += part.length
  }
  return all
}

export default {
  async fetch(request, env, ctx) {
    if (!answer) {
      // All wait for the first one's opening. What belongs to a request may die with it, so after some time another begins anew.
      if (Date.now() > until) {
        until = Date.now() + PATIENCE
        opening = open(env, request.url)
        ctx.waitUntil(opening.catch(() => { until = 0 }))
      }
      try {
        await opening
      } catch (e) {
        console.error(e)
        return new Response('The model could not be loaded.\n', { status: 503 })
      }
    }
    // Package workers takes each object and each header that it is given through package syscall/js, which takes longer than Go does for the rest. So there are no headers
    // but the one that handler.go reads, and it is taken like the body.
    const { url, method, body } = request
    const n = last = (last % 2 ** 30) + 1
    requests.set(n, { body: body ? await bytesOf(request) : NOTHING, kind: encoder.encode(request.headers.get('Content-Type') ?? '') })
    try {
      return await answer({ url, method, headers: NO_HEADERS, body: n })
    } finally {
      requests.delete(n)
    }
  },
}
