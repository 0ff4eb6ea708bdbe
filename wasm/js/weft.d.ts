/// <reference lib="esnext.disposable" />

import type { NN } from './nn.js'
import type { Optim } from './optim.js'

export type { NN, Optim }
export type {
  Attending, BatchNorm, Bilinear, Blocking, Context, Conv as ConvLayer, ConvTranspose, Dropout, Embedding, Linear, MultiheadAttention, Norm, Recurrent, Sequential, States, Step,
  TransformerLayer,
} from './nn.js'
export type { Change, Optimizer, Plateau, Schedule } from './optim.js'

// Types of weft.js. Calls are checked as they say: arguments of another kind or number, a list where several arguments stand
// (reshape([4, 1]), not reshape(4, 1)), options of another name, tensors of another engine or disposed of throw a TypeError at the
// call, numbers out of range and shapes that do not fit a RangeError. null is taken only where it is named. What only types and values tell, and
// some of what shapes do, is an Error at the next await, with the stack of the call.

/** Names of element types. */
export type DType = 'bool' | 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f8e4m3' | 'f8e5m2' | 'f16' | 'bf16' | 'f32' | 'f64'

/** Typed arrays as tensors take and give them. Half floats are given as Float32Array, booleans as Uint8Array. */
export type Elements =
  | Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array

/** Nested arrays of one kind. */
export type Nested = number | boolean | readonly Nested[]

/** What stands on the right of an operator: a tensor or a number. */
export type Operand = Tensor | number | boolean

// Made of the table: options.
/** What a reduction goes over: an axis or several, or options; nothing is all axes. */
export type Axes = number | readonly number[] | { axis?: number | readonly number[]; keep?: boolean }

/** The axis that a method goes along, or options. */
export type Axis = number | { axis?: number; keep?: boolean }

/** What a reduction goes over: an axis or several, or options; nothing is all axes. */
export type Sums = number | readonly number[] | { axis?: number | readonly number[]; keep?: boolean; dtype?: DType }

/** What a reduction goes over: an axis or several, or options; nothing is all axes. Unless given: correction 1. */
export type Spread = number | readonly number[] | { axis?: number | readonly number[]; keep?: boolean; correction?: number }

export interface Conv {
  stride?: number | readonly number[]
  /** One number; one for each axis; or all befores, then all afters. */
  padding?: number | readonly number[]
  dilation?: number | readonly number[]
  /** 1 unless given. */
  groups?: number
  /** More at the end, of transposes only. */
  outputPadding?: number | readonly number[]
  /** conv2d only: as much padding as makes the result ⌈size/stride⌉ long; of an odd number the rest after. */
  same?: boolean
}

export interface Pool {
  /** The size, unless given. */
  stride?: number | readonly number[]
  /** One number an axis, on both sides; or two: all befores, then all afters; none: 0. */
  padding?: number | readonly number[]
  /** None: 1. */
  dilation?: number | readonly number[]
  /** How many axes; 0: as many as numbers in size, or, of one number, all after the second. 0 unless given. */
  axes?: number
  /** Windows may run over the end, if they begin before it. */
  ceil?: boolean
  /** Averages count only elements that exist. */
  excludePadding?: boolean
  /** As much padding as makes the result ⌈size/stride⌉ long; of an odd number the rest after. */
  same?: boolean
}

export interface Loss {
  /** mean unless given. */
  reduction?: 'mean' | 'sum' | 'none' | 'batchMean'
  /** Factor of each class (class losses) or element. */
  weight?: Tensor
  /** Class indices that do not count; none: −100. */
  ignore?: number | readonly number[]
  /** Share of the target spread over all classes. 0 unless given. */
  smoothing?: number
  /** Factor of the positive part, of bceWithLogits. */
  posWeight?: Tensor
  /** crossEntropy and nll: where the classes are, −1 the last axis; 0: axis 1, or axis 0 of a single sample. 0 unless given. */
  classAxis?: number
}

export interface Frames {
  /** Samples from one window to the next; 0 means n/4. 0 unless given. */
  hop?: number
  /** Weights of the samples of a window, at most n of them, in the middle of the n; null means 1. */
  window?: Tensor
  /** The first window begins at the first sample; else its middle lies there, and the signal is mirrored at both ends. */
  uncentred?: boolean
  /** Zeros stand beyond the ends instead. */
  zeroPadded?: boolean
  /** Divide by √n. */
  normalized?: boolean
  /** All n frequencies; else the n/2+1 that a real signal is known by. */
  twoSided?: boolean
  /** Of the result of istft, which stft does not look at; 0: all that the frames cover. 0 unless given. */
  length?: number
}

export interface Triplet {
  /** 1 unless given. */
  margin?: number
  /** The norm; 0: 2. 2 unless given. */
  p?: number
  /** Added to differences; 0: 1e-6; a negative number: 0. 1e-6 unless given. */
  eps?: number
  /** The negative may be compared with the positive instead of the anchor. */
  swap?: boolean
}

export interface CtcOptions {
  /** 0 unless given. */
  blank?: number
  /** The mean divides each loss by the length of its target. mean unless given. */
  reduction?: 'mean' | 'sum' | 'none' | 'batchMean'
  /** Impossible alignments count 0. */
  zeroInfinity?: boolean
}

export interface Attention {
  /** Where it is true a query sees a key; or what is added to their product. */
  mask?: Tensor
  /** Query i sees keys up to i only. */
  causal?: boolean
  /** Of the scores; 0: 1/√(size of a head). 0 unless given. */
  scale?: number
  /** Of the weights, in training. 0 unless given. */
  dropout?: number
  /** Keys and values may have fewer heads (axis −3), each serving several of the queries'. */
  grouped?: boolean
}

export interface EmbeddingOptions {
  /** Rows of these numbers get no gradient. */
  padding?: number | readonly number[]
  /** Longer rows are read as shortened to it, the table stays as it is; 0: no limit. 0 unless given. */
  maxNorm?: number
  /** The p of that length; 0: 2. 0 unless given. */
  normType?: number
  /** Gradients are divided by how often a row is used. */
  scaleByFreq?: boolean
}

export interface Resizing {
  /** nearest unless given. */
  mode?: 'nearest' | 'nearestExact' | 'linear' | 'cubic' | 'area'
  /** The first and last elements meet their counterparts (linear and cubic). */
  alignCorners?: boolean
  /** Widen the filter when shrinking (linear and cubic). */
  antialias?: boolean
  /** New over old size, by axis; 0 or none: the ratio of the sizes. */
  scales?: readonly number[]
}

export interface Sampling {
  /** linear unless given. */
  mode?: 'nearest' | 'nearestExact' | 'linear' | 'cubic' | 'area'
  /** zeros unless given. */
  padding?: 'zeros' | 'border' | 'reflection'
  alignCorners?: boolean
}

export interface RecurrentOptions {
  /** lstm unless given. */
  kind?: 'tanh' | 'relu' | 'lstm' | 'gru'
  /** 1 unless given. */
  layers?: number
  bothWays?: boolean
  batchFirst?: boolean
  /** Between layers. 0 unless given. */
  dropout?: number
  biases?: boolean
  /** The first states, [layers·directions, n, size]; zeros unless given. */
  h?: Tensor
  /** The first cells of LSTM. */
  c?: Tensor
}

// End.

/** An index of at: a number, [from, to], [from, to, step] (null is the end), a tensor of numbers, null (all), '...', 'new', or a bool: a new axis of one element (true) or none. */
export type Index = number | Size | [number | Size, number | Size] | [number | null, (number | null)?, number?] | Tensor | boolean | null | '...' | 'new'

/** A tensor of the engine. Operations are recorded and give new tensors; values are awaited. */
export class Tensor {
  private constructor()

  /** The elements, row-major. */
  data(): Promise<Elements>
  /** The only element. */
  item(): Promise<number>
  /** The elements as nested arrays. */
  list(): Promise<any>
  /** The sizes of the axes, known when the tensor is made. Where they depend on elements or on a variable, reading them throws an Error that says so,
   *  until the tensor was computed: await t.realize(). */
  readonly shape: number[]
  /** The short name of the elements' type. */
  readonly dtype: DType
  /** 'Tensor [2, 3] f32 on WASM'. */
  toString(): string
  /** Computes the tensor now. */
  realize(): Promise<this>
  /** Forgets the tensor now, not when the collector finds it. */
  dispose(): void
  [Symbol.dispose](): void
  /** The picture that a tensor [1, 3 or 4 channels, height, width] or [height, width] is: numbers from 0 to 1, or bytes. */
  toImageData(): Promise<ImageData>
  /** The names of the devices that the tensor lies on, in the order of its parts. */
  devices(): Promise<string[]>
  /** The axis along which the tensor is cut over its devices, or null where each has all of it. */
  cutAxis(): Promise<number | null>
  /** Says that the tensor wants a gradient, so that backward finds it below what is computed of it from now on; layers say it of their parameters. */
  requireGrad(): this
  /** Takes requireGrad back. Optimisers train what they are made for, frozen or not. */
  freeze(): this
  /** Whether the tensor wants a gradient. */
  requiresGrad(): boolean
  /** Adds the gradient of this tensor, or of its product with a seed, to what gradient() gives of each of these; with none named, of those that
   *  want one and that it was computed from. */
  backward(ws?: readonly Tensor[] | null, seed?: Tensor): void
  /** What backward has collected, or null, as where that was disposed of. */
  gradient(): Tensor | null
  /** Forgets what backward has collected. */
  clearGradient(): void

  // Made of the table: methods of a tensor.

  // Arithmetic

  /** neg is −t. */
  neg(): Tensor
  /** abs is the absolute value. */
  abs(): Tensor
  /** sign is −1, 0 or 1; of NaN it is 0, as PyTorch has it. */
  sign(): Tensor
  /** square is t·t; bools become i32. */
  square(): Tensor
  /** reciprocal is 1/t. */
  reciprocal(): Tensor
  /** sqrt is the square root; NaN below zero. */
  sqrt(): Tensor
  /** rsqrt is 1/√t. */
  rsqrt(): Tensor
  /** exp is e to the t. */
  exp(): Tensor
  /** exp2 is 2 to the t. */
  exp2(): Tensor
  /** expm1 is e to the t, minus 1, without loss near 0. */
  expm1(): Tensor
  /** log is the natural logarithm; −inf for 0, NaN below. */
  log(): Tensor
  /** log2 is the logarithm to base 2. */
  log2(): Tensor
  /** log10 is the logarithm to base 10. */
  log10(): Tensor
  /** log1p is log(1 + t) without loss near 0. */
  log1p(): Tensor
  /** add is t + v; on bools it is or. */
  add(y: Operand): Tensor
  /** sub is t − v; bools are refused. */
  sub(y: Operand): Tensor
  /** rsub is v − t. */
  rsub(y: Operand): Tensor
  /** mul is t · v; on bools it is and. */
  mul(y: Operand): Tensor
  /** maximum is the larger of both; NaN if one is. Equals share the gradient; where there is a NaN both get all of it. A number beyond what t's type, an integer one, holds becomes the nearest that it does. */
  maximum(y: Operand): Tensor
  /** minimum is the smaller of both; NaN if one is. Equals share the gradient; where there is a NaN both get all of it. A number beyond what t's type, an integer one, holds becomes the nearest that it does. */
  minimum(y: Operand): Tensor
  /** fmax is the larger of both; of a NaN and a number the number. Equal ones share the gradient. */
  fmax(y: Operand): Tensor
  /** fmin is the smaller of both; of a NaN and a number the number. Equal ones share the gradient. */
  fmin(y: Operand): Tensor
  /** div is t / v; integers become f32. */
  div(y: Operand): Tensor
  /** rdiv is v / t. */
  rdiv(y: Operand): Tensor
  /** atan2 is the angle of the point (v, t) in −π … π, right in all quadrants and for signed zeros. */
  atan2(y: Operand): Tensor
  /** hypot is √(t² + v²) without overflow. */
  hypot(y: Operand): Tensor
  /** copySign is |t| with the sign of v, −0 included. */
  copySign(y: Operand): Tensor
  /** floorDiv is the quotient rounded down, of the type of the operands; integers by zero give 0. */
  floorDiv(y: Operand): Tensor
  /** truncDiv is the quotient rounded toward zero, of the type of the operands; integers by zero give 0. */
  truncDiv(y: Operand): Tensor
  /** mod is t − v·floorDiv(t, v): it has the sign of v. Integers by zero give 0, floats NaN. */
  mod(y: Operand): Tensor
  /** fmod is the remainder of t by v with the sign of t, t − v·q for the whole number q that leaves less than v. Integers by zero give 0, floats NaN. It is exact whatever the quotient is, also where that is beyond the largest float. */
  fmod(y: Operand): Tensor
  /** pow is t to the v. Integers stay integers (negative exponents in a tensor give 0 but for ±1, a negative number is refused); a negative base with an exponent that is no integer gives NaN; anything to the 0 is 1. Bools to the power of bools are bools. */
  pow(y: Operand): Tensor
  /** rpow is v to the t. */
  rpow(y: Operand): Tensor
  /** logAddExp is log(eᵗ + eᵛ) without overflow. */
  logAddExp(y: Operand): Tensor
  /** logAddExp2 is log2(2ᵗ + 2ᵛ) without overflow. */
  logAddExp2(y: Operand): Tensor
  /** xlogy is t·log(v), 0 where t is 0 and v is a number. */
  xlogy(y: Operand): Tensor
  /** heaviside is 0 below 0, v at 0, and 1 above. */
  heaviside(y: Operand): Tensor
  /** lerp is t + w·(end − t). */
  lerp(end: Tensor, weight: Operand): Tensor
  /** clamp limits to lo … hi; null is no limit. NaN stays, and a limit that is NaN gives NaN. where lo is above hi the result is hi. A number beyond what t's type, an integer one, holds becomes the nearest that it does. */
  clamp(low?: Operand | null, high?: Operand | null): Tensor
  clamp(options: { low?: Operand | null; high?: Operand | null }): Tensor
  /** addCMul is t + value·a·b. Unless given: value 1. */
  addCMul(a: Tensor, b: Tensor, options?: { value?: Operand }): Tensor
  /** addCDiv is t + value·a/b. Unless given: value 1. */
  addCDiv(a: Tensor, b: Tensor, options?: { value?: Operand }): Tensor
  /** floor rounds down. */
  floor(): Tensor
  /** ceil rounds up. */
  ceil(): Tensor
  /** round rounds to the nearest integer, halves to the even one. */
  round(): Tensor
  /** trunc rounds toward zero. */
  trunc(): Tensor
  /** frac is t less its integer part, with the sign of t. */
  frac(): Tensor
  /** roundTo rounds to so many decimals, halves to the even digit; negative ones round to tens, hundreds, …. */
  roundTo(decimals: number): Tensor
  /** Replaces NaN, Infinity and −Infinity: by 0 and the largest and smallest numbers of the type, unless others are given. Unless given: nan 0. */
  nanToNum(options?: { nan?: number; posInf?: number; negInf?: number }): Tensor

