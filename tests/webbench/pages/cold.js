// How long the first product of two matrices takes, once a library says that it is ready: uploading, writing and
// compiling kernels, computing, reading. A page does it once.

import { make } from './cases.js'
import { distance } from './numbers.js'

const firsts = {
  async weft() {
    const w = await (await import('/weft/weft.js')).open({ device: 'webgpu' })
    return ({ n, inputs: { a, b } }) => w.tensor(a, [n, n]).matmul(w.tensor(b, [n, n])).data()
  },
  async 'jax-js'() {
    const { array, open, product } = await import('./jaxjs.js')
    await open(0, 'webgpu')
    return ({ n, inputs: { a, b } }) => product(array(a, [n, n]), array(b, [n, n])).data()
  },
  async 'by hand'() {
    const { open, prepare } = await import('./hand.js')
    await open()
    return async (c) => (await prepare(c)).run()
  },
}

globalThis.cold = async (who, name) => {
  const c = make(name)
  const first = await firsts[who]()
  const start = performance.now()
  const got = await first(c)
  const ms = performance.now() - start
  const far = distance(got, c.want(), c.scale)
  return far < 2e-5 ? { ms, error: far } : { failed: `wrong values: ${far} from float64's` }
}
