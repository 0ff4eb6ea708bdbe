// Shapes and types: what they are of the results of every method, told when it is called, before the engine hears of it. The table says
// by which rule: "wide:float" is the shape that the operands broadcast to and the type that floats have. Where only elements
// tell, as of unique, or a size varies, a shape is the words that say so. What a rule knows to be wrong it refuses in the engine's words.

import { Unknown, list, product, shapeOf } from './axes.js'
import { methods, written } from './methods.js'
import { shapes } from './shapes.js'
import { isPlain } from './tree.js'
import { floating, types } from './types.js'

// One call: its method, the tensor that it is of, its arguments by name.
class Call {
  constructor(name, row, args) {
    this.name = name
    const tensor = row.of === 'Tensor'
    this.self = tensor ? args[0] : undefined
    const o = this.o = {}
    const rest = tensor ? args.slice(1) : args
    for (const [i, p] of row.params.entries()) {
      const v = rest[i]
      const object = isPlain(v)
      if (p.rest) o[p.name] = rest.slice(i)
      else if (object && (p.named || p.free && p.kind !== 'named')) Object.assign(o, v)
      else if (p.set || methods.Options[p.kind]) { if (v !== undefined) o.axis = v } // an axis in place of options
      else o[p.name] = v
      if (object) break // it is the last
    }
    const operands = row.params.filter((p) => /^(tensor|operand)$/.test(p.kind)).map((p) => o[p.name]).filter((v) => v !== undefined && v !== null)
    this.operands = tensor ? [this.self, ...operands] : operands
  }

  fail(why, ...shapes) { throw this.refusal = new RangeError(`${this.name}: ${shapes.map(written).join(' and ')}${shapes.length ? ': ' : ''}${why}`) }

  // An axis of a shape, counted from its start.
  axis(a, s) {
    if (a < -s.length || a >= s.length) this.fail(`axis ${a} is outside rank ${s.length}`, s)
    return a < 0 ? a + s.length : a
  }

  broadcast(...shapes) {
    const rank = Math.max(...shapes.map((s) => s.length), 0)
    const out = Array(rank).fill(1)
    for (const s of shapes) for (let i = 0, k = rank - s.length; i < s.length; i++, k++) {
      if (out[k] === 1) out[k] = s[i]
      else if (s[i] !== 1 && s[i] !== out[k]) this.fail(`sizes ${out[k]} and ${s[i]} do not broadcast`, ...shapes)
    }
    return out
  }

  // What axes leave when they are reduced: none named are all.
  fold(s, axes, keep) {
    axes = list(axes).map((a) => this.axis(a, s))
    const gone = (i) => !axes.length || axes.includes(i)
    return keep ? s.map((n, i) => gone(i) ? 1 : n) : s.filter((_, i) => !gone(i))
  }

  swap(s, a, b) {
    [a, b] = [this.axis(a, s), this.axis(b, s)]
    return s.with(a, s[b]).with(b, s[a])
  }

  // Sizes that a shape of n elements gets; one of −1 is found.
  filled(s, have) {
    const n = product(s.filter((v) => v >= 0))
    return s.map((v) => v < 0 ? Math.floor(have / n) : v)
  }
}
const fits = (s) => s.every((n) => Array.isArray(n) ? fits(n) : Number.isInteger(n) && n >= 0)

// What a rule of a call says, or why it says nothing: rules take it that the arguments are right, and refuse only what is easily told.
function known(rule, c) {
  try {
    const s = rule(c.self && shapeOf(c.self), c.o, c)
    if (fits(s)) return s
  } catch (e) {
    if (e instanceof Unknown) return e.why
    if (e === c.refusal) throw e
  }
  return `is not known, as ${c.name} was called wrongly, which the engine will tell`
}

// The type of a result, if the call is right.
function typed(as, c) {
  try {
    return as === 'real' ? floating(c.o.dtype ?? 'f32') : c.o.dtype ?? (as in types ? types[as](c) : as)
  } catch { /* it is not, which the engine tells */ }
}

/** The forms {shape, dtype} of the results of a call: of one whose row has no rule, none. */
export function infer(name, args, count) {
  const row = args[0]?.w && methods.Tensor[name] || methods.Weft[name]
  const c = new Call(name, row, args)
  const rules = row.rule.split(' ')
  const out = rules.map((rule) => {
    const [how, as = how === 'wide' ? 'all' : 'own'] = rule.split(':')
    return { shape: known(shapes[how], c), dtype: typed(as, c) }
  })
  if (rules.length > 1) return out
  const [{ shape, dtype }] = out
  return Array.from({ length: count }, (_, i) => ({ shape: Array.isArray(shape?.[0]) ? shape[i] : shape, dtype: Array.isArray(dtype) ? dtype[i] : dtype }))
}
