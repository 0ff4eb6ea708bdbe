/// <reference lib="esnext.disposable" />

// Types of weft.js. Calls are checked as they say: arguments of another kind or number, a list where several arguments stand
// (reshape([4, 1]), not reshape(4, 1)), options of another name, tensors of another engine or disposed of throw a TypeError at the
// call, numbers out of range a RangeError. null is taken only where it is named. What only shapes, types and values tell is
// an Error at the next await, with the stack of the call.

/** Names of element types. */
export type DType = 'bool' | 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f16' | 'bf16' | 'f32' | 'f64'

/** Typed arrays as tensors take and give them. Half floats are given as Float32Array, booleans as Uint8Array. */
export type Elements =
  | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array

/** Nested arrays of one kind. */
export type Nested = number | boolean | Nested[]

/** What stands on the right of an operator: a tensor or a number. */
export type Operand = Tensor | number | boolean

/** What a reduction goes over: an axis, several, or options; nothing is all axes. */
export type Axes = number | number[] | { axis?: number | number[]; keep?: boolean }

/** What a variance goes over; correction is 1 unless given. */
export type Spread = number | number[] | { axis?: number | number[]; keep?: boolean; correction?: number }

/** An index of at: a number, [from, to], [from, to, step] (null is the end), a tensor of numbers, null (all), '...' or 'new'. */
export type Index = number | [number | null, (number | null)?, number?] | Tensor | null | '...' | 'new'

export interface Made {
  /** The elements' type; f32 unless given, or that of the values. */
  dtype?: DType
}

export interface Attention {
  /** Where it is true a query sees a key; or what is added to their product. */
  mask?: Tensor
  causal?: boolean
}

export interface Conv {
  stride?: number | number[]
  /** One number; one for each axis; or all befores, then all afters. */
  padding?: number | number[]
  dilation?: number | number[]
  groups?: number
  outputPadding?: number | number[]
}

export interface Pool {
  stride?: number | number[]
  padding?: number | number[]
  dilation?: number | number[]
}

export interface Loss {
  reduction?: 'mean' | 'sum' | 'none'
  weight?: Tensor
  ignore?: number | number[]
  smoothing?: number
  posWeight?: Tensor
}

/** A tensor of the engine. Operations are recorded and give new tensors; values are awaited. */
export class Tensor {
  private constructor()

  /** The elements, row-major. */
  data(): Promise<Elements>
  /** The only element. */
  item(): Promise<number>
  /** The elements as nested arrays. */
  list(): Promise<any>
  /** The sizes of the axes. */
  shape(): Promise<number[]>
  dtype(): Promise<DType>
  /** Computes the tensor now. */
  realize(): Promise<this>
  /** Forgets the tensor now, not when the collector finds it. */
  dispose(): void
  [Symbol.dispose](): void

  neg(): Tensor
  abs(): Tensor
  sign(): Tensor
  square(): Tensor
  reciprocal(): Tensor
  sqrt(): Tensor
  rsqrt(): Tensor
  exp(): Tensor
  exp2(): Tensor
  expm1(): Tensor
  log(): Tensor
  log2(): Tensor
  log10(): Tensor
  log1p(): Tensor
  sin(): Tensor
  cos(): Tensor
  tan(): Tensor
  asin(): Tensor
  acos(): Tensor
  atan(): Tensor
  sinh(): Tensor
  cosh(): Tensor
  tanh(): Tensor
  asinh(): Tensor
  acosh(): Tensor
  relu(): Tensor
  relu6(): Tensor
  sigmoid(): Tensor
  logSigmoid(): Tensor
  silu(): Tensor
  gelu(): Tensor
  geluTanh(): Tensor
  selu(): Tensor
  mish(): Tensor
  softsign(): Tensor
  hardSigmoid(): Tensor
  hardSwish(): Tensor
  floor(): Tensor
  ceil(): Tensor
  /** To the nearest integer, halves to even. */
  round(): Tensor
  trunc(): Tensor
  isNaN(): Tensor
  isInf(): Tensor
  isFinite(): Tensor
  /** True where an element is 0. */
  not(): Tensor
  /** Asks to be stored as a whole, not fused into what uses it. */
  contiguous(): Tensor
  /** Outside differentiation. */
  detach(): Tensor
  clone(): Tensor
  /** The last two axes exchanged. */
  t(): Tensor

