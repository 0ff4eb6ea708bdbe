// A guest among the threads under Node: it is there for a moment, again and again.
import { parentPort } from 'node:worker_threads'
import { Guest } from './guest.js'

const guest = new Guest()
parentPort.on('message', (data) => guest.take(data))
setInterval(() => {
  const end = performance.now() + 5
  guest.comes()
  while (performance.now() < end) guest.help(end)
  guest.goes()
}, 1)
