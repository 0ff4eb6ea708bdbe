// Speech in sound: 16,000 numbers a second in chunks of 512, each with the last 64 of the one before it. The network has a state that goes from
// chunk to chunk.

import { byId, deviceName, el, trusted, words } from '../assets/dom.js'
import { colour, modelOf, say, takes, telling } from '../assets/model.js'

const rate = 16_000
const chunk = 512
const before = 64
const view = byId('view')
const patience = 3000 // ms until sound runs
const kept = 320 // chunks that are shown: about ten seconds
let model
let engine
let microphone = null
let listening = null // what is listened to
let heard = [] // {p, loud} of chunks

// What listens to one sound.
class Listener {
  #state = null
  #input = new Float32Array(before + chunk)
  #filled = 0
  #busy = Promise.resolve()
  n = 0 // chunks
  waiting = 0

  // Takes samples; chunks that are whole go to the network, one after the other.
  add(samples) {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + chunk - this.#filled)
      this.#input.set(part, before + this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled < chunk) return
      const whole = this.#input.slice()
      this.#input.copyWithin(0, chunk)
      this.#filled = 0
      this.waiting++
      this.#busy = this.#busy.then(() => this.#hear(whole)).catch((e) => {
        if (listening === this) stop()
        say(words(e), true)
      })
    }
  }

  ended() { return this.#busy }

  async #hear(input) {
    if (listening !== this) return
    this.#state ??= engine.zeros([2, 1, 128])
    const { output, stateN } = await model.run({ input: engine.tensor(input, [1, input.length]), state: this.#state, sr: engine.tensor(BigInt64Array.of(BigInt(rate)), []) })
    const p = await output.item()
    output.dispose()
    this.#state.dispose()
    this.#state = stateN
    this.waiting--
    if (listening !== this) return
    let loud = 0
    for (let i = before; i < input.length; i++) loud = Math.max(loud, Math.abs(input[i]))
    heard.push({ p, loud })
    mark(this.n++, p)
    tell(this)
    soon()
  }
}

let open = null // the part that is being spoken: where it begins

const time = (n) => {
  const s = n * chunk / rate
  return `${Math.floor(s / 60)}:${(s % 60).toFixed(1).padStart(4, '0')}`
}

// Parts in which somebody speaks: they begin above one half and end where it is below a third.
function mark(n, p) {
  if (open === null && p >= 0.5) open = n
  else if (open !== null && p < 0.35) {
    if (n - open > 4) byId('parts').append(el('li', {}, `${time(open)} to ${time(n)}`))
    open = null
  }
}

let told = ''
let pending = false

// Draws with the next picture of the display.
function soon() {
  if (pending) return
  pending = true
  requestAnimationFrame(() => {
    pending = false
    draw()
  })
}

function draw() {
  const scale = devicePixelRatio
  const width = Math.round(view.clientWidth * scale)
  const height = Math.round(view.clientWidth * scale * Math.max(0.27, 150 / view.clientWidth))
  if (view.width !== width || view.height !== height) Object.assign(view, { width, height })
  const at = view.getContext('2d')
  at.clearRect(0, 0, width, height)
  const last = heard.slice(-kept)
  const step = width / kept
  const x = (i) => width - (last.length - i) * step
  const middle = height * 0.72
  at.fillStyle = colour('--accent-wash', view)
  last.forEach(({ p }, i) => { if (p >= 0.5) at.fillRect(x(i), 0, step + 1, height) })
  at.fillStyle = colour('--strong', view)
  last.forEach(({ loud }, i) => {
    const h = Math.max(1, loud * height * 0.5)
    at.fillRect(x(i), middle - h / 2, Math.max(1, step * 0.7), h)
  })
  at.strokeStyle = colour('--accent', view)
  at.lineWidth = 2 * scale
  at.beginPath()
  last.forEach(({ p }, i) => at.lineTo(x(i), height * 0.45 - p * height * 0.4))
  at.stroke()
  at.strokeStyle = colour('--line', view)
  at.lineWidth = scale
  at.beginPath()
  at.moveTo(0, height * 0.45)
  at.lineTo(width, height * 0.45)
  at.stroke()
}

function tell(of) {
  const p = heard.at(-1).p
  const text = p >= 0.5 ? 'Somebody speaks' : 'Nobody speaks'
  if (text === told) return
  told = text
  view.setAttribute('aria-label', `The last ten seconds of sound, and how likely speech is: ${text.toLowerCase()}`)
  if (of.live) byId('found').textContent = text
}

function begin(live) {
  stop()
  heard = []
  open = null
  told = ''
  byId('parts').replaceChildren()
  byId('found').textContent = ''
  byId('hint').hidden = true
  listening = Object.assign(new Listener(), { live })
  return listening
}

function stop() {
  microphone?.stream.getTracks().forEach((t) => t.stop())
  microphone?.context.close()
  microphone = null
  listening = null
  byId('microphone').textContent = 'Use the microphone'
}

// Firefox lets sound run, recorded sound too, only where there is something that plays it, and waits for that without a word.
function running(context) {
  return Promise.race([context.resume(), new Promise((_, failed) => {
    setTimeout(() => failed(new Error('the browser does not start its sound, perhaps because this machine has no loudspeaker')), patience)
  })])
}

const start = telling(async () => {
  if (microphone) return stop()
  let stream
  let context
  try {
    stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } })
    context = new AudioContext({ sampleRate: rate })
    await context.audioWorklet.addModule(trusted(new URL('recorder.js', import.meta.url)))
    await running(context)
  } catch (e) {
    stream?.getTracks().forEach((t) => t.stop())
    context?.close()
    throw new Error(`The microphone cannot be used: ${e.message}. A recording can be dropped instead.`)
  }
  const listener = begin(true)
  microphone = { stream, context }
  byId('microphone').textContent = 'Stop the microphone'
  const recorder = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 })
  recorder.port.onmessage = ({ data }) => {
    if (listening !== listener) return
    if (listener.waiting > 60) return say('This device is too slow to follow: some of the sound is left out.', true)
    listener.add(data)
  }
  context.createMediaStreamSource(stream).connect(recorder)
})

