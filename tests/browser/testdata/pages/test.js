// What the tests of the browser package call through the DevTools protocol.
import * as weft from './weft.js'
globalThis.weft = weft

// Runs a test binary of Go in a worker; gives its exit code. What it printed so far is in printed.
globalThis.printed = ''
globalThis.runInside = (options) => new Promise((done) => {
  const worker = new Worker('./inside.js', { type: 'module' })
  worker.onmessage = ({ data }) => {
    if (data.text) globalThis.printed += data.text
    if (data.code !== undefined) {
      worker.terminate()
      done(data.code)
    }
  }
  worker.onerror = (e) => done(`the worker failed: ${e.message}`)
  worker.postMessage(options)
})
