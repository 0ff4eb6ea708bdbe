// The drawing area: strokes of a pen, by pointer or by keys, and the 28×28 picture that they make.
// The picture is drawn anew from the strokes as MNIST's were made: the digit scaled to fit 20×20
// pixels, its centre of mass in the middle; or the middle of its box, as that of the synthetic
// digits is. It knows nothing about networks.

const side = 28
const fit = 20 // pixels that the longer side of the digit takes
const pen = 2.6 // width of the stroke in pixels of the picture
const fine = 6 // samples a pixel, each way

export class Drawing {
  /** canvas: where people draw; changed(pixels, strokes) is called when the picture is another one. */
  constructor(canvas, changed) {
    this.canvas = canvas
    this.changed = changed
    this.strokes = [] // of points [x, y] in 0..1
    this.cursor = [0.5, 0.2]
    this.keyPen = false
    this.showCursor = false
    this.byMass = false
    this.small = new OffscreenCanvas(side * fine, side * fine).getContext('2d', { willReadFrequently: true })
    this.pointer()
    this.keys()
    new ResizeObserver(() => this.paint()).observe(canvas)
    document.addEventListener('themechange', () => this.paint())
  }

  clear() {
    this.strokes = []
    this.keyPen = false
    this.update()
  }

  get empty() { return this.strokes.length === 0 }

  pointer() {
    const c = this.canvas
    let id = null, r = null // where the canvas lies: asked once a stroke, for asking makes the page lay itself out
    const at = (e) => [(e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height]
    c.addEventListener('pointerdown', (e) => {
      if (id !== null || (e.pointerType === 'mouse' && e.button !== 0)) return
      id = e.pointerId
      r = c.getBoundingClientRect()
      c.setPointerCapture(id)
      this.showCursor = false
      this.strokes.push([at(e)])
      this.update()
    })
    c.addEventListener('pointermove', (e) => {
      if (e.pointerId !== id) return
      const events = e.getCoalescedEvents?.() || []
      for (const p of events.length ? events : [e]) this.strokes.at(-1).push(at(p))
      this.update()
    })
    for (const end of ['pointerup', 'pointercancel']) c.addEventListener(end, (e) => { if (e.pointerId === id) id = null })
  }

  keys() {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }
    this.canvas.addEventListener('keydown', (e) => {
      if (e.key in step) {
        const [dx, dy] = step[e.key]
        const by = e.shiftKey ? 0.1 : 0.04
        this.cursor = [this.cursor[0] + dx * by, this.cursor[1] + dy * by].map((v) => Math.min(0.96, Math.max(0.04, v)))
        if (this.keyPen) this.strokes.at(-1).push(this.cursor)
      } else if (e.key === ' ' || e.key === 'Enter') {
        this.keyPen = !this.keyPen
        if (this.keyPen) this.strokes.push([this.cursor])
      } else if (e.key === 'Delete' || e.key === 'Backspace') {
        this.clear()
      } else {
        return
      }
      e.preventDefault()
      this.showCursor = true
      this.update()
    })
    this.canvas.addEventListener('blur', () => { this.showCursor = false; this.paint() })
    this.canvas.addEventListener('focus', () => { this.showCursor = this.canvas.matches(':focus-visible'); this.paint() })
  }

  /** One picture a frame is enough, however many points came. */
  update() {
    if (this.waiting) return
    this.waiting = true
    requestAnimationFrame(() => {
      this.waiting = false
      this.paint()
      this.changed(this.empty ? null : this.pixels())
    })
  }

  paint() {
    const c = this.canvas
    const size = Math.round(c.clientWidth * devicePixelRatio)
    if (!size) return
    if (c.width !== size) c.width = c.height = size
    const g = c.getContext('2d')
    const style = getComputedStyle(c)
    g.clearRect(0, 0, size, size)
    g.strokeStyle = g.fillStyle = style.color
    trace(g, this.strokes, size, 0, 0, size * 0.075)
    if (this.showCursor) {
      g.beginPath()
      g.arc(this.cursor[0] * size, this.cursor[1] * size, size * 0.03, 0, 7)
      g.lineWidth = 2 * devicePixelRatio
      this.keyPen ? g.fill() : g.stroke()
    }
  }