const recorded = telling(async ([file]) => {
  const listener = begin(false)
  const sound = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await file.arrayBuffer())
    .catch(() => { throw new Error(`${file.name} is no recording that the browser reads`) })
  if (sound.duration > 3600) throw new Error(`${file.name} is longer than an hour`)
  const since = performance.now()
  listener.add(sound.getChannelData(0))
  await listener.ended()
  if (listening !== listener) return
  if (open !== null) mark(listener.n, 0)
  const n = byId('parts').childElementCount
  byId('found').textContent = `${time(listener.n)} minutes heard in ${((performance.now() - since) / 1000).toFixed(1)} s: somebody speaks ${n === 1 ? 'once' : `${n} times`}.`
})

byId('microphone').addEventListener('click', start)
takes(byId('stage'), byId('recording'), recorded)
new ResizeObserver(soon).observe(view)
document.addEventListener('themechange', soon)

modelOf(['hear.onnx'], 'a voice detector of the form of Silero VAD without branches (.onnx)', async (w, files) => {
  const m = await w.onnx(files)
  const names = m.inputs.map((i) => i.name)
  if (!['input', 'state', 'sr'].every((n) => names.includes(n)) || !['output', 'stateN'].every((n) => m.outputs.some((o) => o.name === n))) {
    m.close()
    throw new Error('This model is another one: the page gives input, state and sr, and reads output and stateN.')
  }
  model?.close()
  model = m
  engine = w
  for (const id of ['microphone', 'recording']) byId(id).disabled = false
  say(`Ready, on ${deviceName(w.device)}.`)
})
