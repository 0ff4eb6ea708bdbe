// The page that looks inside: asks the engine for the plan of an expression and shows it.
import { open } from '../weft.js'
import { byId, el, words, short, size, kernelName, kindNames } from '../assets/dom.js'
import { highlight } from '../assets/highlight.js'
import { parse, fold, drawGraph } from './graph.js'

const examples = [
  'softmax(x[64, 64] @ w[64, 64], -1)',
  'layernorm(x[32, 512])',
  'relu(conv2d(x[1, 3, 32, 32], w[16, 3, 3, 3]))',
  'mean(relu(x[128, 256] @ w[256, 64] + b[64]), 0)',
  'sum((x[64, 32] @ w[32, 8]) ** 2).grad([w])',
  'attention(q[2, 4, 64, 32], k[2, 4, 64, 32], v[2, 4, 64, 32])',
]

const ui = Object.fromEntries(
  ['ask', 'expression', 'wrong', 'examples', 'grammar', 'status', 'result', 'movement', 'graph-text', 'graph', 'graph-list', 'schedule-text', 'kernels-text', 'reasons', 'kernels']
    .map((id) => [id, byId(id)]),
)

/** Starts an engine. Nothing here lives on its device, so a device that is lost is nothing to tell. */
const start = () => open({
  whole: true,
  onprogress: (p) => (ui.status.textContent = p?.total ? `Loading the engine: ${Math.round((100 * p.loaded) / p.total)} %.` : 'Loading the engine.'),
})

let engine = start()

let asked = 0

/** Shows the plan of text; sent: not while it is still being typed, so that the cursor may move to a mistake. */
async function show(text, sent) {
  const mine = ++asked
  history.replaceState(null, '', `#${encodeURIComponent(text)}`)
  let view
  try {
    const w = await (engine ??= start())
    if (mine !== asked) return
    ui.status.textContent = 'Compiling.'
    const begin = performance.now()
    view = await w.inspect(text, { target: ['wgsl', 'c'] }).catch((err) => {
      w.close() // an expression that is wrong does not come here: what failed is the engine, and the next one is asked
      engine = null
      throw err
    })
    if (mine !== asked) return
    if (view.error) {
      if (sent && view.at !== undefined) ui.expression.setSelectionRange(view.at, view.at + 1)
      throw new Error(view.error)
    }
    view.ms = performance.now() - begin
  } catch (err) {
    if (!(await engine?.catch(() => null))) engine = null // it did not start, or has ended: the next one is asked
    if (mine === asked) wrong(words(err))
    return
  }
  wrong(null)
  render(view)
}

function wrong(text) {
  ui.wrong.hidden = !text
  ui.wrong.textContent = text || ''
  ui.expression.setAttribute('aria-invalid', String(!!text))
  if (text) ui.status.textContent = ui.result.hidden ? '' : 'What is shown below is the last expression that could be read.'
}

let shown = null

function render(view) {
  const nodes = parse(view.graph)
  const { steps, reasons } = readSchedule(view.schedule)
  shown = { nodes, reasons }
  const n = view.kernels.length
  const became = n ? `became ${n} ${n === 1 ? 'kernel' : 'kernels'}, each in two languages,` : 'became no kernel: nothing is to be computed,'
  ui.status.textContent = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'} ${became} in ${short(view.ms, 2)} ms in this browser.`
  ui['graph-list'].textContent = view.graph.replace(/\n+$/, '')
  renderGraph()
  const stored = reasons.filter((r) => r.verb === 'store').length
  ui['schedule-text'].textContent = reasons.length
    ? `What could be a kernel of its own is stored or put inline, for a reason. Of ${reasons.length} here, ${stored} ${stored === 1 ? 'is' : 'are'} stored.`
    : 'There was nothing to decide.'
  ui['kernels-text'].textContent = n ? `${n} ${n === 1 ? 'launch' : 'launches'}, in this order. In the names, every dimension has the colour of what its axis became.` : 'None.'
  ui.reasons.replaceChildren(...reasons.map((r) => el('li', {}, el('span', { class: `verb ${r.verb}` }, r.verb), el('code', {}, r.node), el('span', { class: 'why' }, r.why))))
  ui.kernels.replaceChildren(...view.kernels.map((k, i) => launch(k, i, steps[i])))
  ui.result.hidden = false
}

function renderGraph() {
  const { nodes, reasons } = shown
  const drawn = ui.movement.checked ? nodes.map((n) => ({ ...n })) : fold(nodes)
  const kept = new Set(reasons.filter((r) => r.verb === 'store').map((r) => r.node))
  const name = (n) => `${n.op}.${n.dtype}${n.dims.length ? `[${n.dims.join(' ')}]` : ''}`
  ui.graph.replaceChildren(drawGraph(drawn, (n) => kept.has(name(n))))
  const hidden = nodes.length - drawn.length
  ui['graph-text'].textContent = `${nodes.length} nodes${hidden ? `, of which ${hidden} only move data, are constants or say what a gradient is: they cost nothing and are left out of the drawing` : ''}. Reductions are red; a heavy frame is what a kernel writes to memory.`
}

