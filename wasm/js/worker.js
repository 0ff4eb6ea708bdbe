// The worker: it runs the engine (weft.wasm, whole.wasm or models.wasm), which the page loads, and hands bytes to and fro. It looks into none of them.
// The page starts its threads (lent.js), of this script too, so that one file is all that workers need.

import './wasm_exec.js'
import { BOXED, WorkerBox } from './box.js'
import { imports } from './glue.js'
import { imports as kernels } from './kernels.js'
import { borrow } from './lent.js'
import { anew, fits, other } from './module.js'
import { ahead, begin, rest } from './rest.js'
import { thread } from './threads.js'

globalThis.crossOriginIsolated ??= typeof SharedArrayBuffer === 'function' // outside of pages memory may be shared without ado

const go = new globalThis.Go()
let memory, arrived, batch
const queue = [] // batches that came before what lies in the box
const parcels = new Map() // by number: arrays on their way to the page, and ways into devices' memory
let last = 0
const fetches = new Map() // what ends them, by the number of the page's call
const waiting = []

function bytes(at, n) { return new Uint8Array(memory.buffer, at, n) }

function keep(x) {
  parcels.set(++last, x)
  return last
}

function taken(number) {
  const x = parcels.get(number)
  parcels.delete(number)
  return x
}

// The pixels of a picture, four bytes each.
function pixels(bitmap) {
  const at = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d', { willReadFrequently: true })
  at.drawImage(bitmap, 0, 0)
  const { data } = at.getImageData(0, 0, bitmap.width, bitmap.height)
  bitmap.close()
  return data
}

function bytesOf(piece) {
  if (piece instanceof Blob) return new Uint8Array(new FileReaderSync().readAsArrayBuffer(piece))
  return piece instanceof ArrayBuffer ? new Uint8Array(piece) : pixels(piece)
}

// The pieces of a batch, ArrayBuffers, Blobs and ImageBitmaps, put together.
function join(pieces) {
  const parts = pieces.map(bytesOf)
  if (parts.length === 1) return parts[0]
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const p of parts) {
    all.set(p, at)
    at += p.length
  }
  return all
}

// Has the engine carry out batches, when it comes to them.
function hand(...batches) {
  if (batches.length) processors.expect()
  queue.push(...batches)
  arrived()
}

const soon = 1000 // ms after its start the engine has its rest loaded

let collect

// Of an engine in two parts Go's collector begins to work when the second is in place, or when memory grows to this: a first result does without it.
const first = { GOGC: 'off', GOMEMLIMIT: '128MiB' }

let before = null // batches with Blobs that are being read, where a worker cannot read them at once: Node, Deno, Bun

// Hands batches over in the order in which they come.
function receive(pieces) {
  if (globalThis.FileReaderSync || !before && !pieces.some((p) => p instanceof Blob)) return hand(join(pieces))
  const mine = before = Promise.all([before, ...pieces.map((p) => p instanceof Blob ? p.arrayBuffer() : p)])
    .then(([, ...whole]) => hand(join(whole)))
    .catch((e) => postMessage({ dead: e.message }))
    .finally(() => { if (before === mine) before = null })
}

let box = null // where the page shares memory

// Has the worker go on at the box after a turn of its loop of events.
const { port1, port2 } = new MessageChannel()
const turn = () => port2.postMessage(0)
port1.onmessage = () => hand(...box.look())

// Posts pieces that are nobody else's.
function post(pieces) {
  const list = pieces.map((p) => p.buffer)
  postMessage(list, list)
}

function share(buffer) {
  if (!buffer) return
  box = new WorkerBox(buffer, waiting.length)
  const post = globalThis.postMessage
  globalThis.postMessage = (...message) => {
    box.posts()
    post(...message)
  }
}

let errands = null // what carries out batches by itself,
let loading // from when the engine first has some for it
let waits = false // nothing came, but the engine was to be told something first

