// The player as the engine's WebAssembly calls it: numbers and bytes. Whatever waits is answered through done.

import { Player, PlayerError } from './player.js'
import { Stopwatch } from './stopwatch.js'

const kinds = { lost: 1, memory: 2, large: 3, kernel: 4, other: 5 }
const text = new TextEncoder()

/** The functions that the engine imports from "player". memory gives the engine's memory; onlost hears of a lost device; keep keeps something for the worker. */
export function imports(memory, onlost, keep) {
  const players = new Map() // by the number of the device
  let done = null // of the engine: (ticket, kind of error or 0, bytes that take gives)
  const results = new Map()
  const bytes = (at, n) => new Uint8Array(memory().buffer, at >>> 0, n)
  const failure = (e) => ({ kind: kinds[e instanceof PlayerError ? e.kind : 'other'], data: text.encode(e.message ?? String(e)) })

  // Answers a ticket when a promise has settled.
  const settle = (ticket, promise) => {
    promise.then((data) => ({ kind: 0, data }), failure).then(({ kind, data }) => {
      results.set(ticket, data)
      done(ticket, kind, data?.length ?? 0)
    })
  }
  // Does something at once: 0, or the kind of error, whose text take(0) gives.
  const now = (f) => {
    try {
      f()
      return 0
    } catch (e) {
      const { kind, data } = failure(e)
      results.set(0, data)
      return kind
    }
  }
  const number = (n) => new Uint8Array(Uint32Array.of(n).buffer)
  const many = (kind, at, n) => new kind(memory().buffer, at >>> 0, n)
  return {
    listen(f) { done = f },
    functions: {
      open(device, ticket) {
        const player = new Player(onlost)
        players.set(device, player)
        settle(ticket, player.open().then((info) => text.encode(
          [info.name, +info.software, +info.f16, +info.subgroups, info.bindings, info.bytes, info.groups, info.invocations, info.shared].join('\n'))))
      },
      alloc(device, n, to) { return now(() => bytes(to, 4).set(number(players.get(device).alloc(n)))) },
      free(device, id) { players.get(device)?.free(id) },
      write(device, id, at, from, n) { return now(() => players.get(device).write(id, at, bytes(from, n))) },
      read(device, ticket, id, at, n) { settle(ticket, players.get(device).read(id, at, n)) },
      lift(device, ticket, id, n) { settle(ticket, players.get(device).read(id, 0, n).then(keep).then(number)) },
      sink(device, id) {
        const player = players.get(device)
        return keep({ write: (at, bytes) => player.write(id, at, bytes), drain: () => player.drain() })
      },
      load(device, ticket, from, n) { settle(ticket, players.get(device).load(bytes(from, n).slice()).then(number)) },
      drop(device, id) { players.get(device)?.drop(id) },
      play(device, id, args, n, vars, m) {
        return now(() => players.get(device).play(id, many(Uint32Array, args, n), many(Int32Array, vars, m)))
      },
      measure(device, ticket, id, args, n, vars, m) {
        const seconds = players.get(device).measure(id, many(Uint32Array, args, n), many(Int32Array, vars, m), Stopwatch)
        settle(ticket, seconds.then(({ buffer }) => new Uint8Array(buffer)))
      },
      sync(device, ticket) { settle(ticket, players.get(device).sync().then(() => new Uint8Array())) },
      close(device) {
        players.get(device)?.close()
        players.delete(device)
      },
      size() { return results.get(0)?.length ?? 0 },
      take(ticket, to, n) {
        const data = results.get(ticket)
        results.delete(ticket)
        if (data) bytes(to, n).set(data.subarray(0, n))
      },
    },
    lose: () => players.forEach((player) => player.lose()),
  }
}
