// Both ends of the letter box in two threads: a worker answers what it is asked, short answers in the box and long ones posted, and says in which order
// questions came. Prints how many there were in order, how many answers the page looked out for, for how many ms at most one after the other, and how many
// of many at once were posted.
//
//	node box.mjs

import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'

if (isMainThread) {
  globalThis.crossOriginIsolated = true
  const { PageBox } = await import('./box.js')
  let heard = null, waiting = false, looked = 0, row = null, most = 0
  const box = PageBox.open(([bytes, beside]) => {
    if (waiting) looked++
    row = waiting ? row ?? performance.now() : null
    if (waiting) most = Math.max(most, performance.now() - row)
    const [n] = new Int32Array(bytes)
    heard(beside && new Int32Array(beside).some((k) => k !== n) ? -1 : n)
    return true
  }, { comes() {}, goes() {}, help() {} })
  const worker = new Worker(new URL(import.meta.url), { workerData: box.buffer })
  worker.on('message', (data) => {
    box.arrives()
    heard(new Int32Array(data)[0])
  })
  const post = (message) => {
    box.posts()
    worker.postMessage(message)
  }
  let posted = 0
  const send = (n, size, awaited = true) => {
    const { buffer } = new Int32Array(size).fill(n)
    waiting = awaited
    const sent = box.send(buffer, () => worker.postMessage('look'), awaited)
    waiting = false
    if (sent) return
    posted++
    post(buffer)
  }
  await new Promise((ready) => {
    heard = ready
    post('begin')
  })
  let right = 0
  for (let n = 1; n <= 1000; n++) {
    const said = new Promise((f) => { heard = f })
    await new Promise((f) => { if (box.rests(f)) row = null; else f() })
    send(n, n % 50 === 0 ? 50000 : n % 9 === 0 ? 5 * n : 2) // what is longer than the box is posted
    if (await said === n) right++
    if (n % 250 === 0) await new Promise((f) => setTimeout(f, 10)) // the worker waits no longer
  }
  const looks = looked, atMost = most
  // Many at once, of which nobody awaits most: they all lie in the box, or where there is no room what lies in the box was sent before what is posted after it.
  const burst = async (count, size) => {
    const order = []
    const before = posted
    await new Promise((done) => {
      heard = (n) => order.push(n) === count && done()
      for (let n = 1; n <= count; n++) send(n, size(n), n === count)
    })
    return { ordered: order.every((n, i) => n === i + 1), posted: posted - before }
  }
  const short = await burst(300, () => 2), mixed = await burst(300, (n) => n * 37 % 9000 + 1)
  box.close()
  console.log(JSON.stringify({ right, looked: looks, most: atMost, ordered: short.ordered && mixed.ordered, posted: short.posted }))
  await worker.terminate()
} else {
  const { WorkerBox } = await import('./box.js')
  const box = new WorkerBox(workerData, 0)
  const answer = (bytes) => {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset)
    const n = words.every((k) => k === words[0]) ? words[0] : -1
    if (n % 3 === 0) box.call()
    const out = new Uint8Array(new Int32Array(n % 70 === 0 ? 70000 : 1).fill(n).buffer)
    if (n % 4 === 0 ? box.send(out, new Uint8Array(new Int32Array(3 * n).fill(n).buffer)) : box.send(out)) return
    box.posts()
    parentPort.postMessage(out.buffer)
  }
  const drain = () => { for (let bytes; (bytes = box.next(1, turn));) answer(bytes) }
  const turn = () => setImmediate(() => {
    box.look().forEach(answer)
    drain()
  })
  parentPort.on('message', (data) => {
    box.look().forEach(answer) // what lies in the box came before
    if (data !== 'look') box.arrives()
    if (data === 'begin') {
      box.open()
      answer(new Uint8Array(4))
    } else if (data !== 'look') answer(new Uint8Array(data))
    drain()
  })
}