  /** The picture: 784 bytes, white on black. */
  pixels() {
    const points = this.strokes.flat()
    const xs = points.map((p) => p[0]), ys = points.map((p) => p[1])
    const x0 = least(xs), x1 = -least(xs.map((v) => -v)), y0 = least(ys), y1 = -least(ys.map((v) => -v))
    // A dot or a short dash must not become a digit that fills the picture.
    const scale = (fit - pen) / Math.max(x1 - x0, y1 - y0, 0.2)
    const dx = side / 2 - (scale * (x0 + x1)) / 2, dy = side / 2 - (scale * (y0 + y1)) / 2
    const first = this.raster(scale, dx, dy)
    if (!this.byMass) return first
    const [mx, my] = mass(first)
    // Moved to its centre of mass, but never over the edge.
    const room = (lo, hi, want) => Math.min(Math.max(want, pen / 2 - lo), side - pen / 2 - hi)
    const sx = room(x0 * scale + dx, x1 * scale + dx, side / 2 - mx), sy = room(y0 * scale + dy, y1 * scale + dy, side / 2 - my)
    return this.raster(scale, dx + sx, dy + sy)
  }

  raster(scale, dx, dy) {
    const g = this.small
    g.fillStyle = '#000'
    g.fillRect(0, 0, side * fine, side * fine)
    g.strokeStyle = g.fillStyle = '#fff'
    trace(g, this.strokes, scale * fine, dx * fine, dy * fine, pen * fine)
    const from = g.getImageData(0, 0, side * fine, side * fine).data
    const out = new Uint8Array(side * side)
    for (let y = 0; y < side; y++) {
      for (let x = 0; x < side; x++) {
        let sum = 0
        for (let j = 0; j < fine; j++) for (let i = 0; i < fine; i++) sum += from[4 * ((y * fine + j) * side * fine + x * fine + i)]
        out[y * side + x] = Math.round(sum / (fine * fine))
      }
    }
    return out
  }
}

const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity)

/** The centre of mass in pixels. */
function mass(pixels) {
  let m = 0, mx = 0, my = 0
  for (let i = 0; i < pixels.length; i++) {
    m += pixels[i]
    mx += pixels[i] * ((i % side) + 0.5)
    my += pixels[i] * (Math.floor(i / side) + 0.5)
  }
  return m ? [mx / m, my / m] : [side / 2, side / 2]
}

function trace(g, strokes, scale, dx, dy, width) {
  g.lineWidth = width
  g.lineCap = g.lineJoin = 'round'
  for (const s of strokes) {
    g.beginPath()
    g.moveTo(s[0][0] * scale + dx, s[0][1] * scale + dy)
    // A line to its own start makes the dot of a stroke of one point.
    for (const p of s.length > 1 ? s.slice(1) : s) g.lineTo(p[0] * scale + dx, p[1] * scale + dy)
    g.stroke()
  }
}

/** Puts a 28×28 picture, white on black, on a canvas of that size. */
export function showPixels(canvas, pixels) {
  if (pixels && canvas.pixels && pixels.every((v, i) => v === canvas.pixels[i])) return // handing a canvas over can wait for the GPU
  canvas.pixels = pixels && pixels.slice()
  const g = canvas.getContext('2d', { willReadFrequently: true })
  const image = g.createImageData(side, side)
  for (let i = 0; i < side * side; i++) {
    image.data[4 * i] = image.data[4 * i + 1] = image.data[4 * i + 2] = pixels ? pixels[i] : 0
    image.data[4 * i + 3] = 255
  }
  g.putImageData(image, 0, 0)
}
