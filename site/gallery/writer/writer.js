// A transformer learns a rhyme, character by character, and writes what it has learnt so far. examples/gallery/writer is the same in Go.
import { byId, short } from '../../assets/dom.js'
import { play } from '../page.js'

const text = `This is the house that Jack built.
This is the malt that lay in the house that Jack built.
This is the rat that ate the malt that lay in the house that Jack built.
This is the cat that chased the rat that ate the malt that lay in the house that Jack built.
This is the dog that worried the cat that chased the rat that ate the malt that lay in the house that Jack built.
`
const window = 32 // characters that are looked at
const size = 48
const heads = 4
const batch = 16
const most = 400 // steps
const every = 25 // steps between two samples
const length = 120 // characters of one

const ui = { written: byId('written'), loss: byId('loss'), step: byId('step') }
const letters = [...new Set(text)].sort()
const encode = (s) => Int32Array.from(s, (c) => letters.indexOf(c))

function newModel(w) {
  const layer = () => w.nn.transformerLayer(size, heads, 4 * size, { batchFirst: true, normFirst: true, activation: 'gelu' })
  return {
    characters: w.nn.embedding(letters.length, size), places: w.nn.embedding(window, size),
    layers: [layer(), layer()], norm: w.nn.layerNorm(size), out: w.nn.linear(size, letters.length),
  }
}

/** The logits of the next character at each place of words[n, window]. */
function forward(m, words) {
  let x = m.characters.forward(words).add(m.places.weight)
  for (const l of m.layers) x = l.forward(x, { causal: true })
  return m.out.forward(m.norm.forward(x))
}

/** Goes on from a beginning, each character drawn by its probability. */
async function write(w, next, beginning) {
  const codes = [...encode(beginning)]
  for (let i = 0; i < length; i++) {
    const from = codes.slice(-window)
    const words = new Int32Array(window) // what is behind a character does not matter to it
    words.set(from)
    const p = await (await next.run(w.tensor(words, [1, window]), w.tensor(Int32Array.of(from.length - 1)))).data()
    let left = Math.random(), c = 0
    while (c < p.length - 1 && (left -= p[c]) >= 0) c++
    codes.push(c)
  }
  return codes.map((c) => letters[c]).join('')
}

play(async (w) => {
  const model = newModel(w)
  const opt = await w.optim.adamW(model, { rate: 3e-3 })
  const codes = encode(text)
  const all = w.tensor(codes)
  const places = w.arange(window + 1)
  await w.realize(all, places)
  const step = w.capture(() => {
    const words = all.at(w.randint([batch, 1], 0, codes.length - window).add(places))
    const logits = forward(model, words.narrow(1, 0, window))
    const loss = logits.reshape([-1, letters.length]).crossEntropy(words.narrow(1, 1, window).reshape([-1]))
    opt.update(loss)
    return loss
  })
  const next = w.capture((words, at) => forward(model, words).at(0, at).softmax(-1).reshape([-1]))
  let steps = 0
  return async () => {
    const begin = performance.now()
    const loss = await (await step.run()).item()
    const ms = performance.now() - begin
    steps++
    ui.step.textContent = String(steps)
    ui.loss.textContent = short(loss)
    if (steps % every === 0) ui.written.textContent = await write(w, next, 'This is the')
    if (steps === most) return null
    return `${short(ms, 2)} ms a step.`
  }
})
