// Plays plans under Node: TestPlayer writes them.
import assert from 'node:assert'
import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { Guest } from './guest.js'
import { imports } from './kernels.js'
import { OutOfMemory, Processor, unpack } from './processor.js'
import { Spares } from './spares.js'

const plan = (name) => new Uint8Array(readFileSync(`${name}.plan`))
const bytes = (name) => new Uint8Array(readFileSync(name))
const none = new Int32Array(0)

const started = []
const start = () => {
  const w = new Worker(new URL('./node-thread.js', import.meta.url))
  w.on('message', (data) => w.onmessage({ data }))
  w.unref()
  started.push(w)
  return w
}

function product(player, loaded = player.load(plan('chain'))) {
  const args = ['a', 'b', 'want'].map((name) => {
    const at = player.alloc(bytes(name).length)
    player.write(at, 0, name === 'want' ? new Uint8Array(64) : bytes(name))
    return at
  })
  player.play(loaded, args, Int32Array.of(3))
  const got = player.read(args[2], 0, bytes('want').length)
  for (const at of args) player.free(at)
  assert.deepEqual(got, bytes('want'))
  return loaded
}

// Small blocks that live long keep no large ones apart, what is free at the end counts when memory grows, and areas of small blocks are given back.
function placed() {
  const MB = 1 << 20
  const fill = (player, f) => assert.throws(() => { for (;;) f(player) }, OutOfMemory)
  const player = new Processor({ threads: 1 })
  const large = []
  fill(player, () => {
    large.push(player.alloc(player.limit / 16))
    player.alloc(64)
  })
  for (const at of large) player.free(at)
  player.free(player.alloc(player.limit / 2))
  const other = new Processor({ threads: 1 })
  other.free(other.alloc(other.limit * 0.6))
  other.free(other.alloc(other.limit * 0.7))
  const small = Array.from({ length: 40 * 16 }, () => other.alloc(MB / 16))
  assert.equal(new Set(small).size, small.length)
  for (const at of small) other.free(at)
  other.free(other.alloc(other.limit - 2 * MB))
  const one = other.alloc(other.limit - 3 * MB)
  fill(other, () => other.alloc(64))
  other.free(one)
}

function alone() {
  const player = new Processor({ threads: 4, isolated: false })
  assert.equal(player.threads, 1)
  const loaded = product(player)
  product(player, loaded)
  product(player, player.load(plan('again'))) // its kernels are known
  player.drop(loaded)
  product(new Processor({ threads: 1, isolated: true, poison: true }))
}

// Whoever is late takes no part, so it may take some plays until all do.
async function threads() {
  const player = new Processor({ threads: 3, isolated: true, start })
  assert.equal(player.threads, 3)
  assert.equal(started.length, 2)
  const loaded = product(player)
  const out = player.alloc(256)
  for (const name of ['tell', 'several']) { // one long kernel, and several that together are worth waking threads
    const tell = player.load(plan(name))
    const seen = new Set()
    for (const end = Date.now() + 20000; seen.size < 3 && Date.now() < end;) {
      player.write(out, 0, new Uint8Array(256))
      player.play(tell, [out], none)
      for (const at of new Int32Array(player.read(out, 0, 256).buffer)) if (at) seen.add(at)
      product(player, loaded)
      await new Promise((done) => setTimeout(done, 1))
    }
    assert.equal(seen.size, 3, 'each thread has scratch of its own')
  }
  assert.throws(() => player.play(player.load(plan('trap')), [out], none), /^Error: kernel trap: unreachable$/)
  product(player, loaded) // and all goes on
  player.close()
}

// A guest takes part in short jobs while it is there, and never in long ones. Here it is the only one who helps.
async function guests() {
  const worker = new Worker(new URL('./node-guest.js', import.meta.url))
  worker.unref()
  const guest = () => ({ postMessage: (data) => worker.postMessage(data), terminate: () => worker.postMessage(null) })
  const player = quietly(() => new Processor({ threads: 2, isolated: true, start() { throw new Error('no workers here') }, guest }))
  const loaded = product(player)
  const out = player.alloc(256)
  const short = player.load(plan('several')), long = player.load(plan('tell'))
  const who = (plan) => {
    player.write(out, 0, new Uint8Array(256))
    player.expect()
    player.play(plan, [out], none)
    return new Set(new Int32Array(player.read(out, 0, 256).buffer).filter((at) => at))
  }
  let helped = 0
  for (const end = Date.now() + 20000; helped < 3 && Date.now() < end;) {
    if (who(short).size === 2) helped++
    product(player, loaded)
    await new Promise((done) => setTimeout(done, 1))
  }
  assert.equal(helped, 3, 'the guest helps')
  for (let i = 0; i < 10; i++) assert.equal(who(long).size, 1, 'but not for long')
  player.close()
}

