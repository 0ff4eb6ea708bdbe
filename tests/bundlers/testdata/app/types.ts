// What a program in TypeScript sees of the package.
import { open, type OpenOptions, type Tensor, type Weft } from '@weft-ml/weft'
import { exportFunctions, write, type Files } from '@weft-ml/weft/export'
import { load, type Model } from '@weft-ml/weft/player'
import { WeftModel } from '@weft-ml/weft/player/element'

const options: OpenOptions = { device: 'wasm', folder: new URL('https://example.org/weft/') }
const w: Weft = await open(options)
const f = w.capture((a) => ({ sum: a.sum(), parts: [a.neg()] }))
const { sum, parts }: { sum: Tensor; parts: Tensor[] } = await f.run(w.ones([2]))
const n: number = await sum.item()
console.log(n, parts)

const files: Files = await exportFunctions({ f: { function: f, inputs: ['a'] } }, { weights: 'f16', devices: ['wasm'] })
await write(files, 'folder')
const alone: Record<string, Uint8Array> = await f.export({ name: 'f', title: 'F' })
const model: Model = await load('folder', { worker: true })
const { sum: total } = await model.run('f', { a: [1, 2] })
const element: WeftModel = document.querySelector('weft-model')!
console.log(alone, total.data.length, element.model)
