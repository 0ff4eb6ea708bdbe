// <weft-model src="folder/" input="image">: an exported function as an element of any static page. It loads when it is seen, takes a picture that is
// chosen, dropped, pasted or of the camera, a drawing, numbers or JSON (given.js), and shows classes as bars, boxes, a picture, a plot or numbers (shown.js).
//
//   <script type="module" src="folder/player/element.js"></script>
//   <weft-model src="folder/" input="canvas" labels="0,1,2,3,4,5,6,7,8,9">What is shown where there are no scripts.</weft-model>
//
// Its attributes are in docs/embedding.md. Events: weft-ready, weft-result with the results as detail, weft-error. Parts: status, input, view, button,
// output, bar, track, box, label, picture, plot, error.
import * as forms from './given.js'
import { load } from './model.js'
import * as shows from './shown.js'
import { list, make } from './shown.js'

const sheet = `
:host { display: block; font: inherit; max-width: 30rem;
  --_accent: var(--weft-accent, #2463c9); --_border: var(--weft-border, color-mix(in srgb, currentColor 45%, transparent));
  --_well: var(--weft-well, color-mix(in srgb, currentColor 8%, transparent)); --_bad: var(--weft-error, #b3261e); --_round: var(--weft-round, .4rem); --_box: var(--weft-box, #f5c04a); }
:host([hidden]), [hidden] { display: none !important; }
*, ::before { box-sizing: border-box; }
[part=input] { display: grid; gap: .75rem; }
[part=view], .view { position: relative; display: grid; place-items: center; background: var(--_well); border-radius: var(--_round); overflow: hidden; outline: 1px solid var(--_border); outline-offset: -1px; }
.over .view { outline: 2px solid var(--_accent); }
.view canvas { width: 100%; display: block; }
.drawn { background: #000; }
.drawn canvas { touch-action: none; cursor: crosshair; }
.drawn canvas:focus-visible { outline: 2px solid var(--_accent); outline-offset: -2px; border-radius: var(--_round); }
.cursor { position: absolute; width: 14px; height: 14px; margin: -7px; border: 2px solid #fff; border-radius: 50%; pointer-events: none; }
.cursor.down { background: #fff; }
.hint { margin: 0; padding: 1rem; text-align: center; }
.drawn .hint { position: absolute; color: #b8c0c4; pointer-events: none; }
.row { display: flex; flex-wrap: wrap; gap: .5rem; }
button, label[part=button] { font: inherit; color: inherit; background: none; border: 1px solid var(--_border); border-radius: var(--_round); padding: .35rem .8rem; cursor: pointer; display: inline-block; }
button:hover, label[part=button]:hover { border-color: currentColor; }
:is(button, textarea, input, progress):focus-visible, label:focus-within { outline: 2px solid var(--_accent); outline-offset: 2px; }
input[type=file] { position: absolute; width: 1px; height: 1px; opacity: 0; overflow: hidden; }
textarea { width: 100%; min-height: 5.5rem; font: .9em/1.5 ui-monospace, monospace; color: inherit; background: var(--_well); border: 1px solid var(--_border); border-radius: var(--_round); padding: .6rem .75rem; resize: vertical; }
label { display: grid; grid-template-columns: minmax(5em, 1fr) minmax(0, 3fr) 3em; gap: .75rem; align-items: center; }
label[for], label[part=button] { display: block; }
label[for] { overflow-wrap: anywhere; }
input { font: inherit; color: inherit; accent-color: var(--_accent); min-width: 0; width: 100%; margin: 0; }
input[type=number] { background: var(--_well); border: 1px solid var(--_border); border-radius: var(--_round); padding: .35rem .5rem; }
output { font-variant-numeric: tabular-nums; text-align: right; }
progress { width: 100%; height: .3rem; accent-color: var(--_accent); }
[part=output]:not(:empty) { margin-top: .75rem; }
dl { display: grid; grid-template-columns: max-content 1fr max-content; gap: .35rem .75rem; margin: 0; align-items: center; font-variant-numeric: tabular-nums; }
dt, dd { margin: 0; }
dd:not([part]) { text-align: right; min-width: 4em; }
[part=track] { background: var(--_well); border-radius: .2em; overflow: hidden; }
[part=bar] { background: var(--_accent); height: .65em; border-radius: .2em; min-width: 1px; }
[part=picture] { width: 100%; display: block; border-radius: var(--_round); image-rendering: auto; }
[part=box] { position: absolute; border: 2px solid var(--_box); border-radius: 2px; pointer-events: none; }
[part=label] { position: absolute; left: -2px; bottom: 100%; background: var(--_box); color: #14191d; font-size: .75rem; line-height: 1.3; padding: 0 .35em; white-space: nowrap; }
[part=label].within { bottom: auto; top: -2px; }
.plot { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem .6rem; font-size: .8rem; font-variant-numeric: tabular-nums; }
.plot .up { display: flex; flex-direction: column; justify-content: space-between; text-align: right; }
.plot .along { grid-column: 2; display: flex; justify-content: space-between; }
svg { width: 100%; height: 11rem; background: var(--_well); border-radius: var(--_round); }
polyline { fill: none; stroke: var(--_accent); stroke-width: 2; stroke-linejoin: round; }
.zero { stroke: var(--_border); stroke-width: 1; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: .9em/1.5 ui-monospace, monospace; }
p { margin: 0; }
[part=error] { border-left: .2rem solid var(--_bad); padding-left: .75rem; overflow-wrap: anywhere; }
[part=error] + button { margin-top: .6rem; }
@media (forced-colors: active) { [part=bar] { background: Highlight; } polyline { stroke: Highlight; } }`

