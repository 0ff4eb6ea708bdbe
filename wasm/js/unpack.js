// Makes a WebAssembly module of what wasm/pack made of one, while it arrives: what was left out is put back, in the
// table of functions (squeeze.go there), in the code (code.go, macros.go) and in the data (records.go).

const ELEMENTS = 9
const CODE = 10
const DATA = 11
const FIRST = 0x1000
const MACRO0 = 0xc5
const STEP0 = 0xe0
const some = 64 // bytes that the longest instruction has, tables of branches aside
const many = 1 << 13 // bytes that the longest macro becomes

// What an instruction is by its first byte: that alone; with one varint or two; a load or store, whose alignment is put
// back; a block, its end, a branch, a table of branches; with 4 or 8 bytes; one that its second byte tells; a macro; a
// place that a call returns to, as a step from the one before or not.
const [ALONE, ONE, TWO, MEMORY, BLOCK, END, BRANCH, TABLE, BYTES, MORE, MACRO, STEP, PLACE] = Array(13).keys()
const varints = [0, 1, 2, 1, 1, 0, 0, 0, 0, 0]
const shape = new Uint8Array(256).fill(ALONE)
for (const [s, first, to = first] of [
  [BLOCK, 0x02, 0x04], [END, 0x0b], [BRANCH, 0x0c, 0x0d], [TABLE, 0x0e], [ONE, 0x10], [TWO, 0x11], [ONE, 0x20, 0x26],
  [MEMORY, 0x28, 0x3e], [ONE, 0x3f, 0x42], [BYTES, 0x43, 0x44], [MACRO, MACRO0, 0xdf], [STEP, STEP0, 0xef],
  [PLACE, 0xf0], [MORE, 0xfc],
]) shape.fill(s, first, to + 1)
const alignments = [...'23230011001122232301012'].map(Number)

const cut = () => new Error('weft.wasm is cut off, or of another build than unpack.js; load both again')

const unzigzag = (v) => (v % 2 ? -(v + 1) / 2 : v / 2)

/** A transform for the stream of a packed module's bytes. Other modules pass as they are. */
export function unpacking() {
  const { readable, writable } = new TransformStream()
  return { writable, readable: unpack(readable) }
}

