// The worker's end of errands with a player that doubles numbers: what is carried out, what is left to the engine, what it is told. Prints what was wrong.
//
//	node errands.mjs

import { Errands } from './errands.js'
import { Writer, read } from './wire.js'

const wrong = []
const is = (what, x, y) => { if (JSON.stringify(x) !== JSON.stringify(y)) wrong.push(`${what}: ${JSON.stringify(x)}, not ${JSON.stringify(y)}`) }

const memory = new Float32Array(140000)
const player = {
  places: new Set(),
  last: 0,
  plays: 0,
  fails: false,
  alloc(bytes) {
    if (bytes > 1000) throw new Error('no room')
    this.places.add(this.last += 64)
    return this.last
  },
  free(at) { if (!this.places.delete(at)) wrong.push(`${at} is freed, and is not there`) },
  play(plan, args, vars) {
    if (this.fails) throw new Error('kernel k: unreachable')
    this.plays++
    is('plan', [plan, vars], [7, []])
    for (let i = 0; i < 2; i++) memory[args[2] / 4 + i] = memory[args[1] / 4 + i] * 2 + memory[args[0] / 4]
  },
  write(at, offset, bytes) { this.bytes(at + offset, bytes.length).set(bytes) },
  bytes: (at, n) => new Uint8Array(memory.buffer, at, n),
  read: (at, offset, n) => new Uint8Array(memory.buffer.slice(at + offset, at + offset + n)),
}

const written = (...values) => {
  const w = new Writer()
  for (const v of values) w.write(v)
  return new Uint8Array(w.finish()[0])
}
const ref = (ref) => ({ ref })
const FUNCTION = ref(1), WEIGHT = 400, X = ref(2), BIG = ref(3), WIDE = ref(4), HUGE = ref(5), PLACE = 800
memory.set([100, 0], WEIGHT / 4)
memory.set([1, 2], PLACE / 4)

const errands = new Errands(() => player)
const entrust = (room = 1000) => errands.take(written([0, room, [[FUNCTION, 7, [WEIGHT, 0, 0], [1], ['f32 2'], [[2, 8, 'f32 2', [2], 'f32', 8]]]], [[X, PLACE, 'f32 2', [2], 'f32', 8], [BIG, 0, 'f32 5000', [5000], 'f32', null], [WIDE, 0, 'f32 2000', [2000], 'f32', 8000], [HUGE, 0, 'f32 135000', [135000], 'f32', 540000]]]))
const serve = (...requests) => {
  const answers = errands.serve(written(...requests))
  return answers && read(...answers.map((a) => Uint8Array.from(a).buffer)).map(([kind, number, v]) => [kind, number, v?.data ? [[...v.data], v.shape] : v])
}
const report = () => {
  const told = errands.report()
  if (!told) return null
  const [number, name, outs, ms, ...rest] = read(told.buffer)[0]
  is('head', [number, name, outs, ms >= 0], [0, 'ran', [], true])
  return rest
}
const run = (number, out, x = X) => [number, 'run', [out], FUNCTION, [x], []]
const tensor = (number, out, values, shape, ...options) => [number, 'tensor', [out], values, shape, ...options]
const data = (number, x) => [number, 'data', [], x]
const dispose = (...list) => [0, 'dispose', [], list]

// Nothing is carried out before the engine says so, nor after it has heard what was done.
is('before', serve(run(1, ref(10))), null)
is('told before', report(), null)
entrust()
is('run', serve(run(1, ref(10)), data(2, ref(10))), [[0, 1, null], [0, 2, [[102, 104], [2]]]])
is('again', serve(dispose(ref(10)), run(3, ref(11)), data(4, ref(11))), [[0, 3, null], [0, 4, [[102, 104], [2]]]])
is('what the engine has', serve(data(5, X)), [[0, 5, [[1, 2], [2]]]])
const wide = [[...memory.subarray(0, 2000)], [2000]]
is('a large array goes beside the answers', errands.serve(written(data(6, WIDE))).length, 2)
is('of two one does', serve(data(6, WIDE), data(7, WIDE), data(8, X)), [[0, 6, wide], [0, 7, wide], [0, 8, [[1, 2], [2]]]])
is('memory', player.places.size, 1)
is('told', report(), [8, [[FUNCTION, 2]], [], [[FUNCTION, [ref(11)], [player.last], [X]]], []])
is('after', serve(run(5, ref(12))), null)
is('the same is not told twice', report(), null)
player.places.clear()

