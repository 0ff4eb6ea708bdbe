// The start page: a loom whose cloth Weft computes, and a kernel that it wrote for that.
import { byId, copies, el, words, short, deviceName, confined } from './dom.js'
import { highlight } from './highlight.js'
import { TieUp, patterns, matrices, drawMatrix, drawCloth, shafts, treadles, ends, picks } from './loom.js'

const ui = Object.fromEntries(['threading', 'tieup', 'cloth', 'treadling', 'pattern', 'told', 'kernel', 'more', 'here', 'kernel-device', 'program', 'measure', 'measured'].map((id) => [id, byId(id)]))

for (const code of [ui.program, ...document.querySelectorAll('[data-code]')]) highlight(code, code.textContent)

let current // {treadling, threading}
let woven = new Float32Array(picks * ends)
const tieup = new TieUp(ui.tieup, weave)

function draw() {
  drawMatrix(ui.threading, current.threading, shafts, ends)
  drawMatrix(ui.treadling, current.treadling, picks, treadles)
  drawCloth(ui.cloth, woven)
}

function choose(name) {
  current = matrices(patterns[name])
  tieup.set(patterns[name][2])
  draw()
  weave()
}

let engine = null
let lost = '' // what there is to say of a graphics processor that was lost
let busy = false, again = false

/** Has Weft multiply; while it does, only the last of further wishes is kept. */
async function weave() {
  if (!engine || busy) {
    again = true
    return
  }
  busy = true
  const w = engine
  try {
    do {
      again = false
      const begin = performance.now()
      const treadling = w.tensor(current.treadling, [picks, treadles])
      const threading = w.tensor(current.threading, [shafts, ends])
      const ties = w.tensor(tieup.values, [treadles, shafts])
      const cloth = treadling.matmul(ties).matmul(threading)
      woven = await cloth.data()
      const ms = performance.now() - begin
      for (const t of [treadling, threading, ties, cloth]) t.dispose?.()
      draw()
      ui.told.textContent = `${picks}×${treadles} · ${treadles}×${shafts} · ${shafts}×${ends}, on ${deviceName(w.device)}: ${short(ms, 2)} ms from call to numbers${weave.done ? '' : ', compiling included'}.${lost}`
      weave.done = true
    } while (again && w === engine)
  } catch (err) {
    if (w === engine) ui.told.textContent = words(err)
    if (w === engine && lost && !restarted) restart(w)
  } finally {
    busy = false
    if (again && engine) weave()
  }
}

const expression = `treadling[${picks}, ${treadles}] @ tieup[${treadles}, ${shafts}] @ threading[${shafts}, ${ends}]`
ui.more.href = `inside/#${encodeURIComponent(expression)}`

async function explain(w) {
  try {
    const view = await w.inspect(expression, { target: ['here'] })
    if (view.error) throw new Error(view.error)
    if (w !== engine) return
    highlight(ui.kernel, view.kernels.at(-1).source.here.trim())
    ui['kernel-device'].textContent = { WEBGPU: 'graphics processor, in WGSL', WASM: 'processor, as WebAssembly' }[w.device]
    const n = view.kernels.length
    ui.more.textContent = `${['No kernel', 'This kernel', 'Both kernels'][n] || `All ${n} kernels`}, and how ${n === 1 ? 'it' : 'they'} came about`
  } catch (err) {
    if (w === engine) ui.kernel.textContent = words(err)
  }
}

const n = 512, row = 4 // products in a row, so that the way to the device and back counts for less

/** Times products as this page sees them: from the call until an element of the last one is here. */
async function measure() {
  const w = engine
  ui.measure.disabled = true
  ui.measured.textContent = 'measuring'
  try {
    let best = Infinity
    for (let run = 0; run < 4; run++) { // the first one compiles
      const a = w.randn([n, n]).mul(n ** -0.5) // new numbers: a product that is known already is not computed again
      await a.realize()
      await a.at(0, 0).item()
      const begin = performance.now()
      const chain = [a]
      for (let i = 0; i < row; i++) {
        chain.push(chain.at(-1).matmul(a))
        await chain.at(-1).realize()
      }
      await chain.at(-1).at(0, 0).item()
      best = Math.min(best, (performance.now() - begin) / row)
      chain.forEach((t) => t.dispose())
    }
    ui.measured.textContent = `${short(best)} ms, ${short((2 * n ** 3) / best / 1e6)} GFLOP/s on ${deviceName(w.device)}`
  } catch (err) {
    ui.measured.textContent = words(err)
  }
  ui.measure.disabled = !engine
}
ui.measure.addEventListener('click', measure)

let restarted = false

/** Goes on where a lost device cannot be opened again: with another engine, on whatever works. Nothing here is lost with it. */
function restart(w) {
  restarted = true
  engine = null
  ui.measure.disabled = true
  w.close()
  lost = ' The graphics processor was lost for good.'
  start()
}

async function start() {
  try {
    const { open } = await import('../weft.js')
    const w = await open({ whole: true, onprogress: (p) => { if (p?.total) ui.told.textContent = `Loading the engine: ${Math.round((100 * p.loaded) / p.total)} %.` } })
    w.onlost = (err) => {
      lost = ` The graphics processor was lost (${words(err)}).`
      ui.told.textContent = `${lost.trim()} It is opened again.`
      weave()
    }
    w.onrecovered = () => { lost = ' The graphics processor was lost and is there again, with all that it held.' }
    engine = w
    weave.done = false
  } catch (err) {
    ui.told.textContent = `The engine did not start: ${words(err)}`
    ui.kernel.textContent = 'There is no engine to ask.'
    return
  }
  const w = engine
  w.onchosen = () => { if (w === engine) tellDevice(w) }
  ui.measure.disabled = false
  await weave()
  await tellDevice(w)
}

/** Says which device it is, and shows the kernel as that has it; again where the engine goes on with another one. */
function tellDevice(w) {
  const detail = w.deviceDetail && !w.note.includes(w.deviceDetail) ? ` (${w.deviceDetail})` : ''
  ui.here.textContent = `Here that is ${deviceName(w.device)}${detail}.${w.note ? ` ${w.note}.` : ''} ${confined(w)}`
  for (const row of document.querySelectorAll('#devices tbody tr')) row.classList.toggle('now', row.querySelector('code').textContent === w.device)
  return explain(w)
}

for (const b of document.querySelectorAll('[data-copy]')) copies(b, () => byId(b.dataset.copy).textContent.trim())

ui.pattern.append(...Object.keys(patterns).map((name) => el('option', {}, name)))
ui.pattern.addEventListener('change', () => choose(ui.pattern.value))
document.addEventListener('themechange', draw)
new ResizeObserver(draw).observe(ui.cloth)

choose(ui.pattern.value)
start()
