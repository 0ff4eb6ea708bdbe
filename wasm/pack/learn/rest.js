// In place of wasm/js/rest.js while the engine is asked which of its functions a first result needs: in that engine every function calls rest
// with its number.

const seen = new Uint8Array(1 << 20)
let engine = false

export function begin() { return engine = true }

// The rest does not come: what is called after it did is no matter, and whoever has the engine do something meanwhile ends what waits for it.
export const ahead = () => new Promise(() => {})

export function rest(number) { seen[number] = 1 }

// A browser that has WebGPU and no device for it, so that the engine looks for one.
Object.defineProperty(navigator, 'gpu', { value: { requestAdapter: async () => null } })

// Time passes for the engine where a program says so, and hardly otherwise, timers included: else a slow machine would see it do what it does after some
// seconds, and the parts would differ from build to build.
const { setTimeout: after, clearTimeout: forget } = globalThis
const real = performance.now.bind(performance)
const slower = 64
let passed = 0
performance.now = () => real() / slower + passed
globalThis.setTimeout = (f, ms = 0) => {
  const timer = {}, end = performance.now() + ms
  const look = () => performance.now() < end ? timer.id = after(look, 10) : f()
  timer.id = after(look, Math.min(ms, 10))
  return timer
}
globalThis.clearTimeout = (timer) => forget(timer?.id)

// What is random, as the seeds of Go's maps, is another in each of the runs, and the same in each build.
let random = Number(process.env.WEFT_RUN) + 1
Object.defineProperty(crypto, 'getRandomValues', { value: (bytes) => bytes.set(bytes.map(() => (random = Math.imul(random, 1664525) + 1013904223 | 0) >>> 24)) ?? bytes })

const enough = 200 // ms in which timers are seen to

const channel = new BroadcastChannel('weft learnt')
channel.onmessage = ({ data }) => {
  if (!engine) return // other workers of this script are threads
  if (data === 'tell') channel.postMessage(Array.from(seen.keys()).filter((i) => seen[i]))
  if (!data.pass) return
  passed += data.pass
  after(() => channel.postMessage('passed'), enough)
}
