// Elements of arrays as a page has them and as a folder has them: types, shorter forms, checksums, and what a run is given. It refuses to know
// devices and plans.

/** The arrays of JavaScript that hold elements of a type. */
export const TYPES = {
  bool: Uint8Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
  uint64: BigUint64Array, int64: BigInt64Array, float32: Float32Array, float64: Float64Array,
  float16: Uint16Array, bfloat16: Uint16Array, float8_e4m3fn: Uint8Array, float8_e5m2: Uint8Array, // their bits
}
const BLOCK = 64 // elements that share a scale in the form int8

export const count = (shape) => shape.reduce((n, s) => n * s, 1)
export const sizeOf = (dtype) => TYPES[dtype].BYTES_PER_ELEMENT

/** What an object has under a name, not what every object has. */
export const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined)

/** What went wrong: with the folder, with what a run was given, or with what it found. */
export class ModelError extends Error {
  get name() { return 'ModelError' }
}

export const fail = (text) => { throw new ModelError(text) }

// CRC-32C, as files have it.
const table = Int32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? n >>> 1 ^ 0x82f63b78 : n >>> 1
  return n
})
export function sum(bytes) {
  let c = -1
  for (let i = 0; i < bytes.length; i++) c = table[(c ^ bytes[i]) & 255] ^ c >>> 8
  return ~c >>> 0
}

// The float of 16 bits.
function half(h) {
  const e = h >> 10 & 31, m = h & 1023, s = h >> 15 ? -1 : 1
  if (e === 31) return m ? NaN : s * Infinity
  return s * (e ? (1 + m / 1024) * 2 ** (e - 15) : m * 2 ** -24)
}

// The elements of an array of float32 from a shorter form.
export function lengthen(bytes, n, form) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const out = new Float32Array(n)
  if (form === 'float16') for (let i = 0; i < n; i++) out[i] = half(view.getUint16(2 * i, true))
  else {
    for (let i = 0, at = 0; i < n;) {
      const scale = view.getFloat32(at, true)
      at += 4
      for (const end = Math.min(i + BLOCK, n); i < end; i++) out[i] = view.getInt8(at++) * scale
    }
  }
  return new Uint8Array(out.buffer)
}

// Threefry-2x32 of 20 rounds (Salmon and others, 2011), the key of a draw: see tensor.Generator.
export function threefry([x, y], [p, q]) {
  const ks = [p, q, p ^ q ^ 0x1bd11bda]
  let a = x + p | 0, b = y + q | 0
  for (let i = 0; i < 5; i++) {
    for (const r of i % 2 ? [17, 29, 16, 24] : [13, 15, 26, 6]) {
      a = a + b | 0
      b = (b << r | b >>> 32 - r) ^ a
    }
    a = a + ks[(i + 1) % 3] | 0
    b = b + ks[(i + 2) % 3] + i + 1 | 0
  }
  return Int32Array.of(a, b)
}

// The value of a variable.
export function variable(name, v, vars) {
  const n = own(vars, v.name) ?? v.value
  if (!Number.isInteger(n) || n < v.lo || n > v.hi) fail(`${name}: variable ${v.name} is ${n}; give it an integer of ${v.lo} … ${v.hi} in vars`)
  return n
}

// The bytes of what was given for an input.
export function elements(name, { name: input, dtype, shape }, given) {
  const Type = TYPES[dtype]
  if (given === undefined) fail(`${name} needs the input ${input}: ${dtype} of shape [${shape}]`)
  const want = count(shape)
  let data = given?.data ?? given
  if (!ArrayBuffer.isView(data)) {
    const flat = [data].flat(Infinity)
    if (flat.some((v) => typeof v !== 'number' && typeof v !== 'boolean' && typeof v !== 'bigint')) fail(`${name}: input ${input} has an element that is no number`)
    if (/^b?float(8|16)/.test(dtype)) fail(`${name}: input ${input} is ${dtype}; give its bits in a ${Type.name}`)
    data = Type.BYTES_PER_ELEMENT === 8 && dtype !== 'float64' ? Type.from(flat, (v) => BigInt(typeof v === 'number' && !Number.isInteger(v) ? 0 : v)) : Type.from(flat, Number)
    if (!dtype.startsWith('float') && data.some((v, i) => v !== flat[i] && Number(v) !== Number(flat[i]))) fail(`${name}: input ${input} has an element that is no ${dtype}`)
  } else if (!(data instanceof Type) && !(Type === Uint8Array && data instanceof Uint8ClampedArray)) fail(`${name}: input ${input} is ${dtype} and needs a ${Type.name}, not a ${data.constructor.name}`)
  if (data.length !== want) fail(`${name}: input ${input} of shape [${shape}] has ${want} elements, not ${data.length}`)
  if (dtype === 'bool' && data.some((v) => v > 1)) fail(`${name}: input ${input} has a bool that is neither 0 nor 1`)
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

// The elements that count of an array with room for more.
export function counted(data, room, shape) {
  if (room.every((n, i) => n === shape[i])) return data
  const out = new data.constructor(count(shape))
  let to = 0
  const copy = (axis, at) => {
    if (axis === shape.length) out[to++] = data[at]
    else for (let i = 0; i < shape[axis]; i++) copy(axis + 1, at * room[axis] + i)
  }
  copy(0, 0)
  return out
}