  // Functions

  /** sin is the sine of t, in radians. Of every finite f32 it is right to 3 units in the last place. */
  sin(): Tensor
  /** cos is the cosine of t, in radians. Of f32 below 4e6 in magnitude it is right to 2 units in the last place, beyond to 4e-7, so that small results have fewer digits. */
  cos(): Tensor
  /** tan is the tangent of t, in radians. Of f32 below 4e6 in magnitude it is right to 4 units in the last place; beyond, sin and cos of t are in it as they are. */
  tan(): Tensor
  /** asin is the inverse sine, −π/2 … π/2; NaN outside −1 … 1. */
  asin(): Tensor
  /** acos is the inverse cosine, 0 … π; NaN outside −1 … 1. */
  acos(): Tensor
  /** atan is the inverse tangent, −π/2 … π/2. */
  atan(): Tensor
  /** sinh is the hyperbolic sine. */
  sinh(): Tensor
  /** cosh is the hyperbolic cosine. */
  cosh(): Tensor
  /** tanh is the hyperbolic tangent. */
  tanh(): Tensor
  /** asinh is the inverse hyperbolic sine. */
  asinh(): Tensor
  /** acosh is the inverse hyperbolic cosine; NaN below 1. */
  acosh(): Tensor
  /** atanh is the inverse hyperbolic tangent; NaN outside −1 … 1. */
  atanh(): Tensor
  /** deg2Rad turns degrees into radians. */
  deg2Rad(): Tensor
  /** rad2Deg turns radians into degrees. */
  rad2Deg(): Tensor
  /** erf is the error function. */
  erf(): Tensor
  /** erfc is 1 − erf without loss for large t. */
  erfc(): Tensor
  /** erfInv is the inverse of erf: ±inf at ±1, NaN outside. */
  erfInv(): Tensor
  /** lgamma is log|Γ(t)|: inf at 0 and the negative integers. */
  lgamma(): Tensor
  /** digamma is the derivative of lgamma: NaN at the negative integers, −inf at 0 and inf at −0. */
  digamma(): Tensor
  /** sinc is sin(πt)/(πt), 1 at 0. */
  sinc(): Tensor
  /** ndtr is the distribution function of the normal distribution: the chance of less than t. */
  ndtr(): Tensor
  /** logNdtr is log(ndtr(t)), also where that is too small a number. */
  logNdtr(): Tensor
  /** i0 is the modified Bessel function of the first kind and of order 0. */
  i0(): Tensor
  /** i0e is i0 times e^−|t|. */
  i0e(): Tensor
  /** i1 is the modified Bessel function of the first kind and of order 1. */
  i1(): Tensor
  /** i1e is i1 times e^−|t|. */
  i1e(): Tensor
  /** frexp gives a mantissa with the sign of t, of at least 1/2 and less than 1, and an i32 exponent: t = mantissa·2^exponent. Of 0, NaN, infinities and numbers below the normal ones the mantissa is the number and the exponent is 0. */
  frexp(): [Tensor, Tensor]
  /** ldexp is t·2^v. */
  ldexp(y: Operand): Tensor
  /** nextAfter is the number after t in the direction of v: the next that the type has; where they are equal v. The gradient is t's. */
  nextAfter(y: Operand): Tensor
  /** logit is log(t/(1−t)), of t limited to eps … 1−eps where eps is not negative. Unless given: eps -1. */
  logit(eps?: number): Tensor
  logit(options: { eps?: number }): Tensor

  // Activations

  /** relu is t where positive and 0 elsewhere; NaN stays. Its derivative at 0 is 0, and of NaN it is 1. */
  relu(): Tensor
  /** relu6 is relu limited to 6; its derivative at 6 is 0 as well. */
  relu6(): Tensor
  /** sigmoid is 1/(1 + e⁻ᵗ). */
  sigmoid(): Tensor
  /** logSigmoid is log(sigmoid(t)) without overflow. */
  logSigmoid(): Tensor
  /** silu is t·sigmoid(t), also called swish. */
  silu(): Tensor
  /** gelu is t·Φ(t) with the normal distribution function Φ. */
  gelu(): Tensor
  /** geluTanh is the approximation of gelu by tanh. */
  geluTanh(): Tensor
  /** quickGelu is t·sigmoid(1.702·t). */
  quickGelu(): Tensor
  /** mish is t·tanh(softplus(t)). */
  mish(): Tensor
  /** softsign is t/(1 + |t|). */
  softsign(): Tensor
  /** hardSwish is t·hardSigmoid(t). Its derivative is 0 up to −3 and 1 from 3 on, of infinities and NaN too. */
  hardSwish(): Tensor
  /** tanhShrink is t − tanh(t). */
  tanhShrink(): Tensor
  /** leakyRelu is t where positive and slope·t elsewhere. Unless given: slope 0.01. */
  leakyRelu(slope?: number): Tensor
  leakyRelu(options: { slope?: number }): Tensor
  /** scale·t where positive and scale·alpha·(eᵗ − 1) elsewhere. Unless given: alpha 1.6732632423543772, scale 1.0507009873554805. */
  selu(options?: { alpha?: number; scale?: number }): Tensor
  /** alpha·t + beta limited to 0 … 1. Unless given: alpha 0.16666666666666666, beta 0.5. */
  hardSigmoid(options?: { alpha?: number; beta?: number }): Tensor
  /** elu is t where positive and alpha·(eᵗ − 1) elsewhere. Unless given: alpha 1. */
  elu(alpha?: number): Tensor
  elu(options: { alpha?: number }): Tensor
  /** celu is t where positive and alpha·(e^(t/alpha) − 1) elsewhere. Unless given: alpha 1. */
  celu(alpha?: number): Tensor
  celu(options: { alpha?: number }): Tensor
  /** log(1 + e^(beta·t))/beta, and t where beta·t is above a threshold, 20. Unless given: beta 1. */
  softplus(beta?: number, threshold?: number): Tensor
  softplus(options: { beta?: number; threshold?: number }): Tensor
  /** hardTanh limits to lo … hi as clamp does; its derivative at and outside the limits is 0, and of NaN it is 1. Integers stay integers where the limits are. Unless given: low -1, high 1. */
  hardTanh(low?: number, high?: number): Tensor
  hardTanh(options: { low?: number; high?: number }): Tensor
  /** hardShrink is t, but 0 within −limit … limit. Unless given: limit 0.5. */
  hardShrink(limit?: number): Tensor
  hardShrink(options: { limit?: number }): Tensor
  /** softShrink moves t by limit towards 0, and to 0 within −limit … limit. Unless given: limit 0.5. */
  softShrink(limit?: number): Tensor
  softShrink(options: { limit?: number }): Tensor
  /** threshold is t where it is above limit, and v elsewhere. */
  threshold(limit: number, value: number): Tensor
  /** prelu is t where positive and w·t elsewhere, with a slope for each channel (axis 1), or a single one. */
  prelu(w: Tensor): Tensor
  /** rrelu is t where positive and a random slope between lower and upper, drawn for each element, times t elsewhere. Unless given: low 0.125, high 0.3333333333333333. */
  rrelu(low?: number, high?: number): Tensor
  rrelu(options: { low?: number; high?: number }): Tensor
  /** glu is the first half of an axis times the sigmoid of the second. Unless given: axis -1. */
  glu(axis?: number): Tensor
  glu(options: { axis?: number }): Tensor
  /** softmax is eᵗ / Σ eᵗ along an axis. A row of −inf gives NaN. Unless given: axis -1. */
  softmax(axis?: number): Tensor
  softmax(options: { axis?: number }): Tensor
  /** logSoftmax is log(softmax(t)) without loss. Unless given: axis -1. */
  logSoftmax(axis?: number): Tensor
  logSoftmax(options: { axis?: number }): Tensor
  /** softmin is softmax of −t. Unless given: axis -1. */
  softmin(axis?: number): Tensor
  softmin(options: { axis?: number }): Tensor
  /** Draws from the categories along an axis, given logits, by a function that has a gradient: softmax of (t + noise of Gumbel's distribution) / temperature. With hard the result is 1 where that is largest and 0 elsewhere, and has its gradient. Unless given: axis -1, temperature 1. */
  gumbelSoftmax(axis?: number, options?: { temperature?: number; hard?: boolean }): Tensor
  gumbelSoftmax(options: { axis?: number; temperature?: number; hard?: boolean }): Tensor
  /** dropout sets each element to 0 with probability p, to 32 bits, and divides the others by 1 − p. Whether a network is in training is its own affair: call it then only. Unless given: p 0.5. */
  dropout(p?: number): Tensor
  dropout(options: { p?: number }): Tensor
  /** channelDropout is dropout of whole channels: the first two axes of t are kept or dropped as one. Unless given: p 0.5. */
  channelDropout(p?: number): Tensor
  channelDropout(options: { p?: number }): Tensor
  /** alphaDropout is dropout for networks of SELU: elements are set to its least value, and all are shifted and scaled so that mean 0 and variance 1 stay (Klambauer and others, 2017). Unless given: p 0.5. */
  alphaDropout(p?: number): Tensor
  alphaDropout(options: { p?: number }): Tensor

  // Comparisons, logic and bits

  /** eq is t = v as a bool tensor; NaN equals nothing. A number beyond what an integer type holds is compared, here and below, as what it is. */
  eq(y: Operand): Tensor
  /** ne is t ≠ v; true where one is NaN. */
  ne(y: Operand): Tensor
  /** lt is t < v. */
  lt(y: Operand): Tensor
  /** gt is t > v. */
  gt(y: Operand): Tensor
  /** le is t ≤ v; false where one is NaN. */
  le(y: Operand): Tensor
  /** ge is t ≥ v; false where one is NaN. */
  ge(y: Operand): Tensor
  /** isClose is |t − v| ≤ atol + rtol·|v|; equal infinities are close, NaN only if equalNaN. Unless given: rtol 1e-5, atol 1e-8. */
  isClose(y: Operand, options?: { rtol?: number; atol?: number; equalNaN?: boolean }): Tensor
  /** allClose is one bool: whether all elements are close, by isClose. It is true where there are none. Unless given: rtol 1e-5, atol 1e-8. */
  allClose(y: Operand, options?: { rtol?: number; atol?: number; equalNaN?: boolean }): Tensor
  /** isNaN is true where t is not a number. */
  isNaN(): Tensor
  /** isInf is true where t is infinite, of either sign. */
  isInf(): Tensor
  /** isPosInf is true where t is +inf. */
  isPosInf(): Tensor
  /** isNegInf is true where t is −inf. */
  isNegInf(): Tensor
  /** isFinite is true where t is neither infinite nor NaN. */
  isFinite(): Tensor
  /** signBit is true where the sign is set: below 0, at −0, and for NaNs by their bits. */
  signBit(): Tensor
  /** isIn is true where an element of t is among those of set. */
  isIn(set: Tensor): Tensor
  /** True where an element is 0. */
  not(): Tensor
  /** logicalAnd is true where both are not zero. */
  logicalAnd(y: Operand): Tensor
  /** logicalOr is true where one is not zero. */
  logicalOr(y: Operand): Tensor
  /** logicalXor is true where exactly one is not zero. */
  logicalXor(y: Operand): Tensor
  /** and is the bitwise and. */
  and(y: Operand): Tensor
  /** or is the bitwise or. */
  or(y: Operand): Tensor
  /** xor is the bitwise exclusive or. */
  xor(y: Operand): Tensor
  /** shl shifts left; the count is taken modulo the width. */
  shl(y: Operand): Tensor
  /** shr shifts right; signed types keep the sign, the count is taken modulo the width. */
  shr(y: Operand): Tensor
  /** The bitwise complement. */
  bitNot(): Tensor
  /** where is x where t, a bool tensor, is true, and y elsewhere. */
  where(x: Operand, y: Operand): Tensor

  // Reductions