// What goes through the box lies in the player's memory until then; what is posted is the page's own.
entrust()
is('of the memory', [WIDE, HUGE].map((x) => errands.serve(written(data(1, x)))[1].buffer === memory.buffer), [true, false])
is('all of it', serve(data(1, HUGE))[0][2][0].length, 135000)
report()

// What is read by a later run stays until the engine knows of it.
entrust()
serve(run(1, ref(20)))
is('result of a result', serve(run(2, ref(21), ref(20)), dispose(ref(20)), data(3, ref(21))), [[0, 2, null], [0, 3, [[304, 308], [2]]]])
serve(dispose(ref(21), ref(99), X))
is('memory', player.places.size, 1)
is('told', report(), [16, [[FUNCTION, 2]], [], [[FUNCTION, [ref(20)], [player.last - 64], [X]]], [ref(20), ref(99), X]])
player.places.clear()

// Tensors of numbers. They are gone with their last use, also where results stay that were computed of them.
entrust()
const numbers = Float32Array.of(5, 6)
is('numbers', serve(tensor(1, ref(60), numbers, [2], null), run(2, ref(61), ref(60)), data(3, ref(61))), [[0, 2, null], [0, 3, [[110, 112], [2]]], [0, 0, { done: 1, failed: [] }]])
is('only numbers', serve(dispose(ref(60)), tensor(4, ref(62), Int32Array.of(7), [1, 1], null)), [[0, 0, { done: 4, failed: [] }]])
is('forms', serve(run(5, ref(63), ref(62))), null)
is('numbers that others take', [serve(tensor(6, ref(64), new Uint8Array(2), [2], null)), serve(tensor(6, ref(64), numbers, [2], { dtype: 'f64' })), serve(tensor(6, ref(64), numbers, [3], null))], [null, null, null])
is('told', report(), [16, [[FUNCTION, 1]], [[ref(62), player.last, 4, 'i32', [1, 1]]], [[FUNCTION, [ref(61)], [player.last - 64], [null]]], []])
player.places.clear()

// The engine's: other requests, tensors that nothing is known of, forms, values of variables, and everything that comes with such.
entrust()
const { plays } = player
for (const batch of [
  [run(1, ref(30)), [2, 'add', [ref(31)], ref(30), 1]], [run(1, ref(30), ref(98))], [data(1, BIG)], [data(1, ref(30))], [[1, 'run', [ref(30)], ref(97), [X], []]],
  [[1, 'run', [ref(30)], FUNCTION, [X], [['n', 3]]]], [[1, 'run', [ref(30)], FUNCTION, [X, X], []]], [[1, 'run', [ref(30), ref(31)], FUNCTION, [X], []]], [[1, 'stats', []]],
]) is(`the engine's: ${JSON.stringify(batch)}`, serve(...batch), null)
is('plays', player.plays, plays)
is('told', report(), null)

// Where there is no room, or a play fails, nothing has happened.
entrust(20)
is('room', [serve(run(1, ref(40))), serve(run(2, ref(41))), serve(run(3, ref(42)))].map(Boolean), [true, true, false])
serve(dispose(ref(40)))
is('room again', !!serve(run(3, ref(42))), true)
serve(dispose(ref(41)))
player.fails = true
is('failed', serve(dispose(ref(42)), run(4, ref(43)), data(5, ref(43))), null)
player.fails = false
is('memory', player.places.size, 1)
is('told', report(), [16, [[FUNCTION, 3]], [], [[FUNCTION, [ref(42)], [player.last - 64], [X]]], []])
entrust()
is('its function is gone', [!!serve(dispose(FUNCTION)), serve(run(1, ref(50)))], [true, null])
is('told', report(), [0, [], [], [], [FUNCTION]])

console.log(JSON.stringify(wrong))
