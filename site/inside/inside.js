// The page that looks inside: asks the engine for the plan of an expression and shows it.
import { byId, el, words, short } from '../assets/dom.js'
import { parse, fold, chains, drawGraph } from './graph.js'
import { Canvas } from './canvas.js'
import { launch, languages } from './kernels.js'
import { Steps } from './steps.js'
import { Run } from './run.js'
import { Served } from './served.js'

const examples = [
  'softmax(x[64, 64] @ w[64, 64], -1)',
  'layernorm(x[32, 512])',
  'relu(conv2d(x[1, 3, 32, 32], w[16, 3, 3, 3]))',
  'mean(relu(x[128, 256] @ w[256, 64] + b[64]), 0)',
  'sum((x[64, 32] @ w[32, 8]) ** 2).grad([w])',
  'attention(q[2, 4, 64, 32], k[2, 4, 64, 32], v[2, 4, 64, 32])',
]

const ui = Object.fromEntries(
  ['ask', 'expression', 'wrong', 'examples', 'grammar', 'status', 'result', 'movement', 'chains', 'languages', 'plans', 'plan', 'run-part', 'graph-text', 'graph', 'graph-list', 'schedule-text', 'kernels-text', 'reasons', 'kernels']
    .map((id) => [id, byId(id)]),
)

/** Starts an engine. Nothing here lives on its device, so a device that is lost is nothing to tell. */
const start = () => import('../weft.js').then(({ open }) => open({
  whole: true,
  onprogress: (p) => (ui.status.textContent = p?.total ? `Loading the engine: ${Math.round((100 * p.loaded) / p.total)} %.` : 'Loading the engine.'),
}))

/** Plans of one's own program, where a server of weft viz gives them; null on the site, which compiles here. */
const served = Served.here()
let engine = served ? null : start()

const steps = new Steps(async (id) => {
  if (served) return served.chain(ui.plan.value, id)
  const w = await (engine ??= start())
  const told = await w.call('explain', [shown.text, { target: 'wgsl', chain: id }])
  if (typeof told !== 'string') throw new Error(told.error)
  return JSON.parse(told)
})
const canvas = new Canvas(ui.graph)
const run = new Run(async () => (engine ??= start()), () => shown)

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
    view = await w.inspect(text, { target: ['wgsl', 'c', 'wasm'] }).catch((err) => {
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
    view.text = text
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
  const { steps: launches, reasons } = readSchedule(view.schedule)
  shown = { nodes, reasons, text: view.text, view }
  const n = view.kernels.length
  const became = n ? `became ${n} ${n === 1 ? 'kernel' : 'kernels'}` : 'became no kernel: nothing is to be computed'
  const where = served ? '.' : `, each in three languages, in ${short(view.ms, 2)} ms in this browser.`
  ui.status.textContent = `${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'} ${became}${where}`
  ui['graph-list'].textContent = view.graph.replace(/\n+$/, '')
  renderGraph()
  const stored = reasons.filter((r) => r.verb === 'store').length
  ui['schedule-text'].textContent = reasons.length
    ? `What could be a kernel of its own is stored or put inline, for a reason. Of ${reasons.length} here, ${stored} ${stored === 1 ? 'is' : 'are'} stored.`
    : 'There was nothing to decide.'
  ui['kernels-text'].textContent = n ? `${n} ${n === 1 ? 'launch' : 'launches'}, in this order. In the names, every dimension has the colour of what its axis became.` : 'None.'
  ui.reasons.replaceChildren(...reasons.map((r) => el('li', {}, el('span', { class: `verb ${r.verb}` }, r.verb), el('code', {}, r.node), el('span', { class: 'why' }, r.why))))
  kernels = () => ui.kernels.replaceChildren(...view.kernels.map((k, i) => launch(k, i, launches[i], wanted)))
  kernels()
  ui.result.hidden = false
  canvas.toEnd()
  run.clear()
  steps.offer(view.chains ?? [['graph', 'the graph'], ...view.kernels.flatMap((_, i) => [[`kernel ${i}`, `kernel ${i + 1}: from the graph to its Spec`], [`passes ${i}`, `kernel ${i + 1}: from its Spec to statements`]])])
}

let kernels = () => {}

// ---- languages ----

const wanted = new Set(['wgsl', 'c'])

for (const [id, { label }] of Object.entries(languages)) {
  const b = el('button', { type: 'button', class: 'button tool', 'aria-pressed': String(wanted.has(id)) }, label)
  b.addEventListener('click', () => {
    wanted.has(id) ? wanted.delete(id) : wanted.add(id)
    b.setAttribute('aria-pressed', String(wanted.has(id)))
    kernels()
  })
  ui.languages.append(b)
}

function renderGraph() {
  const { nodes, reasons } = shown
  const kept = new Set(reasons.filter((r) => r.verb === 'store').map((r) => r.node))
  const name = (n) => `${n.op}.${n.dtype}${n.dims.length ? `[${n.dims.join(' ')}]` : ''}`
  const stored = (n) => kept.has(name(n))
  const clear = ui.movement.checked ? nodes.map((n) => ({ ...n })) : fold(nodes)
  const drawn = ui.chains.checked ? chains(clear, stored) : clear
  canvas.show(drawGraph(drawn, stored))
  const hidden = nodes.length - clear.length
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
for (const box of [ui.movement, ui.chains]) box.addEventListener('change', () => { renderGraph(); canvas.toEnd() })
if (!served) addEventListener('hashchange', fromAddress)

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
if (served) showServed()
else fromAddress()

/** Shows the plans of a program instead of asking for an expression. */
async function showServed() {
  ui.ask.hidden = ui['run-part'].hidden = ui.languages.hidden = true
  ui.plans.hidden = false
  try {
    const list = await served.plans()
    ui.plan.replaceChildren(...list.map((p, i) => el('option', { value: i }, p.title)))
    const pick = async () => render(await served.plan(ui.plan.value))
    ui.plan.addEventListener('change', () => pick().catch((err) => (ui.status.textContent = words(err))))
    if (!list.length) ui.status.textContent = 'The program has made no plan yet. Load the page again when it has.'
    else await pick()
    if (served.left) ui.status.textContent += ` ${served.left}`
  } catch (err) {
    ui.status.textContent = words(err)
  }
}
