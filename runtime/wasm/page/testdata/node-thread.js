// A thread under Node, whose workers get their messages otherwise.
import { parentPort } from 'node:worker_threads'
import { thread } from './threads.js'

const hear = thread((made) => parentPort.postMessage(made, [made]))
parentPort.on('message', (data) => hear({ data }))
