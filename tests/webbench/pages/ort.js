// onnxruntime-web. Its sessions take inputs from JavaScript with every run and give outputs there; weights are constants
// of the model, which it packs once.

import * as ort from '/peers/onnxruntime-web/dist/ort.wasm.min.mjs'
import { epsilon } from './networks.js'
import { model } from './onnx.js'

export async function open(threads) {
  ort.env.wasm.wasmPaths = '/peers/onnxruntime-web/dist/'
  ort.env.wasm.numThreads = threads
  return { prepare, prepareModel, threads: () => ort.env.wasm.numThreads }
}

const graphs = {
  matmul: ({ n, inputs: { b } }) => ({ shape: [n, n], input: 'a', constants: { b: [[n, n], b] }, nodes: [['MatMul', ['a', 'b'], 'out']] }),
  conv: ({ size, from, to, each, window, groups, border: b, inputs: { w } }) => ({
    shape: [1, from, size, size], out: [1, to, size, size], input: 'x', constants: { w: [[to, each, window, window], w] },
    nodes: [['Conv', ['x', 'w'], 'out', { pads: [b, b, b, b], kernel_shape: [window, window], group: groups }]],
  }),
  softmax: ({ n }) => ({ shape: [n, n], input: 'x', nodes: [['Softmax', ['x'], 'out', { axis: 1 }]] }),
  layernorm: ({ n, inputs: { w, b } }) => ({
    shape: [n, n], input: 'x', constants: { w: [[n], w], b: [[n], b] }, nodes: [['LayerNormalization', ['x', 'w', 'b'], 'out', { axis: 1, epsilon: { float: 1e-5 } }]],
  }),
  chain: ({ n, inputs: { y } }) => ({
    shape: [n], input: 'x', constants: { y: [[n], y], half: [[1], Float32Array.of(0.5)], one: [[1], Float32Array.of(1)] },
    nodes: [
      ['Mul', ['x', 'y'], 't1'], ['Add', ['t1', 'x'], 't2'], ['Relu', ['t2'], 't3'], ['Sqrt', ['t3'], 't4'], ['Sub', ['t4', 'y'], 't5'],
      ['Abs', ['t5'], 't6'], ['Mul', ['t6', 'half'], 't7'], ['Add', ['t7', 'one'], 't8'], ['Mul', ['t8', 't8'], 'out'],
    ],
  }),
  attention: ({ heads, length, size, inputs: { k, v } }) => ({
    shape: [heads, length, size], input: 'q', constants: { k: [[heads, length, size], k], v: [[heads, length, size], v], ...factor(size) }, nodes: attended('q', 'k', 'v', 'out'),
  }),
  token: ({ heads, size, width, shapes, inputs }) => ({
    shape: [1, width], input: 'x',
    constants: {
      ...Object.fromEntries(Object.keys(shapes).filter((name) => name !== 'x').map((name) => [name, [shapes[name], inputs[name]]])), ...factor(size),
      three: ints(width, width, width), row: ints(heads, 1, size), flat: ints(1, width),
    },
    nodes: [
      ['LayerNormalization', ['x', 'w1', 'b1'], 't1', { axis: 1, epsilon: { float: epsilon } }], ['MatMul', ['t1', 'qkv'], 't2'],
      ['Split', ['t2', 'three'], ['q0', 'k0', 'v0'], { axis: 1 }], ...['q', 'k', 'v'].map((n) => ['Reshape', [n + '0', 'row'], n + '1']),
      ['Concat', ['k', 'k1'], 'k2', { axis: 1 }], ['Concat', ['v', 'v1'], 'v2', { axis: 1 }], ...attended('q1', 'k2', 'v2', 't3'),
      ['Reshape', ['t3', 'flat'], 't4'], ['MatMul', ['t4', 'back'], 't5'], ['Add', ['t5', 'x'], 'y'],
      ['LayerNormalization', ['y', 'w2', 'b2'], 't6', { axis: 1, epsilon: { float: epsilon } }], ['MatMul', ['t6', 'up'], 't7'], ['Relu', ['t7'], 't8'],
      ['MatMul', ['t8', 'down'], 't9'], ['Add', ['t9', 'y'], 'out'],
    ],
  }),
  convnet: ({ batch, flat, classes, shapes, inputs: { w1, w2, w3, b3 } }) => ({
    shape: shapes.x, out: [batch, classes], input: 'x', constants: { w1: [shapes.w1, w1], w2: [shapes.w2, w2], w3: [shapes.w3, w3], b3: [shapes.b3, b3], flat: ints(batch, flat) },
    nodes: [...layer('x', 'w1', 'h1'), ...layer('h1', 'w2', 'h2'), ['Reshape', ['h2', 'flat'], 'h3'], ['MatMul', ['h3', 'w3'], 'h4'], ['Add', ['h4', 'b3'], 'out']],
  }),
  sort: ({ n }) => ({ shape: [n], input: 'x', constants: { n: ints(n) }, nodes: [['TopK', ['x', 'n'], ['out', 'places'], { largest: 0 }]] }),
  topk: ({ n, k }) => ({ shape: [n], out: [k], input: 'x', constants: { k: ints(k) }, nodes: [['TopK', ['x', 'k'], ['out', 'places']]] }),
  cumsum: ({ n }) => ({ shape: [n], input: 'x', constants: { axis: [[], BigInt64Array.of(0n)] }, nodes: [['CumSum', ['x', 'axis'], 'out']] }),
}

const ints = (...list) => [[list.length], BigInt64Array.from(list, BigInt)]

const factor = (size) => ({ factor: [[1], Float32Array.of(1 / Math.sqrt(size))] })

const attended = (q, k, v, out) => [
  ['Transpose', [k], out + 'k', { perm: [0, 2, 1] }], ['MatMul', [q, out + 'k'], out + 's'], ['Mul', [out + 's', 'factor'], out + 'm'], ['Softmax', [out + 'm'], out + 'p', { axis: 2 }],
  ['MatMul', [out + 'p', v], out],
]

const layer = (x, w, out) => [
  ['Conv', [x, w], out + 'c', { pads: [1, 1, 1, 1], kernel_shape: [3, 3] }], ['Relu', [out + 'c'], out + 'r'],
  ['MaxPool', [out + 'r'], out, { kernel_shape: [2, 2], strides: [2, 2] }],
]

async function prepare(c) {
  if (!graphs[c.kind]) return null
  const { shape, out = shape, input, constants, nodes } = graphs[c.kind](c)
  const session = await ort.InferenceSession.create(model({ inputs: { [input]: shape }, outputs: { out }, constants, nodes }), {
    executionProviders: ['wasm'], graphOptimizationLevel: 'all',
  })
  const x = new ort.Tensor('float32', c.inputs[input], shape)
  return { run: async () => (await session.run({ [input]: x })).out.data, end: () => session.release() }
}

async function prepareModel(bytes, inputs, outputs) {
  const session = await ort.InferenceSession.create(bytes, { executionProviders: ['wasm'], graphOptimizationLevel: 'all' })
  const feeds = Object.fromEntries(inputs.map(({ name, dtype, shape, data }) => [name, new ort.Tensor(dtype, data, shape)]))
  return { run: async () => (await session.run(feeds))[outputs[0]].data, end: () => session.release() }
}
