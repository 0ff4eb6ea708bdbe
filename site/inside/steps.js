// Steps through a chain of rewrites: the law of each, where it is written, what it saw and gave, and the whole before and after. It knows the
// form of chains and nothing of what they are about: {title, first, steps: [{law, at, old, new, laws, after, gone, fresh}], left}.
import { byId, el, words } from '../assets/dom.js'

const ids = ['stepper', 'chain', 'first-step', 'back', 'on', 'last-step', 'at-step', 'step-count', 'law', 'formula', 'before', 'after', 'within', 'steps-left']

export class Steps {
  /** load(id) gives a promise of a chain. */
  constructor(load) {
    this.load = load
    this.ui = Object.fromEntries(ids.map((id) => [id, byId(id)]))
    this.chain = null
    this.asked = 0
    const { ui } = this
    ui.chain.addEventListener('change', () => this.open(ui.chain.value))
    ui['at-step'].addEventListener('input', () => this.show(Number(ui['at-step'].value) - 1))
    for (const [id, to] of [['first-step', () => 0], ['back', () => this.i - 1], ['on', () => this.i + 1], ['last-step', () => Infinity]]) {
      ui[id].addEventListener('click', () => this.show(to()))
    }
    ui.stepper.addEventListener('keydown', (e) => {
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key]
      const inPane = e.target.closest('pre') && e.key !== 'ArrowLeft' && e.key !== 'ArrowRight' // which scrolls by it
      if (!by || inPane || e.target === ui.chain || e.target === ui['at-step'] || e.altKey || e.ctrlKey || e.metaKey) return
      e.preventDefault()
      this.show(this.i + by)
    })
  }

  /** Offers chains, [id, label] each, and opens the one of the same place as before. */
  offer(list) {
    const { chain } = this.ui
    const before = chain.value
    chain.replaceChildren(...list.map(([id, label]) => el('option', { value: id }, label)))
    const id = list.some(([id]) => id === before) ? before : (list[1] ?? list[0])[0]
    chain.value = id
    this.open(id)
  }

  async open(id) {
    const mine = ++this.asked
    this.ui.law.textContent = 'Replaying the steps.'
    try {
      const chain = await this.load(id)
      if (mine !== this.asked) return
      this.chain = chain
      this.show(0)
    } catch (err) {
      if (mine !== this.asked) return
      this.chain = null
      this.blank(words(err))
    }
  }

  blank(says, text = '') {
    const { ui } = this
    ui.law.textContent = says
    ui.formula.replaceChildren()
    ui['step-count'].textContent = ''
    ui.before.textContent = ui.after.textContent = text
    for (const id of ['first-step', 'back', 'on', 'last-step', 'at-step']) ui[id].disabled = true
    ui.within.hidden = true
  }

  show(i) {
    const { ui, chain } = this
    if (!chain) return
    const n = chain.steps.length
    ui['steps-left'].textContent = chain.left ?? ''
    ui['steps-left'].hidden = !chain.left
    if (!n) return this.blank('Nothing was rewritten: what there was is what there is.', chain.first)
    this.i = i = Math.max(0, Math.min(i, n - 1))
    const s = chain.steps[i]
    ui['step-count'].textContent = `${i + 1} of ${n}`
    Object.assign(ui['at-step'], { max: n, value: i + 1, disabled: n < 2 })
    ui['first-step'].disabled = ui.back.disabled = i === 0
    ui.on.disabled = ui['last-step'].disabled = i === n - 1
    ui.law.replaceChildren(el('strong', {}, s.law), ' ', el('code', {}, s.at))
    ui.formula.replaceChildren(...(s.old ? [el('code', { class: 'old' }, s.old), el('span', { class: 'soft small' }, 'becomes'), el('code', { class: 'new' }, s.new)] : []))
    fill(ui.before, i ? chain.steps[i - 1].after : chain.first, s.gone, 'gone')
    fill(ui.after, s.after, s.fresh, 'fresh')
    ui.within.hidden = !s.laws?.length
    ui.within.replaceChildren(el('summary', {}, `${s.laws?.length} laws applied within it`),
      el('ul', { class: 'fired small' }, ...(s.laws ?? []).map((l) => el('li', {}, el('strong', {}, l.law), ' ', el('code', { class: 'soft' }, l.at), el('br'), el('code', {}, `${l.old}  →  ${l.new}`)))))
  }
}

/** Puts a text into a pane with some of its lines marked, the first of them in sight. */
function fill(pane, text, marked, name) {
  const lines = text.replace(/\n$/, '').split('\n')
  const set = new Set(marked)
  const out = document.createDocumentFragment()
  let plain = '', first = null
  lines.forEach((line, i) => {
    if (!set.has(i)) {
      plain += `${line}\n`
      return
    }
    const mark = el('mark', { class: name }, `${line}\n`)
    out.append(plain, mark)
    first ??= mark
    plain = ''
  })
  out.append(plain)
  pane.replaceChildren(out)
  pane.scrollTop = first ? Math.max(0, first.offsetTop - pane.offsetTop - pane.clientHeight / 3) : 0
}
