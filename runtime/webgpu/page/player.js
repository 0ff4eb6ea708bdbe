// The player: it plays packed plans on navigator.gpu, and nothing else touches that. It knows buffers, kernels and
// steps; it refuses to know tensors, and what kernels say. It has no dependencies.
//
//   const player = new Player()
//   const adapter = await player.open()
//   const plan = await player.load(bytes)          // written by Pack (pack.go)
//   player.play(plan, [x, y, out], [])             // queued; buffers are numbers that alloc gave
//   const bytes = await player.read(out, 0, 64)

/** The version of packed plans that this player plays. */
export const version = 2

const KEEP = 64 << 20 // freed bytes that are kept for reuse, besides as many as are in use
const LEAST = 256 // bytes of a buffer
const MAX_GROUPS = 8192 // bind groups that a plan keeps
const MAX_PIPELINES = 1024 // that are kept for plans to come
const UNIFORM_ALIGN = 256 // of a block in the uniform buffer

// The kinds of memory and of steps, as in package plan.
const ARENA = 0
const LAUNCH = 0
const COPY = 1

/** What went wrong, and of which kind it is: 'lost', 'memory', 'large', 'kernel' or 'other'. */
export class PlayerError extends Error {
  constructor(kind, message) {
    super(message)
    this.kind = kind
  }
}

/** Reads a packed plan. */
export function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const decoder = new TextDecoder()
  let at = 0
  const u32 = () => view.getUint32((at += 4) - 4, true)
  const f64 = () => view.getFloat64((at += 8) - 8, true)
  const string = () => {
    const n = u32()
    return decoder.decode(bytes.subarray(at, (at += n)))
  }
  const list = (f) => Array.from({ length: u32() }, f)
  const v = u32()
  if (v !== version) throw new PlayerError('other', `this player plays plans of version ${version}, and this one has version ${v}; take engine and player from one build`)
  const plan = {
    vars: u32(),
    kernels: list(() => ({ name: string(), entry: string(), source: string(), grid: [u32(), u32(), u32()], writes: list(() => u32() !== 0) })),
    memory: list(() => ({ kind: u32(), arg: u32(), bytes: f64() })),
    slots: list(() => ({ memory: u32(), offset: f64(), bytes: f64() })),
    steps: list(() => ({ kind: u32(), kernel: u32(), slots: list(u32) })),
    first: u32(), // the word of the uniform block that holds the number of a launch's first workgroup
    parts: list(() => list(() => ({ first: u32(), grid: [u32(), u32(), u32()] }))), // of the launches of each kernel, if cut
  }
  for (const s of plan.steps) {
    if (s.kind !== LAUNCH && s.kind !== COPY) throw new PlayerError('other', `this player knows no step of kind ${s.kind}; take engine and player from one build`)
  }
  plan.args = plan.memory.filter((m) => m.kind !== ARENA).length
  return plan
}

/** Rounds up to a size that other arrays fit too: four classes a doubling. */
function sizeClass(n) {
  n = Math.max(n, LEAST)
  const step = Math.max(LEAST, 2 ** (Math.ceil(Math.log2(n)) - 3))
  return Math.ceil(n / step) * step
}

const words = (n) => Math.ceil(n / 4) * 4

export class Player {
  #gpu
  #device = null
  #lost = null
  #failed = null // the first error since the last sync
  #onlost
  #buffers = new Map() // by number: { buffer, size, id }
  #numbers = 0
  #free = new Map() // by size
  #live = 0
  #kept = 0
  #epoch = 0 // counts destructions: bind groups made before may hold what is gone
  #pipelines = new Map()
  #layouts = new Map()
  #plans = new Map()
  #nothing = null
  #staging = []
  #limit = Infinity
  #patience

  /** patience is how many milliseconds the browser may think before it gives an adapter. */
  constructor(onlost, gpu = globalThis.navigator?.gpu, patience = 30_000) {
    this.#onlost = onlost
    this.#gpu = gpu
    this.#patience = patience
  }

