import { run } from './main.js'

run(globalThis.weftOptions).then((result) => { globalThis.result = result }, (e) => { globalThis.result = { error: e.stack } })
