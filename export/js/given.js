// What people give a function: pictures that are chosen, dropped, pasted or taken, drawings, numbers, JSON. It knows documents, and refuses to know
// models: each form fills a place and calls `give` with elements.
import { list, make, pictureOf } from './shown.js'

const sized = ({ name, shape }) => pictureOf({ name: `input ${name}`, shape }, 'input="json"')
const count = (shape) => shape.reduce((n, s) => n * s, 1)

// The elements of input of a canvas that has its size.
function elementsOf(canvas, input, { mean, std }) {
  const { h, w, colours, at } = sized(input)
  const { data } = canvas.getContext('2d').getImageData(0, 0, w, h)
  const whole = input.dtype === 'uint8'
  if (!whole && input.dtype !== 'float32') throw new Error(`input ${input.name} is ${input.dtype}; pictures are uint8 or float32`)
  const out = new (whole ? Uint8Array : Float32Array)(count(input.shape))
  for (let i = 0; i < h * w; i++) {
    const [r, g, b] = data.subarray(4 * i, 4 * i + 3)
    const values = colours === 1 ? [0.299 * r + 0.587 * g + 0.114 * b] : [r, g, b]
    values.forEach((v, c) => { out[at(i, c)] = whole ? Math.round(v) : (v / 255 - (mean[c] ?? 0)) / (std[c] ?? 1) })
  }
  return out
}

// A canvas of the size of an input, kept.
function small(input) {
  const { h, w } = sized(input)
  const canvas = new OffscreenCanvas(w, h)
  const pen = canvas.getContext('2d', { willReadFrequently: true })
  pen.imageSmoothingQuality = 'high'
  return { canvas, pen, h, w }
}

const button = (textContent, onclick) => make('button', { type: 'button', part: 'button', textContent, onclick })

/** A picture: chosen, dropped, pasted, or of the camera, of which the middle is taken in the input's shape. value: the address of one to begin with. */
export function image(place, input, host, give, fails) {
  const { canvas, pen, h, w } = small(input)
  const scale = Math.max(1, Math.round(480 / Math.max(h, w)))
  const shown = make('canvas', { width: w * scale, height: h * scale, hidden: true, aria: { role: 'img', label: 'The picture' } })
  const hint = make('p', { className: 'hint', textContent: 'Drop a picture here, or paste one' })
  const view = make('div', { part: 'view', className: 'view' }, hint, shown)
  view.style.aspectRatio = `${w} / ${h}`
  const take = (source, width, height) => {
    const part = Math.min(width / w, height / h)
    const from = [(width - part * w) / 2, (height - part * h) / 2, part * w, part * h]
    hint.hidden = true
    shown.hidden = false
    shown.getContext('2d').drawImage(source, ...from, 0, 0, shown.width, shown.height)
    pen.drawImage(source, ...from, 0, 0, w, h)
    return give(elementsOf(canvas, input, host))
  }
  const read = async (blob) => {
    if (!blob) return
    stop()
    try {
      const bitmap = await createImageBitmap(blob).catch(() => { throw new Error('this is no picture that the browser can read') })
      await take(bitmap, bitmap.width, bitmap.height)
      bitmap.close()
    } catch (e) {
      fails(e)
    }
  }
  let video = null
  const stop = () => {
    video?.srcObject.getTracks().forEach((t) => t.stop())
    video = null
    camera.textContent = 'Use the camera'
  }
  const start = async () => {
    if (video) return stop()
    try {
      const srcObject = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 640 }, facingMode: 'environment' } })
        .catch((e) => { throw new Error(`the camera cannot be used: ${e.message}; a picture can be dropped instead`) })
      const mine = video = make('video', { muted: true, playsInline: true, srcObject })
      camera.textContent = 'Stop the camera'
      await mine.play()
      while (video === mine) {
        if (!document.hidden) await take(mine, mine.videoWidth, mine.videoHeight)
        await new Promise(requestAnimationFrame)
      }
    } catch (e) {
      stop()
      fails(e)
    }
  }
  const camera = button('Use the camera', start)
  const file = make('input', { type: 'file', accept: 'image/*', onchange: () => read(file.files[0]) })
  const picture = (items) => [...items ?? []].find((f) => f.type.startsWith('image/'))
  const over = (on) => (e) => {
    e.preventDefault()
    place.classList.toggle('over', on)
  }
  place.ondragover = over(true)
  place.ondragleave = over(false)
  place.ondrop = (e) => {
    over(false)(e)
    read(picture(e.dataTransfer.files))
  }
  host.onpaste((e) => read(picture(e.clipboardData.files)))
  const buttons = make('div', { className: 'row' }, make('label', { part: 'button' }, 'Choose a picture', file))
  if (globalThis.navigator.mediaDevices) buttons.append(camera)
  place.replaceChildren(view, buttons)
  if (host.value) {
    fetch(new URL(host.value, document.baseURI)).then(async (r) => {
      if (!r.ok) throw new Error(`the picture ${host.value} cannot be loaded: ${r.status} ${r.statusText}`)
      return read(await r.blob())
    }).catch(fails)
  }
  return { view, stop }
}

// The box around what is drawn, in pixels; null for nothing.
function around(data, width, height) {
  let [l, t, r, b] = [width, height, -1, -1]
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++, i += 4) {
      if (data[i] < 32) continue
      l = Math.min(l, x)
      r = Math.max(r, x)
      t = Math.min(t, y)
      b = y
    }
  }
  return r < 0 ? null : [l, t, r - l + 1, b - t + 1]
}

