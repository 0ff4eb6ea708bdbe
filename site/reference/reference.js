// The reference: groups of methods, a search in all of them, and examples that run here.
import { byId, el, words } from '../assets/dom.js'
import { highlight } from '../assets/highlight.js'
import { groups } from './groups.js'
import { inputs } from './inputs.js'
import { told } from './told.js'

const ui = Object.fromEntries(['search', 'groups', 'title', 'status', 'methods'].map((id) => [id, byId(id)]))

for (const g of groups) ui.groups.append(el('a', { href: `#${g.id}` }, g.title))

let engine = null // opened when an example is first run
const opened = () => (engine ??= import('../weft.js').then(({ open }) => open()).catch((err) => {
  engine = null
  throw err
}))

const load = (id) => import(`./groups/${id}.js`).then((m) => m.methods)

/** What a function says after its arrow. */
const body = (f) => String(f).replace(/^[^]*?=>\s*/, '')

/** An example as one would write it. */
function written(m) {
  const lines = m.uses.map((name) => `const ${name} = ${body(inputs[name])}`)
  return [...lines, body(m.run)].join('\n')
}

function method(m) {
  const box = el('article', { class: 'method', id: m.name }, el('h3', {}, m.form, el('span', { class: 'gives' }, ` → ${m.gives}`)))
  if (m.says) box.append(el('p', {}, m.says))
  if (!m.run) return box
  const code = el('code')
  highlight(code, written(m))
  const out = el('output', { hidden: true, 'aria-label': `What the example of ${m.name} gives` })
  const run = el('button', { type: 'button', class: 'button', 'aria-label': `Run the example of ${m.name}` }, 'Run')
  run.addEventListener('click', async () => {
    run.disabled = true
    out.hidden = false
    out.textContent = 'Running.'
    try {
      const w = await opened()
      out.textContent = await told(w, m)
    } catch (err) {
      out.textContent = words(err)
    }
    run.disabled = false
  })
  box.append(el('div', { class: 'example' }, el('pre', { tabindex: '0', role: 'region', 'aria-label': `Example of ${m.name}` }, code), run, out))
  return box
}

let shown = 0

async function show(title, list, status) {
  const mine = ++shown
  const methods = await list
  if (mine !== shown) return
  ui.title.textContent = title
  ui.status.textContent = status(methods)
  ui.methods.replaceChildren()
  for (const m of methods) { // a few in each frame: groups have fifty
    if (mine !== shown) return
    const until = performance.now() + 8
    ui.methods.append(method(m))
    if (performance.now() > until) await new Promise(requestAnimationFrame)
  }
}

const count = (n, what) => `${n} ${n === 1 ? what : `${what}s`}`

function fromAddress() {
  const [id, name] = location.hash.slice(1).split('/')
  const g = groups.find((g) => g.id === id) ?? groups.find((g) => g.names.includes(id)) ?? groups[1]
  for (const a of ui.groups.children) a.hash === `#${g.id}` ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current')
  ui.search.value = ''
  show(g.title, load(g.id), (m) => count(m.length, 'method')).then(() => document.getElementById(name ?? (id === g.id ? '' : id))?.scrollIntoView())
}

const most = 30 // methods that a search shows

ui.search.addEventListener('input', async () => {
  const text = ui.search.value.trim().toLowerCase()
  if (!text) return fromAddress()
  for (const a of ui.groups.children) a.removeAttribute('aria-current')
  const all = (await Promise.all(groups.map((g) => load(g.id)))).flat()
  if (ui.search.value.trim().toLowerCase() !== text) return
  const rank = (m) => { const n = m.name.toLowerCase(); return n === text ? 0 : n.startsWith(text) ? 1 : n.includes(text) ? 2 : m.says.toLowerCase().includes(text) ? 3 : 9 }
  const hits = all.filter((m) => rank(m) < 9).sort((a, b) => rank(a) - rank(b))
  show(`“${ui.search.value.trim()}”`, hits.slice(0, most), () => hits.length > most ? `The first ${most} of ${hits.length} methods` : hits.length ? count(hits.length, 'method') : 'No method is called so or speaks of it.')
})

addEventListener('hashchange', fromAddress)
fromAddress()
