// What comes out of a function, shown: classes as bars, boxes, a picture, a plot, numbers. It knows documents, and refuses to know models.

/** Makes an element of the document. */
export const make = (name, props = {}, ...children) => {
  const { part, aria, ...rest } = props
  const e = Object.assign(document.createElement(name), rest)
  if (part) e.setAttribute('part', part)
  for (const [k, v] of Object.entries(aria ?? {})) e.setAttribute(k === 'role' ? k : `aria-${k}`, v)
  e.append(...children)
  return e
}
export const list = (text) => (text ? text.split(',').map((s) => s.trim()) : [])
export const bare = (shape) => shape.filter((n) => n !== 1)

/** How an array holds a picture: its height, width and colours, and where colour c of pixel i lies. */
export function pictureOf({ name, shape }, instead = 'output="numbers"') {
  const s = bare(shape)
  if (s.length === 2) return { h: s[0], w: s[1], colours: 1, at: (i) => i }
  if (s.length === 3 && s[0] === 3) return { h: s[1], w: s[2], colours: 3, at: (i, c) => c * s[1] * s[2] + i }
  if (s.length === 3 && s[2] === 3) return { h: s[0], w: s[1], colours: 3, at: (i, c) => 3 * i + c }
  throw new Error(`${name} of shape [${shape.join(', ')}] is no picture; use ${instead}`)
}

// Numbers that are 0 … 1 and 1 together.
const shares = (data) => data.every((v) => v >= 0 && v <= 1.001) && Math.abs(data.reduce((a, b) => a + b, 0) - 1) < 0.01
const percent = (p) => `${(100 * p).toFixed(1)} %`
const short = (v) => (typeof v === 'number' ? String(+v.toPrecision(5)) : String(v))

/** What a result is shown as where nobody says it. */
export function suggested({ data, shape, dtype }, labels) {
  const s = bare(shape)
  if (s.length !== 1 || !dtype.startsWith('float')) return 'numbers'
  return labels.length || (data.length <= 1000 && shares(data)) ? 'bars' : data.length > 32 ? 'plot' : 'numbers'
}

/** The largest of classes. */
export function bars({ data }, { labels, top }) {
  const order = Array.from(data.keys()).sort((a, b) => Number(data[b]) - Number(data[a])).slice(0, top)
  const most = Math.max(1e-30, Number(data[order[0]]))
  const whole = data.length <= 1000 && shares(Array.from(data, Number))
  return make('dl', {}, ...order.flatMap((i) => {
    const bar = make('div', { part: 'bar' })
    bar.style.width = `${100 * Math.max(0, Number(data[i])) / (whole ? 1 : most)}%`
    return [make('dt', { textContent: labels[i] || i }), make('dd', { part: 'track' }, bar),
      make('dd', { textContent: whole ? percent(data[i]) : Number(data[i]).toFixed(3) })]
  }))
}

export function picture(name, { data, shape, dtype }) {
  const { h, w, colours, at } = pictureOf({ name, shape })
  const image = new ImageData(w, h)
  const scale = dtype === 'uint8' ? 1 : 255
  for (let i = 0; i < h * w; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = scale * Number(data[at(i, colours === 1 ? 0 : c)])
    image.data[4 * i + 3] = 255
  }
  const canvas = make('canvas', { width: w, height: h, part: 'picture', aria: { role: 'img', label: name } })
  canvas.getContext('2d').putImageData(image, 0, 0)
  return canvas
}

export function numbers(name, { data, shape }) {
  const some = Array.from(data.slice(0, 100), short)
  return make('pre', { textContent: `${name} [${shape.join(', ')}]: ${some.join(', ')}${data.length > 100 ? ', …' : ''}` })
}

const drawn = (name, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v)
  return e
}

/** A line through numbers. range: the least and the most of the axis, otherwise those of the numbers; across: what stands at the ends of the other axis. */
export function plot(name, { data }, { range, across }) {
  const values = Array.from(data, Number)
  const ends = [Math.min(...values), Math.max(...values)]
  const [low, high] = range.length === 2 ? range.map(Number) : ends
  const y = (v) => (98 - 96 * (v - low) / (high - low || 1)).toFixed(2)
  const line = values.map((v, i) => `${(100 * i / Math.max(1, values.length - 1)).toFixed(2)},${y(v)}`).join(' ')
  const label = `${name}: ${values.length} numbers from ${short(ends[0])} to ${short(ends[1])}`
  const svg = drawn('svg', { viewBox: '0 0 100 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': label, part: 'plot' })
  if (low < 0 && high > 0) svg.append(drawn('line', { x1: 0, x2: 100, y1: y(0), y2: y(0), class: 'zero', 'vector-effect': 'non-scaling-stroke' }))
  svg.append(drawn('polyline', { points: line, 'vector-effect': 'non-scaling-stroke' }))
  const said = (text) => make('span', { textContent: text })
  return make('div', { className: 'plot' }, make('div', { className: 'up' }, said(short(high)), said(name), said(short(low))), svg,
    make('div', { className: 'along' }, ...(across.length ? across : ['1', String(values.length)]).map(said)))
}

const area = (b) => Math.max(0, b[2] - b[0]) * Math.max(0, b[3] - b[1])

// How much two boxes have in common, of all that they cover.
function overlap(a, b) {
  const both = area([Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])])
  return both && both / (area(a) + area(b) - both)
}

/**
 * The boxes that are sure enough, of those that overlap the surest. boxes[n, 4] are left, top, right, bottom from 0 to 1; scores[n] or scores[n, classes].
 * A class whose label is empty is the ground, which has no box.
 */
export function found({ boxes, scores }, { labels, least }) {
  const n = boxes?.data.length / 4
  if (!(n && scores && bare(boxes.shape).at(-1) === 4 && scores.data.length % n === 0)) {
    throw new Error('output="boxes" needs the results boxes [n, 4] and scores [n] or [n, classes]')
  }
  const classes = scores.data.length / n
  const all = []
  for (let i = 0; i < n; i++) {
    let [best, score] = [-1, -Infinity]
    for (let c = 0; c < classes; c++) if (labels[c] !== '' && scores.data[i * classes + c] > score) [best, score] = [c, scores.data[i * classes + c]]
    if (score >= least) all.push({ score, label: labels[best] ?? (classes > 1 ? String(best) : ''), box: Array.from(boxes.data.subarray(4 * i, 4 * i + 4)) })
  }
  const kept = []
  for (const f of all.sort((a, b) => b.score - a.score).slice(0, 1000)) if (kept.length < 100 && kept.every((k) => overlap(k.box, f.box) < 0.4)) kept.push(f)
  return kept
}

/** What lies over a picture: a frame for each box. */
export const frames = (all) => all.map(({ box: [l, t, r, b], label }) => {
  const e = make('div', { part: 'box' }, make('span', { part: 'label', textContent: label, hidden: !label, className: t < 0.1 ? 'within' : '' }))
  Object.assign(e.style, { left: `${100 * l}%`, top: `${100 * t}%`, width: `${100 * (r - l)}%`, height: `${100 * (b - t)}%` })
  return e
})

/** The boxes in words. */
export function told(all) {
  const words = all.map(({ label, score }) => `${label && `${label} `}${percent(score)}`).join(', ')
  return make('p', { textContent: all.length ? `${all.length === 1 ? 'One box' : `${all.length} boxes`}: ${words}` : 'No box' })
}
