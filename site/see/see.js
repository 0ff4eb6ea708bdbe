// Faces in pictures: each picture is made 320 by 240, the network gives 4,420 boxes with how sure it is, and of those that overlap the surest
// stays.

import { byId, deviceName } from '../assets/dom.js'
import { modelOf, say, takes, telling } from '../assets/model.js'

const wide = 320
const high = 240
const view = byId('view')
const small = new OffscreenCanvas(wide, high).getContext('2d', { willReadFrequently: true })
let model
let least = 0.7
let camera = null // the video, while it is used
let faces = []
let shown = null // the picture, where it is not the camera

// The pixels of a picture as the network wants them: planes of red, green and blue around 0.
function planes(source) {
  small.drawImage(source, 0, 0, wide, high)
  const { data } = small.getImageData(0, 0, wide, high)
  const out = new Float32Array(3 * wide * high)
  for (let i = 0, n = wide * high; i < n; i++) {
    for (let c = 0; c < 3; c++) out[c * n + i] = (data[4 * i + c] - 127) / 128
  }
  return out
}

// How much two boxes have in common, of all that they cover.
function overlap(a, b) {
  const w = Math.min(a[2], b[2]) - Math.max(a[0], b[0])
  const h = Math.min(a[3], b[3]) - Math.max(a[1], b[1])
  if (w <= 0 || h <= 0) return 0
  const area = (x) => (x[2] - x[0]) * (x[3] - x[1])
  return w * h / (area(a) + area(b) - w * h)
}

async function detect(source) {
  const { scores, boxes } = await model.run({ input: planes(source) })
  const [sure, at] = await Promise.all([scores.data(), boxes.data()])
  scores.dispose()
  boxes.dispose()
  const found = []
  for (let i = 0; i < sure.length / 2; i++) {
    if (sure[2 * i + 1] >= 0.3) found.push({ p: sure[2 * i + 1], box: at.slice(4 * i, 4 * i + 4) })
  }
  found.sort((a, b) => b.p - a.p)
  const kept = []
  for (const f of found) if (kept.every((k) => overlap(k.box, f.box) < 0.3)) kept.push(f)
  return kept
}

function draw(source, width, height) {
  if (view.width !== width || view.height !== height) Object.assign(view, { width, height })
  const at = view.getContext('2d')
  at.drawImage(source, 0, 0, width, height)
  const line = Math.max(2, width / 240)
  at.lineWidth = line
  at.font = `600 ${6 * line}px system-ui, sans-serif`
  for (const { p, box } of faces.filter((f) => f.p >= least)) {
    const [x, y, right, bottom] = [box[0] * width, box[1] * height, box[2] * width, box[3] * height]
    at.strokeStyle = '#f5c04a'
    at.strokeRect(x, y, right - x, bottom - y)
    const label = `${Math.round(100 * p)} %`
    const w = at.measureText(label).width + 4 * line
    at.fillStyle = '#f5c04a'
    at.fillRect(x - line / 2, y - 8 * line, w, 8 * line)
    at.fillStyle = '#14191d'
    at.fillText(label, x + 1.5 * line, y - 2 * line)
  }
}

let told = ''

function tell(more = '') {
  const n = faces.filter((f) => f.p >= least).length
  const text = n === 0 ? 'No face' : n === 1 ? 'One face' : `${n} faces`
  if (text + more === told) return
  told = text + more
  byId('found').textContent = `${text}${more}`
  view.setAttribute('aria-label', `A picture with ${text.toLowerCase()}`)
}

const still = telling(async ([file]) => {
  stop()
  shown = await createImageBitmap(file).catch(() => { throw new Error(`${file.name} is no picture that the browser reads`) })
  byId('hint').hidden = true
  const begin = performance.now()
  faces = await detect(shown)
  draw(shown, shown.width, shown.height)
  tell(`, found in ${Math.round(performance.now() - begin)} ms`)
})

function stop() {
  camera?.srcObject.getTracks().forEach((t) => t.stop())
  camera = null
  byId('camera').textContent = 'Use the camera'
}

const start = telling(async () => {
  if (camera) return stop()
  let stream
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: 640, height: 480, facingMode: 'user' } })
  } catch (e) {
    throw new Error(`The camera cannot be used: ${e.message}. A picture can be dropped instead.`)
  }
  const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true, srcObject: stream })
  await video.play()
  camera = video
  shown = null
  byId('hint').hidden = true
  byId('camera').textContent = 'Stop the camera'
  const paint = () => {
    if (camera !== video) return
    draw(video, video.videoWidth, video.videoHeight)
    requestAnimationFrame(paint)
  }
  requestAnimationFrame(paint)
  let since = performance.now()
  let count = 0
  let rate = ''
  while (camera === video) {
    faces = await detect(video)
    count++
    const now = performance.now()
    if (now - since > 1000) {
      rate = `, ${Math.round(1000 * count / (now - since))} pictures a second`
      ;[since, count] = [now, 0]
    }
    tell(rate)
    await new Promise((done) => requestAnimationFrame(done)) // a picture is not looked at twice
  }
})

byId('camera').addEventListener('click', start)
byId('least').addEventListener('input', ({ target }) => {
  least = target.value / 100
  byId('least-out').textContent = `${target.value} %`
  if (shown) draw(shown, shown.width, shown.height)
  if (shown || camera) tell()
})
takes(byId('stage'), byId('picture'), still)

modelOf(['see.onnx'], 'a face detector of the form of UltraFace RFB-320 (.onnx)', async (w, files) => {
  const m = await w.onnx(files)
  if (m.inputs[0]?.name !== 'input' || String(m.inputs[0].shape) !== `1,3,${high},${wide}` || !['scores', 'boxes'].every((n) => m.outputs.some((o) => o.name === n))) {
    m.close()
    throw new Error(`This model is another one: the page gives input [1, 3, ${high}, ${wide}] and reads scores and boxes.`)
  }
  model?.close()
  model = m
  await detect(view)
  for (const id of ['camera', 'picture']) byId(id).disabled = false
  say(`Ready, on ${deviceName(w.device)}: ${m.parameters.toLocaleString('en')} numbers.`)
})
