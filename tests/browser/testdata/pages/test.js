// What the tests of the browser package call through the DevTools protocol.
import * as weft from './weft.js'
globalThis.weft = weft

const policy = trustedTypes.createPolicy('site', { createScriptURL: (s) => s })

// Test binaries of Go that were started, each in a worker: what it printed so far and, at its end, its exit code.
globalThis.runs = []
globalThis.startInside = (options) => {
  const run = { printed: '', code: null }
  runs.push(run)
  const worker = new Worker(policy.createScriptURL('./inside.js'), { type: 'module' })
  worker.onmessage = ({ data }) => {
    if (data.text) run.printed += data.text
    if (data.code === undefined) return
    worker.terminate()
    run.code = data.code
  }
  worker.onerror = (e) => {
    if (run.code !== null) return // a promise that the program waited for no more has called it after its end
    run.printed += `the worker failed: ${e.message}\n`
    run.code = 4
  }
  worker.postMessage(options)
}
