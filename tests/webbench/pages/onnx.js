// Models for onnxruntime-web: the few fields of ONNX's protocol buffers that small graphs need.

const text = new TextEncoder()

function varint(n) {
  const out = []
  for (; n > 127; n = Math.floor(n / 128)) out.push(n % 128 | 128)
  return [...out, n]
}

function join(parts) {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
  let at = 0
  for (const p of parts) {
    out.set(p, at)
    at += p.length
  }
  return out
}

// A field: a number, a text, bytes, or the fields of a message.
function field(number, value) {
  if (typeof value === 'number') return Uint8Array.from([...varint(number * 8), ...varint(value)])
  const bytes = typeof value === 'string' ? text.encode(value) : value instanceof Uint8Array ? value : join(value)
  return join([Uint8Array.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes])
}

const FLOAT = 1, INT64 = 7 // TensorProto.DataType

const info = ([name, shape]) => [field(1, name), field(2, [field(1, [field(1, FLOAT), field(2, shape.map((n) => field(1, [field(1, n)])))])])]

// An attribute: an integer, a list of integers, or a number as { float }.
function attribute(name, value) {
  if (Array.isArray(value)) return [field(1, name), ...value.map((n) => field(8, n)), field(20, 7)]
  if (typeof value === 'number') return [field(1, name), field(3, value), field(20, 2)]
  const bits = new Uint8Array(Float32Array.of(value.float).buffer)
  return [field(1, name), join([Uint8Array.of(2 * 8 + 5), bits]), field(20, 1)]
}

const node = ([op, inputs, outputs, attributes = {}]) => [
  ...inputs.map((i) => field(1, i)), ...[outputs].flat().map((o) => field(2, o)), field(4, op),
  ...Object.entries(attributes).map(([k, v]) => field(5, attribute(k, v))),
]

const constant = ([name, [shape, data]]) => [
  ...shape.map((n) => field(1, n)), field(2, data instanceof BigInt64Array ? INT64 : FLOAT), field(8, name), field(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
]

/** Writes a model: inputs and outputs are shapes by name, constants [shape, Float32Array or BigInt64Array] by name, nodes
 * [op, inputs, outputs, attributes]. */
export function model({ inputs, outputs, constants = {}, nodes }) {
  const graph = [
    ...nodes.map((n) => field(1, node(n))), field(2, 'bench'), ...Object.entries(constants).map((c) => field(5, constant(c))),
    ...Object.entries(inputs).map((i) => field(11, info(i))), ...Object.entries(outputs).map((o) => field(12, info(o))),
  ]
  return join([field(1, 8), field(7, graph), field(8, [field(1, ''), field(2, 17)])])
}
