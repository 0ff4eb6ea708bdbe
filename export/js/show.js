// Shows the functions of the folder beside it, and runs them with numbers to begin with.
import { load } from './model.js'

const count = (shape) => shape.reduce((n, s) => n * s, 1)
const type = ({ dtype, shape }) => `${dtype} [${shape.join(', ')}]`
const add = (to, name, text, more = {}) => to.appendChild(Object.assign(document.createElement(name), { textContent: text, ...more }))

// Elements to begin with: small ones that differ, and for integers 0.
function sample({ dtype, shape }) {
  return Array.from({ length: count(shape) }, (_, i) => (/float/.test(dtype) ? (i * 7 % 11) / 11 : 0))
}

function show(model, name, f, to) {
  const box = add(to, 'section', '')
  add(box, 'h2', name)
  for (const x of f.inputs) add(box, 'p', `${x.name}: ${type(x)}`)
  for (const v of f.vars) add(box, 'p', `${v.name}: ${v.lo} … ${v.hi}`)
  const button = add(box, 'button', 'Run', { id: `run-${name}` })
  const out = add(box, 'output', '', { id: `out-${name}` })
  out.setAttribute('aria-live', 'polite')
  button.onclick = async () => {
    button.disabled = true
    try {
      const inputs = Object.fromEntries(f.inputs.map((x) => [x.name, /float(8|16)/.test(x.dtype) ? new Uint16Array(count(x.shape)) : sample(x)]))
      const vars = Object.fromEntries(f.vars.map((v) => [v.name, v.value ?? v.hi]))
      const start = performance.now()
      const results = await model.run(name, inputs, { vars })
      const took = performance.now() - start
      out.textContent = Object.entries(results).map(([key, r]) => {
        const head = Array.from(r.data.slice(0, 10), (v) => (typeof v === 'number' ? +v.toPrecision(5) : v)).join(', ')
        return `${key}: ${type(r)} = ${head}${r.data.length > 10 ? ', …' : ''}`
      }).join('\n') + `\n${took.toFixed(1)} ms`
    } catch (e) {
      out.textContent = e.message
    }
    button.disabled = false
  }
}

const note = document.getElementById('note')
const bar = document.getElementById('loading')
try {
  const device = new URLSearchParams(location.search).get('device') ?? undefined
  const onprogress = (n, of) => Object.assign(bar, { value: n, max: of })
  const model = await load(new URL('../', import.meta.url), { device, onprogress, worker: true })
  note.textContent = `Runs on ${model.device === 'webgpu' ? 'WebGPU' : 'WebAssembly'}, without a server.`
  for (const [name, f] of Object.entries(model.functions)) show(model, name, f, document.querySelector('main'))
} catch (e) {
  note.textContent = e.message
}
bar.remove()
