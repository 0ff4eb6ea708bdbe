// A worker that is a thread of the player of WebAssembly kernels.
import { thread } from './threads.js'

onmessage = thread((made) => postMessage(made, [made]))