  /** Adds. Bools and small integers give 32-bit integers, unless a dtype is given, which then is computed in; nothing sums to 0. */
  sum(axes?: Sums): Tensor
  /** Multiplies. Bools and small integers give 32-bit integers, unless a dtype is given; the product of nothing is 1. */
  prod(axes?: Sums): Tensor
  /** mean is the average; of integers as f32, of nothing NaN. */
  mean(axes?: Axes): Tensor
  /** logSumExp is log Σ eᵗ without overflow. */
  logSumExp(axes?: Axes): Tensor
  /** nanMean is the mean of the elements that are numbers; NaN of none. */
  nanMean(axes?: Axes): Tensor
  /** max is the largest element; NaN if there is one, −inf or the least integer of nothing. Ties share the gradient. */
  max(axes?: Axes): Tensor
  /** min is the smallest element; NaN if there is one, inf or the greatest integer of nothing. Ties share the gradient. */
  min(axes?: Axes): Tensor
  /** any is true where an element is not zero; of u8 it is 1 or 0 in u8, as in PyTorch, which had no bool once. */
  any(axes?: Axes): Tensor
  /** all is true where no element is zero; of u8 it is 1 or 0 in u8. */
  all(axes?: Axes): Tensor
  /** nanSum is the sum of the elements that are numbers. */
  nanSum(axes?: Axes): Tensor
  /** countNonZero counts the elements that are not 0 (i32). */
  countNonZero(axes?: Axes): Tensor
  /** var is the variance with n − correction in the denominator, or 0 if that is less: 1 for samples, 0 for populations, or any number. */
  var(axes?: Spread): Tensor
  /** std is the square root of var; where it is 0 its gradient is 0. */
  std(axes?: Spread): Tensor
  /** var and mean over the same axes; the mean is computed once. */
  varMean(axes?: Spread): [Tensor, Tensor]
  /** std and mean over the same axes; the mean is computed once. */
  stdMean(axes?: Spread): [Tensor, Tensor]
  /** The p-norm of vectors along axes (none: all): for p = ±Infinity the largest or smallest absolute value, for 0 the number of elements that are not 0. Unless given: p 2. */
  norm(p?: number, axis?: number | readonly number[], keep?: boolean): Tensor
  norm(options: { p?: number; axis?: number | readonly number[]; keep?: boolean }): Tensor
  /** argMax is the index, i32, of the largest element along an axis; the first of ties, and of NaNs. Of nothing it is −2³¹, which is the index of no element. Without an axis the elements are flattened. */
  argMax(axis?: Axis): Tensor
  /** argMin is the index, i32, of the smallest element along an axis; the first of ties, and of NaNs. Of nothing it is −2³¹, which is the index of no element. Without an axis the elements are flattened. */
  argMin(axis?: Axis): Tensor
  /** maxIndex is the largest element along an axis and its index; the gradient goes to that element. */
  maxIndex(axis?: Axis): [Tensor, Tensor]
  /** minIndex is the smallest element along an axis and its index; the gradient goes to that element. */
  minIndex(axis?: Axis): [Tensor, Tensor]
  /** median gives the middle value of an axis (of two the lower; NaN if there is one) and its index; the axis goes. */
  median(axis?: Axis): [Tensor, Tensor]
  /** nanMedian is median over the values that are not NaN; NaN if there is none. */
  nanMedian(axis?: Axis): [Tensor, Tensor]
  /** mode gives the most frequent value of an axis (of several the smallest) and the index of its last occurrence; the axis goes. */
  mode(axis?: Axis): [Tensor, Tensor]
  /** kthValue gives the k-th smallest value of an axis (k from 1) and its index; the axis goes. */
  kthValue(k: number, axis?: Axis): [Tensor, Tensor]
  /** The values below which shares q of an axis lie: for an array of shares as a new first axis. An axis that holds NaN gives NaN, or, with skipNaN, is taken without them. Unless given: axis -1, interpolation linear. */
  quantile(q: number | readonly number[], options?: { axis?: number; interpolation?: 'linear' | 'lower' | 'higher' | 'nearest' | 'midpoint'; skipNaN?: boolean; keep?: boolean }): Tensor
  /** normalize divides by the p-norm along axes (none: all), or by eps where that is larger. Unless given: p 2, eps 1e-12. */
  normalize(options?: { p?: number; eps?: number; axis?: number | readonly number[] }): Tensor
  /** cumSum is the running sum along an axis. Bools and integers of fewer than 32 bits become i32 or u32. Unless given: axis -1. */
  cumSum(axis?: number, dtype?: DType): Tensor
  cumSum(options: { axis?: number; dtype?: DType }): Tensor
  /** cumProd is the running product along an axis, of the type of cumSum. Unless given: axis -1. */
  cumProd(axis?: number, dtype?: DType): Tensor
  cumProd(options: { axis?: number; dtype?: DType }): Tensor
  /** cumMax is the running maximum along an axis, and where it was met last (i32). NaN stays. Unless given: axis -1. */
  cumMax(axis?: number): [Tensor, Tensor]
  cumMax(options: { axis?: number }): [Tensor, Tensor]
  /** cumMin is the running minimum along an axis, and where it was met last (i32). NaN stays. Unless given: axis -1. */
  cumMin(axis?: number): [Tensor, Tensor]
  cumMin(options: { axis?: number }): [Tensor, Tensor]
  /** logCumSumExp is the logarithm of the running sum of exponentials along an axis. Unless given: axis -1. */
  logCumSumExp(axis?: number): Tensor
  logCumSumExp(options: { axis?: number }): Tensor
  /** The integral along an axis by the trapezoidal rule, for samples dx apart or at the positions x. Unless given: dx 1, axis -1. */
  trapezoid(options?: { dx?: number; x?: Tensor; axis?: number }): Tensor
  /** The running integral along an axis by the trapezoidal rule; it has one element fewer. Unless given: dx 1, axis -1. */
  cumulativeTrapezoid(options?: { dx?: number; x?: Tensor; axis?: number }): Tensor
  /** renorm scales the parts along an axis whose p-norm is above a limit down to it, nearly: by limit/(norm + 1e-7). */
  renorm(p: number, axis: number, limit: number): Tensor
  /** diff is the difference of neighbours along an axis, n times over; bools differ by exclusive or. Unless given: n 1, axis -1. */
  diff(n?: number, axis?: number): Tensor
  diff(options: { n?: number; axis?: number }): Tensor
  /** channelMoments are mean and variance (divided by n − correction) of each channel, axis 1, in floats of at least 32 bits. Unless given: correction 1. */
  channelMoments(correction?: number): [Tensor, Tensor]
  channelMoments(options: { correction?: number }): [Tensor, Tensor]
  /** cov is the covariance matrix of variables, the rows of t, with n − correction in the denominator; of one row the variance. Counts and weights of the observations, the columns, may be null. Unless given: correction 1. */
  cov(options?: { correction?: number; counts?: Tensor; weights?: Tensor }): Tensor
  /** corrCoef is the matrix of correlation coefficients of variables, the rows of t. */
  corrCoef(): Tensor
  /** histogram counts the elements of t between neighbouring edges, the last edge included: a list of t's type, one shorter than edges. weights, of t's shape or null, are added up instead. */
  histogram(edges: Tensor, weights?: Tensor): Tensor
  histogram(edges: Tensor, options: { weights?: Tensor }): Tensor
  /** histogramEdges are n+1 evenly spaced edges from lo to hi, or, where both are equal, over the range of t's elements; of a range without width one half (or, when wide, one) to either side. Unless given: low 0, high 0. */
  histogramEdges(n: number, options?: { low?: number; high?: number; wide?: boolean }): Tensor
  /** binCount counts how often each of 0, 1, 2, … stands in a list, or, with weights, adds up their weights (f32, others as f64). The result has at least least elements, and as many as the largest number needs. Unless given: least 0. */
  binCount(options?: { weights?: Tensor; least?: number }): Tensor
  /** The different elements, rising, or those of an axis; the place among them of each element; and how often each stands there. With runs, equal ones further apart stay. */
  unique(options?: { axis?: number; runs?: boolean }): [Tensor, Tensor, Tensor]

  // Shape

  /** Gives the elements another shape; one size may be −1 and is found. */
  reshape(shape: readonly (number | Size)[]): Tensor
  /** expand repeats axes of size 1 to the given sizes, which are aligned at the right; −1 keeps a size. */
  expand(shape: readonly (number | Size)[]): Tensor
  /** shrinkTo keeps as many indices of each axis, from 0 on; −1 keeps all. */
  shrinkTo(shape: readonly (number | Size)[]): Tensor
  /** padTo puts zeros after each axis, so that it has the given size; −1 leaves it. */
  padTo(shape: readonly (number | Size)[]): Tensor
  /** expandAs is expand to the shape of o. */
  expandAs(y: Tensor): Tensor
  /** permute reorders the axes: axis i of the result is axis order[i] of t. */
  permute(order: readonly number[]): Tensor
  /** transpose exchanges two axes. Unless given: a -2, b -1. */
  transpose(a?: number, b?: number): Tensor
  transpose(options: { a?: number; b?: number }): Tensor
  /** The last two axes exchanged. */
  t(): Tensor
  /** moveAxis moves an axis to another place; the others keep their order. */
  moveAxis(from: number, to: number): Tensor
  /** flip reverses axes. */
  flip(axis?: number | readonly number[]): Tensor
  flip(options: { axis?: number | readonly number[] }): Tensor
  /** squeeze drops the named axes of size 1, or all of size 1; a named axis of another size stays. */
  squeeze(axis?: number | readonly number[]): Tensor
  squeeze(options: { axis?: number | readonly number[] }): Tensor
  /** unsqueeze inserts an axis of size 1; −1 appends one. */
  unsqueeze(axis: number): Tensor
  /** flatten merges the axes from…to into one; without arguments all, with one from that on. */
  flatten(span?: number | readonly number[]): Tensor
  flatten(options: { span?: number | readonly number[] }): Tensor
  /** unflatten splits an axis into several; one size may be −1. */
  unflatten(axis: number, sizes: readonly (number | Size)[]): Tensor
  /** atLeast gives t at least so many axes (at most 3): of size 1, in front, but behind the second axis. */
  atLeast(rank: number): Tensor
  /** shrink keeps the indices lo[i] … hi[i]−1 of each axis. */
  shrink(low: readonly number[], high: readonly number[]): Tensor
  /** Keeps n indices of an axis, from start on; a negative start counts from the end. Both may vary. */
  narrow(axis: number, start: number | Size, n: number | Size): Tensor
  /** Adds elements before and after each axis, of a value or of the tensor itself; negative numbers take away. Short arrays are for the last axes. Unless given: value 0, mode constant. */
  pad(before: readonly number[], after: readonly number[], value?: number, mode?: 'constant' | 'reflect' | 'replicate' | 'circular'): Tensor
  pad(before: readonly number[], after: readonly number[], options: { value?: number; mode?: 'constant' | 'reflect' | 'replicate' | 'circular' }): Tensor
  /** roll shifts the elements along axes, those that fall off come in at the other end. Without axes the flattened elements are shifted. */
  roll(by: number | readonly number[], axis?: number | readonly number[]): Tensor
  roll(by: number | readonly number[], options: { axis?: number | readonly number[] }): Tensor
  /** rot90 turns the plane of two axes by k quarters, from the first towards the second. Unless given: k 1, first 0, second 1. */
  rot90(options?: { k?: number; first?: number; second?: number }): Tensor
  /** repeat lays copies of t side by side, so many per axis; further counts make new axes in front. */
  repeat(counts: readonly number[]): Tensor
  /** Reorders, splits and merges axes as a formula says, in the notation of einops: "b (h w) c -> b c h w" splits the second axis into h and w and moves c. sizes has what cannot be found from the shape: of the axes in one pair of parentheses, all but one. */
  rearrange(formula: string, options?: { sizes?: Record<string, number> }): Tensor
  /** rearrange with axes that stand on the right alone, along which t is repeated: "h w -> h w c" with the size of c, and "h w -> (h 2) (w 2)", which makes a picture twice as large. */
  einRepeat(formula: string, options?: { sizes?: Record<string, number> }): Tensor
  /** rearrange with axes that stand on the left alone, which are reduced: "b c (h 2) (w 2) -> b c h w" by max is a pool of windows of 2×2. Unless given: how sum. */
  einReduce(formula: string, how?: 'sum' | 'mean' | 'max' | 'min' | 'prod' | 'any' | 'all' | 'logSumExp', options?: { sizes?: Record<string, number> }): Tensor
  einReduce(formula: string, options: { how?: 'sum' | 'mean' | 'max' | 'min' | 'prod' | 'any' | 'all' | 'logSumExp'; sizes?: Record<string, number> }): Tensor
  /** repeatInterleave repeats each element n times along an axis. Unless given: axis -1. */
  repeatInterleave(n: number, axis?: number): Tensor
  repeatInterleave(n: number, options: { axis?: number }): Tensor
  /** repeatEach repeats the i-th part of an axis counts[i] times. The counts are read, because the result's shape depends on them. Unless given: axis -1. */
  repeatEach(counts: Tensor, axis?: number): Tensor
  repeatEach(counts: Tensor, options: { axis?: number }): Tensor
  /** tril keeps the lower triangle of the last two axes, up to the given diagonal; the rest is 0. Unless given: diagonal 0. */
  tril(diagonal?: number): Tensor
  tril(options: { diagonal?: number }): Tensor
  /** triu keeps the upper triangle of the last two axes, from the given diagonal on; the rest is 0. Unless given: diagonal 0. */
  triu(diagonal?: number): Tensor
  triu(options: { diagonal?: number }): Tensor
  /** diagonal takes the diagonal of the last two axes; an offset above zero lies to the right. Unless given: offset 0, first -2, second -1. */
  diagonal(offset?: number, first?: number, second?: number): Tensor
  diagonal(options: { offset?: number; first?: number; second?: number }): Tensor
  /** diag makes a matrix with t, which has one axis, on its diagonal; of a matrix it takes the diagonal. */
  diag(): Tensor
  /** diagEmbed makes matrices with the last axis of t on their diagonals. */
  diagEmbed(): Tensor
  /** trace is the sum of a matrix' diagonal. */
  trace(): Tensor
  /** diagMatrix makes matrices in two new axes with the last axis of t on their diagonals, offset columns to the right (or below, when negative). Unless given: offset 0, first -2, second -1. */
  diagMatrix(options?: { offset?: number; first?: number; second?: number }): Tensor
  /** split cuts an axis into parts of the given sizes, which must add up. */
  split(axis: number, sizes: readonly number[]): Tensor[]
  /** splitAt cuts an axis before the given indices. Negative ones count from the end; parts may be empty. */
  splitAt(axis: number, indices: readonly number[]): Tensor[]
  /** splitEvenly cuts an axis into n parts, the first ones longer by one where it does not divide. */
  splitEvenly(axis: number, n: number): Tensor[]
  /** chunk cuts an axis into at most n parts of one size; the last may be smaller. */
  chunk(axis: number, n: number): Tensor[]
  /** splitEvery cuts an axis into parts of n; the last may be smaller. */
  splitEvery(axis: number, n: number): Tensor[]
  /** unbind gives the parts of an axis, each without it. Unless given: axis 0. */
  unbind(axis?: number): Tensor[]
  unbind(options: { axis?: number }): Tensor[]
  /** unfold cuts an axis into windows of size elements, step apart; a new last axis holds them. Unless given: step 1. */
  unfold(axis: number, size: number, step?: number): Tensor
  unfold(axis: number, size: number, options: { step?: number }): Tensor
  /** pixelShuffle makes patches of r×r pixels of groups of r² channels: […, c·r², h, w] becomes […, c, h·r, w·r]. */
  pixelShuffle(r: number): Tensor
  /** pixelUnshuffle is the inverse of pixelShuffle: […, c, h·r, w·r] becomes […, c·r², h, w]. */
  pixelUnshuffle(r: number): Tensor
  /** channelShuffle deals the channels (axis 1) out: channel i of group g becomes channel g of group i. */
  channelShuffle(groups: number): Tensor
  /** combinations are all choices of r elements of a list, in order, one a row; with repeat an element may be chosen again. Unless given: r 2. */
  combinations(r?: number, options?: { repeat?: boolean }): Tensor
  combinations(options: { r?: number; repeat?: boolean }): Tensor
  /** vander gives the powers 0 … n−1 of the elements of a list as rows, rising or falling. */
  vander(n: number, rising?: boolean): Tensor
  vander(n: number, options: { rising?: boolean }): Tensor

