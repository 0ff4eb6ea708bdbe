// What a program in TypeScript sees of the package.
import { open, type OpenOptions, type Tensor, type Weft } from '@weft-ml/weft'

const options: OpenOptions = { device: 'wasm', folder: new URL('https://example.org/weft/') }
const w: Weft = await open(options)
const f = w.capture((a) => ({ sum: a.sum(), parts: [a.neg()] }))
const { sum, parts }: { sum: Tensor; parts: Tensor[] } = await f.run(w.ones([2]))
const n: number = await sum.item()
console.log(n, parts)
