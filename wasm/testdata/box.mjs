// Both ends of the letter box in two threads: a worker answers what it is asked, short answers in the box and long ones posted, and says in which order
// questions came. Prints how many there were in order, how many answers the page looked out for, and for how many ms at most one after the other.
//
//	node box.mjs

import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'

if (isMainThread) {
  globalThis.crossOriginIsolated = true
  const { PageBox } = await import('./box.js')
  let heard = null, waiting = false, looked = 0, row = null, most = 0
  const box = PageBox.open((bytes) => {
    if (waiting) looked++
    row = waiting ? row ?? performance.now() : null
    if (waiting) most = Math.max(most, performance.now() - row)
    heard(new Int32Array(bytes)[0])
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
  const send = (n, size) => {
    const { buffer } = new Int32Array(size).fill(n)
    waiting = true
    const sent = box.send(buffer, () => worker.postMessage('look'), true)
    waiting = false
    if (!sent) post(buffer)
  }
  await new Promise((ready) => {
    heard = ready
    post('begin')
  })
  let right = 0
  for (let n = 1; n <= 1000; n++) {
    const said = new Promise((f) => { heard = f })
    await new Promise((f) => { if (box.rests(f)) row = null; else f() })
    send(n, n % 50 === 0 ? 5000 : 2) // what is longer than the box is posted
    if (await said === n) right++
    if (n % 250 === 0) await new Promise((f) => setTimeout(f, 10)) // the worker waits no longer
  }
  const looks = looked, atMost = most
  // Many at once: what lies in the box was sent before what is posted after it.
  const order = []
  await new Promise((done) => {
    heard = (n) => order.push(n) === 300 && done()
    for (let n = 1; n <= 300; n++) send(n, 2)
  })
  box.close()
  console.log(JSON.stringify({ right, looked: looks, most: atMost, ordered: order.every((n, i) => n === i + 1) }))
  await worker.terminate()
} else {
  const { WorkerBox } = await import('./box.js')
  const box = new WorkerBox(workerData, 0)
  const answer = (bytes) => {
    const n = new Int32Array(bytes.buffer, bytes.byteOffset)[0]
    if (n % 3 === 0) box.call()
    const out = new Uint8Array(new Int32Array(n % 70 === 0 ? 5000 : 1).fill(n).buffer)
    if (box.send(out)) return
    box.posts()
    parentPort.postMessage(out.buffer)
  }
  const drain = () => { for (let bytes; (bytes = box.next(1, turn));) answer(bytes) }
  const turn = () => setImmediate(() => {
    const bytes = box.look()
    if (bytes) answer(bytes)
    drain()
  })
  parentPort.on('message', (data) => {
    const bytes = box.look() // what lies in the box came before
    if (bytes) answer(bytes)
    if (data !== 'look') box.arrives()
    if (data === 'begin') {
      box.open()
      answer(new Uint8Array(4))
    } else if (data !== 'look') answer(new Uint8Array(data))
    drain()
  })
}