  // Picking and writing

  /** Picks elements, an index for each axis from the left. */
  at(...index: Index[]): Tensor
  /** With other elements at an index. */
  withAt(value: Operand, ...index: Index[]): Tensor
  /** Changes elements in place. */
  setAt(value: Operand, ...index: Index[]): this
  /** select takes one index of an axis, which goes; a negative one counts from the end. */
  select(axis: number, index: number): Tensor
  /** gather takes, for each element of index, the element of t at that place of the axis and the same place of the others: out[…i…] = t[…index[…i…]…]. index is nowhere larger than t but on the axis. */
  gather(axis: number, index: Tensor): Tensor
  /** indexSelect takes parts of an axis by a list of indices; negative ones count from the end. One outside is a error when the result is read. */
  indexSelect(axis: number, index: Tensor): Tensor
  /** takeAlong is gather with t and index broadcast against each other on the other axes. Negative numbers count from the end. */
  takeAlong(axis: number, index: Tensor): Tensor
  /** take picks elements by their position in the flattened tensor, negative ones from its end; the result has the shape of index. A position outside is a error when the result is read. */
  take(index: Tensor): Tensor
  /** unravelIndex gives for each axis of a shape the indices of elements that are numbered row-major. */
  unravelIndex(shape: readonly number[]): Tensor[]
  /** scatter is t with the elements of src at the places that index names on the axis; of several for one place the last one stands. src is at least as large as index and may be a number. */
  scatter(axis: number, index: Tensor, source: Operand): Tensor
  /** scatterAdd adds the elements of src to those of t at the places that index names on the axis. */
  scatterAdd(axis: number, index: Tensor, source: Operand): Tensor
  /** scatterReduce merges the elements of src into t at the places that index names on the axis. Without includeSelf the elements of t there do not take part. The mean of integers is rounded down. Unless given: how sum, includeSelf true. */
  scatterReduce(axis: number, index: Tensor, source: Operand, options?: { how?: 'last' | 'sum' | 'prod' | 'mean' | 'max' | 'min'; includeSelf?: boolean }): Tensor
  /** indexReduce merges the parts of src into the parts of an axis that a list of indices names (see scatterReduce). Unless given: how sum, includeSelf true. */
  indexReduce(axis: number, index: Tensor, source: Tensor, options?: { how?: 'last' | 'sum' | 'prod' | 'mean' | 'max' | 'min'; includeSelf?: boolean }): Tensor
  /** indexCopy replaces the parts of an axis that a list of indices names by those of src. */
  indexCopy(axis: number, index: Tensor, source: Tensor): Tensor
  /** indexAdd adds alpha·src to the parts of an axis that a list of indices names. Unless given: alpha 1. */
  indexAdd(axis: number, index: Tensor, source: Tensor, options?: { alpha?: Operand }): Tensor
  /** indexFill sets the parts of an axis that a list of indices names to a number or a tensor without axes. */
  indexFill(axis: number, index: Tensor, value: Operand): Tensor
  /** indexPut writes values where the index tensors of the first axes, broadcast together, point; with add they are added, also several to one place. */
  indexPut(index: readonly Tensor[], values: Tensor, options?: { add?: boolean }): Tensor
  /** maskedFill is v where the mask is true and t elsewhere; it keeps t's type. */
  maskedFill(mask: Tensor, value: Operand): Tensor
  /** maskedScatter puts the elements of src, in order, into the places of t where the mask is true. src needs as many elements, else there is a error when the result is read. */
  maskedScatter(mask: Tensor, source: Tensor): Tensor
  /** The elements where a mask is true, one after the other. With a size, that many of them, and fill after them; then nothing is read. Unless given: fill 0. */
  maskedSelect(mask: Tensor, options?: { size?: number; fill?: Operand }): Tensor
  /** The places of the elements that are not 0, i64 [places, rank]. With a size, that many of them, and rows of fill after them; then nothing is read. Unless given: fill 0. */
  nonZero(options?: { size?: number; fill?: number }): Tensor
  /** categorical draws an index along an axis with the probabilities softmax(t), i32; the axis goes. The elements are logits, or logarithms of probabilities: −inf is never drawn, unless all are. Unless given: axis -1. */
  categorical(axis?: number): Tensor
  categorical(options: { axis?: number }): Tensor
  /** bernoulli is 1 with the probability that an element of t is, else 0, in the type of t, which has no gradient. A probability that is not between 0 and 1 is a error when the result is read. */
  bernoulli(): Tensor
  /** Draws n categories, with probabilities in proportion to the weights in the last axis: [k] gives [n], [rows, k] gives [rows, n], i32. Without replace the categories of a row are different, in the order in which they are drawn. */
  multinomial(n: number, options?: { replace?: boolean }): Tensor
  /** A new last axis of n elements, 1 (i32) at the number that stands in t and 0 elsewhere. For n = −1 it is as long as the largest number needs. Unless given: n -1. */
  oneHot(n?: number): Tensor
  oneHot(options: { n?: number }): Tensor
  /** sort orders an axis, and says where each value came from (i32). Unless given: axis -1. */
  sort(axis?: number, descending?: boolean): [Tensor, Tensor]
  sort(options: { axis?: number; descending?: boolean }): [Tensor, Tensor]
  /** argSort gives the indices (i32) that order an axis. Unless given: axis -1. */
  argSort(axis?: number, descending?: boolean): Tensor
  argSort(options: { axis?: number; descending?: boolean }): Tensor
  /** topK gives the k largest (or smallest) values of an axis, the best first, and their indices. Unless given: axis -1, largest true. */
  topK(k: number, axis?: number, largest?: boolean): [Tensor, Tensor]
  topK(k: number, options: { axis?: number; largest?: boolean }): [Tensor, Tensor]
  /** searchSorted gives, for each value, the place (i32) where it would be inserted into the last axis of t, which is sorted, to keep the order: before equal elements, or after them when right is set. t is a list, or has the axes of values but the last. */
  searchSorted(values: Tensor, options?: { right?: boolean }): Tensor

  // Products and matrices

  /** matmul returns t[…,n,k] · w[…,k,m]; leading axes broadcast. A tensor of one axis is a row on the left and a column on the right, and that axis is dropped from the result. */
  matmul(w: Tensor): Tensor
  /** dot is matmul. */
  dot(w: Tensor): Tensor
  /** outer returns t[n] · w[m] as n×m. */
  outer(w: Tensor): Tensor
  /** kron is the Kronecker product: each element of t times o. */
  kron(w: Tensor): Tensor
  /** linear returns t[…,in] · w[out,in]ᵀ + b[out]; b may be null. A w of one axis gives one output, without an axis for it. */
  linear(w: Tensor, b?: Tensor | null): Tensor
  linear(w: Tensor, options: { b?: Tensor | null }): Tensor
  /** bilinear is Σ t[…, i]·w[k, i, j]·o[…, j] + b[k]; b may be null. */
  bilinear(y: Tensor, w: Tensor, b?: Tensor | null): Tensor
  bilinear(y: Tensor, w: Tensor, options: { b?: Tensor | null }): Tensor
  /** tensorDot sums the products of t and o over pairs of axes; the other axes of t come first in the result. */
  tensorDot(w: Tensor, axes: number | readonly number[], others: number | readonly number[]): Tensor
  /** cross is the cross product along an axis of size 3. Unless given: axis -1. */
  cross(w: Tensor, axis?: number): Tensor
  cross(w: Tensor, options: { axis?: number }): Tensor
  /** cholesky gives the lower triangular l with l·lᵀ = t for symmetric positive definite matrices, of which the lower triangle is read. Others are a error when the result is read, but what is not finite gives NaN. */
  cholesky(): Tensor
  /** inv is the inverse of square matrices. A singular one, of which a pivot is 0, is a error when the result is read; what is not finite has no finite inverse. */
  inv(): Tensor
  /** matrixExp is the exponential 1 + t + t²/2! + … of square matrices: t is halved until its norm is at most 1, the series taken to the eighth (f64: eighteenth) power, and the result squared as often. */
  matrixExp(): Tensor
  /** det is the determinant of square matrices. It has a gradient also where it is 0. */
  det(): Tensor
  /** logDet is the logarithm of the determinant: NaN where it is negative. */
  logDet(): Tensor
  /** singularValues are the singular values, falling. */
  singularValues(): Tensor
  /** solve gives x with t·x = b. b has rows like t; with one axis less than t and the same batch it is a vector. A singular t is a error when the result is read. */
  solve(b: Tensor): Tensor
  /** choleskySolve gives x with l·lᵀ·x = b for lower triangular l. A list b is one column, and the solution is a list. */
  choleskySolve(b: Tensor): Tensor
  /** solveTriangular gives x with t·x = b, where only the upper (or lower) triangle of t counts and, when unit is set, its diagonal is taken as ones. A list b is one column, and the solution is a list. A 0 in the diagonal is a error when the result is read. */
  solveTriangular(b: Tensor, options?: { upper?: boolean; unit?: boolean }): Tensor
  /** lstsq gives the x of least norm for which the norm of t·x − b is least: t is m×n of any rank, b has m rows. With one axis less than t, b is a vector. Columns that lie in the span of others but for the larger size times the type's precision have no rank. */
  lstsq(b: Tensor): Tensor
  /** tensorSolve gives x with tensorDot(t, x) = b, where the axes of b are the first of t's, and the others those of x. */
  tensorSolve(b: Tensor): Tensor
  /** tensorInv is the inverse of t as a matrix whose rows are its first axes: its axes are the others, and then these. */
  tensorInv(rows: number): Tensor
  /** slogDet gives the sign of the determinant and the logarithm of its absolute value, 0 and −inf of a singular matrix, where the logarithm has no gradient. */
  slogDet(): [Tensor, Tensor]
  /** lu gives a permutation matrix p, l with ones in its diagonal and nothing above, and u with nothing below its diagonal, so that p·l·u = t: Gauss's method with row pivots. Of m×n matrices l is m×k and u k×n with k = min(m, n). A pivot 0 stays where it is. */
  lu(): [Tensor, Tensor, Tensor]
  /** qr gives q with orthonormal columns and upper triangular r with q·r = t. Of m×n matrices q is m×k and r k×n with k = min(m, n), or, where complete is set, q is m×m and r m×n. */
  qr(options?: { complete?: boolean }): [Tensor, Tensor]
  /** svd gives u, s, vᵀ with u·diag(s)·vᵀ = t: orthonormal columns of u and rows of vᵀ, and the singular values s, falling. Of m×n matrices u is m×k and vᵀ k×n with k = min(m, n), or, where full is set, m×m and n×n. */
  svd(options?: { full?: boolean }): [Tensor, Tensor, Tensor]
  /** eigh gives the eigenvalues w of symmetric matrices, rising, and orthonormal eigenvectors as the columns of v: t = v·diag(w)·vᵀ. Of t the lower triangle is read, or the upper one. The gradient of w holds also where eigenvalues are equal. */
  eigh(options?: { upper?: boolean }): [Tensor, Tensor]
  /** eigvalsh are the eigenvalues of symmetric matrices, rising, as eigh gives them, which takes longer for the vectors. */
  eigvalsh(options?: { upper?: boolean }): Tensor
  /** pinv is the pseudoinverse (Moore, Penrose). Singular values up to max(atol, rtol·largest) count as 0; negative tolerances stand for atol = 0 and rtol = the larger size times the type's precision. Unless given: atol -1, rtol -1. */
  pinv(options?: { atol?: number; rtol?: number }): Tensor
  /** matrixRank counts the singular values above a tolerance (see pinv). Unless given: atol -1, rtol -1. */
  matrixRank(options?: { atol?: number; rtol?: number }): Tensor
  /** Brings the singular values of matrices near 1 and leaves their singular vectors: after division by the norm, which counts as eps at least, it iterates x ← a·x + (b·xxᵀ + c·(xxᵀ)²)·x. The coefficients are 3.4445, −4.775 and 2.0315 unless given. Unless given: steps 5, eps 1e-7. */
  newtonSchulz(steps?: number, options?: { coefficients?: readonly number[]; eps?: number }): Tensor
  newtonSchulz(options: { steps?: number; coefficients?: readonly number[]; eps?: number }): Tensor
  /** matrixPower is t·t·…·t, n factors; of the inverse where n is negative, the identity for 0. */
  matrixPower(n: number): Tensor
  /** matrixNorm is a norm of the matrices in two axes, which go. Unless given: kind frobenius, row -2, column -1. */
  matrixNorm(options?: { kind?: 'frobenius' | 'nuclear' | 'rowSum' | 'leastRowSum' | 'columnSum' | 'leastColumn' | 'spectral' | 'leastValue'; row?: number; column?: number }): Tensor
  /** cond is the condition number: the norm times that of the inverse, or for Spectral the largest over the smallest singular value (for LeastValue the other way round). Unless given: kind spectral. */
  cond(kind?: 'frobenius' | 'nuclear' | 'rowSum' | 'leastRowSum' | 'columnSum' | 'leastColumn' | 'spectral' | 'leastValue'): Tensor
  cond(options: { kind?: 'frobenius' | 'nuclear' | 'rowSum' | 'leastRowSum' | 'columnSum' | 'leastColumn' | 'spectral' | 'leastValue' }): Tensor
  /** cdist gives the p-norm distance of each row of t to each row of o: [n, k] and [m, k] give [n, m]. Unless given: p 2. */
  cdist(y: Tensor, p?: number): Tensor
  cdist(y: Tensor, options: { p?: number }): Tensor
  /** pdist are the p-norms of the differences of all pairs of rows: of n rows n·(n−1)/2 distances, those of the first row first. Unless given: p 2. */
  pdist(p?: number): Tensor
  pdist(options: { p?: number }): Tensor
  /** pairwiseDistance is the p-norm of t − o + eps along the last axis. Unless given: p 2, eps 1e-6. */
  pairwiseDistance(y: Tensor, options?: { p?: number; eps?: number }): Tensor
  /** cosineSimilarity is the product of t and o along an axis over the product of their lengths, each at least eps. Unless given: axis -1, eps 1e-8. */
  cosineSimilarity(y: Tensor, options?: { axis?: number; eps?: number }): Tensor

