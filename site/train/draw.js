// The drawing area: strokes of a pen, by pointer or by keys, and the 28×28 picture that they make.
// The picture is drawn anew from the strokes as MNIST's were made: the digit scaled to fit 20×20
// pixels, its centre of mass in the middle; or the middle of its box, as that of the synthetic
// digits is. It knows nothing about networks.

const side = 28
const fit = 20 // pixels that the longer side of the digit takes
const pen = 2.6 // width of the stroke in pixels of the picture
const fine = 6 // samples a pixel, each way
const often = 80 // ms between two pictures at least, while the pen moves

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
    this.inked = null // how much is on the canvas: the points of each stroke; null: draw all
    this.pointer()
    this.keys()
    new ResizeObserver(([e]) => {
      this.width = e.contentRect.width
      this.repaint()
    }).observe(canvas)
    document.addEventListener('themechange', () => this.repaint())
  }

  clear() {
    this.strokes = []
    this.inked = null
    this.keyPen = false
    this.update()
  }

  /** Clears without telling: something else is shown instead. */
  wipe() {
    clearTimeout(this.later)
    this.later = null
    this.strokes = []
    this.keyPen = false
    this.repaint()
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
    this.canvas.addEventListener('blur', () => { if (this.showCursor) { this.showCursor = false; this.repaint() } })
    this.canvas.addEventListener('focus', () => { this.showCursor = this.canvas.matches(':focus-visible'); if (this.showCursor) this.repaint() })
  }

  /** Paints at the next frame, and makes the picture if the last one was made long enough ago. */
  update() {
    if (this.waiting) return
    this.waiting = true
    requestAnimationFrame(() => {
      this.waiting = false
      this.paint()
      if (this.later) return
      this.later = setTimeout(() => {
        this.later = null
        this.changed(this.empty ? null : this.pixels())
      }, this.empty ? 0 : often)
    })
  }

  repaint() {
    this.inked = null
    this.paint()
  }

  /** Draws what is not on the canvas yet. */
  paint() {
    const c = this.canvas
    const size = Math.round(this.width * devicePixelRatio)
    if (!size) return
    this.g ??= c.getContext('2d')
    const g = this.g
    if (c.width !== size) {
      c.width = c.height = size
      this.inked = null
    }
    if (!this.inked || this.showCursor) { // the cursor moves over what is drawn
      g.clearRect(0, 0, size, size)
      g.strokeStyle = g.fillStyle = getComputedStyle(c).color
      this.inked = []
    }
    g.lineWidth = size * 0.075
    g.lineCap = g.lineJoin = 'round'
    this.strokes.forEach((s, i) => {
      const from = this.inked[i] || 0
      if (from === s.length) return
      g.beginPath()
      const [x, y] = s[Math.max(0, from - 1)]
      g.moveTo(x * size, y * size)
      for (let j = Math.min(from, s.length - 1); j < s.length; j++) g.lineTo(s[j][0] * size, s[j][1] * size) // to its own start: the dot of a stroke of one point
      g.stroke()
      this.inked[i] = s.length
    })
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

  /** Each pixel is the share of its samples that lie under the pen. */
  raster(scale, dx, dy) {
    const n = side * fine, r = (pen * fine) / 2
    const under = new Uint8Array(n * n)
    for (const s of this.strokes) {
      const at = (p) => [(p[0] * scale + dx) * fine, (p[1] * scale + dy) * fine]
      let a = at(s[0])
      s.forEach((p, i) => {
        const b = at(p)
        if (i > 0 && i < s.length - 1 && Math.abs(b[0] - a[0]) + Math.abs(b[1] - a[1]) < 1) return
        line(under, n, a, b, r)
        a = b
      })
    }
    const out = new Uint8Array(side * side)
    for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) out[Math.floor(y / fine) * side + Math.floor(x / fine)] += under[y * n + x]
    return out.map((v) => Math.round((v * 255) / (fine * fine)))
  }
}

/** Marks the samples that are at most r from the line from a to b. */
function line(under, n, [ax, ay], [bx, by], r) {
  const within = (v) => Math.min(Math.max(v, 0), n)
  const dx = bx - ax, dy = by - ay, long = dx * dx + dy * dy || 1
  const x1 = within(Math.ceil(Math.max(ax, bx) + r)), y1 = within(Math.ceil(Math.max(ay, by) + r))
  for (let y = within(Math.floor(Math.min(ay, by) - r)); y < y1; y++) {
    for (let x = within(Math.floor(Math.min(ax, bx) - r)); x < x1; x++) {
      const px = x + 0.5 - ax, py = y + 0.5 - ay
      const t = Math.min(Math.max((px * dx + py * dy) / long, 0), 1)
      if ((px - t * dx) ** 2 + (py - t * dy) ** 2 <= r * r) under[y * n + x] = 1
    }
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
