// The training page: its controls, what they start, and what is shown of it.
import { byId, deviceName, el, frame, short, trusted, words } from '../assets/dom.js'
import { Session } from './session.js'
import { Plot } from './plot.js'
import { Drawing } from './draw.js'
import { show as showPicture } from './picture.js'
import { assemble, FileError, MissingFile } from './idx.js'

const ui = Object.fromEntries(
  ['train', 'pause', 'reset', 'device-choice', 'model', 'data', 'batch', 'rate', 'status', 'note', 'problem', 'drop', 'files', 'found', 'accuracy',
    'loss', 'step', 'speed', 'device', 'device-detail', 'clear', 'draw', 'draw-hint', 'seen', 'answer', 'sure', 'bars', 'heard', 'samples',
    'samples-text', 'settings-text'].map((id) => [id, byId(id)]),
)

const lossPlot = new Plot(byId('plot-loss'), byId('plot-loss-value'), { name: 'Loss', log: true, mean: 0.8, kind: 'loss' })
const accuracyPlot = new Plot(byId('plot-accuracy'), byId('plot-accuracy-value'), { name: 'Accuracy', unit: ' %', range: [0, 100], beside: lossPlot, mean: 0, dots: true, kind: 'good' })

// ---- what the session tells ----

let announced = 0 // when a screen reader was last told something
let lastShown = 0

const session = new Session({
  state(name, text) {
    ui.status.dataset.state = name
    ui.status.textContent = text
    ui.train.disabled = session.loop !== null // pressed while the engine loads, it starts when that is there
    ui.pause.disabled = session.loop === null
    announced = performance.now()
  },
  device(name, detail, note, mere) {
    ui.device.textContent = name
    ui['device-detail'].textContent = detail || ''
    notice(note, mere && name)
  },
  progress({ step, loss, stepsPerSecond }) {
    lossPlot.add(step, loss)
    const now = performance.now()
    if (now - lastShown < 150) return // numbers that change faster cannot be read
    lastShown = now
    say(ui.step, step.toLocaleString('en'))
    say(ui.loss, short(lossPlot.m.at(-1)))
    say(ui.speed, stepsPerSecond ? short(stepsPerSecond) : '–')
  },
  /** It rests, and so do the numbers: they are those of the last step. */
  rests(steps) { say(ui.step, steps.toLocaleString('en')) },
  accuracy({ step, accuracy, n }) {
    say(ui.accuracy, accuracy.toFixed(1))
    accuracyPlot.add(step, accuracy)
    later(() => say(ui['samples-text'], `Measured on ${n.toLocaleString('en')} digits that training never sees. Choose one to have it read below.`))
    later(() => session.again())
    if (performance.now() - announced > 10000 && session.loop) {
      ui.heard.textContent = `Step ${step.toLocaleString('en')}, accuracy ${accuracy.toFixed(1)} per cent.` // those who see it see the numbers themselves
      announced = performance.now()
    }
  },
  samples: showSamples,
  guesses(list) {
    showSamples(list)
    say(ui['samples-text'], 'It has learnt nothing yet: these are guesses. Choose one to have it read below.')
  },
  read: showReading,
  cleared() {
    for (const p of [lossPlot, accuracyPlot]) p.clear()
    for (const id of ['accuracy', 'loss', 'speed']) say(ui[id], '–')
    say(ui.step, '0')
    showSamples([])
    say(ui['samples-text'], 'They appear when the network is there.')
  },
  problem(text) {
    ui.problem.hidden = !text
    const [says, source] = (text || '').split(/\n\s*\n([^]*)/) // below an empty line is the source that was refused
    ui.problem.textContent = says
    if (source) ui.problem.append(el('details', {}, el('summary', {}, 'The source'), el('pre', { tabindex: '0', role: 'region', 'aria-label': 'The source' }, source)))
  },
  notice,
})

/** Does something two frames later: what comes with a measurement is spread over several. */
const later = (f) => frame().then(frame).then(f)

