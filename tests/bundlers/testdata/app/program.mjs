// What Deno and Bun run.
import { writeFileSync } from 'node:fs'
import { run } from './main.js'
import { open } from '@weft-ml/weft'

const out = await run()
const w = await open({ device: 'wasm' })
writeFileSync('numbers.bin', new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer))
out.part = await (await w.fetch('numbers.bin', [2], { dtype: 'f32', offset: 8 })).list()
out.bytes = await w.tensor(new Blob([new Uint8Array([1, 2, 3])]), [3]).add(1).list()
writeFileSync('x.safetensors', new Uint8Array(await (await w.save({ x: w.tensor([[1, 2], [3, 4]]) })).arrayBuffer()))
out.loaded = await (await w.load('x.safetensors')).x.list()
out.ones = await w.ones([700, 700]).matmul(w.ones([700, 700])).mean().item() // on all threads
w.close()
console.log(JSON.stringify(out))