// Where there is no document the module may be imported, as a framework's server does with what pages import, and no element made.
const Base = globalThis.HTMLElement ?? class {
  constructor() { throw new Error('<weft-model> is an element of pages, and there is no page here; load() of player/model.js runs the same folder') }
}

/** The element. */
export class WeftModel extends Base {
  static observedAttributes = ['src', 'input', 'function']
  #root = this.attachShadow({ mode: 'open' })
  #model = null
  #seen = null
  #began = false
  #again = null // an input that came while another was worked on
  #busy = false
  #form = null
  #turn = 0 // counts what was taken away
  #status = make('div', { part: 'status', aria: { role: 'status' } })
  #input = make('div', { part: 'input' })
  #output = make('div', { part: 'output', aria: { live: 'polite' } })

  constructor() {
    super()
    const css = new CSSStyleSheet()
    css.replaceSync(sheet)
    this.#root.adoptedStyleSheets = [css]
    this.#root.append(make('slot'))
  }

  connectedCallback() {
    this.#seen = new IntersectionObserver((all) => { if (all.some((e) => e.isIntersecting)) this.#begin() }, { rootMargin: '200px' })
    this.#seen.observe(this)
  }

  disconnectedCallback() {
    this.#seen?.disconnect()
    this.#end()
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.#began) return
    this.#end()
    this.#begin()
  }

  /** The model, once it is loaded. */
  get model() { return this.#model }

  #end() {
    this.#form?.stop()
    this.#form = null
    this.onpaste = null
    this.#model?.close().catch(() => {})
    this.#model = null
    this.#began = false
  }

  async #begin() {
    if (this.#began) return
    this.#began = true
    this.#seen.disconnect()
    const src = this.getAttribute('src')
    const bar = make('progress', { max: 1, aria: { label: 'Loading' } })
    this.#output.replaceChildren()
    this.#input = make('div', { part: 'input' })
    this.#status.replaceChildren(bar)
    this.#root.replaceChildren(this.#status, this.#input, this.#output)
    try {
      if (!src) throw new Error('the attribute src names no folder of weft export')
      const onprogress = (n, of) => { bar.value = of ? n / of : 1 }
      const [device, threads] = ['device', 'threads'].map((name) => this.getAttribute(name) ?? undefined)
      const model = await load(new URL(src, document.baseURI), { worker: true, device, threads: threads && Number(threads), onprogress })
      if (!this.isConnected || this.getAttribute('src') !== src) return model.close()
      this.#model = model
      this.#status.replaceChildren()
      this.#take()
      this.dispatchEvent(new CustomEvent('weft-ready'))
    } catch (e) {
      this.#fails(e)
      if (!this.#model && src) this.#output.append(make('button', { type: 'button', part: 'button', textContent: 'Try again', onclick: () => this.#retry() }))
    }
  }

  #retry() {
    this.#end()
    this.#begin()
  }

