// One network in training: opens the engine, takes turns between steps, measurements and readings,
// and reports. It knows the engine and nothing about the document.
import { open } from '../weft.js'
import { words, deviceName, confined } from '../assets/dom.js'
import { digits } from './digits.js'

const slice = 0.25 // seconds of training between other things
const goal = 2000 // steps after which it rests until asked again
const shown = 20 // held-back digits shown
const early = 12 // measurements that come soon after one another,
const few = 250 // and of how many digits they are

const first = 'Compiling kernels for the first step.'

const channels = { small: [8, 16], full: 'full' }

export class Session {
  /**
   * on: what happens: state(name, text), device(name, detail, note, mere), progress({step, loss, stepsPerSecond}),
   * rests(steps), accuracy({step, accuracy, n, last}), samples(list), guesses(list), read(pixels, probabilities), cleared(), problem(text or null), notice(text).
   */
  constructor(on) {
    this.on = on
    this.queue = Promise.resolve()
    this.era = 0 // counts networks: what an older one still reports is dropped
    this.loop = null // the loop that is training; null: none
  }

  /** Runs f after what was asked before. The engine does one thing at a time. */
  turn(f) {
    const p = this.queue.then(f)
    this.queue = p.catch(() => {}) // whoever asked hears of it; the next turn comes all the same
    return p
  }

  /** Takes settings {device, model, data, batch, rate}: a new network, and a new engine if the device is another one. */
  async configure(settings) {
    const era = ++this.era
    this.loop = null
    this.settings = settings
    this.failed = false
    this.on.problem(null)
    this.on.state('busy', this.engine ? 'Making the network.' : 'Loading the engine.')
    try {
      await this.turn(async () => {
        if (era !== this.era) return
        this.digits?.dispose()
        this.digits = null
        if (!this.engine || this.device !== settings.device) await this.connect(settings.device)
        if (era !== this.era) return
        this.on.state('busy', settings.data === 'synthetic' ? 'Drawing synthetic digits.' : 'Taking in your digits.')
        this.digits = await digits(this.engine, {
          channels: channels[settings.model], data: settings.data, batch: settings.batch, rate: settings.rate, seed: 1,
        })
        this.begin()
      })
      if (era !== this.era) return
      if (this.loop) this.on.state('training', first)
      else this.on.state('ready', `Ready on ${deviceName(this.engine.device)}. Press Train.`)
      this.again()
      this.guess(era)
    } catch (err) {
      this.fail(era, err)
    }
  }

  async connect(device) {
    this.engine?.close?.()
    this.engine = null
    this.on.device('–', '', '')
    const engine = await open({
      whole: true,
      device: device || undefined,
      onprogress: (p) => this.on.state('busy', `Loading the engine${percent(p)}.`),
    })
    engine.onlost = (err) => {
      this.lost = true
      this.on.notice(`The graphics processor was lost (${words(err)}). It is opened again, and training goes on.`)
    }
    engine.onrecovered = () => {
      this.lost = false
      this.on.notice('The graphics processor was lost and is there again, with the weights and all else that it held. Training goes on.')
    }
    engine.onchosen = () => { if (this.engine === engine) this.tellDevice() }
    this.engine = engine
    this.device = device
    this.lost = false
    this.tellDevice()
  }

  tellDevice() {
    const { engine } = this
    const note = [engine.note && `${engine.note}.`, confined(engine)].filter(Boolean).join(' ')
    const detail = engine.deviceDetail.replace(' as the page is not cross-origin isolated', '') // the note says it
    this.on.device(engine.device, detail, note, !/cannot be used/.test(note))
  }

  begin() {
    Object.assign(this, { steps: 0, size: 1, rest: goal, spent: 0, measureAt: 0, measureFrom: 0, measureOn: 1000, rate: 0, best: 0, measured: 0 })
    this.on.cleared()
  }

  train() {
    if (this.loop) return
    if (this.failed && !this.digits) this.configure(this.settings) // once more
    const me = (this.loop = {})
    if (this.rest <= 0) this.rest = goal
    this.on.problem(null)
    this.on.state('training', !this.digits ? 'Training begins when the engine is there.' : this.steps ? 'Training.' : first)
    this.run(me, this.era)
  }

  pause() {
    if (!this.loop) return
    this.loop = null
    const { era } = this
    this.on.state('paused', 'Pausing.')
    this.turn(() => { // when the steps that are under way are done
      if (era === this.era && !this.loop && !this.failed) this.rests(`Paused after ${this.steps.toLocaleString('en')} steps.`)
    })
  }

  rests(text) {
    this.on.rests(this.steps)
    this.on.state('paused', text)
  }

  async reset() {
    if (!this.digits) return this.configure(this.settings)
    const era = ++this.era
    this.loop = null
    this.on.problem(null)
    this.on.state('busy', 'Taking new random weights.')
    try {
      await this.turn(async () => {
        if (era !== this.era) return
        await this.digits.reset()
        this.begin()
      })
      if (era === this.era) this.on.state('ready', 'The weights are random again. Press Train.')
      if (era === this.era) this.again()
      this.guess(era)
    } catch (err) {
      this.fail(era, err)
    }
  }

