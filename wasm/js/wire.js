// The form in which values cross between the page and the engine: package wasm/wire is the other end.
//
// Values are null, booleans, numbers, strings, arrays, plain objects, typed arrays, Blobs (bytes) and references to what
// the engine holds (anything with a `ref`).

const text = new TextEncoder()
const plain = new TextDecoder()

/** Typed arrays by the engine's names of their element types. Half floats travel as float32. */
const types = {
  f32: Float32Array, f64: Float64Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array,
  i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array, bool: Uint8Array,
}

/** The typed array of a type's elements. */
export const arrayOf = (type) => types[type] ?? Float32Array

/** Whether elements of a type, which no array has, travel as float32. */
export const isNarrow = (type) => !types[type]

/** The name of a thing's class. It tells also of what comes from another window, or from a program's own realm, as with test runners, where instanceof does not. */
export const tagOf = (v) => v?.[Symbol.toStringTag]

const byTag = { Uint8ClampedArray: 'u8' }
for (const [name, type] of Object.entries(types)) byTag[type.name] ??= name

/** The engine's name of a typed array's elements, or undefined. */
export const typeOf = (array) => byTag[tagOf(array)]

/** Whether v is a Blob. */
export const isBlob = (v) => /^(Blob|File)$/.test(tagOf(v))

/** Whether v is a picture that goes to the worker as a whole. */
export const isBitmap = (v) => typeof ImageBitmap === 'function' && v instanceof ImageBitmap

const typed = Symbol.for('weft.elements')

/** Elements with their type, where the array alone does not say it; also those of a Blob, or the pixels of an ImageBitmap. */
export class Elements {
  [typed] = true // scripts that are loaded later bring a class of their own
  constructor(type, array) {
    this.type = type
    this.array = array
  }
}

// Names come again and again.
const names = new Map()
function encoded(s) {
  let bytes = names.get(s)
  if (!bytes) {
    bytes = text.encode(s)
    if (s.length < 24 && names.size < 1000) names.set(s, bytes)
  }
  return bytes
}

const large = 1 << 16 // bytes of an array that is not copied among the others

/** The elements of an array that goes beside what is written. */
export class Parcel {
  constructor(type, bytes) {
    this.type = type
    this.parcel = bytes
  }
}

/** Writes values one after the other. Large arrays are copied only once, and Blobs never. */
export class Writer {
  #bytes = new Uint8Array(1024)
  #view = new DataView(this.#bytes.buffer)
  #at = 0
  #pieces = []

  /** How much was written; of pieces only that they are there. */
  get length() { return this.#at + this.#pieces.length }

  /** Takes what was written: pieces, each an ArrayBuffer of its own or a Blob. */
  finish() {
    this.#cut()
    const out = this.#pieces
    this.#pieces = []
    return out
  }

  #cut() {
    this.#pieces.push(this.#bytes.slice(0, this.#at).buffer)
    this.#at = 0
  }

