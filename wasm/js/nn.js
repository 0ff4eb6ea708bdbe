// What networks are made of: layers as small objects of tensors, each with forward(x). A model is an object, or an array, of layers
// and tensors; w.nn finds what is in it. Layers have the names and the shapes of package nn, so that files fit both.

import { plain } from './functions.js'
import { Call, describe, fields, methods } from './methods.js'
import { leaves, nameOf } from './tree.js'

// Tensors of a layer have memory of their own: training changes it.
const uniform = (w, fan, shape, o) => w.uniform(shape, -1 / Math.sqrt(Math.max(fan, 1)), 1 / Math.sqrt(Math.max(fan, 1)), made(o)).own()
const filled = (w, shape, v, o) => w.full(shape, v, made(o)).own()
const made = (o) => o?.dtype && { dtype: o.dtype }
const list = (v, n) => Array.isArray(v) ? v : Array(n).fill(v)

// several gives x back, which has more elements than means to normalise by; n of its shape is how many these are. Sizes that are not known yet
// say nothing.
const several = (name, x, n) => {
  const { shape } = x.form
  if (Array.isArray(shape) && shape.length > 1 && n(shape) === shape.reduce((a, b) => a * b, 1) && n(shape) > 0) throw new RangeError(`${name}: input [${shape.join(', ')}] has one value for each mean, so that all results would be 0`)
  return x
}

export class Linear {
  constructor(w, inputs, outputs, { bias = true, ...o } = {}) {
    this.weight = uniform(w, inputs, [outputs, inputs], o)
    if (bias) this.bias = uniform(w, inputs, [outputs], o)
  }

  forward(x) { return x.linear(this.weight, this.bias) }
}

export class Bilinear {
  constructor(w, first, second, outputs, { bias = true, ...o } = {}) {
    this.weight = uniform(w, first, [outputs, first, second], o)
    if (bias) this.bias = uniform(w, first, [outputs], o)
  }

  forward(x, y) { return x.bilinear(y, this.weight, this.bias) }
}

export class Conv {
  constructor(w, axes, inputs, outputs, size, { bias = true, dtype, ...options } = {}) {
    const sizes = list(size, axes)
    const each = inputs / (options.groups ?? 1)
    const fan = sizes.reduce((n, s) => n * s, each)
    this.weight = uniform(w, fan, [outputs, each, ...sizes], { dtype })
    if (bias) this.bias = uniform(w, fan, [outputs], { dtype })
    this.options = options
  }

  forward(x) { return x.conv2d(this.weight, this.bias, this.options) }
}

export class ConvTranspose {
  constructor(w, axes, inputs, outputs, size, { bias = true, dtype, ...options } = {}) {
    const sizes = list(size, axes)
    const each = outputs / (options.groups ?? 1)
    const fan = sizes.reduce((n, s) => n * s, each)
    this.weight = uniform(w, fan, [inputs, each, ...sizes], { dtype })
    if (bias) this.bias = uniform(w, fan, [outputs], { dtype })
    this.options = options
  }

  forward(x) { return x.convTranspose2d(this.weight, this.bias, this.options) }
}

export class BatchNorm {
  static state = ['runningMean', 'runningVar', 'batches']

  constructor(w, channels, { eps = 1e-5, momentum = 0.1, affine = true, tracked = true, ...o } = {}) {
    if (affine) [this.weight, this.bias] = [filled(w, [channels], 1, o), filled(w, [channels], 0, o)]
    if (tracked) [this.runningMean, this.runningVar] = [filled(w, [channels], 0, o), filled(w, [channels], 1, o)]
    if (tracked && momentum === null) this.batches = filled(w, [], 0, o)
    Object.assign(this, { eps, momentum })
  }

