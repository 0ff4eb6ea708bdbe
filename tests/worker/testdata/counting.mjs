// The worker with a Go program whose calls through package syscall/js are counted: a PUT says how many of each there were since the last one.
import './build/wasm_exec.js'
import worker from './worker.mjs'

let calls = {}
const count = (name) => { calls[name] = (calls[name] ?? 0) + 1 }

globalThis.Go = class extends Go {
  constructor() {
    super()
    const { gojs } = this.importObject
    for (const [name, call] of Object.entries(gojs)) {
      if (!name.startsWith('syscall/js.') || name === 'syscall/js.finalizeRef') continue // when objects are given back is the collector's business
      gojs[name] = (...args) => {
        count(name)
        return call(...args)
      }
    }
  }

  _resume() {
    count('resume')
    super._resume()
  }
}

export default {
  async fetch(request, env, ctx) {
    if (request.method !== 'PUT') return worker.fetch(request, env, ctx)
    const counted = calls
    calls = {}
    return Response.json(counted)
  },
}