/** Changes a text where it is another one: the node stays, so that the page has little to lay out. */
function say(e, text) {
  if (e.firstChild?.nodeType !== Node.TEXT_NODE) e.textContent = text
  else if (e.firstChild.data !== text) e.firstChild.data = text
}

/** Says something beside what goes on. Where it only tells why a device is used, a sentence names that and the rest is behind it. */
function notice(text, device) {
  ui.note.classList.toggle('mere', !!device)
  ui.note.hidden = !text
  if (device) ui.note.replaceChildren(`Here it computes with ${deviceName(device)}. `, el('details', {}, el('summary', {}, 'Why?'), text))
  else ui.note.textContent = text || ''
}

// ---- controls ----

let own = null // the reader's files, put together
let ownText = '' // and what they are

function settings() {
  return {
    device: ui['device-choice'].value, model: ui.model.value, batch: Number(ui.batch.value), rate: Number(ui.rate.value),
    data: ui.data.value === 'files' && own ? own : 'synthetic',
  }
}

/** Has the session learn by what is chosen, where that is something else than before. Until files are there, it goes on with the digits it has. */
function configure() {
  const files = ui.data.value === 'files'
  ui.drop.hidden = !files
  ui['settings-text'].textContent = `: ${['device-choice', 'model', 'data'].map((id) => ui[id].selectedOptions[0].textContent.split(',')[0].toLowerCase()).join(', ')}`
  drawing.byMass = files && own !== null
  drawing.update()
  const chosen = settings()
  if (session.failed || Object.keys(chosen).some((k) => chosen[k] !== session.settings?.[k])) session.configure(chosen)
}

ui.train.addEventListener('click', () => { session.train(); ui.pause.focus() })
ui.pause.addEventListener('click', () => { session.pause(); ui.train.focus() })
ui.reset.addEventListener('click', () => session.reset())
for (const id of ['device-choice', 'model', 'data', 'batch', 'rate']) ui[id].addEventListener('change', configure)

// ---- files ----

const given = new Map() // by name: a file given again replaces itself

let reader = null // the worker that reads them
const reading = new Map() // what waits for it, by number

function readIdx(file) {
  if (!reader) {
    reader = new Worker(trusted(new URL('idx-worker.js', import.meta.url)), { type: 'module' })
    reader.onmessage = ({ data: { number, idx, error } }) => {
      const { done, failed } = reading.get(number)
      reading.delete(number)
      idx ? done(idx) : failed(new FileError(error))
    }
    reader.onerror = (e) => {
      e.preventDefault()
      for (const { failed } of reading.values()) failed(new FileError(`The files cannot be read: ${e.message || 'the script for it did not load'}`))
      reading.clear()
      reader = null
    }
  }
  return new Promise((done, failed) => {
    const number = (readIdx.count = (readIdx.count || 0) + 1)
    reading.set(number, { done, failed })
    reader.postMessage({ number, file })
  })
}

async function take(files) {
  const list = (...more) => ui.found.replaceChildren(...[...given.values()].map((f) => `${f.name}: ${f.n.toLocaleString('en')} ${f.kind}`).concat(more).map((t) => el('li', {}, t)))
  session.on.problem(null)
  try {
    for (const f of files) {
      list(`Reading ${f.name} …`)
      given.set(f.name, await readIdx(f))
    }
    const set = assemble([...given.values()])
    list((ownText = set.text))
    own = set.data
    ui.data.value = 'files'
    configure()
  } catch (err) {
    const text = words(err)
    const more = err instanceof MissingFile // the other half may still come
    list(...[more ? text : ownText].filter(Boolean))
    if (!more) session.on.problem(text)
  }
}

ui.files.addEventListener('change', () => { take([...ui.files.files]); ui.files.value = '' })

// Files may be dropped anywhere on the page.
addEventListener('dragover', (e) => {
  if (!e.dataTransfer?.types.includes('Files')) return
  e.preventDefault()
  ui.drop.hidden = false
  ui.drop.dataset.over = ''
})
addEventListener('dragleave', (e) => {
  if (e.relatedTarget) return
  delete ui.drop.dataset.over
  ui.drop.hidden = ui.data.value !== 'files'
})
addEventListener('drop', (e) => {
  if (!e.dataTransfer?.files.length) return
  e.preventDefault()
  delete ui.drop.dataset.over
  ui.data.value = 'files'
  ui.drop.hidden = false
  take([...e.dataTransfer.files])
})

