// <weft-model src="folder/" input="image">: an exported function as an element of any static page. It loads when it is seen, takes a picture that is
// chosen, dropped or pasted, a drawing, numbers or JSON, and shows classes as bars, a picture or numbers.
//
//   <script type="module" src="folder/player/element.js"></script>
//   <weft-model src="folder/" input="canvas" labels="0,1,2,3,4,5,6,7,8,9">What is shown where there are no scripts.</weft-model>
//
// Attributes: src; input: image, canvas, number or json; function, where there are several; result, where there are several; labels of classes; top: how
// many classes are shown; output: bars, picture or numbers in place of what the shape suggests; mean and std of colours, from 0 to 1; device.
// Events: weft-ready, weft-result with the results as detail, weft-error. Parts: status, input, output, bar, error.
import { load } from './model.js'

const sheet = `
:host { display: block; font: inherit; --weft-accent: #2463c9; --weft-border: #8888; max-width: 30rem; }
:host([hidden]) { display: none; }
[part=input] { display: grid; gap: .5rem; border: 1px solid var(--weft-border); border-radius: .4rem; padding: .75rem; }
[part=input].over { outline: 2px solid var(--weft-accent); }
canvas { width: 100%; max-width: 14rem; image-rendering: pixelated; touch-action: none; background: #000; border-radius: .2rem; }
textarea { width: 100%; min-height: 5rem; font-family: ui-monospace, monospace; box-sizing: border-box; }
label { display: flex; gap: .5rem; align-items: center; }
dl { display: grid; grid-template-columns: max-content 1fr max-content; gap: .25rem .5rem; margin: .5rem 0; align-items: center; }
dt, dd { margin: 0; }
[part=bar] { background: var(--weft-accent); height: .7em; border-radius: .2em; min-width: 1px; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
[part=error] { border-left: .25rem solid #b3261e; padding-left: .5rem; }`

const make = (name, props = {}, ...children) => {
  const e = Object.assign(document.createElement(name), props)
  if (props.part) e.setAttribute('part', props.part)
  e.append(...children)
  return e
}
const count = (shape) => shape.reduce((n, s) => n * s, 1)
const bare = (shape) => shape.filter((n) => n !== 1)
const list = (text) => (text ? text.split(',').map((s) => s.trim()) : [])

