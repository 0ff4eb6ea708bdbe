// What every fixture runs: the engine, a plan, what is loaded later, and the larger engine.
import { open } from '@weft-ml/weft'

export async function run(options) {
  const w = await open({ device: 'wasm', ...options })
  const x = w.tensor([[1, 2], [3, 4]])
  const list = await x.matmul(x).add(1).relu().list()
  const f = w.capture((a) => ({ sum: a.sum(), parts: [a.neg()] }))
  const { sum, parts: [neg] } = await f.run(x)
  const file = await w.save({ x }) // a script of its own
  const { x: again } = await w.load(file)
  const out = { list, sum: await sum.item(), neg: await neg.list(), again: await again.list(), whole: (await w.inspect('relu(x[4])')).kernels.length, detail: w.deviceDetail }
  w.close()
  return out
}