  /** Takes the best adapter with all that it can do, and describes it. */
  async open() {
    if (!this.#gpu) {
      throw new PlayerError('other', 'this browser offers no WebGPU (navigator.gpu is missing); it needs a recent Chrome, Edge, Firefox or Safari, and a page from https or localhost')
    }
    let timer
    const silence = new Promise((_, reject) => {
      const text = `the browser has WebGPU but did not answer within ${this.#patience / 1000} s when asked for an adapter; its graphics process may be blocked (see chrome://gpu)`
      timer = setTimeout(() => reject(new PlayerError('other', text)), this.#patience)
    })
    const adapter = await Promise.race([this.#gpu.requestAdapter({ powerPreference: 'high-performance' }), silence]).finally(() => clearTimeout(timer))
    if (!adapter) throw new PlayerError('other', 'the browser has WebGPU but found no adapter for it; the graphics driver may be blocked (see chrome://gpu)')
    const requiredLimits = {}
    for (const name of LIMITS) if (adapter.limits[name] !== undefined) requiredLimits[name] = adapter.limits[name]
    const requiredFeatures = ['shader-f16', 'subgroups', 'timestamp-query'].filter((f) => adapter.features.has(f))
    const device = await adapter.requestDevice({ requiredLimits, requiredFeatures })
    this.#adopt(device)
    const info = adapter.info ?? {}
    const names = [info.description, info.device, info.architecture, info.vendor].filter(Boolean)
    const fallback = info.isFallbackAdapter ?? adapter.isFallbackAdapter ?? false
    const l = device.limits
    this.#limit = Math.min(l.maxStorageBufferBindingSize, l.maxBufferSize, 2 ** 31 - 4) // offsets in kernels are 32 bits
    return {
      name: names[0] ?? 'an adapter without a name',
      software: fallback || /swiftshader|llvmpipe|basic render/i.test(names.join(' ')),
      f16: device.features.has('shader-f16'),
      subgroups: device.features.has('subgroups') && (this.#gpu.wgslLanguageFeatures?.has('subgroup_id') ?? false), // kernels ask for that number
      bindings: Math.min(l.maxStorageBuffersPerShaderStage, (l.maxBindingsPerBindGroup ?? 1000) - 1, 64),
      bytes: this.#limit, groups: l.maxComputeWorkgroupsPerDimension,
      invocations: l.maxComputeInvocationsPerWorkgroup, shared: l.maxComputeWorkgroupStorageSize,
    }
  }

  #adopt(device) {
    this.#device = device
    device.lost.then(({ reason, message }) => {
      if (this.#device !== device || reason === 'destroyed' && this.#lost === null && this.closed) return
      this.#lost = message || reason || 'no reason was given'
      this.#onlost?.(this.#lost)
    })
    device.onuncapturederror = ({ error }) => {
      const memory = globalThis.GPUOutOfMemoryError !== undefined && error instanceof GPUOutOfMemoryError
      this.#failed ??= new PlayerError(memory ? 'memory' : 'other', error.message)
    }
    this.#nothing = device.createBuffer({ size: LEAST, usage: STORAGE })
  }

  #check() {
    if (this.#lost !== null) throw new PlayerError('lost', this.#lost)
    if (!this.#device) throw new PlayerError('other', 'no adapter is open')
  }

  /** Gives the number of a buffer of undefined contents. */
  alloc(bytes) {
    this.#check()
    if (bytes > this.#limit) throw new PlayerError('large', String(this.#limit))
    const number = ++this.#numbers
    this.#buffers.set(number, this.#block(bytes))
    return number
  }

  #block(bytes) {
    const size = Math.min(sizeClass(bytes), Math.max(this.#limit, words(bytes)))
    this.#live += size
    const kept = this.#free.get(size)
    if (kept?.length) {
      this.#kept -= size
      return kept.pop()
    }
    return { buffer: this.#device.createBuffer({ size, usage: STORAGE }), size, id: ++this.#numbers }
  }

  // Work that is queued may still use the block; later work comes after it in the queue.
  #giveBack(block) {
    this.#live -= block.size
    this.#kept += block.size
    const kept = this.#free.get(block.size)
    if (kept) kept.push(block)
    else this.#free.set(block.size, [block])
    if (this.#kept > KEEP + this.#live) this.#trim()
  }

  #trim() {
    for (const list of this.#free.values()) for (const { buffer } of list) buffer.destroy()
    this.#free.clear()
    this.#kept = 0
    this.#epoch++
  }

  free(number) {
    const block = this.#buffers.get(number)
    this.#buffers.delete(number)
    if (block && this.#lost === null) this.#giveBack(block)
  }

  /** Writes whole words, after what was queued before. */
  write(number, at, bytes) {
    this.#check()
    this.#device.queue.writeBuffer(this.#buffers.get(number).buffer, at, bytes)
  }

  /** Reads whole words when everything queued is done. */
  async read(number, at, n) {
    this.#check()
    let staging = this.#staging.pop()
    if (!staging || staging.size < n) {
      staging?.destroy()
      staging = this.#device.createBuffer({ size: Math.max(64 << 10, words(n)), usage: MAP_READ | COPY_DST })
    }
    const encoder = this.#device.createCommandEncoder()
    encoder.copyBufferToBuffer(this.#buffers.get(number).buffer, at, staging, 0, n)
    this.#device.queue.submit([encoder.finish()])
    try {
      await staging.mapAsync(MODE_READ, 0, n)
    } catch (e) {
      await this.#news()
      this.#check()
      throw this.#complaint() ?? new PlayerError('other', e.message)
    }
    const bytes = new Uint8Array(staging.getMappedRange(0, n)).slice()
    staging.unmap()
    this.#staging.push(staging)
    const failed = this.#complaint()
    if (failed) throw failed
    return bytes
  }

  // What fails with a device may be heard of before the news that it is lost.
  #news() { return Promise.race([this.#device?.lost, new Promise((done) => setTimeout(done, 500))]) }

  #complaint() {
    const failed = this.#failed
    this.#failed = null
    return failed
  }

  /** Waits until everything queued has left the host's memory. */
  async drain() {
    this.#check()
    await this.#device.queue.onSubmittedWorkDone().catch(() => this.#news())
    this.#check()
  }

  /** Waits for everything queued, and tells what failed. */
  async sync() {
    await this.drain()
    const failed = this.#complaint()
    if (failed) throw failed
  }

  /** Compiles the kernels of a packed plan, all at once, and gives its number. */
  async load(bytes) {
    this.#check()
    const plan = unpack(bytes)
    const made = await Promise.allSettled(plan.kernels.map((k) => this.#pipeline(k)))
    this.#check()
    made.forEach((m, i) => {
      if (m.status === 'rejected') throw new PlayerError('kernel', `${i}\n${m.reason.message}`)
    })
    plan.pipelines = made.map((m) => m.value)
    plan.groups = new Map() // by what is bound
    plan.lists = new Map() // groups of all steps, by buffers
    plan.epoch = this.#epoch
    const alike = new Map() // steps that bind the same slots in the same way share their groups
    plan.steps.forEach((step, i) => {
      const binds = [plan.kernels[step.kernel]?.writes, step.slots].join(';')
      if (!alike.has(binds)) alike.set(binds, i)
      step.like = alike.get(binds)
    })
    plan.firsts = [...new Set([0, ...plan.parts.flat().map((p) => p.first)])] // a uniform block for each
    plan.size = 4 * plan.first + (plan.firsts.length > 1 ? 16 : 0)
    plan.apart = Math.ceil(plan.size / UNIFORM_ALIGN) * UNIFORM_ALIGN
    const size = plan.apart * (plan.firsts.length - 1) + plan.size
    plan.uniform = this.#device.createBuffer({ size, usage: UNIFORM | COPY_DST })
    plan.block = new Uint32Array(size / 4)
    plan.firsts.forEach((first, i) => {
      const at = i * plan.apart / 4
      plan.block.set([0x7f800000, 0x7fc00000, 0, 0x80000000], at) // infinity, NaN, 0, −0: bits that compilers must not know
      if (first > 0) plan.block[at + plan.first] = first
    })
    plan.written = false
    const number = ++this.#numbers
    this.#plans.set(number, plan)
    return number
  }

  drop(number) {
    this.#plans.get(number)?.uniform.destroy()
    this.#plans.delete(number)
  }

  // Kernels that read the same are one pipeline, whichever plan they are of. The ones asked for last are kept.
  #pipeline(kernel) {
    const key = kernel.writes.map((w) => (w ? 'w' : 'r')).join('') + kernel.entry + kernel.source
    let made = this.#pipelines.get(key)
    if (!made) {
      made = this.#compile(kernel)
      made.catch(() => this.#pipelines.delete(key))
    }
    this.#pipelines.delete(key) // to the end
    this.#pipelines.set(key, made)
    if (this.#pipelines.size > MAX_PIPELINES) this.#pipelines.delete(this.#pipelines.keys().next().value)
    return made
  }

  async #compile({ name, entry, source, writes }) {
    const device = this.#device
    const layout = this.#layout(writes)
    device.pushErrorScope('validation')
    const module = device.createShaderModule({ label: name, code: source })
    const refused = device.popErrorScope()
    try {
      const pipeline = await device.createComputePipelineAsync({ label: name, layout: layout.pipeline, compute: { module, entryPoint: entry } })
      return { pipeline, layout: layout.group }
    } catch (e) {
      const error = await refused.catch(() => null)
      throw new Error(await complaints(module, source) || error?.message || e.message)
    }
  }

  #layout(writes) {
    const key = writes.map((w) => (w ? 'w' : 'r')).join('')
    let made = this.#layouts.get(key)
    if (!made) {
      const types = ['uniform', ...writes.map((w) => (w ? 'storage' : 'read-only-storage'))]
      const group = this.#device.createBindGroupLayout({
        entries: types.map((type, binding) => ({ binding, visibility: COMPUTE, buffer: { type } })),
      })
      made = { group, pipeline: this.#device.createPipelineLayout({ bindGroupLayouts: [group] }) }
      this.#layouts.set(key, made)
    }
    return made
  }

  /** Queues the steps of a plan as one submission, all launches between copies in one pass; a part of a launch ends its own. */
  play(number, args, vars) {
    this.#check()
    let encoder = this.#device.createCommandEncoder()
    const submit = () => {
      this.#device.queue.submit([encoder.finish()])
      return encoder = this.#device.createCommandEncoder()
    }
    const own = this.#encode(this.#plans.get(number), args, vars, encoder, undefined, submit)
    this.#device.queue.submit([encoder.finish()])
    for (const block of own) this.#giveBack(block)
  }

  /** Plays and gives how many seconds each step took, −1 where nothing is launched, and before them 1 if the adapter's clock
   *  told, 0 if each was waited for. Stopwatch is of stopwatch.js. */
  async measure(number, args, vars, Stopwatch) {
    this.#check()
    const plan = this.#plans.get(number)
    const watch = new Stopwatch(this.#device)
    const own = this.#encode(plan, args, vars, watch, watch, () => watch.part())
    const seconds = new Float64Array(1 + plan.steps.length).fill(-1)
    seconds[0] = +watch.stamps
    try {
      await watch.run((step, s) => { seconds[1 + step] = Math.max(seconds[1 + step], 0) + s })
    } catch (e) {
      await this.#news()
      this.#check()
      throw this.#complaint() ?? e
    } finally {
      for (const block of own) this.#giveBack(block)
    }
    return seconds
  }

  // Gives the blocks that are the play's own. After a part, submit gives another encoder.
  #encode(plan, args, vars, encoder, watch, submit) {
    this.#variables(plan, vars)
    const own = []
    const blocks = plan.memory.map((m) => {
      if (m.kind !== ARENA) return this.#buffers.get(args[m.arg])
      if (m.bytes === 0) return null
      const block = this.#block(m.bytes)
      own.push(block)
      return block
    })
    const groups = this.#groups(plan, blocks)
    let pass = null
    let last = null
    for (let i = 0; i < plan.steps.length; i++) {
      const step = plan.steps[i]
      if (step.kind === COPY) {
        pass?.end()
        pass = last = null
        this.#copy(encoder, plan, step, blocks)
        continue
      }
      const { grid } = plan.kernels[step.kernel]
      if (grid[0] === 0) continue
      watch?.begin(i)
      pass ??= encoder.beginComputePass()
      const { pipeline } = plan.pipelines[step.kernel]
      if (pipeline !== last) pass.setPipeline(last = pipeline)
      const parts = plan.parts[step.kernel]
      if (parts.length === 0) {
        pass.setBindGroup(0, groups[i])
        pass.dispatchWorkgroups(grid[0], grid[1], grid[2])
        continue
      }
      for (const { first, grid } of parts) {
        pass ??= encoder.beginComputePass()
        pass.setPipeline(pipeline)
        pass.setBindGroup(0, first === 0 ? groups[i] : this.#group(plan, step, blocks, first))
        pass.dispatchWorkgroups(...grid)
        pass.end()
        pass = last = null
        encoder = submit()
      }
    }
    pass?.end()
    return own
  }

  #variables(plan, vars) {
    let changed = !plan.written
    for (let i = 0; i < plan.vars; i++) {
      changed ||= plan.block[4 + i] !== vars[i] >>> 0
      for (let at = 4 + i; at < plan.block.length; at += plan.apart / 4) plan.block[at] = vars[i]
    }
    if (changed) this.#device.queue.writeBuffer(plan.uniform, 0, plan.block)
    plan.written = true
  }

  #copy(encoder, plan, step, blocks) {
    const [to, from] = step.slots.map((s) => plan.slots[s])
    const n = words(to.bytes)
    if (n === 0) return
    const [a, b] = [blocks[to.memory].buffer, blocks[from.memory].buffer]
    if (a !== b) return encoder.copyBufferToBuffer(b, from.offset, a, to.offset, n)
    const between = this.#block(n) // WebGPU does not copy within a buffer
    encoder.copyBufferToBuffer(b, from.offset, between.buffer, 0, n)
    encoder.copyBufferToBuffer(between.buffer, 0, a, to.offset, n)
    this.#giveBack(between)
  }

  // The bind groups of all steps. Plays take turns with the same few buffers, so most find them ready.
  #groups(plan, blocks) {
    if (plan.epoch !== this.#epoch || plan.groups.size > MAX_GROUPS) {
      plan.groups.clear()
      plan.lists.clear()
      plan.epoch = this.#epoch
    }
    let key = ''
    for (const b of blocks) key += (b ? b.id : 0) + ' '
    let list = plan.lists.get(key)
    if (!list) {
      list = plan.steps.map((step) => (step.kind === LAUNCH && plan.kernels[step.kernel].grid[0] > 0 ? this.#group(plan, step, blocks) : null))
      if (plan.lists.size * plan.steps.length > 8 * MAX_GROUPS) plan.lists.clear()
      plan.lists.set(key, list)
    }
    return list
  }

  #group(plan, step, blocks, first = 0) {
    let key = `${step.like}:${first}:`
    for (const s of step.slots) key += (plan.slots[s].bytes > 0 ? blocks[plan.slots[s].memory].id : 0) + ' '
    let group = plan.groups.get(key)
    if (!group) {
      const entries = [{ binding: 0, resource: { buffer: plan.uniform, offset: plan.apart * plan.firsts.indexOf(first), size: plan.size } }]
      step.slots.forEach((s, k) => {
        const { memory, offset, bytes } = plan.slots[s]
        const resource = bytes > 0 ? { buffer: blocks[memory].buffer, offset, size: words(bytes) } : { buffer: this.#nothing }
        entries.push({ binding: k + 1, resource })
      })
      group = this.#device.createBindGroup({ layout: plan.pipelines[step.kernel].layout, entries })
      plan.groups.set(key, group)
    }
    return group
  }

  /** Gives the adapter back. */
  close() {
    this.closed = true
    this.#device?.destroy()
    this.#device = null
  }

  /** Destroys the device, if one is open, as a driver's reset would: for tests. */
  lose() { this.#device?.destroy() }
}

// What a page needs of GPUBufferUsage, GPUMapMode and GPUShaderStage, which exist in browsers only.
const MAP_READ = 0x1
const COPY_SRC = 0x4
const COPY_DST = 0x8
const UNIFORM = 0x40
const STORAGE = 0x80 | COPY_SRC | COPY_DST
const MODE_READ = 0x1
const COMPUTE = 0x4

const LIMITS = [
  'maxStorageBufferBindingSize', 'maxBufferSize', 'maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupsPerDimension', 'maxUniformBufferBindingSize',
]

// What a shader compiler has to say, each with its line.
async function complaints(module, source) {
  const info = await module.getCompilationInfo?.()
  const lines = source.split('\n')
  return (info?.messages ?? []).filter((m) => m.type === 'error')
    .map((m) => `line ${m.lineNum}: ${m.message}\n    ${(lines[m.lineNum - 1] ?? '').trim()}`).join('\n')
}