  #fails(e) {
    this.#status.replaceChildren()
    this.#clear()
    this.#output.replaceChildren(make('p', { part: 'error', textContent: e.message, aria: { role: 'alert' } }))
    this.dispatchEvent(new CustomEvent('weft-error', { detail: e }))
  }

  // Takes away what was shown.
  #clear() {
    this.#turn++
    this.#again = null
    this.#output.replaceChildren()
    for (const e of this.#input.querySelectorAll('[part=box]')) e.remove()
  }

  get #name() {
    const names = Object.keys(this.#model.functions)
    const name = this.getAttribute('function') ?? (names.length === 1 ? names[0] : 'predict')
    if (!names.includes(name)) throw new Error(`the folder has no function ${name}; name one in the attribute function: ${names.join(', ')}`)
    return name
  }

  #numbersOf(name) { return list(this.getAttribute(name)).map(Number) }

  // Makes what takes inputs.
  #take() {
    const kind = this.getAttribute('input') ?? 'json'
    if (!Object.hasOwn(forms, kind)) throw new Error(`input="${kind}" is none of ${Object.keys(forms).join(', ')}`)
    const { inputs } = this.#model.functions[this.#name]
    if (kind !== 'json' && inputs.length !== 1) throw new Error(`the function has ${inputs.length} inputs; use input="json"`)
    const host = {
      value: this.getAttribute('value'), names: list(this.getAttribute('names')), min: this.#numbersOf('min'), max: this.#numbersOf('max'),
      mean: this.#numbersOf('mean'), std: this.#numbersOf('std'), fit: Number(this.getAttribute('fit')), pen: Number(this.getAttribute('pen')),
      onpaste: (f) => {
        this.onpaste = f
        this.tabIndex = this.tabIndex < 0 ? 0 : this.tabIndex // to be pasted into
      },
    }
    const fails = (e) => this.#fails(e)
    const give = kind === 'json' ? (given) => this.run(given) : (elements) => this.run({ [inputs[0].name]: elements })
    this.#form = forms[kind](this.#input, kind === 'json' ? inputs : inputs[0], host, give, fails, () => this.#clear())
  }

  /** Runs the function with inputs by name, and shows what it gives. */
  async run(inputs) {
    if (this.#busy) {
      this.#again = inputs
      return
    }
    this.#busy = true
    const turn = this.#turn
    try {
      const vars = Object.fromEntries(this.#model.functions[this.#name].vars.map((v) => [v.name, Number(this.dataset[v.name] ?? v.value ?? v.hi)]))
      const results = await this.#model.run(this.#name, inputs, { vars })
      if (turn === this.#turn) this.#show(results)
      this.dispatchEvent(new CustomEvent('weft-result', { detail: results }))
    } catch (e) {
      this.#fails(e)
    }
    this.#busy = false
    const next = this.#again
    this.#again = null
    if (next && this.#model) return this.run(next)
  }

  #show(results) {
    const name = this.getAttribute('result') ?? Object.keys(results)[0]
    if (!results[name]) throw new Error(`there is no result ${name}; name one in the attribute result: ${Object.keys(results).join(', ')}`)
    const result = results[name]
    const labels = list(this.getAttribute('labels'))
    const as = this.getAttribute('output') ?? shows.suggested(result, labels)
    const views = {
      bars: () => shows.bars(result, { labels, top: Number(this.getAttribute('top') ?? 5) }),
      boxes: () => this.#boxes(results, labels),
      picture: () => shows.picture(name, result),
      plot: () => shows.plot(name, result, { range: list(this.getAttribute('range')), across: list(this.getAttribute('across')) }),
      numbers: () => shows.numbers(name, result),
    }
    if (!Object.hasOwn(views, as)) throw new Error(`output="${as}" is none of ${Object.keys(views).join(', ')}`)
    this.#output.replaceChildren(views[as]())
  }

  // Boxes lie over the picture that was given.
  #boxes(results, labels) {
    const view = this.#form?.view
    if (!view) throw new Error('output="boxes" wants a picture: input="image" or "canvas"')
    const all = shows.found(results, { labels, least: Number(this.getAttribute('least') ?? 0.5) })
    for (const e of view.querySelectorAll('[part=box]')) e.remove()
    view.append(...shows.frames(all))
    return shows.told(all)
  }
}

if (globalThis.customElements && !customElements.get('weft-model')) customElements.define('weft-model', WeftModel)