  add(y: Operand): Tensor
  sub(y: Operand): Tensor
  mul(y: Operand): Tensor
  div(y: Operand): Tensor
  floorDiv(y: Operand): Tensor
  mod(y: Operand): Tensor
  pow(y: Operand): Tensor
  maximum(y: Operand): Tensor
  minimum(y: Operand): Tensor
  atan2(y: Operand): Tensor
  eq(y: Operand): Tensor
  ne(y: Operand): Tensor
  lt(y: Operand): Tensor
  gt(y: Operand): Tensor
  le(y: Operand): Tensor
  ge(y: Operand): Tensor
  /** Bits of integers. */
  and(y: Operand): Tensor
  or(y: Operand): Tensor
  xor(y: Operand): Tensor
  logicalAnd(y: Operand): Tensor
  logicalOr(y: Operand): Tensor

  sum(axes?: Axes): Tensor
  prod(axes?: Axes): Tensor
  mean(axes?: Axes): Tensor
  max(axes?: Axes): Tensor
  min(axes?: Axes): Tensor
  /** The variance. */
  var(axes?: Spread): Tensor
  std(axes?: Spread): Tensor
  norm(p?: number, axes?: number | number[]): Tensor
  argMax(axis?: number): Tensor
  argMin(axis?: number): Tensor
  any(axes?: number | number[]): Tensor
  all(axes?: number | number[]): Tensor
  softmax(axis?: number): Tensor
  logSoftmax(axis?: number): Tensor
  logSumExp(axes?: number | number[]): Tensor
  cumSum(axis?: number): Tensor
  cumProd(axis?: number): Tensor

  /** Another shape of as many elements; −1 is what is left. */
  reshape(shape: number[]): Tensor
  permute(order: number[]): Tensor
  transpose(a?: number, b?: number): Tensor
  moveAxis(from: number, to: number): Tensor
  expand(shape: number[]): Tensor
  flip(axes?: number | number[]): Tensor
  squeeze(axes?: number | number[]): Tensor
  unsqueeze(axis: number): Tensor
  flatten(span?: number | number[]): Tensor
  shrink(low: number[], high: number[]): Tensor
  pad(before: number[], after: number[], value?: number): Tensor
  roll(by: number | number[], axes?: number | number[]): Tensor
  repeat(counts: number[]): Tensor
  tril(diagonal?: number): Tensor
  triu(diagonal?: number): Tensor
  diagonal(offset?: number): Tensor
  /** Parts of the given sizes. */
  split(axis: number, sizes: number[]): Tensor[]
  chunk(axis: number, n: number): Tensor[]

  /** Picks elements, an index for each axis from the left. */
  at(...index: Index[]): Tensor
  /** With other elements at an index. */
  withAt(value: Operand, ...index: Index[]): Tensor
  /** Changes elements in place. */
  setAt(value: Operand, ...index: Index[]): this
  gather(axis: number, index: Tensor): Tensor
  scatter(axis: number, index: Tensor, source: Operand): Tensor
  scatterAdd(axis: number, index: Tensor, source: Operand): Tensor
  indexSelect(axis: number, index: Tensor): Tensor
  take(index: Tensor): Tensor
  /** Values and indices. */
  sort(axis?: number, descending?: boolean): [Tensor, Tensor]
  argSort(axis?: number, descending?: boolean): Tensor
  topK(k: number, axis?: number, largest?: boolean): [Tensor, Tensor]
  /** x where true, y where false. */
  where(x: Operand, y: Operand): Tensor
  maskedFill(mask: Tensor, value: Operand): Tensor

  matmul(w: Tensor): Tensor
  dot(w: Tensor): Tensor
  outer(w: Tensor): Tensor
  /** x · wᵀ + b */
  linear(w: Tensor, b?: Tensor | null): Tensor
  conv2d(w: Tensor, b?: Tensor | null, options?: Conv): Tensor
  convTranspose2d(w: Tensor, b?: Tensor | null, options?: Conv): Tensor
  maxPool2d(size: number | number[], options?: Pool): Tensor
  avgPool2d(size: number | number[], options?: Pool): Tensor
  layerNorm(shape?: number | number[] | null, w?: Tensor | null, b?: Tensor | null, eps?: number): Tensor
  rmsNorm(shape?: number | number[] | null, w?: Tensor | null, eps?: number): Tensor
  batchNorm(mean: Tensor, variance: Tensor, w?: Tensor | null, b?: Tensor | null, eps?: number): Tensor
  dropout(p?: number): Tensor
  /** The rows of a table that integers name; called on the table. */
  embedding(ids: Tensor): Tensor

