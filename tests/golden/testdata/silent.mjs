// Opens the player with a browser that never answers, and prints the error:
//
//   node silent.mjs player.mjs
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const { Player } = await import(pathToFileURL(path.resolve(process.argv[2])))
const gpu = { requestAdapter: () => new Promise(() => {}) }
await new Player(() => {}, gpu, 50).open().catch((e) => console.log(e.message))
