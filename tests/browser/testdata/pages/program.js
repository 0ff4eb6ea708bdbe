// Carries out programs that program_make_test.go makes, and tells what came of each call and what the values are in the end.
import { open } from './weft.js'
import { ways } from './ways.js'

const types = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array, i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array,
}
let w, elsewhere, kept, other, gone

/** Opens the engines that programs use. */
export async function start(device, whole) {
  w = await open({ device, whole })
  elsewhere = await open({ device: 'wasm' })
  kept = w.tensor([5, 6]) // has the number here that other has there
  other = elsewhere.tensor([1, 1])
  gone = w.ones([2])
  gone.dispose()
  await Promise.all([kept.data(), other.data()])
}

export function stop() {
  w.close()
  elsewhere.close()
}

const odds = {
  NaN: () => NaN, inf: () => Infinity, '-inf': () => -Infinity, undefined: () => undefined, bigint: () => 1n, function: () => () => 0, hole: () => [, 1],
  other: () => other, gone: () => gone, promise: () => Promise.resolve([1]), date: () => new Date(0),
}

// An argument, of what stands for it in JSON.
function argument(a, values) {
  if (Array.isArray(a)) return a.map((x) => argument(x, values))
  if (a === null || typeof a !== 'object') return a
  if ('value' in a) return values[a.value]
  if ('odd' in a) return odds[a.odd]()
  if ('typed' in a) {
    if (a.typed === 'bool') return a.values.map(Boolean)
    return /64/.test(a.typed) && a.typed !== 'f64' ? types[a.typed].from(a.values.map(BigInt)) : types[a.typed].from(a.values)
  }
  return Object.fromEntries(Object.entries(a.object).map(([k, v]) => [k, argument(v, values)]))
}

const given = 3 // values that a program begins with

async function tell(t) {
  try {
    const [data, shape, dtype] = [await t.data(), t.shape, t.dtype]
    return { shape, dtype, data: Array.from(data, plain) }
  } catch (e) {
    return { error: e.message }
  }
}

const plain = (v) => typeof v === 'number' && Number.isFinite(v) && !Object.is(v, -0) ? v : Object.is(v, -0) ? '-0' : `${v}`

/** Gives {steps: [error or null], values: [{shape, dtype, data} or {error}], captured: the same of some, from a captured function} for a program. */
export async function carryOut({ Steps: steps, Live: live, Captured: captured }) {
  const values = []
  const outcome = []
  for (const { On, Name, Args, Gives } of steps) {
    let out = []
    try {
      const args = Args.map((a) => argument(a, values))
      const made = ways[Name] ? await ways[Name](w, values[On], ...args) : (On < 0 ? w : values[On])[Name](...args)
      out = Array.isArray(made) ? made : [made]
      outcome.push(out[0]?.w.call('shape', [out[0]]).then(() => null, (e) => e.message) ?? null)
    } catch (e) {
      outcome.push(e instanceof TypeError || e instanceof RangeError ? e.message : `no error of a call: ${e.stack}`)
    }
    for (let i = 0; i < Gives; i++) values.push(out[i])
  }
  const errors = await Promise.all(outcome)
  const told = { steps: errors, values: [] }
  if (steps.some(({ Gives }, i) => Gives && errors[i])) return told
  try {
    await w.realize(...live.map((n) => values[n]))
  } catch (e) {
    return { ...told, failed: e.message }
  }
  told.values = await Promise.all(live.map((n) => tell(values[n])))
  if (captured) {
    const f = w.capture((...inputs) => {
      const within = inputs
      for (const { On, Name, Args, Gives } of steps.slice(inputs.length)) {
        const args = Args.map((a) => argument(a, within))
        if (Gives) within.push(...[ways[Name] ? ways[Name](w, within[On], ...args) : (On < 0 ? w : within[On])[Name](...args)].flat())
      }
      return captured.map((n) => within[n])
    })
    const outs = await f.run(...values.slice(0, given)).catch((e) => captured.map(() => ({ error: e.message })))
    told.captured = await Promise.all(outs.map((t) => t.error ? t : tell(t)))
    f.dispose()
    for (const t of outs) t.dispose?.()
  }
  for (const v of values) v?.dispose()
  return told
}

/** How many tensors the engine holds. */
export const held = async () => (await w.stats()).tensors