go.importObject.weft = {
  take(to, n) { bytes(to >>> 0, n).set(batch) },
  next(idle) {
    batch = null
    if (waits) return +(waits = false)
    while ((batch = queue.shift() ?? box?.next(idle, turn))) {
      processors.expect()
      const answers = errands?.serve(batch)
      if (!answers) break
      box?.spared()
      if (answers[0].length && !box?.send(...answers)) post([answers[0], ...answers.slice(1).map((a) => a.length > BOXED ? a : new Uint8Array(a))])
    }
    const told = errands?.report()
    if (told) {
      waits = !batch
      batch = batch ? join([told.buffer, batch.buffer]) : told
    }
    return batch?.length ?? 0
  },
  entrust(from, n) {
    if (errands) return errands.take(bytes(from >>> 0, n).slice())
    loading ??= import('./errands.js').then(({ Errands }) => { errands = new Errands(processors.player) })
      .catch((e) => console.warn(`weft: short runs of captured functions take longer than they could: ${e.message}`))
  },
  post(from, n, parcel) {
    const text = bytes(from >>> 0, n)
    const pieces = parcel ? [text, taken(parcel)] : [text]
    if (!box?.send(...pieces)) return post([text.slice(), ...pieces.slice(1)])
    if (parcel) processors.back(pieces[1])
  },
  rest,
}
const borrowed = borrow((message) => postMessage(message))
const guest = () => ({ postMessage: (guest) => postMessage({ guest }), terminate: () => postMessage({ guest: null }) }) // the page
const player = imports(() => memory, (text) => postMessage({ lost: text }), keep)
go.importObject.player = player.functions
const processors = go.importObject.kernels = kernels(() => memory, keep, borrowed.start, () => box?.call(), guest)

globalThis.weft = {
  // Called by the engine when it listens; begins has it collect garbage from then on as Go does.
  started(f, begins) {
    arrived = f
    for (const data of waiting.splice(0)) receive(data)
    collect = begins
    box?.open()
    if (!navigator.connection?.saveData) setTimeout(async () => await ahead() && collect(), soon)
  },
  // Called by the engine: loads the rest of it.
  ahead(done) { ahead().then(done) },
  // Called by the engine: fetches bytes to what Sink gave. done hears why not, whether the device was lost, and the fingerprint.
  fetch(call, url, offset, n, mask, again, sink, done) {
    const ended = fetches.get(call) ?? new AbortController()
    fetches.set(call, ended)
    const progress = (news) => postMessage({ call, progress: news })
    const to = taken(sink)
    import('./fetch.js').then(({ stream }) => stream({ url, offset, n, mask, again, signal: ended.signal, progress }, to))
      .then((sum) => done('', false, sum), (e) => done(e.message, e.kind === 'lost', 0))
      .finally(() => fetches.delete(call))
  },
  // Ends a fetch, also one that the engine has not come to.
  abort(call) {
    const ended = fetches.get(call) ?? new AbortController()
    fetches.set(call, ended)
    ended.abort()
  },
  player,
}

const engine = ({ data }) => {
  if (data.lose) return player.lose() // for tests
  const sooner = box?.look() ?? [] // what lies in the box
  if (sooner.length) hand(...sooner)
  if (data.look) return
  if (!data.engine) box?.arrives() // those before the box comes are waiting
  if (data.thread !== undefined) return borrowed.take(data)
  if (data.abort) return globalThis.weft.abort(data.abort)
  if (data instanceof Array) {
    if (arrived) receive(data)
    else waiting.push(data)
    return
  }
  share(data.box)
  if (!fits(data.engine)) return postMessage({ dead: `worker.js ${other} weft.js; ${anew}` })
  WebAssembly.instantiate(data.engine, go.importObject).then(async (instance) => {
    memory = instance.exports.mem
    if (begin(instance.exports, data.address, data.rest, () => setTimeout(() => collect?.()))) Object.assign(go.env, first)
    await go.run(instance)
    throw new Error('the engine has ended')
  }).catch((e) => postMessage({ dead: e.message }))
}

// The first message tells what this worker is.
onmessage = (first) => {
  globalThis.onmessage = first.data.memory ? thread((made) => postMessage(made, [made])) : engine
  globalThis.onmessage(first)
}