  async run(me, era) {
    try {
      while (this.loop === me) {
        await this.turn(() => this.loop === me && this.digits && this.some(me, era))
        if (this.loop !== me) break
        if (this.spent >= this.measureAt && this.steps >= this.measureFrom) await this.turn(() => this.loop === me && this.measure(era, false))
        if (this.rest <= 0 && this.loop === me) {
          await this.turn(() => this.measure(era, true))
          if (this.loop !== me) break
          this.loop = null
          this.rests(`${this.steps.toLocaleString('en')} steps done. Train goes on from here.`)
        }
      }
    } catch (err) {
      if (this.loop === me && this.lost && !this.anew) return this.restart()
      this.fail(era, err)
    }
  }

  /** Goes on where a lost device cannot be opened again: with another engine, on whatever works, and with new weights. */
  async restart() {
    this.anew = true
    this.engine?.close?.()
    this.engine = this.digits = null
    await this.configure({ ...this.settings, device: '' })
    if (this.failed) return
    this.on.notice(`The graphics processor was lost for good, and the weights with it. Training begins again on ${deviceName(this.engine.device)}.`)
    this.train()
  }

  /** A slice of training. */
  async some(me, era) {
    const n = Math.min(this.size, this.rest, Math.max(this.measureFrom - this.steps, this.measureFrom ? 4 : this.size)) // the next measurement may be soon
    const begin = performance.now()
    const base = this.steps
    let finite = true
    await this.digits.train(n, (p) => {
      finite &&= Number.isFinite(p.loss)
      if (this.era === era) this.on.progress({ step: Math.max(p.step, base), loss: p.loss, stepsPerSecond: this.rate })
    })
    const seconds = (performance.now() - begin) / 1000
    this.anew = false
    this.steps += n
    this.rest -= n
    if (base > 0) this.rate = this.rate ? 0.7 * this.rate + (0.3 * n) / seconds : n / seconds // the first step compiles
    if (base === 0 && this.loop === me) this.on.state('training', 'Training.')
    this.spent += seconds
    this.size = Math.max(1, Math.min(2 * n, 100, Math.round((n * slice) / seconds)))
    if (!finite && this.loop === me) {
      this.loop = null
      this.rests('Paused: the loss is no longer a number.')
      this.on.problem('The loss is no longer a number: the steps were too large. Reset, and take a smaller rate.')
    }
  }

  /** Has the network guess before it has learnt anything. */
  guess(era) {
    this.turn(async () => {
      if (era !== this.era || this.steps || this.loop || !this.digits) return // training shows them soon
      const list = await this.digits.samples(shown)
      if (era === this.era && !this.steps) this.on.guesses(list)
    }).catch((err) => this.fail(era, err))
  }

  /** Measures on held-back digits; a quarter of the time at most goes into it. At first, when it learns most, they follow each other by steps, on fewer digits. */
  async measure(era, last) {
    const begin = performance.now()
    const n = this.measured < early && !last ? Math.min(few, this.measureOn) : this.measureOn
    const accuracy = await this.digits.evaluate(n)
    const samples = await this.digits.samples(shown)
    if (era !== this.era) return
    const seconds = (performance.now() - begin) / 1000
    this.measured++
    this.on.accuracy({ step: this.steps, accuracy, n: Math.min(n, this.digits.heldBack ?? n), last })
    this.on.samples(samples)
    if (seconds > 2 && this.steps > 1) this.measureOn = Math.max(250, this.measureOn >> 1)
    const pause = this.measured === 1 ? 0 // that one compiled
      : this.measured < early ? Math.min(seconds, 1) / 2 : Math.max(1.5, 3 * Math.min(seconds, 10))
    this.measureFrom = this.measured < early ? Math.max(this.steps + 4, Math.round(1.3 * this.steps)) : 0
    this.measureAt = this.spent + pause
  }

  /** Reads a picture of 784 bytes as soon as it can; of pictures that wait only the last is read. */
  read(pixels) {
    this.pixels = pixels
    if (this.reading || !pixels) return
    this.reading = true
    this.turn(async () => {
      this.reading = false
      const { pixels, era } = this
      if (!pixels || !this.digits) return
      const out = await this.digits.predict(pixels)
      if (era === this.era && this.pixels) this.on.read(pixels, out)
    }).catch((err) => this.on.problem(`The drawing could not be read: ${words(err)}`))
  }

  /** Reads the drawing once more: the network has changed. */
  again() { this.read(this.pixels) }

  fail(era, err) {
    if (era !== this.era) return
    this.loop = null
    this.failed = true
    this.on.state('failed', this.engine ? 'Stopped. Train tries again; another device can be chosen above.' : 'The engine did not start. Another device can be chosen above.')
    this.on.problem(words(err))
  }
}

/** What of a load is done, where that is known. */
function percent(p) {
  const part = typeof p === 'number' ? p : p && p.total ? p.loaded / p.total : NaN
  return Number.isFinite(part) ? `: ${Math.round(100 * Math.min(part, 1))} %` : ''
}