  forward(x, { training = false } = {}) {
    if (!training && this.runningMean) return x.batchNorm(this.runningMean, this.runningVar, this.weight, this.bias, this.eps)
    const [mean, variance] = several('batchNorm', x, (s) => s[1]).channelMoments(0)
    if (this.runningMean) {
      const [m, n] = [this.momentum, this.batches?.add(1)]
      const move = (average, now) => average.assign(n ? average.add(now.detach().sub(average).div(n)) : average.mul(1 - m).add(now.detach().mul(m)))
      move(this.runningMean, mean)
      move(this.runningVar, x.channelMoments(1)[1]) // the estimate for the population
      if (n) this.batches.assign(n)
    }
    // (x − mean)·scale + bias, written for the constant c = mean: its gradient then takes no other pass over x.
    const c = mean.detach()
    let bias = mean.sub(c).mul(variance.add(this.eps).rsqrt()).neg()
    if (this.weight) bias = bias.mul(this.weight).add(this.bias)
    return x.batchNorm(c, variance, this.weight, bias, this.eps)
  }
}

export class LayerNorm {
  constructor(w, shape, { eps = 1e-5, bias = true, affine = true, ...o } = {}) {
    this.shape = list(shape, 1)
    if (affine) this.weight = filled(w, this.shape, 1, o)
    if (affine && bias) this.bias = filled(w, this.shape, 0, o)
    this.eps = eps
  }

  forward(x) { return x.layerNorm(this.shape, this.weight, this.bias, this.eps) }
}

export class RMSNorm {
  constructor(w, shape, { eps = 1e-6, affine = true, ...o } = {}) {
    this.shape = list(shape, 1)
    if (affine) this.weight = filled(w, this.shape, 1, o)
    this.eps = eps
  }

  forward(x) { return x.rmsNorm(this.shape, this.weight, this.eps) }
}

export class GroupNorm {
  constructor(w, groups, channels, { eps = 1e-5, affine = true, ...o } = {}) {
    if (affine) [this.weight, this.bias] = [filled(w, [channels], 1, o), filled(w, [channels], 0, o)]
    Object.assign(this, { groups, eps })
  }

  forward(x) { return several('groupNorm', x, () => this.groups).groupNorm(this.groups, this.weight, this.bias, this.eps) }
}

export class InstanceNorm {
  constructor(w, channels, { eps = 1e-5, affine = false, ...o } = {}) {
    if (affine) [this.weight, this.bias] = [filled(w, [channels], 1, o), filled(w, [channels], 0, o)]
    this.eps = eps
  }

  forward(x) { return several('instanceNorm', x, (s) => s[0] * s[1]).instanceNorm(this.weight, this.bias, this.eps) }
}

export class PReLU {
  constructor(w, channels = 1, { slope = 0.25, ...o } = {}) { this.weight = filled(w, [channels], slope, o) }

  forward(x) { return x.prelu(this.weight) }
}

export class Embedding {
  constructor(w, n, size, { dtype, ...options } = {}) {
    this.weight = w.randn([n, size], made({ dtype })).own()
    this.options = options
  }

  forward(ids) { return this.weight.embedding(ids, this.options) }
}

export class Dropout {
  constructor(w, p = 0.5) { this.p = p }

  forward(x, { training = false } = {}) { return training && this.p > 0 ? x.dropout(this.p) : x }
}

export class Sequential {
  constructor(w, ...layers) {
    this.layers = layers.flat()
    for (const [i, l] of this.layers.entries()) {
      if (typeof l === 'function') plain('sequential', l)
      else if (typeof l?.forward !== 'function') throw new TypeError(`sequential: step ${i} is ${describe(l)}; it must be a layer, or a function of a tensor`)
    }
  }

  /** What a context may hold: what one of the layers takes. Where one is of another kind, anything. */
  static takes({ layers }) {
    const all = layers.filter((l) => typeof l !== 'function').map(takes)
    return all.every((names) => names) ? [...new Set(['training', ...all.flat()])] : undefined
  }

  forward(x, context) {
    const call = new Call('sequential.forward', x?.w)
    call.param({ name: 'x', kind: 'tensor' }, x)
    if (context !== undefined) {
      const names = takes(this)
      call.options('context', context, { params: (names ?? Object.keys(Object(context))).map((name) => ({ name, kind: 'any' })) })
    }
    return this.layers.reduce((x, l) => typeof l === 'function' ? l(x) : l.forward(x, part(context, takes(l))), x)
  }
}

