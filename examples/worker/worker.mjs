// A Cloudflare Worker whose Go program (main_js.go) answers requests with a model that weft export wrote. One instance of the program serves all
// requests. Workers compile no WebAssembly at run time, so the program and the model's kernels are modules of the worker; plan and
// weights are static assets.
import './build/wasm_exec.js'
import program from './build/app.wasm'
import kernels from './build/model/kernels.wasm'
import { load } from './build/model/player/model.js'

const LIMIT = 64 << 10 // bytes of a body, as in handler.go
const PATIENCE = 10_000 // ms

let answer // what the Go program answers a request with, while it runs
let opening
let until = 0

async function open(env, url) {
  const model = await load(new URL('/', url), { fetch: (file) => env.ASSETS.fetch(file), kernels })
  const go = new Go()
  const binding = {}
  globalThis.context = { binding, model } // which package workers and main look at
  const instance = new WebAssembly.Instance(program, { ...go.importObject, workers: { ready() {} } })
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
    const { url, method, body } = request
    const headers = new Map([['Content-Type', request.headers.get('Content-Type') ?? '']]) // all that handler.go reads: each takes its time in Go
    return answer({ url, method, headers, body: body && await bytesOf(request) })
  },
}
