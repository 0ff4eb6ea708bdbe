// Beside each element: the line that makes it, to be copied, and what it said. The elements do without this script.
import { byId, copies, el } from '../assets/dom.js'

/** A piece of text with a button that copies it. */
function line(text, what) {
  return [el('pre', { tabindex: 0, 'aria-label': what }, el('code', {}, text)), copies(el('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${what}` }, 'Copy'), () => text)]
}

/** An element as it is written in a page; what only this page says is left out. */
export function markup(e) {
  const said = e.getAttributeNames().filter((name) => !['id', 'class', 'tabindex'].includes(name))
  const path = (v) => v.replace(/^models\//, '')
  return `<weft-model ${said.map((name) => `${name}="${path(e.getAttribute(name))}"`).join(' ')}></weft-model>`
}

for (const e of document.querySelectorAll('weft-model')) {
  const heard = el('p', { class: 'heard' })
  e.closest('.show').querySelector('.about').append(el('div', { class: 'line' }, ...line(markup(e), `the line of ${e.id}`)), heard)
  let results = 0
  const ready = () => `weft-ready, on ${e.model.device === 'webgpu' ? 'WebGPU' : 'WebAssembly'}`
  if (e.model) heard.textContent = ready()
  e.addEventListener('weft-ready', () => { heard.textContent = ready() })
  e.addEventListener('weft-result', ({ detail }) => {
    const shapes = Object.entries(detail).map(([name, { dtype, shape }]) => `${name} ${dtype} [${shape.join(', ')}]`)
    heard.textContent = `${ready()} · weft-result${++results > 1 ? ` × ${results}` : ''}: ${shapes.join(', ')}`
  })
  e.addEventListener('weft-error', () => { heard.textContent = 'weft-error' })
}

const shown = {
  export: ['the command', 'go run github.com/weft-ml/weft/cmd/weft export functions.weft digits'],
  script: ['the script', '<script type="module" src="digits/player/element.js"></script>'],
  css: ['the style', 'weft-model {\n  --weft-accent: #2b4899;\n  --weft-border: #8b969d;\n  --weft-well: #eceff0;\n  --weft-round: 6px;\n}\nweft-model::part(label) { font-weight: 600; }'],
  events: ['the listener', "document.querySelector('weft-model').addEventListener('weft-result', (e) => {\n  console.log(e.detail.probabilities.data)   // a Float32Array\n})"],
}
for (const [name, [what, text]] of Object.entries(shown)) byId(`line-${name}`).append(...line(text, what))