  #room(n) {
    if (this.#at + n <= this.#bytes.length) return
    const more = new Uint8Array(Math.max(2 * this.#bytes.length, this.#at + n))
    more.set(this.#bytes.subarray(0, this.#at))
    this.#bytes = more
    this.#view = new DataView(more.buffer)
  }

  #byte(n) {
    this.#room(1)
    this.#bytes[this.#at++] = n
  }

  #size(n) {
    this.#room(4)
    this.#view.setUint32(this.#at, n, true)
    this.#at += 4
  }

  #raw(bytes) {
    this.#size(bytes.length)
    if (bytes.length > large) {
      this.#cut()
      this.#pieces.push(bytes.slice().buffer)
      return
    }
    this.#room(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** Writes a value. One that cannot cross is an error here, where the caller stands, and nothing of it is left. */
  write(v) {
    const at = this.#at, pieces = this.#pieces.length
    try {
      this.#value(v)
    } catch (e) {
      if (this.#pieces.length > pieces) this.#bytes.set(new Uint8Array(this.#pieces[pieces], 0, at)) // the first that was cut off begins with what was there
      this.#pieces.length = pieces
      this.#at = at
      throw e
    }
  }

  #value(v) {
    switch (typeof v) {
      case 'undefined':
        return this.#byte(0)
      case 'boolean':
        return this.#byte(v ? 2 : 1)
      case 'number':
        this.#byte(3)
        this.#room(8)
        this.#view.setFloat64(this.#at, v, true)
        this.#at += 8
        return
      case 'string':
        this.#byte(4)
        return this.#raw(encoded(v))
      case 'object':
        return this.#object(v)
    }
    throw new TypeError(`weft: a ${typeof v} cannot be handed to the engine`)
  }

  #object(v) {
    if (v === null) return this.#byte(0)
    if (typeof v.ref === 'number') {
      this.#byte(8)
      return this.#size(v.ref)
    }
    if (v.wire) return this.#value(v.wire)
    if (v instanceof Parcel) {
      this.#byte(9)
      this.#raw(encoded(v.type))
      return this.#size(v.parcel.length)
    }
    if (Array.isArray(v)) {
      this.#byte(5)
      this.#size(v.length)
      for (const x of v) this.#value(x)
      return
    }
    const array = v[typed] ? v.array : v
    const type = v[typed] ? v.type : isBlob(v) ? 'u8' : typeOf(v)
    const apart = isBlob(array) ? array.size : isBitmap(array) ? 4 * array.width * array.height : -1
    if (apart >= 0) { // the worker gets at its bytes
      this.#byte(7)
      this.#raw(encoded(type))
      this.#size(apart)
      this.#cut()
      this.#pieces.push(array)
      return
    }
    if (type !== undefined) {
      this.#byte(7)
      this.#raw(encoded(type))
      return this.#raw(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
    }
    if (ArrayBuffer.isView(v)) throw new TypeError(`weft: a ${v.constructor.name} cannot be handed to the engine`)
    const keys = Object.keys(v)
    this.#byte(6)
    this.#size(keys.length)
    for (const k of keys) {
      this.#raw(encoded(k))
      this.#value(v[k])
    }
  }
}

const short = 24 // bytes of a text

/** Reads the values in an ArrayBuffer. Typed arrays are copies; one that came beside it is taken as it is. */
export function read(buffer, parcel) {
  const view = new DataView(buffer)
  let at = 0
  const size = () => {
    at += 4
    return view.getUint32(at - 4, true)
  }
  // A short text, unless there is more to it than ASCII: a decoder takes longer to begin.
  const ascii = (n) => {
    let s = ''
    for (let i = at - n; i < at; i++) {
      const c = view.getUint8(i)
      if (c > 127) return ''
      s += String.fromCharCode(c)
    }
    return s
  }
  const string = () => {
    const n = size()
    at += n
    return n < short && ascii(n) || plain.decode(new Uint8Array(buffer, at - n, n))
  }
  const value = () => {
    switch (view.getUint8(at++)) {
      case 0: return null
      case 1: return false
      case 2: return true
      case 3:
        at += 8
        return view.getFloat64(at - 8, true)
      case 4: return string()
      case 5: {
        const list = []
        for (let n = size(); n > 0; n--) list.push(value())
        return list
      }
      case 6: {
        const o = {}
        for (let n = size(); n > 0; n--) {
          const name = string()
          o[name] = value()
        }
        return o
      }
      case 7: {
        const type = types[string()]
        const n = size()
        at += n
        return new type(buffer.slice(at - n, at))
      }
      case 8: return { ref: size() }
      case 9: {
        const type = types[string()]
        return new type(parcel, 0, size() / type.BYTES_PER_ELEMENT)
      }
    }
    throw new Error(`weft: an answer of the engine cannot be read (at ${at - 1})`)
  }
  const values = []
  while (at < buffer.byteLength) values.push(value())
  return values
}
