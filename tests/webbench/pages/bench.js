// The page of the benchmark: opens the frameworks, checks what they compute and measures them in turns.

import { make } from './cases.js'
import { distance } from './numbers.js'

const modules = {
  'by hand': './hand.js', weft: './weft-side.js', 'onnxruntime-web': './ort.js', 'tfjs-wasm': './tfjs.js', 'jax-js': './jaxjs.js' }
const opened = new Map()

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const median = (list) => {
  const s = [...list].sort((a, b) => a - b)
  return s.length % 2 ? s[(s.length - 1) / 2] : (s[s.length / 2 - 1] + s[s.length / 2]) / 2
}

/** Opens frameworks, each with as many threads as there are. */
async function open(names, device, options) {
  if (!globalThis.crossOriginIsolated) throw new Error('the page is not cross-origin isolated, so nobody has threads')
  const threads = navigator.hardwareConcurrency
  for (const name of names) {
    const module = await import(modules[name])
    opened.set(name, await module.open(threads, device, options))
  }
  return { threads, detail: opened.get('weft')?.detail ?? '' }
}

// Runs f for so many milliseconds, or so many times if that takes no more than ten times as long, and gives the times.
async function sample(f, ms, least) {
  const times = []
  for (let total = 0; total < ms || times.length < least && total < 10 * ms;) {
    const start = performance.now()
    await f()
    const t = performance.now() - start
    times.push(t)
    total += t
  }
  return times
}

const tolerance = 2e-5

async function checked(c, want, program) {
  const form = program.form ?? ((data) => data)
  let got
  if (c.checked) {
    got = new Float64Array(c.checked)
    for (let i = 0; i < c.checked; i++) got[i] = Number((await program.run())[0])
  } else {
    got = form(await program.run())
  }
  const far = distance(got, want, c.scale)
  if (far > tolerance) throw new Error(`wrong values: ${far.toExponential(1)} from float64's, of which ${tolerance} are allowed`)
  return far
}

/** Measures a case: rounds in which each framework has its turn, every turn so many milliseconds. */
function measure(name, how) {
  const c = make(name), want = c.want()
  return turns(({ prepare }) => prepare(c), (program) => checked(c, want, program), how)
}

/** Measures the model that the server has. Values are compared with those of the first framework that has some. */
async function model({ tolerance, ...how }) {
  const told = await (await fetch('/model.json')).json()
  const inputs = told.inputs.map(({ name, dtype, shape, data }) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0))
    return { name, dtype, shape, data: new { float32: Float32Array, int64: BigInt64Array }[dtype](bytes.buffer) }
  })
  let want
  return turns(
    async ({ prepareModel }) => prepareModel(new Uint8Array(await (await fetch('/model.onnx')).arrayBuffer()), inputs, told.outputs),
    async (program) => {
      const got = await program.run()
      want ??= Float64Array.from(got)
      const far = distance(got, want, want.reduce((a, v) => Math.max(a, Math.abs(v)), 0))
      if (far > tolerance) throw new Error(`values are ${far.toExponential(1)} from those of the other engine, of which ${tolerance} are allowed`)
      return far
    }, how)
}

// Measures programs: rounds in which each framework has its turn.
async function turns(prepare, check, { rounds, ms }) {
  const results = {}, programs = new Map()
  for (const [framework, opening] of opened) {
    try {
      const program = await prepare(opening)
      if (!program) continue
      results[framework] = { error: await check(program), threads: opening.threads(), turns: [], runs: 0 }
      await sample(program.run, 2 * ms, 20) // until browsers have compiled what is called often
      programs.set(framework, program)
    } catch (e) {
      results[framework] = { failed: e.message ?? String(e) }
    }
  }
  const order = [...programs]
  for (let round = 0; round < rounds; round++) {
    for (const [framework, program] of order) {
      await pause(20) // threads of the one before may still be awake
      const times = await sample(program.run, ms, 3)
      results[framework].turns.push(median(times))
      results[framework].runs += times.length
    }
    order.push(order.shift())
  }
  const kept = programs.get('weft')?.kept
  if (kept) results.weft.kept = median(await sample(kept, ms, 3))
  for (const [framework, program] of programs) {
    const { turns } = results[framework]
    Object.assign(results[framework], { ms: median(turns), low: Math.min(...turns), high: Math.max(...turns) })
    program.end()
  }
  return results
}

globalThis.bench = { open, measure, model }
