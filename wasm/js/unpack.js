// Makes a WebAssembly module of what wasm/pack/returns.go made of one, while it arrives: in the code, the places that
// calls return to are put back, and branches count the blocks that they leave.

const CODE = 10
const STEP = 0xe0
const PLACE = 0xf0
const FIRST = 0x1000
const I64_CONST = 0x42
const room = 64 // bytes that the longest instruction has, br_table aside

// What follows the first byte of an instruction: nothing (0), one varint, two, 1 to 8 bytes (3), what 0xfc says (4), a
// br_table (5); 6 is what is put back here, 7 the end of a block, 8 a branch.
const shape = new Uint8Array(256)
for (let op = 0; op < 256; op++) {
  if (op >= STEP && op <= PLACE) shape[op] = 6
  else if (op === 0xfc) shape[op] = 4
  else if (op >= 0x28 && op <= 0x3e || op === 0x11) shape[op] = 2
  else if (op === 0x0b) shape[op] = 7
  else if (op === 0x0c || op === 0x0d) shape[op] = 8
  else if (op === 0x10 || op >= 0x20 && op <= 0x26 || op === 0x41 || op === 0x42) shape[op] = 1
  else if (op >= 0x02 && op <= 0x04 || op === 0x3f || op === 0x40 || op === 0x43 || op === 0x44) shape[op] = 3
  else if (op === 0x0e) shape[op] = 5
}

/** A transform for the stream of a packed module's bytes. Others pass as they are. */
export function unpacking() {
  let rest = new Uint8Array(0) // bytes that arrived and could not be read yet
  let state = begin
  let left = 0 // bytes of the section, or of the function, still to be written
  let functions = 0
  let number = 0 // of the function
  let last = 0 // place in it
  let open = 0 // blocks around the instruction
  let input, at, out, to // of the chunk at hand

  // What is read may end within anything: then it is read again when more has come.
  const short = (n) => input.length - at < n
  const copy = (n) => {
    out.set(input.subarray(at, at + n), to)
    at += n
    to += n
  }
  // The length of the varint at i.
  const varint = (i) => {
    let n = 1
    while (input[i++] & 0x80) n++
    return n
  }
  const value = (i) => {
    let v = 0
    for (let shift = 0; ; shift += 7) {
      v += (input[i] & 0x7f) * 2 ** shift
      if (!(input[i++] & 0x80)) return v
    }
  }
  const uint = () => {
    const v = value(at)
    copy(varint(at))
    return v
  }
  const unsigned = (v) => {
    for (; v > 127; v >>>= 7) out[to++] = v & 0x7f | 0x80
    out[to++] = v
  }
  // Writes a number as signed varint, as Go's compiler does.
  const signed = (v) => {
    for (;;) {
      const c = v % 128
      v = Math.floor(v / 128)
      if (v === 0 && c < 64) {
        out[to++] = c
        return
      }
      out[to++] = c | 0x80
    }
  }

  function begin(end) {
    if (short(8) && !end) return false
    if (String.fromCharCode(...input.subarray(at + 4, at + 8)) !== 'weft') {
      state = pass
      return true
    }
    copy(4)
    at += 4
    out.set([1, 0, 0, 0], to)
    to += 4
    state = section
    return true
  }

  function pass() {
    if (at === input.length) return false
    copy(input.length - at)
    return true
  }

  function section(end) {
    if (at === input.length || (short(room) && !end)) return false
    const id = input[at]
    copy(1)
    left = uint()
    state = id === CODE ? code : skip
    return true
  }

  function skip() {
    const n = Math.min(left, input.length - at)
    copy(n)
    left -= n
    if (left > 0) return false
    state = section
    return true
  }

  function code(end) {
    if (short(room) && !end) return false
    functions = uint()
    number = FIRST - 1
    state = head
    return true
  }

  function head(end) {
    if (functions-- === 0) {
      state = section
      return true
    }
    if (short(4 * room) && !end) {
      functions++
      return false
    }
    left = uint()
    number++
    last = 0
    open = 1
    const start = to
    for (let n = uint(); n > 0; n--) {
      uint()
      copy(1)
    }
    left -= to - start
    state = body
    return true
  }

  // Instructions, until as many bytes have been written as the function has. What stays as it is is copied in runs.
  function body(end) {
    const safe = end ? input.length : input.length - room
    let from = at // of the run
    const written = to
    const until = to + left
    let step = to // where the run will end in the output
    const run = () => {
      out.set(input.subarray(from, at), to)
      to += at - from
    }
    while (step < until && at < safe) {
      const op = input[at]
      let n = 1
      switch (shape[op]) {
        case 1:
          n = 1 + varint(at + 1)
          break
        case 2:
          n = 1 + varint(at + 1)
          n += varint(at + n)
          break
        case 3:
          if (op < 0x05) open++
          n = op === 0x43 ? 5 : op === 0x44 ? 9 : 2
          break
        case 4:
          n = input[at + 1] === 10 ? 4 : input[at + 1] === 11 ? 3 : 2
          break
        case 5: {
          let targets = value(at + 1) + 1
          n = 1 + varint(at + 1)
          if (!end && at + n + 5 * targets > input.length) targets = -1 // it is long, and not here yet
          for (let t = targets; t > 0; t--) n += varint(at + n)
          if (targets < 0) n = 0
          break
        }
        case 7:
          open--
          break
        case 8: {
          run()
          out[to++] = op
          const block = value(at + 1)
          at += 1 + varint(at + 1)
          unsigned(open - 1 - block)
          from = at
          step = to
          continue
        }
        case 6:
          run()
          if (op === PLACE) {
            last = value(at + 1)
            at += 1 + varint(at + 1)
          } else {
            last += op - STEP
            at++
          }
          out[to++] = I64_CONST
          signed(number * 65536 + last)
          from = at
          step = to
          continue
      }
      if (n === 0) break
      at += n
      step += n
    }
    run()
    left -= to - written
    if (left > 0) return false
    state = head
    return true
  }

  function transform(chunk, controller, end = false) {
    input = chunk
    if (rest.length) {
      input = new Uint8Array(rest.length + chunk.length)
      input.set(rest)
      input.set(chunk, rest.length)
    }
    out = new Uint8Array(6 * input.length + room) // a step of one byte becomes at most six
    at = to = 0
    while (state(end));
    rest = input.slice(at)
    controller.enqueue(out.slice(0, to))
  }

  return new TransformStream({
    transform,
    flush(controller) {
      transform(new Uint8Array(0), controller, true)
      if (rest.length || left > 0) throw new Error('weft: weft.wasm is cut off; load it again')
    },
  })
}
