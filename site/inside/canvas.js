// A drawing that is larger than its frame: it is moved by dragging and by the frame's own scrolling, and made larger and smaller by buttons,
// by the wheel with Ctrl, and by + and −.
import { byId } from '../assets/dom.js'

const least = 0.2, most = 2, step = 1.25

export class Canvas {
  constructor(frame) {
    this.frame = frame
    this.scale = 1
    frame.classList.add('drags')
    byId('larger').addEventListener('click', () => this.zoom(this.scale * step))
    byId('smaller').addEventListener('click', () => this.zoom(this.scale / step))
    byId('whole').addEventListener('click', () => this.fit())
    frame.addEventListener('wheel', (e) => {
      if (!e.ctrlKey) return
      e.preventDefault()
      const r = frame.getBoundingClientRect()
      this.zoom(this.scale * Math.exp(-e.deltaY / 300), e.clientX - r.left, e.clientY - r.top)
    }, { passive: false })
    frame.addEventListener('keydown', (e) => {
      const by = { '+': step, '=': step, '-': 1 / step }[e.key]
      if (by && !e.ctrlKey && !e.metaKey) { e.preventDefault(); this.zoom(this.scale * by) }
      if (e.key === '0') this.fit()
    })
    let from = null
    frame.addEventListener('pointerdown', (e) => {
      if (e.button !== 0 || e.pointerType !== 'mouse') return // fingers scroll as everywhere
      from = { x: e.clientX, y: e.clientY, left: frame.scrollLeft, top: frame.scrollTop }
      frame.setPointerCapture(e.pointerId)
    })
    frame.addEventListener('pointermove', (e) => {
      if (from) frame.scrollTo(from.left + from.x - e.clientX, from.top + from.y - e.clientY)
    })
    for (const end of ['pointerup', 'pointercancel']) frame.addEventListener(end, () => (from = null))
  }

  show(drawing) {
    this.frame.replaceChildren(drawing)
    this.size = drawing.viewBox ? { w: drawing.viewBox.baseVal.width, h: drawing.viewBox.baseVal.height } : null
    this.drawing = drawing
    this.zoom(this.scale)
  }

  /** Makes it so large, and leaves the point x, y of the frame where it is. */
  zoom(scale, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
    if (!this.size) return
    const { frame } = this
    const before = this.scale
    this.scale = Math.min(most, Math.max(least, scale))
    this.drawing.setAttribute('width', this.size.w * this.scale)
    this.drawing.setAttribute('height', this.size.h * this.scale)
    const by = this.scale / before
    if (by !== 1) frame.scrollTo((frame.scrollLeft + x) * by - x, (frame.scrollTop + y) * by - y)
  }

  fit() {
    if (this.size) this.zoom(Math.min(1, (this.frame.clientWidth - 40) / this.size.w, (this.frame.clientHeight - 40) / this.size.h))
  }

  /** Goes to where the results are: the end. */
  toEnd() {
    const { frame } = this
    requestAnimationFrame(() => frame.scrollTo((frame.scrollWidth - frame.clientWidth) / 2, frame.scrollHeight))
  }
}
