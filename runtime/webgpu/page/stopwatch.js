// Takes the time of each launch of a play: by the adapter's clock where it tells (timestamp-query), else by waiting for one
// after the other. It stands in for the encoder of a play and makes a pass of each launch. It knows nothing else of plans.

const STAMPS = 4096 // of a query set; more is not allowed
const QUERY_RESOLVE = 0x200
const COPY_SRC = 0x4
const MAP_READ = 0x1
const COPY_DST = 0x8

export class Stopwatch {
  #device
  #encoder
  #step = 0
  #pipeline
  #group
  #steps = [] // of each launch
  #sets = [] // of stamps, two a launch
  #waits = [] // where there are none: of each command buffer, that and its step, or −1 for copies
  #copied = false

  constructor(device) {
    this.#device = device
    this.stamps = device.features.has('timestamp-query')
    this.#encoder = device.createCommandEncoder()
  }

  /** What follows is step i. */
  begin(i) { this.#step = i }

  // The face of GPUCommandEncoder and GPUComputePassEncoder.

  beginComputePass() { return this }
  setPipeline(pipeline) { this.#pipeline = pipeline }
  setBindGroup(...group) { this.#group = group }
  end() {}

  copyBufferToBuffer(...copy) {
    this.#encoder.copyBufferToBuffer(...copy)
    this.#copied = true
  }

  dispatchWorkgroups(...grid) {
    if (this.#copied && !this.stamps) this.#cut(-1)
    const pass = this.#encoder.beginComputePass(this.stamps ? { timestampWrites: this.#next() } : {})
    pass.setPipeline(this.#pipeline)
    pass.setBindGroup(...this.#group)
    pass.dispatchWorkgroups(...grid)
    pass.end()
    this.#steps.push(this.#step)
    if (!this.stamps) this.#cut(this.#step)
  }

  /** Submits what there is, if launches are not waited for anyway, and gives the encoder of what follows. */
  part() {
    if (this.stamps) {
      this.#device.queue.submit([this.#encoder.finish()])
      this.#encoder = this.#device.createCommandEncoder()
    }
    return this
  }

  #next() {
    const at = 2 * this.#steps.length % STAMPS
    if (at === 0) this.#sets.push(this.#device.createQuerySet({ type: 'timestamp', count: STAMPS }))
    return { querySet: this.#sets.at(-1), beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 }
  }

  #cut(step) {
    this.#waits.push({ commands: this.#encoder.finish(), step })
    this.#encoder = this.#device.createCommandEncoder()
    this.#copied = false
  }

  /** Has everything done and calls took(step, seconds) for each launch; what a step launches in parts comes in parts. */
  async run(took) {
    if (!this.stamps) return this.#wait(took)
    const bytes = 8 * STAMPS
    const device = this.#device
    const [resolved, read] = [QUERY_RESOLVE | COPY_SRC, MAP_READ | COPY_DST]
      .map((usage) => device.createBuffer({ size: Math.max(bytes * this.#sets.length, 8), usage }))
    this.#sets.forEach((set, i) => this.#encoder.resolveQuerySet(set, 0, Math.min(2 * this.#steps.length - i * STAMPS, STAMPS), resolved, i * bytes))
    this.#encoder.copyBufferToBuffer(resolved, 0, read, 0, read.size)
    device.queue.submit([this.#encoder.finish()])
    try {
      await read.mapAsync(MAP_READ)
      const at = new BigUint64Array(read.getMappedRange())
      this.#steps.forEach((step, i) => took(step, Math.max(Number(at[2 * i + 1] - at[2 * i]), 0) * 1e-9))
    } finally {
      for (const x of [...this.#sets, resolved, read]) x.destroy()
    }
  }

  async #wait(took) {
    const { queue } = this.#device
    this.#cut(-1)
    await queue.onSubmittedWorkDone()
    for (const { commands, step } of this.#waits) {
      const start = performance.now()
      queue.submit([commands])
      await queue.onSubmittedWorkDone()
      if (step >= 0) took(step, (performance.now() - start) * 1e-3)
    }
  }
}