  crossEntropy(target: Tensor, options?: Loss): Tensor
  nll(target: Tensor, options?: Loss): Tensor
  mse(target: Tensor, options?: Loss): Tensor
  l1(target: Tensor, options?: Loss): Tensor
  bce(target: Tensor, options?: Loss): Tensor
  bceWithLogits(target: Tensor, options?: Loss): Tensor
  huber(target: Tensor, delta?: number): Tensor

  /** Converts the elements. */
  to(dtype: DType): Tensor
  /** Reads the bits of the elements as another type. */
  bitcast(dtype: DType): Tensor
  clamp(low?: Operand | null, high?: Operand | null): Tensor
  lerp(end: Tensor, weight: Operand): Tensor
  leakyRelu(slope?: number): Tensor
  elu(alpha?: number): Tensor
  softplus(beta?: number): Tensor

  /** The gradients of a scalar with respect to tensors. */
  grad(ws: Tensor[]): Tensor[]
  /** Replaces the elements, in place. */
  assign(value: Operand): this
  /** Gets memory of its own, so that assignments change it in place. */
  own(): this
}

/** A captured function. */
export class Captured<R extends Tensor | Tensor[] | void> {
  private constructor()
  /**
   * Has the function run with these inputs. It resolves while a few runs may be under way still: reading an output waits for
   * it. A run that fails is told by its outputs, or by the next call.
   */
  run(...inputs: Tensor[]): Promise<R>
  /** How many kernels a run launches; known after the first. */
  launches: number
  dispose(): void
  [Symbol.dispose](): void
}

export interface Progress {
  step: number
  loss: number
  stepsPerSecond: number
}

/** Pictures of digits, one byte a pixel, with a label from 0 to 9 each. */
export interface DigitData {
  images: Uint8Array | Blob
  labels: Uint8Array | Blob
  n: number
  h: number
  w: number
  testImages: Uint8Array | Blob
  testLabels: Uint8Array | Blob
  testN: number
}

export interface DigitOptions {
  /** Channels of the two stages; 'full' is the network of the command line. */
  channels?: [number, number] | 'full'
  data?: 'synthetic' | DigitData
  batch?: number
  seed?: number
  rate?: number
}

export interface Sample {
  pixels: Uint8Array
  label: number
  guess: number
  /** The probability of the guess. */
  sure: number
}

/** A network that learns to read digits. */
export class Digits {
  private constructor()
  readonly heldBack: number
  readonly height: number
  readonly width: number
  train(steps: number, progress?: (p: Progress) => void): Promise<{ step: number; stepsPerSecond: number }>
  /** The share of held-back digits that are read rightly, in per cent. */
  evaluate(n?: number): Promise<number>
  /** Probabilities of the ten digits for a picture, white on black. */
  predict(pixels: Uint8Array): Promise<Float32Array>
  samples(k: number): Promise<Sample[]>
  reset(): Promise<void>
  dispose(): void
  [Symbol.dispose](): void
}

export interface Kernel {
  name: string
  /** A letter for each dimension of the name: what its axis became. */
  kinds: string
  directives: string
  flops: number
  bytes: number
  source: Record<string, string>
  targets: Record<string, { name: string; kinds: string; directives: string; source: string }>
}

export interface View {
  graph: string
  schedule: string
  kernels: Kernel[]
  arenaBytes?: number
  /** Why the expression cannot be read, and at which character. */
  error?: string
  at?: number
}

export interface InspectOptions {
  target?: ('wgsl' | 'c')[]
}

export interface Stats {
  plans: number
  kernels: number
  plays: number
  launches: number
  liveBytes: number
  peakBytes: number
  tensors: number
}

/** A launch of a kernel. */
export interface Launch {
  kernel: string
  /** A letter for each dimension of the name: what its axis became. */
  kinds: string
  directives: string
  seconds: number
  /** Arithmetic operations, a multiply-add counting 2. */
  flops: number
  /** Bytes that it must at least move. */
  bytes: number
}

export interface Profile {
  /**
   * Who told the time: the graphics processor; where it does not, the browser, each launch being waited for; or the browser
   * for kernels on the processor. Browsers tell it in steps, often of 0.1 ms, so times of short kernels are right on average.
   * 'none': nothing was launched.
   */
  clock: 'gpu' | 'waiting' | 'processor' | 'none'
  launches: Launch[]
}