// ---- samples ----

const samples = Array.from({ length: 20 }, () => {
  const img = el('canvas', { 'aria-hidden': 'true', width: 28, height: 28 })
  const [before, said, sure, after] = ['', '', '', ''].map((t) => document.createTextNode(t))
  const button = el('button', { type: 'button', disabled: true }, img,
    el('strong', {}, el('span', { class: 'unseen' }, before), said), el('span', {}, sure, el('span', { class: 'unseen' }, after)))
  const sample = { button, img, before, said, sure, after, shown: null }
  button.addEventListener('click', () => readSample(sample.shown))
  ui.samples.append(el('li', {}, button))
  showPicture(img, null)
  return sample
})

let samplesShown = 0

/** Shows samples, a few in each frame. */
async function showSamples(list) {
  const mine = ++samplesShown
  for (let i = 0; i < samples.length; i++) {
    if (i % 2 === 0) await frame()
    if (mine !== samplesShown) return
    showSample(samples[i], list[i])
  }
}

function showSample(e, s) {
  e.shown = s
  e.button.disabled = !s
  e.button.parentNode.ariaHidden = s ? null : 'true' // nothing to read out yet
  const right = s && s.guess === s.label
  e.button.className = !s || right ? '' : 'wrong'
  showPicture(e.img, s?.pixels)
  e.before.data = s ? 'Read as ' : ''
  e.said.data = !s ? '–' : right ? `${s.guess} ✓` : `${s.guess}, is ${s.label}`
  e.sure.data = s ? percent(s.sure) : '\u00a0'
  e.after.data = s ? ' sure' : ''
}

const percent = (p) => `${Math.round(100 * p)} %`

// ---- reading a drawing ----

const bars = Array.from({ length: 10 }, (_, digit) => {
  const fill = el('div', { class: 'fill' })
  const item = el('li', {}, el('div', { class: 'track', 'aria-hidden': 'true' }, fill), String(digit), el('span', { class: 'unseen' }, ''))
  ui.bars.append(item)
  return { item, fill, said: item.lastChild }
})

const drawing = new Drawing(ui.draw, (pixels) => {
  ui['draw-hint'].hidden = pixels !== null
  showPicture(ui.seen, pixels)
  if (!pixels) clearReading()
  session.read(pixels)
})
showPicture(ui.seen, null)
showSamples([])

function readSample(s) {
  drawing.wipe()
  ui['draw-hint'].hidden = false
  showPicture(ui.seen, s.pixels)
  session.read(s.pixels)
  byId('reader-title').scrollIntoView({ block: 'nearest' })
}

function clearReading() {
  say(ui.answer, '–')
  say(ui.sure, '')
  for (const b of bars) show(b, 0, false)
}

function show(bar, p, best) {
  bar.fill.style.transform = `scaleY(${p.toFixed(2)})`
  const name = best ? 'best' : ''
  if (bar.item.className !== name) bar.item.className = name
  say(bar.said, `: ${percent(p)}`)
}

let telling
function showReading(_, p) {
  const best = p.indexOf(p.reduce((a, b) => Math.max(a, b), -1))
  if (best < 0) return clearReading() // not numbers: the loss has told already
  bars.forEach((b, digit) => show(b, p[digit], digit === best))
  say(ui.answer, String(best))
  say(ui.sure, session.steps ? `${percent(p[best])} sure` : 'a guess: it has learnt nothing yet')
  clearTimeout(telling) // speak when the pen rests
  const text = `It reads ${best}, ${percent(p[best])} sure.`
  telling = setTimeout(() => { if (ui.heard.textContent !== text) ui.heard.textContent = text }, 900)
}

ui.clear.addEventListener('click', () => drawing.clear())

configure()
