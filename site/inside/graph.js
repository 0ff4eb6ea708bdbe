// Draws a graph from its listing, a node a line:
//
//	  4 add        f32   [32 512] argument  <- %1 %3
//
// Sources are above, the result is below. It knows the form of the listing and nothing of what the ops mean,
// but for which of them only move.
import { el, svg } from '../assets/dom.js'

const movement = new Set(['reshape', 'permute', 'expand', 'pad', 'shrink', 'flip', 'slide', 'detach', 'contiguous'])
const symbols = { add: '+', mul: '×', div: '÷', neg: '−', max: 'max', sqrt: '√', less: '<' }

/** The nodes of a listing: {id, op, dtype, dims, arg, src}. */
export function parse(listing) {
  const nodes = []
  for (const line of listing.split('\n')) {
    const m = /^\s*(\d+)\s+(\S+)\s+(\S+)(.*)$/.exec(line)
    if (!m) continue
    const [rest, from] = m[4].split('<-')
    const dims = /^\s*\[([\d\s]*)\]/.exec(rest)
    nodes.push({
      id: Number(m[1]), op: m[2], dtype: m[3], dims: dims ? dims[1].trim().split(/\s+/) : [],
      arg: (dims ? rest.slice(dims[0].length) : rest).trim(),
      src: from ? from.trim().split(/\s+/).map((s) => Number(s.slice(1))) : [],
    })
  }
  return nodes
}

const isConst = (n) => n.op === 'const'

/** Takes away what only moves, and writes constants into the nodes that use them. */
export function fold(nodes) {
  const byId = new Map(nodes.map((n) => [n.id, n]))
  const behind = (id) => {
    let n = byId.get(id)
    while (movement.has(n.op)) n = byId.get(n.src[0]) // a detach has more sources: what its gradient is
    return n
  }
  const used = new Set(nodes.flatMap((n) => n.src))
  const keep = new Set()
  const reach = nodes.filter((n) => !used.has(n.id)).map((n) => behind(n.id))
  while (reach.length) {
    const n = reach.pop()
    if (keep.has(n)) continue
    keep.add(n)
    for (const s of n.src) if (!isConst(behind(s))) reach.push(behind(s))
  }
  // An input has the shape in which it is first used.
  const shaped = (n) => (n.op === 'buffer' && nodes.find((u) => u.op === 'reshape' && u.src[0] === n.id)?.dims) || n.dims
  return nodes.filter((n) => keep.has(n)).map((n) => {
    const src = n.src.map(behind)
    const consts = src.filter(isConst).map((c) => c.arg)
    return { ...n, dims: shaped(n), src: src.filter((s) => !isConst(s)).map((s) => s.id), consts }
  })
}

/** Puts chains of functions of one value into one node each: what only the next one uses, and the next one uses alone. */
export function chains(nodes, stored) {
  const users = new Map(nodes.map((n) => [n.id, []]))
  for (const n of nodes) for (const s of new Set(n.src)) users.get(s).push(n)
  const byId = new Map(nodes.map((n) => [n.id, n]))
  const into = new Map() // of nodes that are part of another
  const single = (n) => new Set(n.src).size === 1
  for (const n of nodes) {
    const [user, other] = users.get(n.id)
    if (kind(n) === 'math' && single(n) && user && !other && kind(user) === 'math' && single(user) && !stored(n) && n.dims.join() === user.dims.join()) into.set(n.id, user.id)
  }
  const out = []
  for (const n of nodes) {
    if (into.has(n.id)) continue
    let first = n
    const names = [title(n)]
    const below = () => first.src.map((s) => byId.get(s)).find((s) => into.get(s.id) === first.id)
    for (let s = below(); s; s = below()) {
      names.unshift(title(s))
      first = s
    }
    out.push(first === n ? n : { ...n, src: first.src, chain: names })
  }
  return out
}

const width = 138, height = 46, gapX = 20, gapY = 26
const thread = 14 // room for an edge that passes a row

const room = (n) => (n.pass ? thread : width)

/** Puts nodes into rows, below what they use; an edge that passes rows has a place in each of them. */
function layout(nodes) {
  const byId = new Map(nodes.map((n) => [n.id, n]))
  const users = new Map(nodes.map((n) => [n, []]))
  for (const n of nodes) {
    n.row = n.src.length ? 1 + n.src.reduce((r, s) => Math.max(r, byId.get(s).row), -1) : 0
    for (const s of n.src) users.get(byId.get(s)).push(n)
  }
  // Leaves stand right above their first user.
  for (const n of nodes) if (!n.src.length && users.get(n).length) n.row = users.get(n).reduce((r, u) => Math.min(r, u.row), Infinity) - 1
  const rows = []
  const put = (n) => (rows[n.row] ||= []).push(n)
  nodes.forEach(put)
  const edges = []
  for (const n of nodes) n.up = []
  for (const n of nodes) n.down = []
  for (const n of nodes) {
    for (const id of new Set(n.src)) {
      const path = [byId.get(id)]
      for (let row = path[0].row + 1; row < n.row; row++) {
        const p = { pass: true, row, up: [path.at(-1)], down: [] }
        put(p)
        path.at(-1).down.push(p)
        path.push(p)
      }
      path.at(-1).down.push(n)
      n.up.push(path.at(-1))
      edges.push([...path, n])
    }
  }
  for (let i = 0; i < rows.length; i++) rows[i] ||= []
  for (const r of rows) spread(r, (n, i) => i * (width + gapX))
  for (let pass = 0; pass < 12; pass++) {
    for (const r of rows) settle(r, 'up')
    for (const r of [...rows].reverse()) settle(r, 'down')
  }
  const all = rows.flat()
  const lo = all.reduce((a, n) => Math.min(a, n.x - room(n) / 2), Infinity) - 4
  const hi = all.reduce((a, n) => Math.max(a, n.x + room(n) / 2), -Infinity) + 4
  for (const n of all) { n.x -= lo; n.y = n.row * (height + gapY) + height / 2 + 4 }
  return { edges, w: hi - lo, h: rows.length * (height + gapY) - gapY + 8 }
}

