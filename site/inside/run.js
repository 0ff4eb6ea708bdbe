// Runs what is shown on the engine's own device and draws when each kernel ran, what lies between, and the memory that the plan holds then.
import { byId, el, svg, short, size, words, deviceName, kernelName } from '../assets/dom.js'

export class Run {
  /** engine() and shown() give what is there at that time. */
  constructor(engine, shown) {
    this.button = byId('run')
    this.text = byId('run-text')
    this.place = byId('timeline')
    this.button.addEventListener('click', async () => {
      this.button.disabled = true
      this.text.textContent = 'Running.'
      try {
        const w = await engine()
        this.show(await w.call('timeline', [shown().text]), w.device)
      } catch (err) {
        this.clear()
        this.text.textContent = words(err)
      }
      this.button.disabled = false
    })
  }

  clear() {
    this.text.textContent = ''
    this.place.hidden = true
  }

  show({ launches, seconds, clock, placed, runs }, device) {
    const busy = launches.reduce((sum, l) => sum + l.seconds, 0)
    const gaps = Math.max(0, seconds - busy)
    const us = (s) => (s >= 1e-3 ? `${short(s * 1e3)} ms` : `${short(s * 1e6)} µs`)
    const n = launches.length
    this.text.textContent = n === 0 ? 'There was nothing to run.'
      : `${n} ${n === 1 ? 'kernel' : 'kernels'} on ${deviceName(device)} in ${us(seconds)}: ${us(busy)} in kernels, ${us(gaps)} between and around them${runs > 1 ? `, the mean of ${runs} runs` : ''}. ${clocks[clock] ?? ''}`
    this.place.hidden = n === 0
    if (n) this.place.replaceChildren(drawing(launches, placed ? seconds : busy, us), list(launches, us))
  }
}

const clocks = {
  processor: '',
  gpu: 'The graphics processor tells how long kernels take, not when: they are drawn one after the other.',
  waiting: 'The graphics processor does not tell how long kernels take: the page waited for each, and they are drawn one after the other.',
}

const width = 1100, bar = 34, high = 90

/** Kernels along time, and below them the memory that is in use while they run. */
function drawing(launches, total, us) {
  const x = (s) => (width * s) / Math.max(total, 1e-12)
  const root = svg('svg', { width, height: bar + high + 62, viewBox: `0 0 ${width} ${bar + high + 62}`, role: 'img', 'aria-label': `${launches.length} kernels in ${us(total)}; the list below has their times` })
  root.append(svg('rect', { class: 'gap-bar', x: 0.5, y: 0.5, width: width - 1, height: bar, rx: 3 }))
  const most = Math.max(1, ...launches.map((l) => l.memory))
  let path = `M0 ${bar + 30 + high}`
  for (const l of launches) {
    const from = x(l.start), to = Math.max(from + 1, x(l.start + l.seconds))
    root.append(svg('rect', { class: 'kernel-bar', x: from, y: 1, width: to - from, height: bar - 1 }, svg('title', {}, `${l.kernel}: ${us(l.seconds)}`)))
    const y = bar + 30 + high * (1 - l.memory / most)
    path += `H${from}V${y}H${to}`
  }
  path += `V${bar + 30 + high}H0Z`
  root.append(
    svg('text', { class: 'soft', x: 0, y: bar + 18 }, '0'),
    svg('text', { class: 'soft', x: width, y: bar + 18, 'text-anchor': 'end' }, us(total)),
    svg('path', { class: 'memory', d: path }),
    svg('text', { class: 'soft', x: 0, y: bar + high + 50 }, `Intermediate values in memory: ${size(most === 1 ? 0 : most)} at most`))
  return root
}

function list(launches, us) {
  const rows = launches.map((l) => el('tr', {}, el('td', {}, kernelName(l.kernel, l.kinds)), el('td', { class: 'number' }, us(l.seconds)),
    el('td', { class: 'number' }, l.seconds > 0 ? `${short(l.flops / l.seconds / 1e9)} GFLOP/s` : '–'), el('td', { class: 'number' }, size(l.memory))))
  return el('table', { class: 'small' }, el('thead', {}, el('tr', {}, ...['Kernel', 'Time', 'Speed', 'Memory'].map((t) => el('th', { scope: 'col' }, t)))), el('tbody', {}, ...rows))
}
