// Reads files in the form of MNIST (idx, plain or gzipped) and says in words what is wrong with them. Their contents stay
// Blobs, which the page can hand on without copying 47 million bytes. It knows nothing about networks.

const side = 28
const limit = 1 << 28 // bytes of one unpacked file: MNIST's largest has 47 million

/** A file that cannot be used, and why. */
export class FileError extends Error {}

/** Pictures without labels, or labels without pictures. */
export class MissingFile extends FileError {}

/** The contents as they are now: the file may change later. */
async function contents(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    if (file.size > limit) throw new FileError(`${file.name}: ${file.size} bytes are more than this page takes (${limit}).`)
    return new Blob([await file.arrayBuffer()])
  }
  if (!globalThis.DecompressionStream) throw new FileError(`${file.name}: this browser cannot unpack gzip. Unpack the file first.`)
  const pieces = []
  let n = 0
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      n += value.length
      if (n > limit) throw new FileError(`${file.name}: unpacked it has more than ${limit} bytes, which is no MNIST file.`)
      pieces.push(value)
    }
  } catch (err) {
    await reader.cancel().catch(() => {}) // it has failed already; this only frees it
    if (err instanceof FileError) throw err
    throw new FileError(`${file.name}: the gzip data is damaged or cut off. Fetch the file again.`)
  }
  return new Blob(pieces)
}

/** One idx file: {name, kind: 'pictures' | 'labels', n, data: a Blob}. */
export async function readIdx(file) {
  const all = await contents(file)
  const view = new DataView(await all.slice(0, 16).arrayBuffer())
  const bad = (why) => new FileError(`${file.name}: ${why}`)
  if (all.size < 8) throw bad(`${all.size} bytes are no idx file; its header alone has 8.`)
  const magic = view.getUint32(0)
  const n = view.getUint32(4)
  if (magic === 0x801) {
    if (all.size !== 8 + n) throw bad(`the header promises ${n} labels, ${all.size - 8} bytes follow.`)
    const labels = new Uint8Array(await all.slice(8).arrayBuffer())
    const wrong = labels.findIndex((v) => v > 9)
    if (wrong >= 0) throw bad(`label ${wrong} is ${labels[wrong]}; only digits from 0 to 9 can be learnt here.`)
    return { name: file.name, kind: 'labels', n, data: all.slice(8) }
  }
  if (magic === 0x803) {
    if (all.size < 16) throw bad('the header is cut off.')
    const h = view.getUint32(8), w = view.getUint32(12)
    if (h !== side || w !== side) throw bad(`its pictures are ${h}×${w}; this page takes ${side}×${side}. The command "weft train mnist --data FOLDER" takes any size.`)
    if (all.size !== 16 + n * h * w) throw bad(`the header promises ${n} pictures of ${h}×${w}, ${all.size - 16} bytes follow instead of ${n * h * w}.`)
    return { name: file.name, kind: 'pictures', n, data: all.slice(16) }
  }
  throw bad(`it does not begin like an idx file of bytes (found ${magic.toString(16).padStart(8, '0')}; pictures begin with 00000803, labels with 00000801).`)
}

const isTest = (f) => /t10k|test|valid/i.test(f.name)
const plural = (n, what) => `${n.toLocaleString('en')} ${what}`

/**
 * Puts files together into a set to train on and one held back, in the form that digits takes, with a
 * text of what was done. Without test files the last sixth is held back.
 */
export function assemble(files) {
  const half = (test) => {
    const mine = files.filter((f) => isTest(f) === test)
    const name = test ? 'to test with' : 'to train on'
    const one = (kind) => {
      const all = mine.filter((f) => f.kind === kind)
      if (all.length > 1) throw new FileError(`Two files have ${kind} ${name}: ${all.map((f) => f.name).join(' and ')}. Give one of them.`)
      return all[0]
    }
    const pictures = one('pictures'), labels = one('labels')
    if (!pictures && !labels) return null
    if (!pictures) throw new MissingFile(`${labels.name} has labels ${name}, but the file of pictures is missing.`)
    if (!labels) throw new MissingFile(`${pictures.name} has pictures ${name}, but the file of labels is missing.`)
    if (pictures.n !== labels.n) throw new FileError(`${pictures.name} has ${plural(pictures.n, 'pictures')}, ${labels.name} has ${plural(labels.n, 'labels')}: they do not belong together.`)
    return { images: pictures.data, labels: labels.data, n: pictures.n }
  }
  let train = half(false), test = half(true), text
  if (!train && !test) throw new FileError('No files were given.')
  if (!train) [train, test] = [test, null] // test files alone are as good to train on
  if (test) {
    text = `${plural(train.n, 'digits')} to train on, ${test.n.toLocaleString('en')} held back.`
  } else {
    const n = train.n - Math.floor(train.n / 6)
    test = { images: train.images.slice(n * side * side), labels: train.labels.slice(n), n: train.n - n }
    train = { images: train.images.slice(0, n * side * side), labels: train.labels.slice(0, n), n }
    text = `${plural(n, 'digits')} to train on. There are no test files, so the last ${test.n.toLocaleString('en')} are held back.`
  }
  for (const s of [train, test]) if (s.n < 16) throw new FileError(`${plural(s.n, 'digits')} are too few to learn from.`)
  return {
    text,
    data: { images: train.images, labels: train.labels, n: train.n, h: side, w: side, testImages: test.images, testLabels: test.labels, testN: test.n },
  }
}