// The names of what a layer may be told besides its input; nothing of layers that are not of this file.
function takes(l) {
  const { takes } = l.constructor
  return takes && takes(l)
}

// What of a context a layer takes.
const part = (context, names) => names && context ? Object.fromEntries(names.filter((name) => name in context).map((name) => [name, context[name]])) : context

const gates = { tanh: 1, relu: 1, lstm: 4, gru: 3 }

export class Recurrent {
  constructor(w, kind, inputs, hidden, { layers = 1, bothWays = false, batchFirst = false, dropout = 0, bias = true, projection = 0, ...o } = {}) {
    const n = gates[kind] * hidden
    const state = projection || hidden
    this.layers = Array.from({ length: layers }, (_, i) => Array.from({ length: bothWays ? 2 : 1 }, (_, __, each = i ? state * (bothWays ? 2 : 1) : inputs) => ({
      input: uniform(w, hidden, [n, each], o), hidden: uniform(w, hidden, [n, state], o),
      ...bias && { inputBias: uniform(w, hidden, [n], o), hiddenBias: uniform(w, hidden, [n], o) },
      ...projection && { projection: uniform(w, hidden, [projection, hidden], o) },
    })))
    Object.assign(this, { kind, bothWays, batchFirst, dropout, bias })
  }

  /** The outputs at all times, and the last states {h, c}, which may be given as the first ones of the next call. */
  forward(x, { h, c, training = false } = {}) {
    const weights = this.layers.flat().flatMap((l) => [l.input, l.hidden, ...this.bias ? [l.inputBias, l.hiddenBias] : [], ...l.projection ? [l.projection] : []])
    const { kind, bothWays, batchFirst } = this
    const [y, lastH, lastC] = x.w.recurrent(x, weights, {
      kind, layers: this.layers.length, bothWays, batchFirst, biases: this.bias, dropout: training ? this.dropout : 0, ...h && { h }, ...c && { c },
    })
    return [y, { h: lastH, ...lastC && { c: lastC } }]
  }
}

export class MultiheadAttention {
  constructor(w, size, heads, { dropout = 0, batchFirst = false, bias = true, ...o } = {}) {
    if (size % heads) throw new RangeError(`multiheadAttention: ${heads} heads do not divide the size ${size}`)
    for (const name of ['query', 'key', 'value', 'out']) this[name] = new Linear(w, size, size, { bias, ...o })
    Object.assign(this, { heads, dropout, batchFirst })
  }

  /**
   * The results for queries, [time, n, size], or [n, time, size] with batchFirst. mask: [queries, keys], true where a query sees a
   * key, or what is added to their product; paddingMask: [n, keys], true where a key counts. With weights: true it gives the results and
   * the weights of the keys, [n, queries, keys].
   */
  forward(query, key = query, value = key, { mask, paddingMask, causal = false, weights = false, training = false } = {}) {
    const w = query.w
    const swap = (x) => this.batchFirst ? x : x.transpose(0, 1)
    const split = (x, l) => l.forward(swap(x)).unflatten(-1, [this.heads, -1]).transpose(1, 2)
    const [q, k, v] = [split(query, this.query), split(key, this.key), split(value, this.value)]
    if (paddingMask) {
      const keys = paddingMask.unsqueeze(1).unsqueeze(1)
      mask = mask ? mask.and(keys) : keys
    }
    const join = (y) => swap(this.out.forward(y.transpose(1, 2).flatten([-2, -1])))
    const dropout = training ? this.dropout : 0
    if (!weights) return join(w.attention(q, k, v, { causal, dropout, ...mask && { mask } }))
    const shares = w.attentionWeights(q, k, { causal, ...mask && { mask } })
    return [join((dropout ? shares.dropout(dropout) : shares).matmul(v)), shares.mean(1)]
  }
}

