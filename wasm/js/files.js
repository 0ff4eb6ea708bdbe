// Models in files: safetensors, read and written.

import { reach } from './start.js'
import { leaves, nameOf } from './tree.js'
import { Elements, isBlob, isNarrow, tagOf } from './wire.js'

// Names of element types in files, and how large they are.
const types = {
  BOOL: ['bool', 1], I8: ['i8', 1], U8: ['u8', 1], I16: ['i16', 2], U16: ['u16', 2], I32: ['i32', 4], U32: ['u32', 4], I64: ['i64', 8],
  U64: ['u64', 8], F16: ['f16', 2], BF16: ['bf16', 2], F32: ['f32', 4], F64: ['f64', 8], F8_E4M3: ['f8e4m3', 1], F8_E5M2: ['f8e5m2', 1],
}
const names = Object.fromEntries(Object.entries(types).map(([name, [type]]) => [type, name]))

const largest = 100 << 20 // bytes of a header

/** A Blob with the tensors of a model. */
export async function save(w, model, { metadata } = {}) {
  const list = leaves(model)
  for (const { path, tensor } of list) {
    const why = tensor.w !== w ? 'is a tensor of another engine' : tensor.gone // numbers of tensors are those of one engine
    if (why) throw new TypeError(`save: ${nameOf(path) || 'the model'} ${why}`)
  }
  const header = {}
  if (metadata) header.__metadata__ = Object.fromEntries(Object.entries(metadata).map(([k, v]) => [k, String(v)]))
  // All are asked for at once: while a model is trained each step changes it.
  const read = await Promise.all(list.map(({ tensor }) => {
    const as = isNarrow(tensor.dtype) && (types[names[tensor.dtype]][1] === 1 ? 'u8' : 'u16') // data would be float32
    return w.call('data', [as ? tensor.bitcast(as) : tensor], { as: 'save' })
  }))
  const parts = []
  let at = 0
  for (const [i, { path, tensor: { dtype } }] of list.entries()) {
    const { data, shape } = read[i]
    header[nameOf(path) || 'tensor'] = { dtype: names[dtype], shape, data_offsets: [at, at + data.byteLength] }
    parts.push(data)
    at += data.byteLength
  }
  let text = new TextEncoder().encode(JSON.stringify(header))
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(32)
  padded.set(text)
  text = padded
  const size = new DataView(new ArrayBuffer(8))
  size.setBigUint64(0, BigInt(text.length), true)
  return new Blob([size.buffer, text, ...parts], { type: 'application/octet-stream' })
}

/** Calls f with a signal that also comes when the engine ends. Nothing of it is left at the others when what f gives is there. */
export async function until({ ending }, signal, as, f) {
  const both = new AbortController()
  for (const s of signal ? [signal, ending.signal] : [ending.signal]) {
    const end = () => both.abort(s === signal ? s.reason : new Error(`${as}: ${s.reason.message}`))
    if (s.aborted) end()
    else s.addEventListener('abort', end, { signal: both.signal })
  }
  try {
    both.signal.throwIfAborted()
    return await f(both.signal)
  } finally {
    both.abort()
  }
}

/** The bytes of a file: of an address, a Response, a Blob, or bytes. */
export const blobOf = (w, from, signal, as) => until(w, signal, as, (signal) => taken(from, signal, as))

async function taken(from, signal, as) {
  let address
  if (typeof from === 'string' || tagOf(from) === 'URL') {
    from = await reach(address = from, { signal }).catch((e) => {
      throw signal.aborted ? e : new Error(`${as}: ${address} cannot be reached: ${e.cause?.message || e.message}`)
    })
  }
  if (tagOf(from) === 'Response') {
    if (!from.ok) throw new Error(`${as}: ${address ?? from.url} cannot be loaded: ${from.status} ${from.statusText}`)
    return new Response(from.body?.pipeThrough(new TransformStream(), { signal })).blob() // which has no signal of its own
  }
  return isBlob(from) ? from : new Blob([from])
}

// The header of a file, checked: nothing in it is believed.
async function headerOf(blob) {
  const fail = (why) => { throw new Error(`load: this is no safetensors file: ${why}`) }
  if (blob.size < 8) fail(`it has ${blob.size} bytes`)
  const n = Number(new DataView(await blob.slice(0, 8).arrayBuffer()).getBigUint64(0, true))
  if (n > largest || 8 + n > blob.size) fail(`its header would have ${n} bytes`)
  let header
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await blob.slice(8, 8 + n).arrayBuffer()))
  } catch (e) {
    fail(e.message)
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) fail('its header is no object')
  const { __metadata__: metadata = {}, ...entries } = header
  for (const [name, e] of Object.entries(entries)) {
    const [, size] = types[Object.hasOwn(types, e?.dtype) ? e.dtype : ''] ?? fail(`${name} has the element type ${JSON.stringify(e?.dtype)}`)
    const [lo, hi] = Array.isArray(e.data_offsets) ? e.data_offsets : []
    const whole = (v) => Number.isSafeInteger(v) && v >= 0
    if (!Array.isArray(e.shape) || !e.shape.every(whole) || !whole(lo) || !whole(hi)) fail(`${name} has no shape or no place`)
    if (hi - lo !== e.shape.reduce((n, s) => n * s, size) || 8 + n + hi > blob.size) fail(`${name} does not fit its place`)
  }
  return { metadata, entries: Object.entries(entries), start: 8 + n }
}

/**
 * The tensors of a file by their names; or, of a model, a report of what did not match after its tensors got what is in the file. With
 * strict, which is usual, everything must match, else nothing changes.
 */
export async function load(w, from, model, { strict = true, signal } = {}) {
  const blob = await blobOf(w, from, signal, 'load')
  const { entries, start } = await headerOf(blob)
  const tensorOf = ({ dtype, shape, data_offsets: [lo, hi] }) => w.record('tensor', 1, [new Elements(types[dtype][0], blob.slice(start + lo, start + hi)), shape])[0]
  if (!model) return Object.fromEntries(entries.map(([name, e]) => [name, tensorOf(e)]))
  const there = new Map(entries)
  const list = leaves(model).map(({ path, tensor }) => ({ name: nameOf(path), tensor }))
  const report = { missing: [], unexpected: [], mismatched: [] }
  const fits = []
  for (const { name, tensor } of list) {
    const e = there.get(name)
    there.delete(name)
    if (!e) {
      report.missing.push(name)
      continue
    }
    const { shape, dtype } = (await tensor.told('load')).form
    if (`${shape}` === `${e.shape}` && types[e.dtype][0] === dtype) fits.push([tensor, e])
    else report.mismatched.push(`${name}: ${dtype} [${shape.join(', ')}], in the file ${types[e.dtype][0]} [${e.shape.join(', ')}]`)
  }
  report.unexpected.push(...there.keys())
  const wrong = [...report.missing.map((n) => `${n} is missing`), ...report.unexpected.map((n) => `${n} is too many`), ...report.mismatched]
  if (strict && wrong.length) throw new Error(`load: the file does not fit the model: ${wrong.slice(0, 5).join('; ')}${wrong.length > 5 ? ` and ${wrong.length - 5} more` : ''}`)
  for (const [tensor, e] of fits) tensor.own().assign(tensorOf(e).shardLike(tensor))
  await w.realize(...fits.map(([tensor]) => tensor))
  return report
}