/** A drawing, white on black, by pointer or keys. fit: its longer side is made so many pixels, in the middle. */
export function canvas(place, input, host, give, fails, clears) {
  const { canvas: tiny, pen: dot, h, w } = small(input)
  const scale = Math.max(1, Math.round(280 / Math.max(h, w)))
  const [width, height] = [w * scale, h * scale]
  const area = make('canvas', { width, height, tabIndex: 0, aria: { role: 'img', label: 'Drawing: by pointer, or with arrow keys, where the space bar sets and lifts the pen' } })
  const cursor = make('div', { className: 'cursor', hidden: true })
  const hint = make('p', { className: 'hint', textContent: 'Draw here' })
  const view = make('div', { part: 'view', className: 'view drawn' }, area, hint, cursor)
  const pen = area.getContext('2d', { willReadFrequently: true })
  const clear = () => {
    pen.fillRect(0, 0, width, height)
    hint.hidden = false
    clears()
  }
  pen.fillRect(0, 0, width, height)
  const thick = Math.max(w, h) * scale / 13
  Object.assign(pen, { strokeStyle: '#fff', lineWidth: host.pen ? host.pen * scale : thick, lineCap: 'round', lineJoin: 'round' })
  const look = () => {
    let from = [0, 0, width, height]
    let to = [0, 0, w, h]
    if (host.fit) {
      from = around(pen.getImageData(0, 0, width, height).data, width, height) ?? from
      const part = host.fit / Math.max(from[2], from[3])
      to = [(w - part * from[2]) / 2, (h - part * from[3]) / 2, part * from[2], part * from[3]]
    }
    dot.fillRect(0, 0, w, h)
    dot.drawImage(area, ...from, ...to)
    try {
      give(elementsOf(tiny, input, host))
    } catch (e) {
      fails(e)
    }
  }
  const at = (e) => {
    const box = area.getBoundingClientRect()
    return [(e.clientX - box.x) / box.width * width, (e.clientY - box.y) / box.height * height]
  }
  const draw = (point) => {
    pen.lineTo(...point)
    pen.stroke()
    look()
  }
  const begin = (point) => {
    hint.hidden = true
    pen.beginPath()
    pen.moveTo(...point)
    draw(point)
  }
  area.onpointerdown = (e) => {
    area.setPointerCapture(e.pointerId)
    begin(at(e))
  }
  area.onpointermove = (e) => { if (e.buttons) draw(at(e)) }
  let [x, y, down] = [width / 2, height / 2, false]
  const point = () => {
    Object.assign(cursor.style, { left: `${100 * x / width}%`, top: `${100 * y / height}%` })
    cursor.classList.toggle('down', down)
  }
  area.onfocus = () => {
    cursor.hidden = !area.matches(':focus-visible')
    point()
  }
  area.onblur = () => { cursor.hidden = true }
  area.onkeydown = (e) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key]
    if (!by && e.key !== ' ') return
    e.preventDefault()
    cursor.hidden = false
    if (!by && (down = !down)) begin([x, y])
    if (by) {
      x = Math.min(width, Math.max(0, x + by[0] * thick / 2))
      y = Math.min(height, Math.max(0, y + by[1] * thick / 2))
      if (down) draw([x, y])
    }
    point()
  }
  place.replaceChildren(view, make('div', { className: 'row' }, button('Clear', clear)))
  return { view, stop() {} }
}

/** A field for each number; where min and max say from where to where, something to slide. */
export function number(place, input, host, give) {
  const n = count(input.shape)
  if (n > 64) throw new Error(`input ${input.name} has ${n} numbers; use input="json"`)
  const [names, values, min, max] = [host.names, list(host.value), host.min, host.max]
  const fields = Array.from({ length: n }, (_, i) => {
    const slides = min[i] !== undefined && max[i] !== undefined
    const step = slides ? 10 ** Math.floor(Math.log10((max[i] - min[i]) / 50)) : 'any'
    const out = make('output', { hidden: !slides })
    const field = make('input', { type: slides ? 'range' : 'number', min: min[i] ?? '', max: max[i] ?? '', step })
    field.value = values[i] ?? (slides ? (Number(min[i]) + Number(max[i])) / 2 : 0)
    const tell = () => { if (slides) out.textContent = String(+field.valueAsNumber.toPrecision(3)) }
    field.oninput = () => {
      tell()
      run()
    }
    tell()
    return { field, label: make('label', {}, names[i] ?? `${input.name} ${i + 1}`, field, out) }
  })
  const run = () => give(fields.map(({ field }) => field.valueAsNumber || 0))
  place.replaceChildren(...fields.map((f) => f.label))
  run()
  return { view: null, stop() {} }
}

/** An object of inputs by name, or the only input. */
export function json(place, inputs, host, give, fails) {
  const text = make('textarea', { spellcheck: false, id: 'json', value: host.value ?? '' })
  const label = inputs.map((x) => `${x.name}: ${x.dtype} [${x.shape.join(', ')}]`).join('; ')
  const run = () => {
    let given
    try {
      given = JSON.parse(text.value)
    } catch (e) {
      return fails(new Error(`this is no JSON: ${e.message}`))
    }
    return give(given === null || Array.isArray(given) || typeof given !== 'object' ? { [inputs[0].name]: given } : given)
  }
  place.replaceChildren(make('label', { textContent: label, htmlFor: 'json' }), text, make('div', { className: 'row' }, button('Run', run)))
  if (host.value) run()
  return { view: null, stop() {} }
}
