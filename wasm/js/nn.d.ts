// Types of w.nn.

import type { Conv as ConvOptions, DType, EmbeddingOptions, Tensor } from './weft.js'

interface Typed {
  dtype?: DType
}

/** What a layer is told besides its input. */
export interface Context {
  /** Layers that behave otherwise in training do so then: dropout drops, batch norm takes the statistics of the batch. */
  training?: boolean
}

/** What can stand in a sequence: a layer, or a function. */
export type Step = { forward(x: Tensor, context?: any): Tensor } | ((x: Tensor) => Tensor)

/** x · weightᵀ + bias, with weights uniform in ±1/√inputs. */
export class Linear {
  weight: Tensor
  bias?: Tensor
  forward(x: Tensor): Tensor
}

export class Bilinear {
  weight: Tensor
  bias?: Tensor
  forward(x: Tensor, y: Tensor): Tensor
}

/** Filters weight[outputs, inputs/groups, size…] over x[n, inputs, …]. */
export class Conv {
  weight: Tensor
  bias?: Tensor
  options: ConvOptions
  forward(x: Tensor): Tensor
}

/** The transpose of a convolution, with weight[inputs, outputs/groups, size…]. */
export class ConvTranspose {
  weight: Tensor
  bias?: Tensor
  options: ConvOptions
  forward(x: Tensor): Tensor
}

/** Normalises each channel (axis 1): by the statistics of the batch in training, by running averages otherwise. */
export class BatchNorm {
  weight?: Tensor
  bias?: Tensor
  /** Not there without tracked. */
  runningMean?: Tensor
  runningVar?: Tensor
  /** How many batches the averages are of, where momentum is null. */
  batches?: Tensor
  eps: number
  /** The share of the newest batch in the averages; null: all batches count alike. */
  momentum: number | null
  forward(x: Tensor, context?: Context): Tensor
}

/** A norm of the last axes, of channels in groups, or of each channel; PReLU. */
export class Norm {
  weight?: Tensor
  bias?: Tensor
  forward(x: Tensor): Tensor
}

/** A table of vectors, one for each of n numbers. */
export class Embedding {
  weight: Tensor
  forward(ids: Tensor): Tensor
}

export class Dropout {
  p: number
  forward(x: Tensor, context?: Context): Tensor
}

export class Sequential {
  layers: Step[]
  forward(x: Tensor, context?: Context): Tensor
}

/** The states of a recurrent layer, [layers·directions, n, size]; c of LSTM only. */
export interface States {
  h?: Tensor
  c?: Tensor
}

/** Layers of cells that run over a sequence [time, n, inputs], or [n, time, inputs] with batchFirst. */
export class Recurrent {
  layers: { input: Tensor; hidden: Tensor; inputBias?: Tensor; hiddenBias?: Tensor; projection?: Tensor }[][]
  forward(x: Tensor, context?: Context & States): [Tensor, States]
}

/** How queries see keys. */
export interface Attending extends Context {
  /** [queries, keys], or with axes of the batch and the heads before: true where a query sees a key, or what is added to their product. */
  mask?: Tensor
  /** [n, keys], true where a key counts. Together with it mask must be of bools. */
  paddingMask?: Tensor
  causal?: boolean
}

export class MultiheadAttention {
  query: Linear
  key: Linear
  value: Linear
  out: Linear
  forward(query: Tensor, key: Tensor | undefined, value: Tensor | undefined, options: Attending & { weights: true }): [Tensor, Tensor]
  forward(query: Tensor, key?: Tensor, value?: Tensor, options?: Attending): Tensor
}

export interface Blocking extends Attending {
  /** What a decoder attends to. */
  memory?: Tensor
  memoryMask?: Tensor
  memoryPaddingMask?: Tensor
}

/** A block of attention and two linear layers, each added to its input and normalised. */
export class TransformerLayer {
  selfAttention: MultiheadAttention
  crossAttention?: MultiheadAttention
  widen: Linear
  narrow: Linear
  forward(x: Tensor, options?: Blocking): Tensor
}

type Biased = Typed & { bias?: boolean }
type Affine = Typed & { eps?: number; affine?: boolean }
type Filters = (inputs: number, outputs: number, size: number | readonly number[], options?: ConvOptions & Biased) => Conv
type Cells = (inputs: number, hidden: number, options?: Biased & { layers?: number; bothWays?: boolean; batchFirst?: boolean; dropout?: number; projection?: number }) => Recurrent

/** What makes layers. Their tensors are drawn when they are first used, or when an optimiser is made. */
export interface NN {
  linear(inputs: number, outputs: number, options?: Biased): Linear
  /** Of two inputs, whose vectors have these sizes: Σ x[i]·weight[out, i, j]·y[j]. */
  bilinear(first: number, second: number, outputs: number, options?: Biased): Bilinear
  conv1d: Filters
  conv2d: Filters
  conv3d: Filters
  convTranspose1d: Filters
  convTranspose2d: Filters
  convTranspose3d: Filters
  batchNorm(channels: number, options?: Affine & { momentum?: number | null; tracked?: boolean }): BatchNorm
  layerNorm(shape: number | readonly number[], options?: Affine & { bias?: boolean }): Norm
  rmsNorm(shape: number | readonly number[], options?: Affine): Norm
  groupNorm(groups: number, channels: number, options?: Affine): Norm
  instanceNorm(channels: number, options?: Affine): Norm
  prelu(channels?: number, options?: Typed & { slope?: number }): Norm
  embedding(n: number, size: number, options?: Typed & EmbeddingOptions): Embedding
  dropout(p?: number): Dropout
  sequential(...steps: Step[]): Sequential
  lstm: Cells
  gru: Cells
  rnn: Cells
  multiheadAttention(size: number, heads: number, options?: Biased & { dropout?: number; batchFirst?: boolean }): MultiheadAttention
  transformerLayer(size: number, heads: number, wide: number, options?: Typed & {
    decoder?: boolean; normFirst?: boolean; activation?: 'relu' | 'gelu' | 'geluTanh' | 'silu'; dropout?: number; batchFirst?: boolean; bias?: boolean
  }): TransformerLayer
  /** The tensors of a model by the names that they have in files. */
  state(model: object): Record<string, Tensor>
  /** Those of them that are trained. */
  parameters(model: object): Tensor[]
}
