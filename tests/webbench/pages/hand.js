// The product of two matrices as somebody would write it by hand for a processor that plays a graphics card: each
// invocation keeps 8×8 results in registers, and nothing goes through workgroup memory.

const shader = (n) => `
@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
const N = ${n / 4}u;
@compute @workgroup_size(8, 4) fn product(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x * 2u;
  let row = id.y * 8u;
  ${each(8, (i) => `var l${i} = vec4f(); var r${i} = vec4f(); let p${i} = (row + ${i}u) * N;`)}
  for (var k = 0u; k < N; k++) {
    ${each(8, (i) => `let a${i} = a[p${i} + k];`)}
    ${each(4, (j) => `{
      let q = (k * 4u + ${j}u) * N + column;
      let x = b[q];
      let y = b[q + 1u];
      ${each(8, (i) => `l${i} = fma(vec4f(a${i}[${j}]), x, l${i}); r${i} = fma(vec4f(a${i}[${j}]), y, r${i});`)}
    }`)}
  }
  ${each(8, (i) => `c[p${i} + column] = l${i}; c[p${i} + column + 1u] = r${i};`)}
}`

const each = (n, f) => Array.from({ length: n }, (_, i) => f(i)).join('\n')

let device

/** Asks for the adapter's device. */
export async function open() {
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) throw new Error('there is no adapter')
  device = await adapter.requestDevice()
  device.onuncapturederror = ({ error }) => console.error(error.message)
  return { prepare, threads: () => navigator.hardwareConcurrency }
}

/** Makes everything that a product of n×n matrices needs. */
export async function prepare({ kind, n, inputs: { a, b } }) {
  if (kind !== 'matmul') return null
  const size = 4 * n * n
  const buffer = (usage) => device.createBuffer({ size, usage })
  const [x, y, z] = [a, b, null].map((data) => {
    const made = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC)
    if (data) device.queue.writeBuffer(made, 0, data)
    return made
  })
  const staging = buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST)
  const module = device.createShaderModule({ code: shader(n) })
  const pipeline = await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'product' } })
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0), entries: [x, y, z].map((buffer, binding) => ({ binding, resource: { buffer } })),
  })
  const run = async () => {
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass()
    pass.setPipeline(pipeline)
    pass.setBindGroup(0, group)
    pass.dispatchWorkgroups(n / 64, n / 32)
    pass.end()
    encoder.copyBufferToBuffer(z, 0, staging, 0, size)
    device.queue.submit([encoder.finish()])
    await staging.mapAsync(GPUMapMode.READ)
    const out = new Float32Array(staging.getMappedRange().slice(0))
    staging.unmap()
    return out
  }
  return { run, end: () => [x, y, z, staging].forEach((made) => made.destroy()) }
}
