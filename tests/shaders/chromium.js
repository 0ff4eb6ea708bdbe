// Opens a device with all that the adapter can do, as the player does, and makes judge: what it has against each of some
// shaders, '' where nothing.
const adapter = await navigator.gpu?.requestAdapter()
if (!adapter) throw new Error('this Chromium offers no WebGPU adapter')
const requiredFeatures = ['shader-f16', 'subgroups'].filter((f) => adapter.features.has(f))
const requiredLimits = {}
for (const name of ['maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX', 'maxStorageBufferBindingSize', 'maxBufferSize']) requiredLimits[name] = adapter.limits[name]
const device = await adapter.requestDevice({ requiredFeatures, requiredLimits })
device.onuncapturederror = (e) => e.preventDefault()

const one = async (code) => {
  const entryPoint = /@compute[^]*?fn (\w+)/.exec(code)[1]
  const module = device.createShaderModule({ code })
  const { messages } = await module.getCompilationInfo()
  const error = messages.find((m) => m.type === 'error')
  if (error) return `line ${error.lineNum}: ${error.message}`
  try {
    await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint } })
    return ''
  } catch (e) {
    return e.message || String(e)
  }
}
globalThis.judge = (sources) => Promise.all(sources.map(one))