function unpack(packed) {
  const source = packed.getReader()
  let input = new Uint8Array(0) // what arrived
  let at = 0
  let out = new Uint8Array(1 << 16) // what is being put together: a function, or a few numbers
  let to = 0
  const ready = new Uint8Array(1 << 18) // what is to be handed on
  let filled = 0
  let left // of the section
  let stream, macros, number, last, open

  // want waits for n bytes, or for the end.
  const want = (n) => input.length - at < n && more(n)
  async function more(n) {
    const chunks = [input.subarray(at)]
    let length = chunks[0].length
    while (length < n) {
      const { value, done } = await source.read()
      if (done) break
      chunks.push(value)
      length += value.length
    }
    input = new Uint8Array(length)
    at = 0
    for (const c of chunks) {
      input.set(c, at)
      at += c.length
    }
    at = 0
  }
  const take = async (n) => {
    await want(n)
    at += n
    return input.subarray(at - n, at)
  }
  const hand = () => {
    stream.enqueue(ready.slice(0, filled))
    filled = 0
  }
  const emit = (bytes) => {
    left -= bytes.length
    for (let i = 0; i < bytes.length;) {
      const part = bytes.subarray(i, i + ready.length - filled)
      ready.set(part, filled)
      filled += part.length
      i += part.length
      if (filled === ready.length) hand()
    }
  }
  const flush = () => {
    emit(out.subarray(0, to))
    to = 0
  }

  const uint = () => {
    let v = 0
    for (let scale = 1; ; scale *= 128) {
      const c = input[at++]
      v += (c & 127) * scale
      if (!(c & 128)) return v
    }
  }
  const unsigned = (v) => {
    for (; v > 127; v = Math.floor(v / 128)) out[to++] = v % 128 | 128
    out[to++] = v
  }

  // instruction unpacks the one at i of b and gives where the next is.
  function instruction(b, i) {
    const op = b[i++]
    const s = shape[op]
    if (s === MACRO) {
      const m = macros[op - MACRO0]
      for (let j = 0; j < m.length;) j = instruction(m, j)
      return i
    }
    let v = 0
    if (s === PLACE || s === BRANCH) {
      for (let scale = 1; ; scale *= 128) {
        v += (b[i] & 127) * scale
        if (b[i++] < 128) break
      }
    }
    if (s >= STEP) {
      last = s === STEP ? last + op - STEP0 : v
      out[to++] = 0x42
      for (v = number * 65536 + last; v >= 64; v = Math.floor(v / 128)) out[to++] = v % 128 | 128
      out[to++] = v
      return i
    }
    out[to++] = op
    if (s === BRANCH) unsigned(open - 1 - v)
    else if (s === END) open--
    else if (s === BLOCK) open++
    else if (s === MEMORY) out[to++] = alignments[op - 0x28]
    for (let n = varints[s]; n > 0; n--) {
      while (b[i] > 127) out[to++] = b[i++]
      out[to++] = b[i++]
    }
    let bytes = s === BYTES ? 4 * (op - 0x42) : s === MORE ? (b[i] === 10 ? 3 : b[i] === 11 ? 2 : 1) : 0
    while (bytes-- > 0) out[to++] = b[i++]
    return i
  }

  // body unpacks a function into out.
  async function body() {
    last = 0
    open = 1
    await want(some * some)
    const locals = uint()
    unsigned(locals)
    for (let n = locals; n > 0; n--) {
      unsigned(uint())
      out[to++] = input[at++]
    }
    while (open > 0) {
      if (input.length - at < some) await want(some)
      if (at >= input.length) throw cut()
      const table = input[at] === 0x0e
      let targets = 0
      if (table) {
        at++
        targets = uint()
        await want(4 * targets + some)
      }
      if (out.length - to < many + 4 * targets) {
        const larger = new Uint8Array(2 * out.length + 4 * targets)
        larger.set(out.subarray(0, to))
        out = larger
      }
      if (!table) {
        at = instruction(input, at)
        continue
      }
      out[to++] = 0x0e
      unsigned(targets)
      for (let block = 0; targets >= 0; targets--) unsigned(block += unzigzag(uint()))
    }
  }

  async function code() {
    const functions = uint()
    unsigned(functions)
    flush()
    macros = []
    for (let n = uint(); n > 0; n--) {
      await want(some)
      macros.push((await take(uint())).slice())
    }
    for (number = FIRST; number < FIRST + functions; number++) {
      await body()
      const whole = out.slice(0, to)
      to = 0
      unsigned(whole.length)
      flush()
      emit(whole)
    }
  }

  async function elements() {
    const head = uint()
    emit(await take(head))
    await want(some)
    const first = uint()
    const n = uint()
    for (let i = 0; i < n; i++) {
      unsigned(first + i)
      flush()
    }
  }

  async function data() {
    const length = uint()
    await want(length)
    const end = at + length
    if (end > input.length) throw cut()
    const [tables, records, buckets, functions, count] = [uint(), uint(), uint(), uint(), uint()]
    const section = new Uint8Array(left)
    const fill = functions ? columns(functions) : () => records
    section.set(input.subarray(at, at + records))
    at += records
    const behind = fill(section, tables, records)
    section.set(input.subarray(at, at + buckets - behind), behind)
    at += buckets - behind
    const view = new DataView(section.buffer)
    for (let k = 0; k < count; k++) view.setUint32(buckets + 20 * k, k >> 4, true)
    section.set(input.subarray(at, end), buckets + 20 * count)
    at = end
    emit(section)
  }

  // columns reads those of the records, and gives what writes these and their index into a section and says where they end.
  function columns(functions) {
    const column = (n) => Array.from({ length: n }, uint)
    const end = uint()
    const [address, offset, args, deferred, count, field] = Array.from({ length: 6 }, () => column(functions))
    const pieces = field.map((f) => f >>> 24)
    const larger = (list, k) => list.filter((n) => n > k).length
    const names = Array.from({ length: 16 }, (_, k) => column(k ? larger(count, k - 1) : functions))
    const datas = Array.from({ length: 16 }, (_, k) => column(larger(pieces, k)))
    return (section, tables, records) => {
      // Where the tables begin: pairs of varints, ended by a first one that is zero, except the very first.
      const places = []
      let t = tables + 1
      const pass = () => {
        const zero = section[t] === 0
        while (section[t++] & 128);
        return zero
      }
      const next = () => {
        places.push(t - tables)
        for (let first = true; !(pass() && !first); first = false) pass()
        return places[places.length - 1]
      }
      const view = new DataView(section.buffer)
      const heads = Array(16).fill(0)
      const ends = Array(16).fill(0)
      const before = Array(16).fill(0)
      const table = (k) => {
        const v = names[k][heads[k]++]
        return v === 0 ? 0 : v === 1 ? next() : places[places.length + 2 - v]
      }
      let a = 0
      let w = records + 8 * functions + 8
      const word = (v) => view.setUint32((w += 4) - 4, v, true)
      for (let i = 0; i < functions; i++) {
        a += unzigzag(address[i]) + 1
        w += unzigzag(offset[i])
        view.setUint32(records + 8 * i, a, true)
        view.setUint32(records + 8 * i + 4, w - records, true)
        for (const v of [a, 0, args[i], deferred[i], table(0), 0, 0, count[i], 0, 0, field[i]]) word(v)
        for (let k = 1; k <= count[i]; k++) word(table(k))
        for (let k = 0; k < pieces[i]; k++) {
          const v = datas[k][ends[k]++]
          word(v === 0 ? 0xffffffff : (before[k] += unzigzag(v - 1)))
        }
      }
      view.setUint32(records + 8 * functions, end, true)
      return w
    }
  }

  async function sections() {
    const head = await take(8)
    if (String.fromCharCode(...head.subarray(4)) !== 'weft') {
      emit(head)
      do {
        emit(await take(input.length - at))
        await want(1)
      } while (at < input.length)
      return
    }
    emit(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0))
    for (await want(some); at < input.length; await want(some)) {
      const id = input[at++]
      const size = uint()
      out[to++] = id
      unsigned(size)
      flush()
      left = size
      if (id === ELEMENTS) await elements()
      else if (id === CODE) await code()
      else if (id === DATA) await data()
      else emit(await take(size))
      if (left !== 0 || at > input.length) throw cut()
    }
  }

  return new ReadableStream({
    async start(controller) {
      stream = controller
      await sections()
      hand()
      stream.close()
    },
  })
}
