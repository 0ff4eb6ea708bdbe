// Opens a device with all that the adapter can do, as the player does, and makes judge: what it has against each of some
// shaders, '' where nothing.
const adapter = await navigator.gpu?.requestAdapter()
if (!adapter) throw new Error('this Chromium offers no WebGPU adapter')
const requiredFeatures = ['shader-f16', 'subgroups'].filter((f) => adapter.features.has(f))
const device = await adapter.requestDevice({ requiredFeatures }) // with the least limits: any browser must take the shaders
device.onuncapturederror = (e) => e.preventDefault()

const layouts = new Map()
const layoutOf = (writes) => {
  const key = writes.join()
  let layout = layouts.get(key)
  if (!layout) {
    const types = ['uniform', ...writes.map((w) => (w ? 'storage' : 'read-only-storage'))]
    const entries = types.map((type, binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } }))
    layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] })
    layouts.set(key, layout)
  }
  return layout
}

const one = async ({ Entry, Source, Writes }) => {
  const module = device.createShaderModule({ code: Source })
  const { messages } = await module.getCompilationInfo()
  const error = messages.find((m) => m.type === 'error')
  if (error) return `line ${error.lineNum}: ${error.message}`
  try {
    await device.createComputePipelineAsync({ layout: layoutOf(Writes ?? []), compute: { module, entryPoint: Entry } })
    return ''
  } catch (e) {
    return e.message || String(e)
  }
}
const late = (seconds) => new Promise((_, no) => setTimeout(() => no(new Error(`no answer in ${seconds} s`)), seconds * 1000))
globalThis.judge = (shaders, seconds) => Promise.race([Promise.all(shaders.map(one)), late(seconds)])
return requiredFeatures