export class TransformerLayer {
  constructor(w, size, heads, wide, { decoder = false, normFirst = false, activation = 'relu', dropout = 0, batchFirst = false, ...o } = {}) {
    this.selfAttention = new MultiheadAttention(w, size, heads, { dropout, batchFirst, ...o })
    if (decoder) this.crossAttention = new MultiheadAttention(w, size, heads, { dropout, batchFirst, ...o })
    this.widen = new Linear(w, size, wide, o)
    this.narrow = new Linear(w, wide, size, o)
    this.selfNorm = new LayerNorm(w, size, o)
    if (decoder) this.crossNorm = new LayerNorm(w, size, o)
    this.feedNorm = new LayerNorm(w, size, o)
    Object.assign(this, { normFirst, activation, dropout })
  }

  /** memory: what a decoder attends to, with memoryMask and memoryPaddingMask. */
  forward(x, { memory, mask, paddingMask, causal, memoryMask, memoryPaddingMask, training = false } = {}) {
    if (!memory !== !this.crossAttention) throw new TypeError(`transformerLayer.forward: ${memory ? 'memory is what a decoder attends to; make the layer with decoder: true' : 'memory is missing; a decoder attends to it'}`)
    const drop = (x) => training && this.dropout > 0 ? x.dropout(this.dropout) : x
    const part = (x, norm, f) => this.normFirst ? x.add(drop(f(norm.forward(x)))) : norm.forward(x.add(drop(f(x))))
    x = part(x, this.selfNorm, (x) => this.selfAttention.forward(x, x, x, { mask, paddingMask, causal, training }))
    if (this.crossAttention) {
      const masks = { mask: memoryMask, paddingMask: memoryPaddingMask, training }
      x = part(x, this.crossNorm, (x) => this.crossAttention.forward(x, memory, memory, masks))
    }
    return part(x, this.feedNorm, (x) => this.narrow.forward(drop(this.widen.forward(x)[this.activation]())))
  }
}

const layers = {
  linear: [Linear], bilinear: [Bilinear], embedding: [Embedding], dropout: [Dropout], prelu: [PReLU],
  conv1d: [Conv, 1], conv2d: [Conv, 2], conv3d: [Conv, 3], convTranspose1d: [ConvTranspose, 1], convTranspose2d: [ConvTranspose, 2], convTranspose3d: [ConvTranspose, 3],
  batchNorm: [BatchNorm], layerNorm: [LayerNorm], rmsNorm: [RMSNorm], groupNorm: [GroupNorm], instanceNorm: [InstanceNorm],
  lstm: [Recurrent, 'lstm'], gru: [Recurrent, 'gru'], rnn: [Recurrent, 'tanh'], multiheadAttention: [MultiheadAttention], transformerLayer: [TransformerLayer],
}

// Every layer checks what it is called with before it does anything.
for (const [made, [Layer]] of Object.entries(layers)) {
  if (Layer.takes) continue
  const name = made === 'lstm' ? 'recurrent' : made.replace('1d', '')
  const { forward } = Layer.prototype
  const row = methods.Layer[name]
  const names = fields(row.params.at(-1)).map((p) => p.name)
  Layer.takes = () => names
  Layer.prototype.forward = function (...args) {
    new Call(`${name}.forward`, args[0]?.w).check(row, args)
    return forward.apply(this, args)
  }
}

/** w.nn: what makes layers, and what is in a model. */
export function nn(w) {
  const make = {}
  for (const name of Object.keys(layers)) {
    const [Layer, ...first] = layers[name]
    make[name] = (...args) => {
      new Call(name, w).check(methods.NN[name], args)
      const layer = new Layer(w, ...first, ...args)
      for (const l of leaves(layer)) if (!l.state) l.tensor.requireGrad()
      return layer
    }
  }
  return {
    ...make,
    sequential: (...layers) => new Sequential(w, ...layers),
    /** The tensors of a model by the names that they have in files. */
    state: (model) => Object.fromEntries(leaves(model).map(({ path, tensor }) => [nameOf(path), tensor])),
    /** Those of them that are trained. */
    parameters: (model) => leaves(model).filter((l) => !l.state).map((l) => l.tensor),
  }
}
