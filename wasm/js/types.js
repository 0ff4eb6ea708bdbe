// Rules of element types: what type the results of a method have, by the names that methods.txt gives the rules. They take a call of infer.js.

import { sizes } from './axes.js'
import { isBlob, typeOf } from './wire.js'

const isFloat = (d) => /f/.test(d)
const bits = (d) => +/\d+/.exec(d)[0]

// The type in which two types meet.
function promote(a, b) {
  if (a === b || b === 'bool') return a
  if (a === 'bool') return b
  if (isFloat(a) && isFloat(b)) return a[1] === '8' && b[1] === '8' ? 'f16' : bits(a) === bits(b) ? 'f32' : bits(a) > bits(b) ? a : b
  if (isFloat(a) || isFloat(b)) return isFloat(a) ? a : b
  if (a[0] === b[0]) return bits(a) > bits(b) ? a : b
  const [i, u] = a[0] === 'i' ? [a, b] : [b, a]
  return u === 'u64' ? 'f32' : `i${Math.max(bits(i), 2 * bits(u))}`
}

export const floating = (d) => isFloat(d) ? d : 'f32'
const integral = (d) => d === 'bool' ? 'i32' : d
const summed = (d) => /^(bool|i8|i16)$/.test(d) ? 'i32' : /^u(8|16)$/.test(d) ? 'u32' : d

// The type of a number alone, and of a tensor with it.
const whole = (v) => Number.isInteger(v) && Math.abs(v) <= 2 ** 53 && !Object.is(v, -0)
const natural = (v) => typeof v === 'boolean' ? 'bool' : !whole(v) ? 'f32' : (v | 0) === v ? 'i32' : 'i64'
const meet = (d, v) => typeof v === 'boolean' || isFloat(d) ? d : !whole(v) ? 'f32' : d === 'bool' ? natural(v) : d

// The type of several operands: the tensors first.
function common(list) {
  const types = list.filter((v) => v.w).map((t) => t.form.dtype)
  const numbers = list.filter((v) => !v.w)
  return numbers.reduce(meet, types.length ? types.reduce(promote) : natural(numbers.shift()))
}
const everything = (c) => common(c.operands)
const tensors = (c) => common((c.o.tensors ?? c.o.values).flat())
const averaged = (c) => common([...c.operands, ...c.o.weight ? [c.o.weight] : []])
const weighed = (c, d) => c.o.weight ? promote(d, c.o.weight.form.dtype) : d
const own = (c) => c.self.form.dtype
const verdict = (d) => d === 'u8' ? d : 'bool'
const meets = (d, v) => v.w ? promote(d, v.form.dtype) : meet(d, v)

/** The rules; a name that is none is a type itself. */
export const types = {
  own,
  verdict: (c) => verdict(own(c)),
  counted: (c) => integral(own(c)),
  dropped: (c) => c.o.p === 0 ? own(c) : floating(own(c)),
  all: everything,
  float: (c) => floating(everything(c)),
  floated: (c) => floating(own(c)),
  resized: (c) => /^nearest/.test(c.o.mode ?? 'nearest') ? own(c) : floating(own(c)),
  limited: (c) => [c.o.low ?? -1, c.o.high ?? 1].every(Number.isInteger) && own(c) !== 'bool' ? own(c) : floating(own(c)),
  moments: (c) => bits(floating(own(c))) < 32 ? 'f32' : floating(own(c)),
  int: (c) => integral(everything(c)),
  sum: (c) => summed(own(c)),
  x: (c) => c.o.x.form.dtype,
  choice: (c) => common([c.o.x, c.o.y]),
  scaled: (c) => promote(own(c), meets(common([c.o.a, c.o.b]), c.o.value ?? 1)),
  ratio: (c) => promote(own(c), meets(floating(common([c.o.a, c.o.b])), c.o.value ?? 1)),
  weighed: (c) => c.o.weights ? c.o.weights.form.dtype === 'f32' ? 'f32' : 'f64' : 'i32',
  loss: (c) => {
    const d = averaged(c)
    const { reduction } = c.o
    if (reduction === 'none' || reduction === 'batchMean' && sizes(c.operands).every((s) => !s.length)) return d
    return reduction === 'sum' ? summed(d) : floating(d)
  },
  lossFloat: (c) => weighed(c, floating(everything(c))),
  kl: (c) => weighed(c, promote(floating(c.o.target.form.dtype), own(c))),
  mixed: (c) => {
    const target = c.o.target.form.dtype
    return weighed(c, promote(floating(own(c)), c.o.full ? floating(target) : target))
  },
  strips: (c) => c.o.x ? promote(floating(own(c)), c.o.x.form.dtype) : floating(own(c)),
  cov: (c) => c.o.weights ? promote(floating(own(c)), c.o.weights.form.dtype) : floating(own(c)),
  matrixNorm: (c) => /row|column/i.test(c.o.kind) ? summed(own(c)) : floating(own(c)),
  gaussian: (c) => weighed(c, promote(promote(own(c), c.o.target.form.dtype), floating(c.o.variance.form.dtype))),
  pair: (c) => weighed(c, promote(floating(own(c)), floating(c.o.other.form.dtype))),
  triplet: (c) => {
    const [x, p, n] = c.operands.map((t) => t.form.dtype)
    const d = promote(floating(promote(x, p)), floating(promote(x, n)))
    return weighed(c, c.o.swap ? promote(d, floating(promote(p, n))) : d)
  },
  hinge: (c) => weighed(c, floating(own(c))),
  like: (c) => floating(c.o.x.form.dtype),
  merged: (c) => {
    const at = Math.max(c.o.values.findIndex((v) => v.w), 0)
    const first = c.o.values[at]
    return c.o.values.toSpliced(at, 1).reduce(meets, first.w ? first.form.dtype : natural(first))
  },
  floats: (c) => c.operands.map((t) => floating(t.form.dtype)).reduce(promote),
  elements: ({ o: { values } }) => values.array ? values.type : isBlob(values) ? 'u8' : typeOf(values),
  first: (c) => tensors(c),
  each: (c) => c.o.tensors.map((t) => t.form.dtype),
  ws: (c) => c.o.ws.map((t) => t.form.dtype),
  number: (c) => c.o.value.terms ? 'i32' : natural(c.o.value),
  q: (c) => floating(c.o.q.form.dtype),
  recurrent: (c) => common([c.o.x, ...c.o.weights]),
  folded: (c) => {
    const [left, right] = c.o.formula.split('->').map((side) => side.match(/\w+/g) ?? [])
    const how = c.o.how ?? 'sum'
    if (left.every((n) => right.includes(n))) return own(c)
    return /^a/.test(how) ? verdict(own(c)) : /^m[ai]/.test(how) ? own(c) : /m$|d$/.test(how) ? summed(own(c)) : floating(own(c))
  },
  theta: (c) => c.o.theta.form.dtype,
  parts: (c) => promote(c.o.re.form.dtype, c.o.im.form.dtype),
}