/** The schedule's text: a line a launch, then a line a decision. */
function readSchedule(text) {
  const steps = [], reasons = []
  for (const line of text.split('\n')) {
    const decision = /^\s*(inline|store)\s+(\S+(?: [^:]*)?): (.*)$/.exec(line)
    if (decision) reasons.push({ verb: decision[1], node: decision[2], why: decision[3] })
    else if (/^\s*\d+ kernel/.test(line)) steps.push(line.trim().replace(/^\d+ kernel\s*/, ''))
  }
  return { steps, reasons }
}

const directives = (m) => (Array.isArray(m) ? m : String(m || '').split(';')).map((s) => s.trim()).filter(Boolean)

/** One side of a kernel, whether the engine gives it under targets or as a source beside common fields. */
function side(k, language) {
  const t = k.targets?.[language] || {}
  return { name: t.name || k.name, kinds: t.kinds || k.kinds || '', directives: directives(t.directives ?? k.directives), source: t.source ?? k.source?.[language], error: t.error }
}

function launch(k, i, buffers) {
  const sides = [['wgsl', 'WGSL', 'graphics processor'], ['c', 'C', 'CPU']].map(([id, label, where]) => ({ ...side(k, id), label, where }))
  const facts = [k.flops != null && `${short(k.flops)} operations`, k.bytes != null && `${size(k.bytes)} moved at least`].filter(Boolean).join(', ')
  const title = el('h3', {}, el('span', { class: 'index' }, `${i + 1}.`), kernelName(k.name, k.kinds))
  const box = el('article', { class: 'launch' }, el('header', {}, title, el('span', { class: 'small soft' }, facts)))
  if (buffers) box.append(el('p', { class: 'small soft' }, el('code', {}, buffers)))
  const used = [...new Set(sides.flatMap((s) => [...s.kinds]))]
  if (used.length) box.append(el('p', { class: 'kinds' }, ...used.map((c) => el('span', {}, el('b', { class: `kind-${c}` }, '■ '), kindNames[c] || c))))
  const same = sides[0].directives.join() === sides[1].directives.join()
  if (same) box.append(directiveList(sides[0].directives))
  box.append(el('div', { class: 'sides' }, ...sides.map((s) => sideBox(s, !same, k.name))))
  return box
}

const directiveList = (list) => el('ul', { class: 'directives', 'aria-label': 'Directives' }, el('li', {}, 'Directives'), ...(list.length ? list : ['none: plain loops']).map((m) => el('li', {}, m)))

function sideBox(s, withDirectives, common) {
  const box = el('div', { class: 'side' })
  const head = el('h4', {}, s.label, el('span', {}, `for a ${s.where}`))
  box.append(head)
  if (withDirectives) box.append(directiveList(s.directives))
  if (s.source == null) {
    box.append(el('p', { class: 'notice' }, s.error || `There is no ${s.label} for this kernel.`))
    return box
  }
  if (s.name !== common) head.append(kernelName(s.name, s.kinds))
  const copy = el('button', { class: 'copy', type: 'button' }, 'Copy')
  copy.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(s.source)
      copy.textContent = 'Copied'
    } catch {
      copy.textContent = 'Not allowed here'
    }
    setTimeout(() => (copy.textContent = 'Copy'), 1500)
  })
  head.append(copy)
  const [helpers, body] = split(s.source)
  const block = (text, label) => {
    const code = el('code')
    highlight(code, text)
    return el('pre', { tabindex: '0', role: 'region', 'aria-label': label }, code)
  }
  if (helpers) {
    const fold = el('details', {}, el('summary', {}, `Helpers, ${helpers.split('\n').length} lines`))
    fold.addEventListener('toggle', () => { if (fold.children.length === 1) fold.append(block(helpers, `Helpers in ${s.label}`)) })
    box.append(fold)
  }
  box.append(block(body, `${s.label} of kernel ${s.name}`))
  return box
}

/** The helpers of a source and the kernel itself, which begins with a comment of its name or after the last #endif. */
function split(source) {
  const at = source.lastIndexOf('\n#endif')
  if (at < 0) return ['', source.trim()]
  const end = source.indexOf('\n', at + 1)
  return [source.slice(0, end).trim(), source.slice(end).trim()]
}

// ---- asking ----

let typing
ui.ask.addEventListener('submit', (e) => {
  e.preventDefault()
  clearTimeout(typing)
  show(ui.expression.value, true)
})
ui.expression.addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => show(ui.expression.value), 600)
})
ui.movement.addEventListener('change', renderGraph)
addEventListener('hashchange', fromAddress)

ui.examples.append(...examples.map((x) => {
  const b = el('button', { type: 'button' }, x)
  b.addEventListener('click', () => { ui.expression.value = x; show(x) })
  return el('li', {}, b)
}))

function fromAddress() {
  let text = ''
  try {
    text = decodeURIComponent(location.hash.slice(1))
  } catch {
    // an address that was cut off: the first example is shown
  }
  ui.expression.value = text || examples[0]
  show(ui.expression.value)
}
fromAddress()
