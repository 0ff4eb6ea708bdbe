// Reads files beside the page: unpacking 55 MB would hold up the drawing of it.
import { readIdx } from './idx.js'
import { words } from '../assets/dom.js'

onmessage = async ({ data: { number, file } }) => {
  try {
    postMessage({ number, idx: await readIdx(file) })
  } catch (err) {
    postMessage({ number, error: words(err) })
  }
}
