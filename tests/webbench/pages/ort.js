// onnxruntime-web. Its sessions take inputs from JavaScript with every run and give outputs there; weights are constants
// of the model, which it packs once.

import * as ort from '/peers/onnxruntime-web/dist/ort.wasm.min.mjs'
import { model } from './onnx.js'

export async function open(threads) {
  ort.env.wasm.wasmPaths = '/peers/onnxruntime-web/dist/'
  ort.env.wasm.numThreads = threads
  return { prepare, threads: () => ort.env.wasm.numThreads }
}

const graphs = {
  matmul: ({ n, inputs: { b } }) => ({ shape: [n, n], input: 'a', constants: { b: [[n, n], b] }, nodes: [['MatMul', ['a', 'b'], 'out']] }),
  conv: ({ size, channels: c, inputs: { w } }) => ({
    shape: [1, c, size, size], input: 'x', constants: { w: [[c, c, 3, 3], w] }, nodes: [['Conv', ['x', 'w'], 'out', { pads: [1, 1, 1, 1], kernel_shape: [3, 3] }]],
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
}

async function prepare(c) {
  if (!graphs[c.kind]) return null
  const { shape, input, constants, nodes } = graphs[c.kind](c)
  const session = await ort.InferenceSession.create(model({ inputs: { [input]: shape }, outputs: { out: shape }, constants, nodes }), {
    executionProviders: ['wasm'], graphOptimizationLevel: 'all',
  })
  const x = new ort.Tensor('float32', c.inputs[input], shape)
  return { run: async () => (await session.run({ [input]: x })).out.data, end: () => session.release() }
}
