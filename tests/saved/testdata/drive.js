// Plays runs of an exported folder: [function, inputs by name as base64, values of variables].
const TYPES = {
  bool: Uint8Array, uint8: Uint8Array, int8: Int8Array, uint16: Uint16Array, int16: Int16Array, uint32: Uint32Array, int32: Int32Array,
  uint64: BigUint64Array, int64: BigInt64Array, float32: Float32Array, float64: Float64Array, float16: Uint16Array,
}
const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0))
const encode = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''))

export async function drive(model, runs) {
  const out = []
  for (const [name, given, vars] of runs) {
    const inputs = {}
    for (const x of model.functions[name].inputs) inputs[x.name] = new TYPES[x.dtype](decode(given[x.name]).buffer)
    const results = await model.run(name, inputs, { vars })
    for (const r of model.functions[name].results) {
      const { data, shape, dtype } = results[r.name]
      out.push({ dtype, shape, data: encode(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)) })
    }
  }
  return out
}
