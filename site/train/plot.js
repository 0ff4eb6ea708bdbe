// A small line plot in SVG: readable axes, a faint line of what was measured, a clear one of its
// running mean, and the value under the pointer. It knows numbers only.
import { svg, short } from '../assets/dom.js'

const left = 44, right = 12, top = 8, bottom = 26

/** About n round numbers from lo to hi. */
function ticks(lo, hi, n) {
  const raw = (hi - lo) / n
  const base = 10 ** Math.floor(Math.log10(raw))
  const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw)
  const out = []
  for (let v = Math.ceil(lo / step) * step; v <= hi + step * 1e-6; v += step) out.push(Number(v.toPrecision(10)))
  return out
}

/** 1, 2 and 5 of each decade between lo and hi; powers of ten alone where that would be many. */
function logTicks(lo, hi) {
  const out = []
  const many = Math.log10(hi / lo) > 2.5
  for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) {
    for (const m of many ? [1] : [1, 2, 5]) {
      const v = Number((m * 10 ** e).toPrecision(3))
      if (v >= lo * 0.999 && v <= hi * 1.001) out.push(v)
    }
  }
  return out
}

export class Plot {
  /**
   * into: an element; options.name for people who cannot see it, options.log, options.range [lo, hi] if
   * fixed, options.mean: how much of a running mean stays at each point (0: none), options.dots, options.kind: a class.
   */
  constructor(into, readout, options) {
    this.options = options
    this.readout = readout
    this.x = []
    this.y = []
    this.m = []
    this.root = svg('svg', { role: 'img' })
    this.grid = svg('g')
    this.raw = svg('path', { class: `raw ${options.kind}` })
    this.mean = svg('path', { class: `mean ${options.kind}` })
    this.dots = svg('g')
    this.cross = svg('line', { class: 'cross', visibility: 'hidden' })
    this.root.append(this.grid, this.raw, this.mean, this.dots, this.cross)
    into.append(this.root)
    new ResizeObserver(() => this.changed()).observe(into)
    this.root.addEventListener('pointermove', (e) => this.point(e.offsetX))
    this.root.addEventListener('pointerleave', () => this.point(null))
    this.changed()
  }

  clear() {
    this.x.length = this.y.length = this.m.length = 0
    this.changed()
  }

  /** Adds a point. x grows. More than 3000 points are thinned to half: neighbours become one. */
  add(x, y) {
    const keep = this.options.mean
    const last = this.m.at(-1)
    this.x.push(x)
    this.y.push(y)
    this.m.push(keep && last > 0 && y > 0 ? last ** keep * y ** (1 - keep) : y) // a geometric mean: the axis is logarithmic
    if (this.x.length > 3000) {
      const odd = (_, i) => i % 2 === 1
      this.y = this.y.map((v, i) => (i % 2 ? (v + this.y[i - 1]) / 2 : v)).filter(odd)
      this.x = this.x.filter(odd)
      this.m = this.m.filter(odd)
    }
    this.changed()
  }

  /** Draws at the next frame, at most ten times a second. */
  changed() {
    if (this.waiting) return
    this.waiting = true
    const since = performance.now() - (this.drawn || 0)
    setTimeout(() => requestAnimationFrame(() => {
      this.waiting = false
      this.drawn = performance.now()
      this.draw()
    }), Math.max(0, 100 - since))
  }

  vertical() {
    if (this.options.range) return this.options.range
    const good = this.m.concat(this.y).filter((v) => Number.isFinite(v) && v > 0)
    if (!good.length) return [0.1, 3]
    let lo = Infinity, hi = 0
    for (const v of good) { lo = Math.min(lo, v); hi = Math.max(hi, v) }
    return [Math.min(lo * 0.85, hi * 0.5), hi * 1.1]
  }

  draw() {
    const w = this.root.clientWidth, h = this.root.clientHeight
    if (!w || !h) return
    const [lo, hi] = this.vertical()
    const end = Math.max(50, (this.x.at(-1) || 0) * 1.04, this.options.beside?.end || 0)
    this.end = end
    const f = this.options.log ? Math.log : (v) => v
    const py = (v) => top + (1 - (f(v) - f(lo)) / (f(hi) - f(lo))) * (h - top - bottom)
    const px = (v) => left + (v / end) * (w - left - right)
    this.px = px

    this.grid.textContent = ''
    for (const v of this.options.log ? logTicks(lo, hi) : ticks(lo, hi, 5)) {
      const y = Math.round(py(v)) + 0.5
      this.grid.append(svg('line', { class: 'grid', x1: left, x2: w - right, y1: y, y2: y }), label(left - 8, y + 4, short(v), 'end'))
    }
    for (const v of ticks(0, end, Math.max(2, Math.floor(w / 110)))) this.grid.append(label(px(v), h - 8, v.toLocaleString('en'), 'middle'))
    this.grid.append(svg('line', { class: 'axis', x1: left, x2: w - right, y1: h - bottom + 0.5, y2: h - bottom + 0.5 }))

    const clamp = (v) => py(Math.min(Math.max(v, lo), hi)).toFixed(1)
    const path = (ys) => {
      let d = '', pen = 'M'
      for (let i = 0; i < ys.length; i++) {
        if (!Number.isFinite(ys[i])) { pen = 'M'; continue }
        d += `${pen}${px(this.x[i]).toFixed(1)} ${clamp(ys[i])}`
        pen = 'L'
      }
      return d
    }
    this.mean.setAttribute('d', path(this.m))
    this.raw.setAttribute('d', this.options.mean ? path(this.y) : '')
    this.dots.textContent = ''
    const marks = this.options.dots && this.x.length <= 60 ? this.x.map((_, i) => i) : this.x.length ? [this.x.length - 1] : []
    for (const i of marks) if (Number.isFinite(this.m[i])) this.dots.append(svg('circle', { class: `dot ${this.options.kind}`, cx: px(this.x[i]), cy: clamp(this.m[i]), r: i === this.x.length - 1 ? 3.5 : 2.25 }))
    this.describe()
  }

  describe() {
    const { name, unit = '' } = this.options
    const n = this.x.length
    this.root.setAttribute('aria-label', n ? `${name}: ${short(this.m[n - 1])}${unit} at step ${this.x[n - 1]}, ${short(this.m[0])}${unit} at step ${this.x[0]}` : `${name}: nothing measured yet`)
  }

  /** Shows the value nearest to a place, in pixels; null: none. */
  point(at) {
    if (at === null || !this.x.length || !this.px) {
      this.cross.setAttribute('visibility', 'hidden')
      this.readout.textContent = ''
      return
    }
    let best = 0
    for (let i = 1; i < this.x.length; i++) if (Math.abs(this.px(this.x[i]) - at) < Math.abs(this.px(this.x[best]) - at)) best = i
    const x = this.px(this.x[best])
    for (const [k, v] of [['x1', x], ['x2', x], ['y1', top], ['y2', this.root.clientHeight - bottom], ['visibility', 'visible']]) this.cross.setAttribute(k, v)
    this.readout.textContent = `${short(this.y[best])}${this.options.unit || ''} at step ${this.x[best].toLocaleString('en')}`
  }
}

function label(x, y, text, anchor) {
  return svg('text', { x, y, 'text-anchor': anchor }, text)
}