// How an input holds a picture: its height, width and colours, and where colour c of pixel i lies.
function pictureOf({ name, shape }) {
  const s = bare(shape)
  const n = s.length === 2 || s.length === 3 ? s : null
  if (n?.length === 2) return { h: n[0], w: n[1], colours: 1, at: (i) => i }
  if (n?.[0] === 3) return { h: n[1], w: n[2], colours: 3, at: (i, c) => c * n[1] * n[2] + i }
  if (n?.[2] === 3) return { h: n[0], w: n[1], colours: 3, at: (i, c) => 3 * i + c }
  throw new Error(`input ${name} of shape [${shape.join(', ')}] is no picture; use input="json"`)
}

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
  #status = make('div', { part: 'status' })
  #input = make('div', { part: 'input' })
  #output = make('div', { part: 'output' })

  constructor() {
    super()
    const css = new CSSStyleSheet()
    css.replaceSync(sheet)
    this.#root.adoptedStyleSheets = [css]
    this.#status.setAttribute('role', 'status')
    this.#output.setAttribute('aria-live', 'polite')
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
    this.#model?.close().catch(() => {})
    this.#model = null
    this.#began = false
  }

  async #begin() {
    if (this.#began) return
    this.#began = true
    this.#seen.disconnect()
    const src = this.getAttribute('src')
    const bar = make('progress', { max: 1 })
    bar.setAttribute('aria-label', 'Loading')
    this.#output.replaceChildren()
    this.#input.replaceChildren()
    this.#status.replaceChildren(bar)
    this.#root.replaceChildren(this.#status, this.#input, this.#output)
    try {
      if (!src) throw new Error('the attribute src names no folder of weft export')
      const onprogress = (n, of) => { bar.value = n / of }
      const model = await load(new URL(src, document.baseURI), { worker: true, device: this.getAttribute('device') ?? undefined, onprogress })
      if (!this.isConnected || this.getAttribute('src') !== src) return model.close()
      this.#model = model
      this.#form()
      this.#status.replaceChildren()
      this.dispatchEvent(new CustomEvent('weft-ready'))
    } catch (e) {
      this.#fails(e)
    }
  }

  #fails(e) {
    this.#status.replaceChildren()
    this.#output.replaceChildren(make('p', { part: 'error', textContent: e.message }))
    this.#output.firstChild.setAttribute('role', 'alert')
    this.dispatchEvent(new CustomEvent('weft-error', { detail: e }))
  }

  get #name() {
    const names = Object.keys(this.#model.functions)
    const name = this.getAttribute('function') ?? (names.length === 1 ? names[0] : 'predict')
    if (!names.includes(name)) throw new Error(`the folder has no function ${name}; name one in the attribute function: ${names.join(', ')}`)
    return name
  }

  #form() {
    const kind = this.getAttribute('input') ?? 'json'
    const forms = { image: () => this.#image(), canvas: () => this.#canvas(), number: () => this.#numbers(), json: () => this.#json() }
    if (!forms[kind]) throw new Error(`input="${kind}" is none of ${Object.keys(forms).join(', ')}`)
    const { inputs } = this.#model.functions[this.#name]
    if (kind !== 'json' && inputs.length !== 1) throw new Error(`the function has ${inputs.length} inputs; use input="json"`)
    forms[kind]()
  }

  get #first() { return this.#model.functions[this.#name].inputs[0] }

  /** Runs the function with inputs by name, and shows what it gives. */
  async run(inputs) {
    if (this.#busy) {
      this.#again = inputs
      return
    }
    this.#busy = true
    try {
      const vars = Object.fromEntries(this.#model.functions[this.#name].vars.map((v) => [v.name, Number(this.dataset[v.name] ?? v.value ?? v.hi)]))
      const results = await this.#model.run(this.#name, inputs, { vars })
      this.#show(results)
      this.dispatchEvent(new CustomEvent('weft-result', { detail: results }))
    } catch (e) {
      this.#fails(e)
    }
    this.#busy = false
    const next = this.#again
    this.#again = null
    if (next && this.#model) return this.run(next)
  }

  // The elements of a picture that is drawn or was given.
  #pixels(source) {
    const input = this.#first
    const { h, w, colours, at } = pictureOf(input)
    const small = new OffscreenCanvas(w, h).getContext('2d')
    small.imageSmoothingQuality = 'high'
    small.drawImage(source, 0, 0, w, h)
    const { data } = small.getImageData(0, 0, w, h)
    const whole = input.dtype === 'uint8'
    if (!whole && input.dtype !== 'float32') throw new Error(`input ${input.name} is ${input.dtype}; pictures are uint8 or float32`)
    const mean = list(this.getAttribute('mean')).map(Number)
    const std = list(this.getAttribute('std')).map(Number)
    const out = whole ? new Uint8Array(count(input.shape)) : new Float32Array(count(input.shape))
    for (let i = 0; i < h * w; i++) {
      const [r, g, b] = data.subarray(4 * i, 4 * i + 3)
      const values = colours === 1 ? [0.299 * r + 0.587 * g + 0.114 * b] : [r, g, b]
      values.forEach((v, c) => { out[at(i, c)] = whole ? Math.round(v) : (v / 255 - (mean[c] ?? 0)) / (std[c] ?? 1) })
    }
    return { [input.name]: out }
  }

  #image() {
    const { h, w } = pictureOf(this.#first)
    const file = make('input', { type: 'file', accept: 'image/*' })
    const shown = make('canvas', { width: w, height: h, hidden: true })
    const take = async (blob) => {
      if (!blob) return
      try {
        const bitmap = await createImageBitmap(blob).catch(() => { throw new Error('this is no picture that the browser can read') })
        shown.hidden = false
        shown.getContext('2d').drawImage(bitmap, 0, 0, w, h)
        const inputs = this.#pixels(bitmap)
        bitmap.close()
        await this.run(inputs)
      } catch (e) {
        this.#fails(e)
      }
    }
    file.onchange = () => take(file.files[0])
    const picture = (items) => [...items ?? []].find((f) => f.type.startsWith('image/'))
    this.#input.ondragover = (e) => {
      e.preventDefault()
      this.#input.classList.add('over')
    }
    this.#input.ondragleave = () => this.#input.classList.remove('over')
    this.#input.ondrop = (e) => {
      e.preventDefault()
      this.#input.classList.remove('over')
      take(picture(e.dataTransfer.files))
    }
    this.onpaste = (e) => take(picture(e.clipboardData.files))
    this.tabIndex = this.tabIndex < 0 ? 0 : this.tabIndex // to be pasted into
    this.#input.replaceChildren(make('label', {}, 'A picture, chosen, dropped or pasted ', file), shown)
  }

  #canvas() {
    const { h, w } = pictureOf(this.#first)
    const scale = Math.max(1, Math.round(224 / Math.max(h, w)))
    const canvas = make('canvas', { width: w * scale, height: h * scale })
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', 'Draw here')
    const pen = canvas.getContext('2d', { willReadFrequently: true })
    const clear = () => {
      pen.fillRect(0, 0, canvas.width, canvas.height)
      this.#output.replaceChildren()
    }
    clear()
    Object.assign(pen, { strokeStyle: '#fff', lineWidth: Math.max(w, h) * scale / 13, lineCap: 'round', lineJoin: 'round' })
    const at = (e) => {
      const box = canvas.getBoundingClientRect()
      return [(e.clientX - box.x) / box.width * canvas.width, (e.clientY - box.y) / box.height * canvas.height]
    }
    const draw = (e) => {
      pen.lineTo(...at(e))
      pen.stroke()
      this.run(this.#pixels(canvas))
    }
    canvas.onpointerdown = (e) => {
      canvas.setPointerCapture(e.pointerId)
      pen.beginPath()
      pen.moveTo(...at(e))
      draw(e)
    }
    canvas.onpointermove = (e) => { if (e.buttons) draw(e) }
    this.#input.replaceChildren(canvas, make('button', { type: 'button', textContent: 'Clear', onclick: clear }))
  }

  #numbers() {
    const input = this.#first
    const n = count(input.shape)
    if (n > 64) throw new Error(`input ${input.name} has ${n} numbers; use input="json"`)
    const names = list(this.getAttribute('names'))
    const fields = Array.from({ length: n }, () => make('input', { type: 'number', step: 'any', value: '0' }))
    const run = () => this.run({ [input.name]: fields.map((f) => f.valueAsNumber || 0) })
    fields.forEach((f) => { f.oninput = run })
    this.#input.replaceChildren(...fields.map((f, i) => make('label', {}, names[i] ?? `${input.name} ${i + 1}`, f)))
    run()
  }

  #json() {
    const { inputs } = this.#model.functions[this.#name]
    const text = make('textarea', { spellcheck: false })
    const label = inputs.map((x) => `${x.name}: ${x.dtype} [${x.shape.join(', ')}]`).join('; ')
    const run = () => {
      let given
      try {
        given = JSON.parse(text.value)
      } catch (e) {
        return this.#fails(new Error(`this is no JSON: ${e.message}`))
      }
      return this.run(Array.isArray(given) || typeof given !== 'object' ? { [inputs[0].name]: given } : given)
    }
    this.#input.replaceChildren(make('label', { textContent: label, htmlFor: 'json' }), text, make('button', { type: 'button', textContent: 'Run', onclick: run }))
    text.id = 'json'
  }

  #show(results) {
    const name = this.getAttribute('result') ?? Object.keys(results)[0]
    if (!results[name]) throw new Error(`there is no result ${name}; name one in the attribute result: ${Object.keys(results).join(', ')}`)
    const { data, shape, dtype } = results[name]
    const labels = list(this.getAttribute('labels'))
    const s = bare(shape)
    const total = data.length <= 1000 && dtype === 'float32' ? data.reduce((a, b) => a + b, 0) : 0
    const as = this.getAttribute('output') ?? (s.length === 1 && (labels.length || Math.abs(total - 1) < 0.01) ? 'bars' : 'numbers')
    this.#output.replaceChildren(as === 'bars' ? this.#bars(data, labels) : as === 'picture' ? this.#picture({ name, shape }, data, dtype) : this.#text(name, data, shape))
  }

  #bars(data, labels) {
    const order = Array.from(data.keys()).sort((a, b) => data[b] - data[a]).slice(0, Number(this.getAttribute('top') ?? 5))
    const most = Math.max(1e-30, data[order[0]])
    return make('dl', {}, ...order.flatMap((i) => {
      const bar = make('div', { part: 'bar' })
      bar.style.width = `${100 * Math.max(0, data[i]) / most}%`
      return [make('dt', { textContent: labels[i] ?? i }), make('dd', {}, bar), make('dd', { textContent: Number(data[i]).toFixed(3) })]
    }))
  }

  #picture(result, data, dtype) {
    const { h, w, colours, at } = pictureOf(result)
    const image = new ImageData(w, h)
    const scale = dtype === 'uint8' ? 1 : 255
    for (let i = 0; i < h * w; i++) {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = scale * Number(data[at(i, colours === 1 ? 0 : c)])
      image.data[4 * i + 3] = 255
    }
    const canvas = make('canvas', { width: w, height: h })
    canvas.setAttribute('role', 'img')
    canvas.setAttribute('aria-label', result.name)
    canvas.getContext('2d').putImageData(image, 0, 0)
    return canvas
  }

  #text(name, data, shape) {
    const some = Array.from(data.slice(0, 100), (v) => (typeof v === 'number' ? String(+v.toPrecision(5)) : String(v)))
    return make('pre', { textContent: `${name} [${shape.join(', ')}]: ${some.join(', ')}${data.length > 100 ? ', …' : ''}` })
  }
}

if (globalThis.customElements && !customElements.get('weft-model')) customElements.define('weft-model', WeftModel)
