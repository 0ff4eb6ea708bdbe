// The worker of the package for npm, which is one file, since bundlers carry it along without looking into it: its threads are of this script
// too.
import { trusted } from './model.js'
import { thread } from './threads.js'
import { answer } from './worker.js'

const model = answer({ start: () => new Worker(trusted(globalThis.location.href), { type: 'module' }) })

// The first message tells what this worker is.
onmessage = (first) => {
  globalThis.onmessage = first.data.memory ? thread((made) => postMessage(made, [made])) : model
  globalThis.onmessage(first)
}
