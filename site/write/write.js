// Text that a language model makes, token by token, with what else was likely at each.

import { byId, deviceName, el } from '../assets/dom.js'
import { modelOf, say, telling } from '../assets/model.js'

const text = byId('text')
let model
let device
let made = [] // {token, likely, span}
let stopping = null

function show(n) {
  made.forEach(({ span }, i) => span.toggleAttribute('data-now', i === n))
  const { token, likely } = made[n]
  const most = likely[0].p
  byId('likely').replaceChildren(...likely.map((l) => {
    const p = `${(100 * l.p).toFixed(l.p < 0.0995 ? 1 : 0)} %`
    return el('li', { 'data-chosen': l.token === token }, el('code', {}, visible(l.piece)), el('span', { class: 'number' }, p),
      el('meter', { min: 0, max: most, value: l.p, 'aria-label': `${visible(l.piece)}: ${p}` }))
  }))
}

// Spaces and line breaks as signs.
const visible = (piece) => piece === '' ? '(a part of a character)' : piece.replaceAll('\n', '⏎').replace(/^ | $/g, '␣')

text.addEventListener('pointerover', ({ target }) => { if (target.dataset?.n) show(Number(target.dataset.n)) })
text.addEventListener('keydown', (e) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key]
  if (!step || !made.length) return
  e.preventDefault()
  const now = made.findIndex(({ span }) => span.hasAttribute('data-now'))
  show(Math.max(0, Math.min(made.length - 1, now < 0 ? 0 : now + step)))
})

const number = (id) => {
  const input = byId(id)
  if (!input.checkValidity() || input.value === '') throw new Error(`${input.parentElement.firstChild.textContent.trim()}: a number from ${input.min} to ${input.max}.`)
  return Number(input.value)
}

const write = telling(async () => {
  const prompt = byId('prompt').value
  const options = { temperature: number('temperature'), tokens: number('tokens'), seed: number('seed'), topP: 0.95 }
  stopping = new AbortController()
  byId('go').disabled = true
  byId('stop').disabled = false
  made = []
  byId('likely').replaceChildren()
  byId('speed').textContent = ''
  const asked = model.talks ? [{ role: 'user', content: prompt }] : prompt
  text.replaceChildren(...model.talks ? [] : [el('span', { class: 'given' }, prompt)])
  say('Writing.')
  let first = 0
  let count = 0
  let finish = ''
  try {
    const progress = ({ read, total }) => say(`Reading the prompt: ${read} of ${total} tokens.`)
    for await (const t of model.tokens(asked, { ...options, top: 8, signal: stopping.signal, onprogress: progress })) {
      finish = t.finish
      if (t.token === undefined) continue
      if (count++ === 0) {
        first = performance.now()
        say('Writing.')
      }
      const span = el('span', { 'data-n': made.length }, t.text)
      made.push({ ...t, span })
      text.append(span)
      const seconds = (performance.now() - first) / 1000
      if (count > 1) byId('speed').textContent = `${count} tokens, ${Math.round((count - 1) / seconds)} a second`
    }
    say(finish === 'stop' ? 'The model ended its text.' : 'As many tokens as were asked for, or there is room for.')
  } catch (e) {
    if (!stopping.signal.aborted) throw e
    say('Stopped.')
  } finally {
    byId('go').disabled = false
    byId('stop').disabled = true
  }
})

byId('ask').addEventListener('submit', (e) => {
  e.preventDefault()
  write()
})
byId('stop').addEventListener('click', () => stopping?.abort())

modelOf(['write.bin', 'tokenizer.bin'], 'a GGUF file, or a folder with config.json, safetensors and tokenizer.json', async (w, files) => {
  stopping?.abort()
  const m = await w.llm(files, { onprogress: ({ file, loaded, total }) => say(`Loading ${file}: ${Math.round(100 * loaded / total)} %.`) })
  model?.close()
  model = m
  device = deviceName(w.device)
  byId('go').disabled = false
  byId('tokens').max = m.length
  say(`Ready, on ${device}: ${m.layers} layers of ${m.dim}, ${m.vocab.toLocaleString('en')} tokens, room for ${m.length.toLocaleString('en')}.`)
})
