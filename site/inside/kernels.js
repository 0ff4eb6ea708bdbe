// A launch: what it moves, and its kernel in each language.
import { copies, el, short, size, kernelName, kindNames } from '../assets/dom.js'
import { highlight } from '../assets/highlight.js'

export const languages = {
  wgsl: { label: 'WGSL', where: 'graphics processor' },
  c: { label: 'C', where: 'CPU' },
  wasm: { label: 'WebAssembly', where: 'browser, as text' },
}

const directives = (m) => (Array.isArray(m) ? m : String(m || '').split(';')).map((s) => s.trim()).filter(Boolean)

/** One side of a kernel, whether the engine gives it under targets or as a source beside common fields. */
function side(k, language) {
  const t = k.targets?.[language] || {}
  return { name: t.name || k.name, kinds: t.kinds || k.kinds || '', directives: directives(t.directives ?? k.directives), source: t.source ?? k.source?.[language], error: t.error }
}

export function launch(k, i, buffers, wanted) {
  const given = Object.keys(k.source ?? k.targets).filter((id) => !(id in languages) || wanted.has(id))
  const sides = given.map((id) => ({ ...side(k, id), ...(languages[id] ?? { label: id, where: 'processor' }) }))
  const facts = [k.flops != null && `${short(k.flops)} operations`, k.bytes != null && `${size(k.bytes)} moved at least`].filter(Boolean).join(', ')
  const title = el('h3', {}, el('span', { class: 'index' }, `${i + 1}.`), kernelName(k.name, k.kinds))
  const box = el('article', { class: 'launch' }, el('header', {}, title, el('span', { class: 'small soft' }, facts)))
  if (buffers) box.append(el('p', { class: 'small soft' }, el('code', {}, buffers)))
  const used = [...new Set(sides.flatMap((s) => [...s.kinds]))]
  if (used.length) box.append(el('p', { class: 'kinds' }, ...used.map((c) => el('span', {}, el('b', { class: `kind-${c}` }, '■ '), kindNames[c] || c))))
  if (!sides.length) return box
  const same = sides.every((s) => s.directives.join() === sides[0].directives.join())
  if (same) box.append(directiveList(sides[0].directives))
  box.append(el('div', { class: 'sides' }, ...sides.map((s) => sideBox(s, i, !same, k.name))))
  return box
}

const directiveList = (list) => el('ul', { class: 'directives', 'aria-label': 'Directives' }, el('li', {}, 'Directives'), ...(list.length ? list : ['none: plain loops']).map((m) => el('li', {}, m)))

function sideBox(s, i, withDirectives, common) {
  const box = el('div', { class: 'side' })
  const head = el('h4', {}, s.label, el('span', {}, `for a ${s.where}`))
  box.append(head)
  if (withDirectives) box.append(directiveList(s.directives))
  if (s.source == null) {
    box.append(el('p', { class: 'notice' }, s.error || `There is no ${s.label} for this kernel.`))
    return box
  }
  if (s.name !== common) head.append(kernelName(s.name, s.kinds))
  head.append(copies(el('button', { class: 'copy', type: 'button' }, 'Copy'), () => s.source))
  const [helpers, body] = split(s.source)
  const block = (text, label) => {
    const code = el('code')
    highlight(code, text)
    return el('pre', { tabindex: '0', role: 'region', 'aria-label': label }, code)
  }
  if (helpers) {
    const fold = el('details', {}, el('summary', {}, `Helpers, ${helpers.split('\n').length} lines`))
    fold.addEventListener('toggle', () => { if (fold.children.length === 1) fold.append(block(helpers, `Helpers of kernel ${i + 1} in ${s.label}`)) })
    box.append(fold)
  }
  box.append(block(body, `${s.label} of kernel ${i + 1}, ${s.name}`))
  return box
}

/** The helpers of a source and the kernel itself, which begins with a comment of its name or after the last #endif. */
function split(source) {
  const at = source.lastIndexOf('\n#endif')
  if (at < 0) return ['', source.trim()]
  const end = source.indexOf('\n', at + 1)
  return [source.slice(0, end).trim(), source.slice(end).trim()]
}