/** Moves a row to the middle of its neighbours on one side, in the order of these. */
function settle(row, side) {
  for (const n of row) n.want = n[side].length ? n[side].reduce((a, m) => a + m.x, 0) / n[side].length : n.x
  row.sort((a, b) => a.want - b.want)
  spread(row, (n) => n.want)
}

/** Gives each node of a row the place it wants, as far as its neighbours let it: clusters that collide share the shift. */
function spread(row, want) {
  const clusters = []
  row.forEach((n, i) => {
    let c = { nodes: [n], width: room(n), sum: want(n, i) - room(n) / 2 } // sum of the left edges wanted, each less its place in the cluster
    c.at = c.sum
    while (clusters.length && clusters.at(-1).at + clusters.at(-1).width + gapX > c.at) {
      const before = clusters.pop()
      const offset = before.width + gapX
      const sum = before.sum + c.sum - c.nodes.length * offset
      c = { nodes: [...before.nodes, ...c.nodes], width: offset + c.width, sum }
      c.at = c.sum / c.nodes.length
    }
    clusters.push(c)
  })
  for (const c of clusters) {
    let x = c.at
    for (const n of c.nodes) { n.x = x + room(n) / 2; x += room(n) + gapX }
  }
}

const kind = (n) => (['buffer', 'param', 'input'].includes(n.op) ? 'input' : isConst(n) ? 'const' : movement.has(n.op) ? 'movement' : n.op === 'reduce' ? 'reduce' : 'math')

function title(n) {
  if (n.chain) return n.chain.length > 3 ? `${n.chain[0]} … ${n.chain.at(-1)}` : n.chain.join(' → ')
  const constants = n.consts?.length ? ` ${n.consts.map(shorten).join(', ')}` : ''
  if (n.op === 'reduce') {
    const axes = (/\((.*)\)/.exec(n.arg)?.[1] || '').split(' ')
    return `${n.arg.split(' ')[0]} over ${axes.length > 1 ? '' : 'axis '}${axes.join(', ')}`
  }
  if (isConst(n)) return shorten(n.arg)
  if (n.op === 'buffer' || n.op === 'param') return 'input'
  if (n.op in symbols && constants) return `${symbols[n.op]}${constants}`
  return n.op + constants
}

const shorten = (s) => (/^-?\d+\.\d{5,}/.test(s) ? String(Number(Number(s).toPrecision(4))) : s)

const most = 260 // nodes that are drawn

/** The drawing of nodes; stored(node) says whether a kernel writes it to memory. */
export function drawGraph(nodes, stored) {
  if (nodes.length > most) return el('p', { class: 'small soft' }, `${nodes.length} nodes are too many to draw; the text below lists them.`)
  const { edges, w, h } = layout(nodes)
  const root = svg('svg', { width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: 'img', 'aria-label': `Graph of ${nodes.length} nodes; the text below lists all of them` })
  for (const [from, ...way] of edges) {
    let x = from.x, y = from.y + height / 2, d = `M${x} ${y}`
    for (const n of way) {
      const to = n.y - height / 2, bend = (to - y) / 2
      d += `C${x} ${y + bend} ${n.x} ${to - bend} ${n.x} ${to}`
      if (n.pass) d += `V${n.y + height / 2}`
      x = n.x
      y = n.y + height / 2
    }
    root.append(svg('path', { d }))
  }
  for (const n of nodes) {
    const g = svg('g', { class: `${kind(n)}${stored(n) ? ' stored' : ''}` },
      svg('title', {}, `%${n.id} ${n.op} ${n.dtype} [${n.dims.join(', ')}] ${n.chain ? n.chain.join(' → ') : n.arg}`),
      ...(n.chain ? [svg('rect', { class: 'under', x: n.x - width / 2 + 4, y: n.y - height / 2 + 4, width, height, rx: 7 })] : []),
      svg('rect', { x: n.x - width / 2, y: n.y - height / 2, width, height, rx: 7 }),
      svg('text', { class: 'op', x: n.x, y: n.y - 3, 'text-anchor': 'middle' }, clip(title(n), 19)),
      svg('text', { class: 'shape', x: n.x, y: n.y + 14, 'text-anchor': 'middle' }, clip(`${n.dtype} ${n.dims.join('×') || 'scalar'}`, 19)))
    root.append(g)
  }
  return root
}

const clip = (s, n) => (s.length > n ? `${s.slice(0, n - 1)}…` : s)