  // Fourier transforms

  /** The discrete Fourier transform along an axis, cut or filled with zeros to n (−1: as it is). Complex arrays have a last axis of two: real and imaginary parts. Unless given: n -1, axis -1, norm backward. */
  fft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** ifft is the inverse of fft. Unless given: n -1, axis -1, norm backward. */
  ifft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** rfft is the transform of real x along an axis: the n/2+1 terms that are not mirrored, complex. Unless given: n -1, axis -1, norm backward. */
  rfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** ihfft is the inverse of hfft for real x: the first n/2+1 terms, complex. Unless given: n -1, axis -1, norm backward. */
  ihfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** irfft is the inverse of rfft: complex x holds the first half of a mirrored spectrum; the result is real, of n elements (−1: twice as many as x, less 2). Unless given: n -1, axis -1, norm backward. */
  irfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** hfft is the transform of a mirrored (Hermitian) signal, of which complex x holds the first half: a real spectrum of n elements (−1: twice as many as x, less 2). Unless given: n -1, axis -1, norm backward. */
  hfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** fftn transforms complex x along several axes (none: all) to the lengths sizes (none: as they are). Unless given: norm backward. */
  fftn(options?: { sizes?: number | readonly number[]; axes?: number | readonly number[]; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** ifftn is the inverse of fftn. Unless given: norm backward. */
  ifftn(options?: { sizes?: number | readonly number[]; axes?: number | readonly number[]; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** rfftn is rfft along the last of the axes and fft along the others. Unless given: norm backward. */
  rfftn(options?: { sizes?: number | readonly number[]; axes?: number | readonly number[]; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** irfftn is the inverse of rfftn. Unless given: norm backward. */
  irfftn(options?: { sizes?: number | readonly number[]; axes?: number | readonly number[]; norm?: 'backward' | 'ortho' | 'forward' }): Tensor
  /** fftShift moves the middle of the axes (none: all) to their front's place: zero frequency to the centre. */
  fftShift(axis?: number | readonly number[]): Tensor
  fftShift(options: { axis?: number | readonly number[] }): Tensor
  /** ifftShift is the inverse of fftShift. */
  ifftShift(axis?: number | readonly number[]): Tensor
  ifftShift(options: { axis?: number | readonly number[] }): Tensor
  /** stft is the Fourier transform of windows of n samples along the last axis of a real signal: [samples] gives [frequencies, windows, 2], the last axis real and imaginary part, [rows, samples] gives that for each row. */
  stft(n: number, options?: Frames): Tensor
  /** istft is the signal of which t[…, frequencies, windows, 2] is the stft with the same options: the inverse transforms of all windows, weighted and added, over the sum of the squares of their weights. */
  istft(n: number, options?: Frames): Tensor

  // Parts of networks

  /** Slides filters w[out, in/groups, k…] over t[n, in, s…] and adds b[out]. Any number of axes may follow n and in: three in w make it one-dimensional, five three-dimensional. */
  conv2d(w: Tensor, b?: Tensor | null, options?: Conv): Tensor
  conv2d(w: Tensor, options: Conv & { b?: Tensor | null }): Tensor
  /** convTranspose2d is the transpose of the convolution Conv with the same filters w[in, out/groups, k…]: the gradient of its input. t is [n, in, s…], the result [n, out, (s−1)·stride − paddings + dilation·(k−1) + 1 + output padding …]. */
  convTranspose2d(w: Tensor, b?: Tensor | null, options?: Conv): Tensor
  convTranspose2d(w: Tensor, options: Conv & { b?: Tensor | null }): Tensor
  /** maxPool over the last two axes. */
  maxPool2d(size: number | readonly number[], options?: Pool): Tensor
  /** avgPool over the last two axes. */
  avgPool2d(size: number | readonly number[], options?: Pool): Tensor
  /** maxPool is the largest element of each window; NaN if there is one. Ties share the gradient. */
  maxPool(size: number | readonly number[], options?: Pool): Tensor
  /** avgPool is the average of each window. Padding counts as zeros, unless ExcludePadding. */
  avgPool(size: number | readonly number[], options?: Pool): Tensor
  /** sumPool is the sum of each window; padding counts as zeros. */
  sumPool(size: number | readonly number[], options?: Pool): Tensor
  /** im2col lays the windows of t[n, c, s…], or of t[c, s…], out as columns: [n, c·window, count]. Without a stride, windows are one apart; p.Axes says how many axes s are (0: all after the second). */
  im2col(size: number | readonly number[], options?: Pool): Tensor
  /** lpPool is the norm-p length of each window, (Σ tᵖ)^(1/p); windows that run over the end count as if full. */
  lpPool(p: number, size: number | readonly number[], options?: Pool): Tensor
  /** maxPoolIndex is maxPool and where in the flattened last axes the maximum stands, i32, of several the first; the gradient goes there. Of a window that has none of t's elements the index is 2³¹ − 1. */
  maxPoolIndex(size: number | readonly number[], options?: Pool): [Tensor, Tensor]
  /** maxUnpool puts each element back where maxPoolIndex found it, among zeros. Of the sizes that p could have pooled to t's, the smallest are taken, or those that are given. */
  maxUnpool(indices: Tensor, size: number | readonly number[], options?: Pool & { sizes?: number | readonly number[] }): Tensor
  /** fold adds columns [n, c·window, count], as im2col makes them, back into arrays [n, c, sizes…], of the type of a sum. */
  fold(sizes: number | readonly number[], size: number | readonly number[], options?: Pool): Tensor
  /** adaptiveAvgPool gives the last len(sizes) axes new sizes; each element is the mean of those it covers. */
  adaptiveAvgPool(sizes: number | readonly number[]): Tensor
  /** adaptiveMaxPool gives the last len(sizes) axes new sizes; each element is the largest of those it covers. indices (i32) count within these axes. */
  adaptiveMaxPool(sizes: number | readonly number[]): [Tensor, Tensor]
  /** Makes mean 0 and variance 1 over the last axes, which have a shape, or over the axes named; then multiplies by w and adds b, which have the sizes of these axes. Unless given: eps 1e-5. */
  layerNorm(shape?: number | readonly number[] | null, w?: Tensor | null, b?: Tensor | null, eps?: number, options?: { axes?: number | readonly number[] }): Tensor
  layerNorm(options: { shape?: number | readonly number[] | null; w?: Tensor | null; b?: Tensor | null; eps?: number; axes?: number | readonly number[] }): Tensor
  /** Divides by the root of the mean square over the last axes, which have a shape, or over the axes named; then multiplies by w, which has the sizes of these axes. Unless given: eps 1e-6. */
  rmsNorm(shape?: number | readonly number[] | null, w?: Tensor | null, eps?: number, options?: { axes?: number | readonly number[] }): Tensor
  rmsNorm(options: { shape?: number | readonly number[] | null; w?: Tensor | null; eps?: number; axes?: number | readonly number[] }): Tensor
  /** Takes mean and variance, a number for each channel (axis 1), or for each place of the axes named, as given, makes them 0 and 1, then multiplies by w and adds b. Channels that come last are axis −1. Unless given: eps 1e-5. */
  batchNorm(mean: Tensor, variance: Tensor, w?: Tensor | null, b?: Tensor | null, eps?: number, options?: { axes?: number | readonly number[] }): Tensor
  batchNorm(mean: Tensor, variance: Tensor, options: { w?: Tensor | null; b?: Tensor | null; eps?: number; axes?: number | readonly number[] }): Tensor
  /** groupNorm makes mean 0 and variance 1 over groups of channels (axis 1) and all axes after, then multiplies by w and adds b, a number a channel (or null). Unless given: eps 1e-5. */
  groupNorm(groups: number, w?: Tensor | null, b?: Tensor | null, eps?: number): Tensor
  groupNorm(groups: number, options: { w?: Tensor | null; b?: Tensor | null; eps?: number }): Tensor
  /** instanceNorm is groupNorm with a group for each channel. Unless given: eps 1e-5. */
  instanceNorm(w?: Tensor | null, b?: Tensor | null, eps?: number): Tensor
  instanceNorm(options: { w?: Tensor | null; b?: Tensor | null; eps?: number }): Tensor
  /** localResponseNorm divides by (k + alpha·mean of the squares of size neighbouring channels)^beta; channels are axis 1, and there are zeros beyond them. Unless given: alpha 1e-4, beta 0.75, k 1. */
  localResponseNorm(size: number, options?: { alpha?: number; beta?: number; k?: number }): Tensor
  /** embedding takes rows of t, a table [n, d], by their numbers: the shape of ids, and d. A number outside, negative ones too, is a error when the result is read. */
  embedding(ids: Tensor, options?: EmbeddingOptions): Tensor
  /** Merges rows of t, a table [n, d], to one row for each bag: ids is [bags, k], or an array cut into bags that begin at offsets. weights, of the shape of ids, multiply the rows. Unless given: mode sum. */
  embeddingBag(ids: Tensor, options?: EmbeddingOptions & { offsets?: Tensor; weights?: Tensor; mode?: 'sum' | 'mean' | 'max' }): Tensor
  /** resize changes the sizes of the last len(sizes) axes by interpolation. Integers and bools become floats, but where the nearest elements are taken. */
  resize(sizes: number | readonly number[], options?: Resizing): Tensor
  /** gridSample reads t, [n, c, …] with two or three more axes, at the positions grid[n, …, k]: k coordinates from −1 to 1, that of the last axis first. The result is [n, c, …] with the grid's sizes. */
  gridSample(grid: Tensor, options?: Sampling): Tensor

  // Losses

  /** crossEntropy is −Σ target·logSoftmax(t) over the classes, which lie on axis 1 (on axis 0 of a single sample), or where Loss.ClassAxis says. target holds class indices, or probabilities in the shape of t. */
  crossEntropy(target: Tensor, options?: Loss): Tensor
  /** nll is −t at the class indices of target, for log-probabilities t with classes on axis 1 (on axis 0 of a single sample), or where Loss.ClassAxis says. An index of no class that is not ignored is a error when the result is read. */
  nll(target: Tensor, options?: Loss): Tensor
  /** mse is (t − target)². */
  mse(target: Tensor, options?: Loss): Tensor
  /** l1 is |t − target|. */
  l1(target: Tensor, options?: Loss): Tensor
  /** bce is −(target·log t + (1 − target)·log(1 − t)) of probabilities t; logarithms are at least −100. Of what is no probability it is NaN or some number, where PyTorch raises. */
  bce(target: Tensor, options?: Loss): Tensor
  /** bceWithLogits is bce of sigmoid(t) without loss. */
  bceWithLogits(target: Tensor, options?: Loss): Tensor
  /** softMargin is log(1 + e^(−target·t)). */
  softMargin(target: Tensor, options?: Loss): Tensor
  /** multiLabelSoftMargin is the mean over classes (the last axis) of bceWithLogits; a weight is one for each class. */
  multiLabelSoftMargin(target: Tensor, options?: Loss): Tensor
  /** huber is delta·(|t − target| − delta/2) beyond delta and (t − target)²/2 within. Unless given: delta 1. */
  huber(target: Tensor, delta?: number, options?: Loss): Tensor
  huber(target: Tensor, options: Loss & { delta?: number }): Tensor
  /** smoothL1 is |t − target| − beta/2 beyond beta and (t − target)²/(2·beta) within. Unless given: beta 1. */
  smoothL1(target: Tensor, options?: Loss & { beta?: number }): Tensor
  /** klDiv is target·(log target − t) for log-probabilities t; with logTarget the target is a logarithm too. */
  klDiv(target: Tensor, options?: Loss & { logTarget?: boolean }): Tensor
  /** poissonNll is the negative log-likelihood of counts target for a rate eᵗ, or t where logInput is not set; full adds Stirling's approximation of the constant term. Unless given: logInput true, eps 1e-8. */
  poissonNll(target: Tensor, options?: Loss & { logInput?: boolean; full?: boolean; eps?: number }): Tensor
  /** gaussianNll is the negative log-likelihood of target under normal distributions of mean t and the given variance, which counts as at least eps; full adds the constant term. variance has t's shape, or the last axis of size 1, or is without it. Unless given: eps 1e-6. */
  gaussianNll(target: Tensor, variance: Tensor, options?: Loss & { full?: boolean; eps?: number }): Tensor
  /** hingeEmbedding is t where target is 1, and margin − t, at least 0, where it is −1; elsewhere it is both. Unless given: margin 1. */
  hingeEmbedding(target: Tensor, options?: Loss & { margin?: number }): Tensor
  /** marginRanking is margin − target·(t − other), at least 0: target is 1 where t should be the larger one, else −1. Unless given: margin 0. */
  marginRanking(other: Tensor, target: Tensor, options?: Loss & { margin?: number }): Tensor
  /** cosineEmbedding is 1 − c where target is 1, and c − margin, at least 0, where it is −1, for the cosine c of rows. Unless given: margin 0. */
  cosineEmbedding(other: Tensor, target: Tensor, options?: Loss & { margin?: number }): Tensor
  /** multiLabelMargin is the mean over all classes of (1 − t[target] + t[class], at least 0), summed over the targets of a sample and, for each, the classes that are no targets. */
  multiLabelMargin(target: Tensor, options?: Loss): Tensor
  /** multiMargin is the mean over the other classes of (margin − t[target] + t[class], at least 0)^p, times the target's weight. Classes are the last axis, target their indices. Unless given: p 1, margin 1. */
  multiMargin(target: Tensor, options?: Loss & { p?: number; margin?: number }): Tensor
  /** tripletMargin is margin + distance(t, positive) − distance(t, negative), at least 0, of rows. */
  tripletMargin(positive: Tensor, negative: Tensor, options?: Triplet & Loss): Tensor
  /** ctc is the connectionist temporal classification loss of log-probabilities t[time, n, classes] (or [time, classes]) for targets [n, length], or a list of all targets in a row, with the lengths of inputs and targets. */
  ctc(targets: Tensor, inputs: Tensor, lengths: Tensor, options?: CtcOptions): Tensor

  // Types, gradients and memory

  /** to converts the elements: floats to integers truncate and saturate (NaN gives 0), integers wrap, to bool is "not zero". */
  to(dtype: DType): Tensor
  /** bitcast reads the bits of the elements as another type. Of another size, the last axis grows or shrinks; little-endian. */
  bitcast(dtype: DType): Tensor
  /** unpack4 gives the integers of 4 bits that the bytes of t, u8, hold, the lower half of each first: [… n] gives [… 2n] of type d. Of an unsigned type they are 0 … 15, of others −8 … 7 in two's complement. */
  unpack4(dtype: DType): Tensor
  /** contiguous asks for t to be computed and stored as a whole, not fused into what uses it. */
  contiguous(): Tensor
  /** contiguousBackward is t, whose gradient is computed and kept in memory before anything is done with it, as contiguous does with a value. */
  contiguousBackward(): Tensor
  /** detach is t outside differentiation. */
  detach(): Tensor
  /** clone is a copy of t with memory of its own. */
  clone(): Tensor
  /** pack4 stores the lower 4 bits of integers, two in a byte: [… 2n] of any integer type gives u8 [… n]. It is the reverse of unpack4 for −8 … 7 and 0 … 15. */
  pack4(): Tensor
  /** The gradients of a scalar, or of its product with a seed, with respect to tensors. */
  grad(ws: readonly Tensor[], seed?: Tensor): Tensor[]
  grad(ws: readonly Tensor[], options: { seed?: Tensor }): Tensor[]
  /** Replaces the elements, in place. */
  assign(value: Operand): this
  /** addAssign adds v to the elements, as assign: v is broadcast, and the sum must have t's type. */
  addAssign(value: Operand): this
  /** subAssign subtracts v from the elements, as assign: v is broadcast, and the difference must have t's type. */
  subAssign(value: Operand): this
  /** mulAssign multiplies the elements by v, as assign: v is broadcast, and the product must have t's type. */
  mulAssign(value: Operand): this
  /** divAssign divides the elements by v, as assign: v is broadcast, and the quotient must have t's type, so t holds floats. */
  divAssign(value: Operand): this
  /** Has the tensor stand for what another stands for, of the same shape and type. Nothing is computed or written: tensors that were built on it before keep its old elements. */
  replace(y: Tensor): this
  /** SHA3-256 of all bytes, row-major, elements little-endian, a bool a byte: u8 [32]. */
  hash(): Tensor
  /** keccak hashes the bytes of each row, the last axis of t (a scalar is one row): [rows…, n] of any type gives u8 [rows…, length]. Elements are little-endian, a bool is a byte. Unless given: kind sha3_256. */
  keccak(kind?: 'sha3_256' | 'sha3_224' | 'sha3_384' | 'sha3_512' | 'shake128' | 'shake256'): Tensor
  keccak(options: { kind?: 'sha3_256' | 'sha3_224' | 'sha3_384' | 'sha3_512' | 'shake128' | 'shake256' }): Tensor
  /** threefry is the function that random numbers are made of, threefry-2x32 with 20 rounds: of counters t, u64, and of a key, u64 or a number, that broadcast. The lower 32 bits of each are the first word and the upper 32 the second. */
  threefry(key: Operand): Tensor
  /** Gets memory of its own, so that assignments change it in place. */
  own(): this

  // Devices

  /** The tensor on another device of the browser, 'wasm' or 'webgpu'. It is lazy and differentiable; elements go through the engine's worker. */
  on(device: string): Tensor
  /** Moves the tensor itself to another device: replace by on. */
  moveTo(device: string): this
  /** The tensor on several devices of one kind, ['wasm:0', 'wasm:1']: cut into equal parts along an axis, one a device in their order; whole on each where no axis is named. Operations on it are those on any tensor, and each device computes its part of them. It takes the whole engine: open({ whole: true }). */
  shard(devices: readonly string[], axis?: number | null): Tensor
  shard(devices: readonly string[], options: { axis?: number | null }): Tensor
  /** Shards the tensor itself: replace by shard. */
  shardTo(devices: readonly string[], axis?: number | null): this
  shardTo(devices: readonly string[], options: { axis?: number | null }): this
  /** shardLike gives t on the devices of o, cut along the same axis or whole like it. Both have the same number of axes where o is cut. */
  shardLike(y: Tensor): Tensor
  // End.
}

/** A tensor, or arrays and objects of them within each other. */
export type Tensors = Tensor | readonly Tensors[] | { [name: string]: Tensors }

/**
 * An integer that varies: a variable, or a sum of multiples of variables and a number. It is the size of an axis, or a place on one, in
 * functions that are captured once and run with any value: `const n = w.variable('n', 0, 511)`; in the function `cache.setAt(row, n)` and
 * `cache.narrow(0, 0, n.plus(1))`; then `f.run(row, n.bind(17))`. Operations for which it matters where an axis ends, such as sort, topK, median,
 * flip, cat, pad, tril, cumMax, conv2D along it, crossEntropy over such rows and causal attention of such queries, refuse an axis that varies.
 */
export class Size {
  private constructor()
  /** This and another size, or a number, together. */
  plus(n: number | Size): Size
  /** This less another size, or a number. */
  minus(n: number | Size): Size
  /** A multiple. */
  times(k: number): Size
  /** The variable with a value: for a run of a captured function, and for what is built outside of one. */
  bind(value: number): Size
  toString(): string
}

/** A captured function. */
export class Captured<R extends Tensors | void> {
  private constructor()
  /**
   * Has the function run with these inputs as they are now: they may be assigned or disposed of right after the call, and runs keep the order in which they are called. It
   * resolves while a few runs may be under way still: reading an output waits for it. Inputs of other shapes or types than those of the first run are refused; a run that fails
   * otherwise is told by its outputs, or by the next call.
   */
  run(...inputs: (Tensor | Size)[]): Promise<R>
  /**
   * The bytes of a file with the function for loadCaptured, in this page or another, or for a program in Go: what it computes, and the elements
   * of all tensors that it uses or assigns, as they are now. It has to have run once, and the engine
   * to have been opened with the option whole or models.
   */
  save(): Promise<Uint8Array>
  /**
   * The files of a folder that runs the function in any page without the engine, as Uint8Arrays by their names. It has to have run once, and the engine
   * to have been opened with the option whole or models. The folder's player, and several functions in one folder: @weft-ml/weft/player and
   * @weft-ml/weft/export.
   */
  export(options?: ExportOptions): Promise<Record<string, Uint8Array>>
  /** How many kernels a run launches; known after the first. */
  launches: number
  /** Of a function that was loaded: its inputs in order. */
  inputs?: Port[]
  /** Of a function that was loaded: its results in order. */
  results?: Port[]
  /** Of a function that was loaded: the tensors that it assigns. */
  states?: Tensor[]
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
  /** Languages; 'here' is that of the engine's own device, as its kernels run. */
  target?: ('wgsl' | 'c' | 'wasm' | 'here')[]
}

export interface Stats {
  plans: number
  kernels: number
  plays: number
  launches: number
  /** How many of the plays the worker did by itself: short runs of captured functions, one after the other. */
  errands: number
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

/** Where a model's file is. */
export type ModelFile = string | URL | Blob | Response | ArrayBuffer | ArrayBufferView

/** What of a file and a model did not match, by names. */
export interface Mismatches {
  missing: string[]
  unexpected: string[]
  mismatched: string[]
}

export interface SaveOptions {
  /** Texts that go along. */
  metadata?: Record<string, string>
}

export interface LoadOptions {
  /** Whether everything must match; it must unless it is false. */
  strict?: boolean
  signal?: AbortSignal
}

export interface JitOptions {
  /** How many forms are kept. */
  most?: number
}

export interface VmapOptions {
  /** The axis of each argument that f is called along, or one for all; null: the argument is the same for all calls. 0 unless given. */
  in?: number | null | (number | null)[]
  /** Where the axis stands in the results. 0 unless given. */
  out?: number | readonly number[]
}

export interface ScanOptions {
  /** From the last entry to the first. */
  back?: boolean
  /** How many steps there are, where no array says so. */
  steps?: number
}

export interface FunctionOptions {
  /** The gradients of the arguments (null: 0), given these, what the function returned, and a gradient of each result. It is linear in the last. */
  gradient?: (inputs: Tensor[], outputs: Tensor[], seeds: Tensor[]) => (Tensor | null)[]
}

/** What a kernel that is given as text gives: an array of this shape and type, f32 unless given. */
export interface UnsafeResult {
  shape?: readonly number[]
  dtype?: DType
}

export interface UnsafeOptions {
  /** The text: fn kernel(group: u32, lane: u32), and whatever that needs. in0, … and out0, … are arrays of f32, i32, u32 or, of 64-bit integers,
   *  vec2<u32>; narrower types share words of u32, the first in the lowest bits. Names that begin with weft_ are taken. */
  wgsl?: string
  /** How many workgroups run it. */
  threads?: number
  /** The invocations of each, 64 unless given. */
  group?: number
  /** The same in operations of tensors: WASM runs it, files of captured functions keep it, and gradients and vmap come from it. Without it the kernel
   *  is an error on WASM. */
  same?: (...inputs: Tensor[]) => Tensors
  /** The gradients of the arguments, as of a function with a name. */
  gradient?: (inputs: Tensor[], outputs: Tensor[], seeds: Tensor[]) => (Tensor | null)[]
}

/** What the body of a kernel is written with. Numbers are tensors, so the methods of tensors compute with them. */
export interface KernelBody {
  /** The index of the result's element on an axis, i32. */
  at(axis: number): Tensor
  /** A new index 0 … n−1, i32. What is computed with it has to be reduced over it. */
  range(n: number): Tensor
  /** The element of an argument at an index for each of its axes; 0 outside of it. */
  load(argument: number, ...index: (Tensor | number)[]): Tensor
  /** Adds over ranges. */
  sum(v: Tensor, ...ranges: Tensor[]): Tensor
  /** The largest over ranges. */
  max(v: Tensor, ...ranges: Tensor[]): Tensor
  /** Multiplies over ranges. */
  prod(v: Tensor, ...ranges: Tensor[]): Tensor
}

/** Random numbers that follow from a seed and from how many were drawn from it, whoever else draws. A captured function draws new ones at each run. */
export interface Generator extends Pick<Weft, 'rand' | 'randn' | 'uniform' | 'normal' | 'scaledUniform' | 'glorotUniform' | 'kaimingUniform' | 'kaimingNormal' |
  'randint' | 'randPerm' | 'randomBits' | 'randLike' | 'randnLike' | 'attention'> {
  /** Restarts the numbers. */
  seed(n: number): void
  dropout(x: Tensor, p?: number): Tensor
  channelDropout(x: Tensor, p?: number): Tensor
  alphaDropout(x: Tensor, p?: number): Tensor
  bernoulli(x: Tensor): Tensor
  gumbelSoftmax(x: Tensor, axis?: number, options?: { temperature?: number; hard?: boolean }): Tensor
  rrelu(x: Tensor, low?: number, high?: number): Tensor
  categorical(x: Tensor, axis?: number): Tensor
  multinomial(x: Tensor, n: number, options?: { replace?: boolean }): Tensor
  dispose(): void
}

export interface GradOptions {
  /** The places of the arguments to differentiate by: a number, or an array of them. */
  argnums?: number | readonly number[]
}

export interface ImageOptions {
  /** 1 (grey), 3 (colours, unless given) or 4 (colours and opacity). */
  channels?: number
  /** f32 unless given; u8 are the bytes. */
  dtype?: DType
}

export interface Made {
  /** The elements' type; f32 unless given, or that of the values. */
  dtype?: DType
}

export interface Integers {
  /** The elements' type; i32 unless given. */
  dtype?: DType
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
  /** The device that it computes on. */
  readonly device: 'WEBGPU' | 'WASM'
  /** Which adapter or processor that is, and what it can do. */
  readonly deviceDetail: string
  /** Why this device was chosen: how long a usual plan takes on each, that this was not measured yet (onchosen tells), or why another cannot be used; empty if it was named. */
  readonly note: string
  /** Called when the graphics processor is lost. The next call opens it again and brings back all that was on it; it fails only if none can be opened. */
  onlost: ((error: Error) => void) | null
  /** Called when a lost graphics processor is there again: what was repeated for it, and how long that took. */
  onrecovered: ((news: { message: string; writes: number; plays: number; seconds: number }) => void) | null
  /**
   * Called when devices were measured after open, which begins on WebAssembly where nothing is known of the others: the device that the
   * engine goes on with, why, and whether that is another one. Tensors and captured functions went there too; results that are computed
   * from now on may round otherwise. It is called once more if that device cannot do something, and the engine is back on WebAssembly.
   */
  onchosen: ((news: { device: 'WEBGPU' | 'WASM'; note: string; moved: boolean }) => void) | null
  /** Called when a search for a kernel ended: how long it takes as the model chooses, and in the form that was found. */
  onfound: ((news: { kernel: string; modelMs: number; bestMs: number; complete: boolean }) => void) | null
  /** What searches found so far, as text, to be shipped with a page (OpenOptions.directives). */
  readonly directives: string

  /** A tensor of numbers or truth values: one, nested arrays of them, or a typed array. It is f32, or bool of nothing but truth values, unless the array or dtype says
   *  it. Numbers become elements of that type at once: of an integer type they lose what is behind the point, and those that the type does not hold are a RangeError. */
  tensor(values: readonly Nested[], shape?: readonly number[], options?: Made): Tensor
  tensor(values: Nested | Elements | Uint8ClampedArray, options?: Made): Tensor
  tensor(values: Elements | Uint8ClampedArray, shape: readonly number[], options?: Made): Tensor
  /** The bytes of a Blob or a File, which the page itself never holds. */
  tensor(values: Blob, shape?: readonly number[], options?: Made): Tensor
  /**
   * The bytes at an address: little-endian, row-major, bool one byte. They go from there to the device's memory as they
   * arrive; with an offset only that part is asked for, where the server can. If the device is lost they are fetched
   * again, and have to be the same.
   */
  fetch(url: string | URL, shape: readonly number[], options?: FetchOptions): Promise<Tensor>
  /** Zeros of a shape. */
  zeros(shape: readonly number[], options?: Made): Tensor
  /** Ones of a shape. */
  ones(shape: readonly number[], options?: Made): Tensor
  arange(stop: number | Size): Tensor
  arange(start: number, stop: number, step?: number, options?: Integers): Tensor

  // Made of the table: methods of the engine.

  // Making tensors

  /** A constant tensor. It takes no memory until it is realized. */
  full(shape: readonly number[], value: number | boolean, options?: Made): Tensor
  /** empty makes a tensor with undefined elements on the default device. */
  empty(shape: readonly number[], options?: Made): Tensor
  /** emptyLike is empty with the shape and type of t, on its device. */
  emptyLike(x: Tensor): Tensor
  /** zerosLike is zeros of the shape and type of t, on its device. */
  zerosLike(x: Tensor): Tensor
  /** onesLike is ones of the shape and type of t, on its device. */
  onesLike(x: Tensor): Tensor
  /** randLike is rand of the shape and type of t, on its device. */
  randLike(x: Tensor): Tensor
  /** randnLike is randn of the shape and type of t, on its device. */
  randnLike(x: Tensor): Tensor
  /** fullLike is full with the shape and type of t, on its device. */
  fullLike(x: Tensor, value: number | boolean): Tensor
  /** The n×n identity matrix, or n×m with ones on the main diagonal. */
  eye(n: number, m?: number, options?: Made): Tensor
  eye(n: number, options: Made & { m?: number }): Tensor
  /** A number, a truth value or a size that varies, as a tensor without axes: to compute with. Whole numbers and sizes are i32, other numbers f32: tensor(1) is f32. */
  scalar(value: number | boolean | Size): Tensor
  /** linspace is Linspace of type d. The second half is counted down from stop, so that it is met. */
  linspace(start: number, stop: number, n: number, options?: Made): Tensor
  /** Uniform in 0 … 1, 1 excluded. */
  rand(shape: readonly number[], options?: Made): Tensor
  /** Normal with mean 0 and deviation 1. */
  randn(shape: readonly number[], options?: Made): Tensor
  /** Uniform among low … high−1. */
  randint(shape: readonly number[], low: number, high: number, options?: Integers): Tensor
  /** Uniform between low and high, high excluded. Unless given: low 0, high 1. */
  uniform(shape: readonly number[], low?: number, high?: number, options?: Made): Tensor
  uniform(shape: readonly number[], options: Made & { low?: number; high?: number }): Tensor
  /** normal is randn of another mean and deviation. Unless given: mean 0, std 1. */
  normal(shape: readonly number[], mean?: number, std?: number, options?: Made): Tensor
  normal(shape: readonly number[], options: Made & { mean?: number; std?: number }): Tensor
  /** scaledUniform is uniform in ±1/√n, n the number of elements. */
  scaledUniform(shape: readonly number[], options?: Made): Tensor
  /** glorotUniform is uniform in ±√(6/(in+out)) for a weight of shape out, in, …. */
  glorotUniform(shape: readonly number[], options?: Made): Tensor
  /** kaimingUniform is uniform for a weight of shape out, in, … before a leaky relu of this slope. Unless given: slope 0. */
  kaimingUniform(shape: readonly number[], slope?: number, options?: Made): Tensor
  kaimingUniform(shape: readonly number[], options: Made & { slope?: number }): Tensor
  /** kaimingNormal is normal for a weight of shape out, in, … before a leaky relu of this slope. Unless given: slope 0. */
  kaimingNormal(shape: readonly number[], slope?: number, options?: Made): Tensor
  kaimingNormal(shape: readonly number[], options: Made & { slope?: number }): Tensor
  /** randPerm is 0 … n−1 in random order, i32. Each place has 64 random bits that it is sorted by, so that hardly two are equal however many there are. */
  randPerm(n: number): Tensor
  /** randomBits is random words of 32 bits, u32. */
  randomBits(shape: readonly number[]): Tensor
  /** bartlettWindow is the triangle from 0 to 1 to 0 over n samples. Unless given: periodic true. */
  bartlettWindow(n: number, options?: Made & { periodic?: boolean }): Tensor
  /** blackmanWindow is 0.42 − 0.5·cos + 0.08·cos of the double angle over n samples. Unless given: periodic true. */
  blackmanWindow(n: number, options?: Made & { periodic?: boolean }): Tensor
  /** hannWindow is 1/2 − 1/2·cos over n samples. Here and below a periodic window leaves out the last sample of a symmetric one of n+1. Unless given: periodic true. */
  hannWindow(n: number, options?: Made & { periodic?: boolean }): Tensor
  /** hammingWindow is alpha − beta·cos over n samples; commonly 0.54 and 0.46. Unless given: periodic true, alpha 0.54, beta 0.46. */
  hammingWindow(n: number, options?: Made & { periodic?: boolean; alpha?: number; beta?: number }): Tensor
  /** kaiserWindow is i0(beta·√(1 − x²))/i0(beta) for x from −1 to 1 over n samples. Unless given: periodic true, beta 12. */
  kaiserWindow(n: number, options?: Made & { periodic?: boolean; beta?: number }): Tensor
  /** fftFreq are the frequencies of the n terms of an fft of samples d apart: 0, 1, …, −2, −1 over n·d. Unless given: d 1. */
  fftFreq(n: number, options?: Made & { d?: number }): Tensor
  /** rfftFreq are the frequencies of the n/2+1 terms of an rfft. Unless given: d 1. */
  rfftFreq(n: number, options?: Made & { d?: number }): Tensor
  /** triangleIndices are the rows and columns (i32, [2, count]) of the lower or upper triangle of a matrix, up to or from the given diagonal. Unless given: diagonal 0, lower true. */
  triangleIndices(rows: number, columns: number, options?: { diagonal?: number; lower?: boolean }): Tensor
  /** affineGrid makes the grid that gridSample needs to apply the maps theta, [n, 2, 3] or [n, 3, 4], to arrays of the given sizes [n, c, …]. */
  affineGrid(theta: Tensor, sizes: readonly number[], options?: { alignCorners?: boolean }): Tensor
  /** complex makes a complex array of two parts. */
  complex(re: Tensor, im: Tensor): Tensor

  // Joining tensors

  /** cat joins tensors along an axis. Their types are promoted; an empty tensor of one axis is left out. Unless given: axis 0. */
  cat(tensors: readonly Tensor[], axis?: number): Tensor
  cat(tensors: readonly Tensor[], options: { axis?: number }): Tensor
  /** stack joins tensors of one shape along a new axis. Unless given: axis 0. */
  stack(tensors: readonly Tensor[], axis?: number): Tensor
  stack(tensors: readonly Tensor[], options: { axis?: number }): Tensor
  /** hstack joins along the second axis, or the only one. */
  hstack(tensors: readonly Tensor[]): Tensor
  /** vstack joins along the first axis; tensors of one axis are rows. */
  vstack(tensors: readonly Tensor[]): Tensor
  /** dstack joins along the third axis. */
  dstack(tensors: readonly Tensor[]): Tensor
  /** blockDiag puts matrices along the diagonal of a larger one; a tensor of one axis is a row. */
  blockDiag(tensors: readonly Tensor[]): Tensor
  /** cartesianProduct of tensors of one axis is a row for each choice of one element of each; of a single tensor it is the tensor. */
  cartesianProduct(tensors: readonly Tensor[]): Tensor
  /** The sum of tensors and numbers, from the first to the last. */
  uSum(values: readonly Operand[]): Tensor
  /** The product of tensors and numbers, from the first to the last. */
  uProd(values: readonly Operand[]): Tensor
  /** broadcast gives tensors their common shape. */
  broadcast(tensors: readonly Tensor[]): Tensor[]
  /** meshgrid spreads tensors of one axis over a grid; the i-th varies along axis i ("ij" order). */
  meshgrid(tensors: readonly Tensor[]): Tensor[]
  /** meshgridXY is meshgrid with the first two axes exchanged, as for points of a picture: the first list runs along axis 1, the second along axis 0, further ones along their own. */
  meshgridXY(tensors: readonly Tensor[]): Tensor[]
  /** einsum multiplies operands and sums over the letters that do not appear after "->", as in "bij,bjk->bik". Without "->" the letters that appear once remain, in alphabetical order, after the axes of an ellipsis. */
  einsum(formula: string, ...tensors: Tensor[]): Tensor
  /** softmax(q·kᵀ·scale + mask)·v for queries q[…, n, d], keys k[…, m, d] and values v[…, m, e]. A query that a mask lets see no key gives 0. */
  attention(q: Tensor, k: Tensor, v: Tensor, options?: Attention): Tensor
  /** What attention weighs values with: softmax(q·kᵀ·scale + mask)[…, n, m]. */
  attentionWeights(q: Tensor, k: Tensor, options?: Attention): Tensor
  /** Runs layers of recurrent cells over a sequence: gives the outputs of the last layer at all times, the last states and, of LSTM, the last cells. weights are those of each layer and direction: of inputs, of states, their biases unless biases is false, and perhaps a projection. w.nn.lstm holds them. */
  recurrent(x: Tensor, weights: readonly Tensor[], options?: RecurrentOptions): Tensor[]
  // End.

  /** An integer of low … high, bounds included, that captured functions are built with and get when they run. */
  variable(name: string, low: number, high: number): Size

  /** Restarts the random numbers. */
  seed(n: number): Promise<void>
  /** Computes tensors together. */
  realize(...tensors: Tensor[]): Promise<void>
  /** Records a function of tensors, to be played without being built anew. It may not be async: it only records. It gives a tensor, or arrays
   *  and objects of them within each other. */
  capture<R extends Tensors | void>(f: (...inputs: Tensor[]) => R): Captured<R>
  /** f, captured anew for each combination of shapes and types of the tensors in its arguments and of what else is in them. At most so many
   *  forms are kept, 16 unless given; those used longest ago are forgotten. f may take and give trees of tensors. */
  jit<A extends unknown[], R>(f: (...args: A) => R, options?: JitOptions): ((...args: A) => Promise<R>) & { dispose(): void; readonly size: number }
  /** The gradient of f, which gives a scalar, by its first argument, or by those whose places are argnums: trees of their form. It is that of
   *  Tensor.grad, through all that was made of a tensor. */
  grad<A extends unknown[]>(f: (...args: A) => Tensor): (...args: A) => A[0]
  grad<A extends unknown[]>(f: (...args: A) => Tensor, options: { argnums: number }): (...args: A) => any
  grad<A extends unknown[]>(f: (...args: A) => Tensor, options: { argnums: readonly number[] }): (...args: A) => any[]
  /** f for each element of an axis of its arguments, in one graph and without a loop: f is called once, with tensors that lack the axis.
   *  Numbers drawn at random in f are the same for all. */
  vmap<A extends unknown[], R extends Tensors>(f: (...args: A) => R, options?: VmapOptions): (...args: A) => R
  /** A loop along the first axis of arrays, for what depends on the step before: recurrent layers, filters, solvers of differential equations. f gets
   *  what is carried and the entries of a step, and gives [next, out]: what is carried to the next step, of the form, shapes and types of carried, and any
   *  other tensors. scan gives what was carried after each step, and the others, stacked along a new first axis: entry i belongs to entry i of the arrays,
   *  with back too. So the last state is at(-1), with back at(0). f is called once, and a step compiles once, however many there are; what is drawn at
   *  random in f may be the same in all. */
  scan<C extends Tensors, X extends Tensors | null, Y extends Tensors = []>(f: (carried: C, input: X) => readonly [C, Y?], carried: C, inputs: X, options?: ScanOptions): [C, Y]
  /** What f gives, and how that changes while the inputs change along tangents (null: they stay): the Jacobian times a vector, computed forward.
   *  Of what holds no floats the change is null. */
  jvp<R extends Tensors>(f: (...inputs: Tensor[]) => R, inputs: readonly Tensor[], tangents: readonly (Tensor | null)[]): [R, R]
  /** What f gives, and a function from gradients of that, in its form (null: 0), to those of the inputs: a vector times the Jacobian. */
  vjp<R extends Tensors>(f: (...inputs: Tensor[]) => R, ...inputs: Tensor[]): [R, (seeds: Tensors | null) => (Tensor | null)[]]
  /** f, of whose results inside nothing is kept for gradients: they are computed again. Values and gradients stay the same. */
  checkpoint<A extends unknown[], R extends Tensors>(f: (...args: A) => R): (...args: A) => R
  /** f under a name, which inspections show, and with a gradient of its own where the options state one. */
  function<A extends unknown[], R extends Tensors>(name: string, f: (...args: A) => R, options?: FunctionOptions): (...args: A) => R
  /** One kernel of one's own, a tensor of this shape: body says what one element is. Nothing is fused into it; gradients follow, unless one is stated. */
  custom(name: string, shape: readonly number[], body: (k: KernelBody) => Tensor, inputs: readonly Tensor[], options?: FunctionOptions): Tensor
  /** A kernel of one's own as text in WGSL, for WEBGPU. Its arguments and results are whole arrays, row-major; all elements of all results are to be
   *  written. Of foreign text nothing is proved: custom writes kernels for all devices. */
  customUnsafe(name: string, results: readonly UnsafeResult[], inputs: readonly Tensor[], options: UnsafeOptions): Tensor[]
  /** A generator of random numbers with a seed of its own, an integer from 0 to 2³² − 1. */
  generator(seed: number): Generator
  /** What f gives and its gradient, as of grad, from one pass. */
  valueAndGrad<A extends unknown[]>(f: (...args: A) => Tensor): (...args: A) => [Tensor, A[0]]
  /** What f gives and its gradients by the arguments of these numbers. */
  valueAndGrad<A extends unknown[]>(f: (...args: A) => Tensor, options: GradOptions): (...args: A) => [Tensor, any]
  /** Layers: w.nn.linear(784, 10). */
  readonly nn: NN
  /** Optimisers, schedules of learning rates, clipping of gradients. */
  readonly optim: Optim
  /** A Blob, safetensors, with the tensors of a model: an object or an array of tensors and layers. */
  save(model: object, options?: SaveOptions): Promise<Blob>
  /** The tensors of a safetensors file by their names. */
  load(from: ModelFile): Promise<Record<string, Tensor>>
  /** Gives the tensors of a model the elements that stand in a file under their names, and says what did not match: nothing may, unless strict is false. */
  load(from: ModelFile, model: object, options?: LoadOptions): Promise<Mismatches>
  /** The bytes of a file with captured functions by their names. Tensors that several of them use are one there too. This and what follows need an
   *  engine that was opened with the option whole or models. */
  saveFunctions(functions: Record<string, Captured<any>>): Promise<Uint8Array>
  /** The captured functions of a file of saveFunctions, or of weft in Go, by their names, to be run at once. They assign tensors of their own, and give
   *  what they gave in the form in which they gave it. A file needs no trust: it holds no code, and all of it is checked and compiled anew. */
  loadFunctions(from: ModelFile, options?: SavedOptions): Promise<Record<string, Captured<any>>>
  /** The captured function of a file of Captured.save. */
  loadCaptured(from: ModelFile, options?: SavedOptions): Promise<Captured<any>>
  /** Reads a model in the ONNX format; files with data of its weights follow it in a list. The engine that knows such models, models.wasm, is loaded at the first call. */
  onnx(source: ModelFile | readonly ModelFile[], options?: ModelOptions): Promise<OnnxModel>
  /** Reads a language model: a .gguf file; config.json, .safetensors and tokenizer.json; or a .bin of llama2.c and its tokenizer.bin. */
  llm(source: ModelFile | readonly ModelFile[], options?: LanguageOptions): Promise<LanguageModel>
  /** What the browser keeps of models that were read with cache: bytes in all, and each file; whole says that none of it is still to come. */
  kept(): Promise<{ bytes: number; files: { address: string; bytes: number; whole: boolean }[] }>
  /** Gives the storage back that the file of an address takes, or that all of them do. */
  clearKept(address?: string | URL): Promise<void>
  /** A picture as a tensor [channels, height, width] of numbers from 0 to 1, or of bytes with dtype 'u8'. All but ImageData goes to the engine past the page's thread. */
  fromImage(source: ImageData | ImageBitmapSource, options?: ImageOptions): Promise<Tensor>
  /** Calls f, and tells how long each kernel took that was launched until it ended. What is launched meanwhile waits for its end. */
  profile(f: () => unknown): Promise<Profile>
  /** What the engine did so far, and what it holds. */
  stats(): Promise<Stats>
  /** What the engine would make of an expression. */
  inspect(text: string, options?: InspectOptions): Promise<View>
  /** Ends the engine. What is awaited then is rejected with an Error; promises that nobody awaits are no unhandled rejections. */
  close(): void
  [Symbol.dispose](): void
}

export interface SavedOptions {
  signal?: AbortSignal
}

export interface ModelOptions {
  /** Hears how much of a file has come; total is what the server says, or what has come. */
  onprogress?: (p: { file: string; loaded: number; total: number }) => void
  signal?: AbortSignal
  /** Keeps what comes from an address in the browser's storage, from where it comes the next time: Weft.kept and Weft.clearKept. Loading that was
   *  broken off goes on where it was. */
  cache?: boolean
  /** The SHA-256 that the file must have, in hexadecimal digits; of several files one each, by their names. */
  sha256?: string | Record<string, string>
}

export interface LanguageOptions {
  /** Tokens that a text has room for; without it 4096, or what the model has. */
  length?: number
  /** How many tokens of a prompt are read at once. */
  chunk?: number
  /** Hears how much of a file has come; total is what the server says, or what has come. */
  onprogress?: (p: { file: string; loaded: number; total: number }) => void
  signal?: AbortSignal
  /** Keeps what comes from an address in the browser's storage, from where it comes the next time: Weft.kept and Weft.clearKept. Loading that was
   *  broken off goes on where it was. */
  cache?: boolean
  /** The SHA-256 that the file must have, in hexadecimal digits; of several files one each, by their names. */
  sha256?: string | Record<string, string>
}

/** An input or an output of a model: an axis is a size, the name of one that varies, or null. */
export interface Port {
  name: string
  /** Not there of what is no tensor. */
  dtype?: string
  shape?: (number | string | null)[]
}

/** A model in the ONNX format. */
export interface OnnxModel {
  readonly inputs: Port[]
  readonly outputs: Port[]
  readonly parameters: number
  readonly producer: string
  /** Computes outputs, all unless they are named: tensors, or lists of texts. Those that read names come as typed arrays of their elements with
   *  the answer, which saves the way that data() of a tensor takes. An input is a tensor, nested arrays, a typed array of the input's shape, or {data, shape}. */
  run(feeds: Record<string, Tensor | unknown>, options?: { outputs?: readonly string[]; read?: readonly string[] }): Promise<Record<string, any>>
  /** Forgets the model. */
  close(): void
}

/** One of a conversation. */
export interface Message {
  role: string
  content: string
}

export interface GenerateOptions {
  /** Tokens at most; without it as many as there is room for. */
  tokens?: number
  /** 0, which is usual, takes the likeliest token; more makes it freer. */
  temperature?: number
  topK?: number
  topP?: number
  minP?: number
  /** More than 1 makes tokens rarer that were there lately. */
  repetition?: number
  seed?: number
  /** Texts that end the answer, and are not given. */
  stop?: string | readonly string[]
  /** A JSON Schema: the text is JSON that it allows, unless tokens end it before. {type: 'object'} is any object. */
  schema?: object | boolean
  /** A grammar in GBNF, llama.cpp's notation, in place of a schema: the text is one of its texts. */
  grammar?: string
  /** Go on when there is no room left: what stands before the first message of a user stays, the older half of the rest is forgotten. */
  shift?: boolean
  signal?: AbortSignal
  /** Hears how much of the prompt has been read. */
  onprogress?: (p: { read: number; total: number }) => void
}

/** A token that was made. */
export interface MadeToken {
  /** What it adds to the text: whole characters, perhaps none. */
  text: string
  /** Its number; undefined where there was no room for another. */
  token?: number
  /** Its own text. */
  piece?: string
  /** 'stop' or 'length' where it is the last. */
  finish: string
  /** The likeliest tokens, as many as were asked for by top. */
  likely?: { token: number; piece: string; p: number }[]
}

/** A language model. One text is made at a time. */
export interface LanguageModel {
  readonly vocab: number
  readonly length: number
  readonly layers: number
  readonly dim: number
  /** Whether the model came with a template for conversations. */
  readonly talks: boolean
  /** The text that follows a prompt, or that answers messages, in pieces as they are made. */
  generate(prompt: string | readonly Message[], options?: GenerateOptions): AsyncGenerator<string, void, void>
  /** The tokens, with the top likeliest (at most 50) at each. */
  tokens(prompt: string | readonly Message[], options?: GenerateOptions & { top?: number }): AsyncGenerator<MadeToken, void, void>
  encode(text: string): Promise<number[]>
  decode(tokens: Iterable<number>): Promise<string>
  /** Forgets the model. */
  close(): void
}

export interface ExportOptions {
  /** What the function is called, 'main' without it. */
  name?: string
  /** The names of its inputs in order; without them in0, in1, … */
  inputs?: string[]
  /** The names of its results in order; without them those of the object that it returned, or out0, out1, … */
  results?: string[]
  /** Which devices the folder has kernels for; both without it. */
  devices?: ('wasm' | 'webgpu')[]
  /** What weights are written as that no function assigns; i8 has a scale for each 64. */
  weights?: 'f32' | 'f16' | 'i8'
  /** The title of the folder's page. */
  title?: string
}

export interface OpenOptions {
  /** The device; without it the one that is fastest here. */
  device?: 'webgpu' | 'wasm'
  /** Hears how much of the engine has been loaded; total is 0 where it is not known. */
  onprogress?: (p: { loaded: number; total: number }) => void
  /** false: indices outside, classes that do not exist and singular matrices are not looked for; they give zeros and what is not finite. */
  checks?: boolean
  /** Loads the larger engine that inspect needs, instead of fetching that at its first call, that keeps captured functions in
   *  files, and that computes on several devices (shard). */
  whole?: boolean
  /** Loads the engine that onnx and llm need, instead of another at their first call: then models and tensors are in one engine, and nothing is copied between two. */
  models?: boolean
  /**
   * The width of a search for faster kernels, from 0 (none) to 64: each kernel that is compiled is also tried in other forms, for up to 20
   * seconds, and the fastest that leaves the same results is taken. What is found is kept in the browser's localStorage. Needs the larger
   * engine.
   */
  search?: number
  /**
   * The address of the folder that has worker.js, weft.wasm, rest.wasm, whole.wasm and models.wasm, where they do not lie beside weft.js: after a bundler that does not
   * follow new URL('./weft.wasm', import.meta.url), for example.
   */
  folder?: string | URL
  /** What a search found elsewhere, the text of Weft.directives: kernels that it is about run so without a search. Needs the larger engine. */
  directives?: string
}

/** Starts the engine in a worker. */
export function open(options?: OpenOptions): Promise<Weft>
