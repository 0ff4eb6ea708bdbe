// A weaving draft: three matrices of zeros and ones, and how they and their product are drawn. It knows
// nothing about tensors: what multiplies the matrices is the page's matter.
import { el } from './dom.js'

export const shafts = 4, treadles = 4, ends = 64, picks = 64

// A pattern is the order of the shafts along the threads, that of the treadles along the rows, and the tie-up,
// a row for each treadle.
const straight = [0, 1, 2, 3]
const point = [0, 1, 2, 3, 2, 1]
const rising = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
const waves = [0, 0, 0, 1, 1, 2, 3, 0, 1, 2, 2, 3, 3, 3, 2, 2, 1, 0, 3, 2, 1, 1]
export const patterns = {
  'Bird’s eye': [point, point, rising],
  'Twill': [straight, straight, rising],
  'Plain weave': [straight, straight, [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]],
  'Herringbone': [[0, 1, 2, 3, 0, 1, 2, 3, 2, 1, 0, 3, 2, 1, 0, 3], straight, rising],
  'Undulating twill': [waves, straight, rising],
  'Basket weave': [[0, 0, 1, 1], [0, 0, 1, 1], [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]],
  'Rosepath': [[0, 1, 2, 3, 0, 3, 2, 1], [0, 1, 2, 3, 0, 3, 2, 1], rising],
  'Waves both ways': [waves, waves, rising],
}

/** The matrices of a pattern: treadling[picks, treadles] and threading[shafts, ends], one 1 in each row and column. */
export function matrices([order, steps]) {
  const treadling = new Float32Array(picks * treadles), threading = new Float32Array(shafts * ends)
  for (let p = 0; p < picks; p++) treadling[p * treadles + steps[p % steps.length]] = 1
  for (let e = 0; e < ends; e++) threading[order[e % order.length] * ends + e] = 1
  return { treadling, threading }
}

function fit(canvas) {
  const w = Math.round(canvas.clientWidth * devicePixelRatio), h = Math.round(canvas.clientHeight * devicePixelRatio)
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h }
  return [canvas.getContext('2d'), w, h]
}

const between = (i, n, size) => Math.round((i * size) / n)

/** Draws a matrix of zeros and ones as small squares. */
export function drawMatrix(canvas, m, rows, cols) {
  const [g, w, h] = fit(canvas)
  g.clearRect(0, 0, w, h)
  g.fillStyle = getComputedStyle(canvas).color
  const gap = Math.max(1, Math.round(Math.min(w / cols, h / rows) / 5))
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      if (!m[r * cols + c]) continue
      const x = between(c, cols, w), y = between(r, rows, h)
      g.fillRect(x, y, between(c + 1, cols, w) - x - gap, between(r + 1, rows, h) - y - gap)
    }
  }
}

const warp = ['#35519c', '#243a7c'], weft = ['#f1ece0', '#d6cdb9'], shade = '#1a2444'

/** Draws cloth[picks, ends]: 1 where the thread of the warp lies on top. */
export function drawCloth(canvas, cloth) {
  const [g, w, h] = fit(canvas)
  g.fillStyle = shade
  g.fillRect(0, 0, w, h)
  const edge = Math.max(1, Math.round(w / ends / 5))
  for (let p = 0; p < picks; p++) {
    const y = between(p, picks, h), dy = between(p + 1, picks, h) - y
    for (let e = 0; e < ends; e++) {
      const x = between(e, ends, w), dx = between(e + 1, ends, w) - x
      const up = cloth[p * ends + e] > 0.5
      const [light, dark] = up ? warp : weft
      // A thread goes through below its neighbours: it is dark where it dives.
      g.fillStyle = dark
      up ? g.fillRect(x, y, dx - edge, dy) : g.fillRect(x, y, dx, dy - edge)
      g.fillStyle = light
      const dive = (q, f) => (q >= 0 && f >= 0 && q < picks && f < ends ? cloth[q * ends + f] > 0.5 : !up) !== up
      if (up) {
        const a = dive(p - 1, e) ? edge : 0, b = dive(p + 1, e) ? edge : 0
        g.fillRect(x, y + a, dx - edge, dy - a - b)
      } else {
        const a = dive(p, e - 1) ? edge : 0, b = dive(p, e + 1) ? edge : 0
        g.fillRect(x + a, y, dx - a - b, dy - edge)
      }
    }
  }
}

/** The tie-up as a grid of switches; changed(values) after each change. Columns are treadles, rows shafts. */
export class TieUp {
  constructor(root, changed) {
    this.values = new Float32Array(treadles * shafts) // [treadle, shaft]
    this.cells = []
    for (let s = 0; s < shafts; s++) {
      const row = el('div', { role: 'row' })
      for (let t = 0; t < treadles; t++) {
        const cell = el('button', { type: 'button', role: 'gridcell', tabindex: s + t ? -1 : 0, 'aria-label': `Treadle ${t + 1}, shaft ${s + 1}` })
        const at = this.cells.push(cell) - 1
        cell.addEventListener('click', () => {
          this.values[t * shafts + s] = 1 - this.values[t * shafts + s]
          this.show()
          changed()
        })
        cell.addEventListener('keydown', (e) => this.move(e, at))
        cell.addEventListener('focus', () => this.cells.forEach((c) => (c.tabIndex = c === cell ? 0 : -1)))
        row.append(cell)
      }
      root.append(row)
    }
  }

  set(rows) {
    this.values = Float32Array.from(rows.flat())
    this.show()
  }

  show() {
    this.cells.forEach((c, i) => c.setAttribute('aria-selected', String(this.values[(i % treadles) * shafts + Math.floor(i / treadles)] > 0)))
  }

  move(e, at) {
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -treadles, ArrowDown: treadles }[e.key]
    if (!by) return
    e.preventDefault()
    const to = at + by
    const sameRow = Math.floor(to / treadles) === Math.floor(at / treadles)
    if (to >= 0 && to < this.cells.length && (Math.abs(by) > 1 || sameRow)) this.cells[to].focus()
  }
}