// A guest that cannot run a module says so once, and takes no part any more.
async function refused() {
  const guest = new Guest()
  guest.take({ memory: new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), number: 1, threads: 1 })
  // a module that imports what nobody gives
  const module = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 7, 1, 1, 97, 1, 98, 0, 0]))
  const said = []
  const { warn } = console
  console.warn = (text) => said.push(text)
  for (let i = 0; i < 2; i++) {
    guest.take({ module })
    await new Promise((done) => setTimeout(done, 20))
  }
  console.warn = warn
  assert.equal(said.length, 1)
  assert.match(said[0], /cannot help the engine's threads/)
  guest.comes()
  guest.help(Infinity)
}

// Who reads as much again and again gets arrays that threads made, each of its own.
async function reads() {
  const player = new Processor({ threads: 2, isolated: true, start })
  const n = 1 << 20
  const at = player.alloc(n)
  const loaded = player.load(plan('chain'))
  const seen = []
  for (let i = 0; i < 20; i++) {
    player.bytes(at, n).fill(i)
    seen.push(player.read(at, 0, n))
    product(player, loaded) // threads leave an array for a job, and go on with it
    await new Promise((done) => setTimeout(done, 2))
  }
  seen.forEach((bytes, i) => assert.ok(bytes.length === n && bytes.every((b) => b === i)))
  player.close()
}

async function spares() {
  const orders = []
  const s = new Spares((bytes) => orders.push(bytes))
  const n = 1 << 20
  const make = () => {
    const made = new ArrayBuffer(orders.shift())
    s.put(made)
    return made
  }
  s.take(1000)
  s.take(1000)
  s.take(n)
  assert.equal(orders.length, 0, 'what is small, or read once, is not ordered')
  assert.equal(s.take(n).byteLength, n)
  assert.deepEqual(orders, [n, n])
  const first = make()
  assert.equal(s.take(n), first)
  assert.notEqual(s.take(n), first)
  assert.equal(orders.length, 2, 'no more than two are ahead')
  s.put(new ArrayBuffer(0)) // for which there was no room
  orders.shift()
  assert.equal(s.take(n).byteLength, n)
  for (const other of [2 * n, 3 * n, 2 * n, 3 * n]) s.take(other) // then that size is forgotten
  while (orders.length) make()
  assert.equal(s.take(2 * n).byteLength, 2 * n)
}

function quietly(f, said = []) {
  const { warn } = console
  console.warn = (text) => said.push(text)
  try { return f() } finally { console.warn = warn }
}

// Threads that do not start are told of, and missed by nobody.
function missing() {
  const said = []
  const player = quietly(() => new Processor({ threads: 3, isolated: true, start() { throw new Error('no workers here') } }), said)
  assert.equal(said.length, 2)
  assert.match(said[0], /thread 2 of 3 does not start.*no workers here/)
  product(player)
}

function errors() {
  const player = new Processor()
  const out = player.alloc(256)
  assert.throws(() => player.play(player.load(plan('trap')), [out], none), /^Error: kernel trap: unreachable$/)
  assert.throws(() => new Processor().load(plan('again')), /kernel .* is in no module that was loaded/)
  const other = plan('chain')
  other[0] = 77
  assert.throws(() => unpack(other), /this player plays plans of version 1, and this one has version 77/)
  assert.throws(() => player.alloc(player.limit), (e) => e instanceof OutOfMemory && e.asked === player.limit)
  player.alloc(1000) // there is room for less
}

// Buffers never touch each other, and what is freed becomes whole again.
function memory() {
  const player = new Processor()
  const live = new Map()
  let seed = 1
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n
  for (let i = 0; i < 3000; i++) {
    if (live.size > 50 || live.size > 0 && random(2)) {
      const at = [...live.keys()][random(live.size)]
      const n = live.get(at)
      assert.ok(player.read(at, 0, n).every((b) => b === (at / 64) % 251), 'nobody else writes')
      player.free(at)
      live.delete(at)
    } else {
      const n = random(3) ? random(200000) : random(100)
      const at = player.alloc(n)
      assert.equal(at % 64, 0)
      player.write(at, 0, new Uint8Array(n).fill((at / 64) % 251))
      live.set(at, n)
    }
  }
  for (const at of live.keys()) player.free(at)
  const first = player.alloc(1 << 20)
  player.free(first)
  assert.equal(player.alloc(2 << 20), first)
}

// Through the functions that the engine calls, the worker is told of the end of each play, also of one that fails.
function told() {
  let ended = 0
  const memory = new WebAssembly.Memory({ initial: 16 })
  const engine = imports(() => memory, () => 0, null, () => ended++)
  const device = engine.open(1, 0, 8)
  const load = (name) => {
    new Uint8Array(memory.buffer).set(plan(name), 4096)
    return engine.load(device, 4096, plan(name).length)
  }
  assert.equal(engine.alloc(device, 256, 8), 0)
  assert.equal(engine.play(device, load('tell'), 8, 1, 0, 0, 0, 0), 0)
  assert.equal(engine.play(device, load('trap'), 8, 1, 0, 0, 0, 0), -1)
  assert.equal(ended, 2)
}

placed()
alone()
told()
missing()
errors()
memory()
await threads()
await guests()
await refused()
await reads()
await spares()
console.log('all is well')
