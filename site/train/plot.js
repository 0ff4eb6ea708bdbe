// A small line plot in SVG: readable axes, a faint line of what was measured, a clear one of its
// running mean, and the value under the pointer. It knows numbers only.
//
// It is drawn while a device computes on the same cores, so it does little at a time: axes end at round numbers and
// are drawn anew only when those change; lines grow at their end.
import { svg, short } from '../assets/dom.js'

const left = 44, right = 12, top = 8, bottom = 26
const most = 600 // points of a line: it is hardly wider in pixels
const pause = 200 // ms between two drawings at least

const nice = [1, 2, 5, 10]

/** The greatest of 1, 2, 5, 10, … that is at most v; up: the least that is at least v. */
function round(v, up) {
  const base = 10 ** Math.floor(Math.log10(v))
  const fits = up ? nice.find((m) => m * base >= v * (1 - 1e-9)) : nice.findLast((m) => m * base <= v * (1 + 1e-9))
  return Number((fits * base).toPrecision(6))
}

/** About n round numbers from lo to hi. */
function ticks(lo, hi, n) {
  const step = round((hi - lo) / n, true)
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

/** Elements of one kind that are made once and used again. */
class Pool {
  constructor(into, make) {
    Object.assign(this, { into, make, all: [], used: 0 })
  }

  next() {
    if (this.used === this.all.length) {
      this.all.push(this.make())
      this.into.append(this.all.at(-1))
    }
    const e = this.all[this.used++]
    e.removeAttribute('visibility')
    return e
  }

  rest() {
    for (let i = this.used; i < this.all.length; i++) set(this.all[i], { visibility: 'hidden' })
    this.used = 0
  }
}

export class Plot {
  /**
   * into: an element; options.name for people who cannot see it, options.log, options.range [lo, hi] if
   * fixed, options.mean: how much of a running mean stays at each point (0: none), options.dots, options.kind: a class,
   * options.beside: a plot whose horizontal axis this one has.
   */
  constructor(into, readout, options) {
    this.options = options
    this.readout = readout
    this.x = []
    this.y = []
    this.m = []
    this.end = 50
    this.root = svg('svg', { role: 'img' })
    const grid = svg('g'), dots = svg('g')
    this.lines = new Pool(grid, () => svg('line', { class: 'grid' }))
    this.labels = new Pool(grid, () => svg('text', {}, ''))
    this.axis = svg('line', { class: 'axis' })
    this.raw = svg('path', { class: `raw ${options.kind}` })
    this.mean = svg('path', { class: `mean ${options.kind}` })
    this.dots = new Pool(dots, () => svg('circle', { class: `dot ${options.kind}` }))
    this.cross = svg('line', { class: 'cross', visibility: 'hidden' })
    this.root.append(grid, this.axis, this.raw, this.mean, dots, this.cross)
    into.append(this.root)
    new ResizeObserver(([e]) => {
      this.w = Math.round(e.contentRect.width)
      this.h = Math.round(e.contentRect.height)
      this.changed()
    }).observe(into)
    this.root.addEventListener('pointermove', (e) => this.point(e.offsetX))
    this.root.addEventListener('pointerleave', () => this.point(null))
  }

  clear() {
    this.x.length = this.y.length = this.m.length = 0
    this.end = 50
    this.drawn = null // the lines as they are
    this.changed()
  }

  /** Adds a point. x grows. Where there are too many they are thinned to half: neighbours become one. */
  add(x, y) {
    const keep = this.options.mean
    const last = this.m.at(-1)
    this.x.push(x)
    this.y.push(y)
    this.m.push(keep && last > 0 && y > 0 ? last ** keep * y ** (1 - keep) : y) // a geometric mean: the axis is logarithmic
    if (this.x.length > most) {
      const odd = (_, i) => i % 2 === 1
      this.y = this.y.map((v, i) => (i % 2 ? (v + this.y[i - 1]) / 2 : v)).filter(odd)
      this.x = this.x.filter(odd)
      this.m = this.m.filter(odd)
      this.drawn = null
    }
    if (x > this.end) {
      const tenth = round(x * 1.02, true) / 10
      this.end = Math.ceil((x * 1.02) / tenth) * tenth // so that the axis changes seldom, and the line keeps most of the width
      this.follower?.changed()
    }
    this.changed()
  }

  /** Draws at the next frame, a few times a second at most. */
  changed() {
    if (this.options.beside) this.options.beside.follower = this
    if (this.waiting) return
    this.waiting = true
    const since = performance.now() - (this.last ?? -pause)
    setTimeout(() => requestAnimationFrame(() => {
      this.waiting = false
      this.last = performance.now()
      this.draw()
    }), Math.max(0, pause - since))
  }

  vertical() {
    if (this.options.range) return this.options.range
    let lo = Infinity, hi = 0
    for (const list of [this.m, this.y]) for (const v of list) if (v > 0 && v < Infinity) { lo = Math.min(lo, v); hi = Math.max(hi, v) }
    if (!hi) return [0.1, 5]
    lo = round(lo * 0.95, false)
    return [lo, Math.max(round(hi * 1.05, true), lo * 2)]
  }

  draw() {
    const { w, h } = this
    if (!w || !h) return
    const [lo, hi] = this.vertical()
    const end = Math.max(this.end, this.options.beside?.end || 0)
    const key = [w, h, lo, hi, end].join()
    if (key !== this.key) {
      this.key = key
      this.drawn = null
      const f = this.options.log ? Math.log : (v) => v
      this.py = (v) => top + (1 - (f(v) - f(lo)) / (f(hi) - f(lo))) * (h - top - bottom)
      this.px = (v) => left + (v / end) * (w - left - right)
      this.axes(lo, hi, end)
    }
    this.drawn ??= { n: 0, raw: '', mean: '', rawPen: 'M', meanPen: 'M' }
    this.lengthen(lo, hi)
    this.describe()
  }

  axes(lo, hi, end) {
    const { w, h, px, py } = this
    for (const v of this.options.log ? logTicks(lo, hi) : ticks(lo, hi, 5)) {
      const y = Math.round(py(v)) + 0.5
      set(this.lines.next(), { x1: left, x2: w - right, y1: y, y2: y })
      label(this.labels.next(), left - 8, y + 4, short(v), 'end')
    }
    for (const v of ticks(0, end, Math.max(2, Math.floor(w / 110)))) label(this.labels.next(), px(v), h - 8, v.toLocaleString('en'), 'middle')
    this.lines.rest()
    this.labels.rest()
    set(this.axis, { x1: left, x2: w - right, y1: h - bottom + 0.5, y2: h - bottom + 0.5 })
  }

  /** Draws the points that are new. */
  lengthen(lo, hi) {
    const d = this.drawn, clamp = (v) => this.py(Math.min(Math.max(v, lo), hi)).toFixed(1)
    const piece = (pen, i, v) => `${pen}${this.px(this.x[i]).toFixed(1)} ${clamp(v)}`
    for (let i = d.n; i < this.x.length; i++) {
      for (const [name, pen, v] of [['mean', 'meanPen', this.m[i]], ['raw', 'rawPen', this.y[i]]]) {
        if (Number.isFinite(v)) d[name] += piece(d[pen], i, v)
        d[pen] = Number.isFinite(v) ? 'L' : 'M'
      }
    }
    d.n = this.x.length
    set(this.mean, { d: d.mean })
    if (this.options.mean) set(this.raw, { d: d.raw })
    const all = this.options.dots && d.n <= 60
    for (let i = all ? 0 : Math.max(0, d.n - 1); i < d.n; i++) {
      if (Number.isFinite(this.m[i])) set(this.dots.next(), { cx: this.px(this.x[i]).toFixed(1), cy: clamp(this.m[i]), r: i === d.n - 1 ? 3.5 : 2.25 })
    }
    this.dots.rest()
  }

  describe() {
    const { name, unit = '' } = this.options
    const n = this.x.length
    set(this.root, { 'aria-label': n ? `${name}: ${short(this.m[n - 1])}${unit} at step ${this.x[n - 1]}, ${short(this.m[0])}${unit} at step ${this.x[0]}` : `${name}: nothing measured yet` })
  }

  /** Shows the value nearest to a place, in pixels; null: none. */
  point(at) {
    if (at === null || !this.x.length || !this.px) {
      set(this.cross, { visibility: 'hidden' })
      this.readout.textContent = ''
      return
    }
    let best = 0
    for (let i = 1; i < this.x.length; i++) if (Math.abs(this.px(this.x[i]) - at) < Math.abs(this.px(this.x[best]) - at)) best = i
    const x = this.px(this.x[best])
    set(this.cross, { x1: x, x2: x, y1: top, y2: this.h - bottom, visibility: 'visible' })
    this.readout.textContent = `${short(this.y[best])}${this.options.unit || ''} at step ${this.x[best].toLocaleString('en')}`
  }
}

/** Sets attributes that are others than before: those that are not cost no drawing. */
function set(e, attrs) {
  for (const k in attrs) if (e.getAttribute(k) !== String(attrs[k])) e.setAttribute(k, attrs[k])
}

function label(e, x, y, text, anchor) {
  set(e, { x: x.toFixed(1), y, 'text-anchor': anchor })
  if (e.textContent !== text) e.textContent = text
}
