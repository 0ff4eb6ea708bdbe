// The player of WebAssembly kernels as the engine calls it: numbers, and bytes of the engine's memory.

import { shares } from './lent.js'
import { OutOfMemory, Processor, fused, relaxed } from './processor.js'

/** The functions that the engine imports from "kernels". memory gives the engine's memory; keep keeps something for the worker; start
 *  starts a worker that is a thread; ended is called when a play has ended; guest stands for a guest of the threads. */
export function imports(memory, keep, start, ended = () => {}, guest = null) {
  const players = [null] // by the number of the device
  let problem = ''
  let lifted = null // an array that has been copied on: the system gives memory that is fresh more slowly than it is copied
  const view = (kind, at, n) => new kind(memory().buffer, at >>> 0, n)
  const bytes = (at, n) => view(Uint8Array, at, n)
  // Gives f's number; −1 says that problem tells what went wrong, −2 for how many bytes there is no room.
  const now = (f) => {
    try {
      return f() ?? 0
    } catch (e) {
      problem = new TextEncoder().encode(e.asked ?? e.message)
      return e instanceof OutOfMemory ? -2 : -1
    }
  }
  return {
    relaxed: () => relaxed() + fused(),
    open: (threads, poison, to) => now(() => {
      const player = new Processor({ threads: threads || undefined, poison: !!poison, start, guest })
      const unshared = !shares() && globalThis.navigator?.hardwareConcurrency > 1
      view(Float64Array, to, 3).set([player.threads, player.limit, +unshared])
      return players.push(player) - 1
    }),
    alloc: (device, n, to) => now(() => view(Float64Array, to, 1).set([players[device].alloc(n)])),
    free(device, at) { players[device].free(at) },
    write(device, at, offset, from, n) { players[device].write(at, offset, bytes(from, n)) },
    read(device, at, offset, to, n) { bytes(to, n).set(players[device].bytes(at + offset, n)) },
    lift(device, at, n) {
      if (lifted?.length !== n) return keep(players[device].read(at, 0, n))
      lifted.set(players[device].bytes(at, n))
      const again = lifted
      lifted = null
      return keep(again)
    },
    /** Takes back an array that was lifted, for the next one. */
    back(array) { lifted = array },
    sink: (device, at) => keep({ write: (offset, bytes) => players[device].write(at, offset, bytes), drain() {} }),
    load: (device, from, n) => now(() => players[device].load(bytes(from, n).slice())),
    drop(device, plan) { players[device].drop(plan) },
    play: (device, plan, args, n, vars, m, seconds, steps) => now(() => {
      try {
        players[device].play(plan, view(Float64Array, args, n), view(Int32Array, vars, m), seconds && view(Float64Array, seconds, steps))
      } finally {
        ended()
      }
    }),
    /** Is told by the worker that the engine has something to do. */
    expect() { for (const player of players) player?.expect() },
    /** A player by its number, for the worker. */
    player: (device) => players[device],
    close(device) {
      players[device].close()
      players[device] = null
    },
    size: () => problem.length,
    take(to, n) { bytes(to, n).set(problem.subarray(0, n)) },
  }
}