export interface FetchOptions {
  /** The elements' type, f32 unless given. */
  dtype?: DType
  /** Where the first element lies, in bytes. Without it the elements are all that is there. */
  offset?: number
  /** Hears how many bytes have arrived, of how many. */
  onprogress?: (p: { loaded: number; total: number }) => void
  signal?: AbortSignal
}

/** The engine. */
export class Weft {
  private constructor()
  readonly device: 'WEBGPU' | 'WASM'
  readonly deviceDetail: string
  /** Why this device was chosen: how long a usual plan takes on each, or why another cannot be used; empty if it was named. */
  readonly note: string
  /** Called when the graphics processor is lost. The next call opens it again and brings back all that was on it; it fails only if none can be opened. */
  onlost: ((error: Error) => void) | null
  /** Called when a lost graphics processor is there again: what was repeated for it, and how long that took. */
  onrecovered: ((news: { message: string; writes: number; plays: number; seconds: number }) => void) | null

  tensor(values: Nested[], shape?: number[], options?: Made): Tensor
  tensor(values: Nested | Elements | Uint8ClampedArray, options?: Made): Tensor
  tensor(values: Elements | Uint8ClampedArray, shape: number[], options?: Made): Tensor
  /** The bytes of a Blob or a File, which the page itself never holds. */
  tensor(values: Blob, shape?: number[], options?: Made): Tensor
  /**
   * The bytes at an address: little-endian, row-major, bool one byte. They go from there to the device's memory as they
   * arrive; with an offset only that part is asked for, where the server can. If the device is lost they are fetched
   * again, and have to be the same.
   */
  fetch(url: string | URL, shape: number[], options?: FetchOptions): Promise<Tensor>
  full(shape: number[], value: number | boolean, options?: Made): Tensor
  zeros(shape: number[], options?: Made): Tensor
  ones(shape: number[], options?: Made): Tensor
  eye(n: number, m?: number): Tensor
  arange(stop: number): Tensor
  arange(start: number, stop: number, step?: number, options?: Made): Tensor
  linspace(start: number, stop: number, n: number): Tensor
  rand(shape: number[], options?: Made): Tensor
  randn(shape: number[], options?: Made): Tensor
  randint(shape: number[], low: number, high: number): Tensor
  uniform(shape: number[], low?: number, high?: number): Tensor
  kaimingUniform(shape: number[], slope?: number): Tensor
  cat(tensors: Tensor[], axis?: number): Tensor
  stack(tensors: Tensor[], axis?: number): Tensor
  einsum(formula: string, ...tensors: Tensor[]): Tensor
  attention(q: Tensor, k: Tensor, v: Tensor, options?: Attention): Tensor

  /** Restarts the random numbers. */
  seed(n: number): Promise<void>
  /** Computes tensors together. */
  realize(...tensors: Tensor[]): Promise<void>
  /** Records a function of tensors, to be played without being built anew. It may not be async: it only records. */
  capture<R extends Tensor | Tensor[] | void>(f: (...inputs: Tensor[]) => R): Captured<R>
  /** Calls f, and tells how long each kernel took that was launched until it ended. What is launched meanwhile waits for its end. */
  profile(f: () => unknown): Promise<Profile>
  stats(): Promise<Stats>
  /** What the engine would make of an expression. */
  inspect(text: string, options?: InspectOptions): Promise<View>
  digits(options?: DigitOptions): Promise<Digits>
  /** Ends the engine. What is awaited then is rejected with an Error; promises that nobody awaits are no unhandled rejections. */
  close(): void
  [Symbol.dispose](): void
}

export interface OpenOptions {
  /** The device; without it the one that is fastest here. */
  device?: 'webgpu' | 'wasm'
  /** Hears how much of the engine has been loaded; total is 0 where it is not known. */
  onprogress?: (p: { loaded: number; total: number }) => void
  /** false: indices outside, classes that do not exist and singular matrices are not looked for; they give zeros and what is not finite. */
  checks?: boolean
  /** The width of a search for faster kernels, as BEAM natively. Not supported in a page yet: any other number than 0 is an error. */
  search?: number
}

/** Starts the engine in a worker. */
export function open(options?: OpenOptions): Promise<Weft>
