// What Deno and Bun run.
import { writeFileSync } from 'node:fs'
import { run } from './main.js'
import { open } from '@weft-ml/weft'
import { exportFunctions, write } from '@weft-ml/weft/export'
import { load } from '@weft-ml/weft/player'
import { WeftModel } from '@weft-ml/weft/player/element'

const out = await run()
const w = await open({ device: 'wasm' })
writeFileSync('numbers.bin', new Uint8Array(new Float32Array([1, 2, 3, 4]).buffer))
out.part = await (await w.fetch('numbers.bin', [2], { dtype: 'f32', offset: 8 })).list()
out.bytes = await w.tensor(new Blob([new Uint8Array([1, 2, 3])]), [3]).add(1).list()
writeFileSync('x.safetensors', new Uint8Array(await (await w.save({ x: w.tensor([[1, 2], [3, 4]]) })).arrayBuffer()))
out.loaded = await (await w.load('x.safetensors')).x.list()
out.ones = await w.ones([700, 700]).matmul(w.ones([700, 700])).mean().item() // on all threads
w.close()
{
  const own = await open({ device: 'wasm', models: true })
  const twice = own.capture((x) => ({ twice: x.matmul(x).mul(2) }))
  await twice.run(own.tensor([[1, 2], [3, 4]]))
  await write(await exportFunctions({ twice: { function: twice, inputs: ['x'] } }), 'folder')
  own.close()
  const model = await load('folder')
  out.played = [...(await model.run('twice', { x: [[1, 2], [3, 4]] })).twice.data]
  await model.close()
}
out.element = (() => { try { return String(new WeftModel()) } catch (e) { return e.message } })()
console.log(JSON.stringify(out))
