// Optimisers, as package nn has them.

import { isPlain, isTensor, leaves } from './tree.js'

/** An optimiser changes the parameters of a model against the gradients of a loss. Its rate lies on the device: no step needs a
 *  kernel that the one before it did not have. */
export class Optimizer {
  constructor(w, model, params, rate, slots, rule) {
    Object.assign(this, { params, rule })
    this.model = leaves(model).map((l) => l.tensor)
    const one = params[0].to('f32').sum() // which is never computed, but says where the parameters lie
    this.rate = w.fullLike(one, rate).own()
    this.count = w.zerosLike(one).own()
    this.slots = Object.fromEntries(slots.map((slot) => {
      const [name, like] = Array.isArray(slot) ? slot : [slot, (p) => p]
      return [name, params.map((p) => w.zerosLike(like(p)).own())]
    }))
    this.types = params.map(() => 'f32')
    this.w = w
  }

  /** Changes the learning rate of the steps that follow, captured ones among them. */
  setRate(rate) {
    right('setRate', 'rate', rate)
    if (!Number.isFinite(rate)) throw new RangeError(`setRate: rate is ${rate}; it must be a finite number`)
    return this.w.watch('setRate', async () => { await this.rate.assign(this.w.tensor(new Float32Array([rate]), []).shardLike(this.rate)).realize() })
  }

  /** Takes one step against the gradients of a loss, a scalar: all is computed together. */
  step(loss) {
    return this.w.watch('step', () => {
      this.update(loss)
      return this.realize(loss)
    })
  }

  /** step without computing: for captured functions, which compute all that they assign. */
  update(loss) {
    if (!isTensor(loss)) throw new TypeError(`update: the loss is ${kindOf(loss)}; it must be a tensor of one number${Array.isArray(loss) ? '; apply takes gradients' : ''}`)
    const { shape, dtype } = loss.form
    if (!/f/.test(dtype)) throw new TypeError(`update: ${dtype}: only floats have a gradient`)
    if (Array.isArray(shape) && shape.some((n) => n !== 1)) throw new RangeError(`update: the loss has the shape [${shape.join(', ')}]; make it one number first: loss.mean()`)
    this.apply(this.w.record('grad', this.params.length, [loss, this.params, null, true], undefined, this.params.map((p) => p.form)))
  }

  /** Assigns new values to the parameters, given a gradient for each. */
  apply(grads) {
    if (!Array.isArray(grads)) throw new TypeError(`apply: the gradients are ${kindOf(grads)}; they must be an array of tensors`)
    if (grads.length !== this.params.length) throw new RangeError(`apply: ${grads.length} gradients for ${this.params.length} parameters`)
    grads.forEach((g, i) => {
      if (!isTensor(g)) throw new TypeError(`apply: gradient ${i} is ${kindOf(g)}; it must be a tensor`)
      const [a, b] = [g, this.params[i]].map((t) => t.form.shape)
      if (Array.isArray(a) && Array.isArray(b) && `${a}` !== `${b}`) throw new RangeError(`apply: gradient ${i} has the shape [${a.join(', ')}], and its parameter [${b.join(', ')}]`)
    })
    this.w.standing(this.apply, () => this.#assign(grads))
  }

  #assign(grads) {
    this.count.assign(this.count.add(1))
    const shared = {} // by type: what all parameters of one have in common
    const values = this.params.map((p, i) => {
      const type = this.types[i]
      const slot = (name) => this.slots[name][i]
      const keep = (name, v, kind = type) => {
        const kept = as(v, kind)
        slot(name).assign(kept)
        return kept
      }
      const { rate, count, once } = shared[type] ??= this.#shared(type)
      return as(this.rule({ p, g: grads[i], rate, count, once, slot, keep, index: i, shape: this.shapes?.[i] }), type)
    })
    this.params.forEach((p, i) => p.assign(values[i])) // all at once: a rule may read any parameter as it was
  }

  // What the rule gets for all parameters of a type. Narrow floats cannot count far. once notes a scalar that is the same for each, under a name.
  #shared(type) {
    const noted = {}
    return { rate: as(this.rate, type), count: as(this.count, type === 'f64' ? type : 'f32'), once: (name, f) => noted[name] ??= f() }
  }

  /** The gradients that backward has added up for the parameters, zeros where it reached one not at all; they are forgotten there. */
  collected() {
    return this.params.map((p) => {
      const g = p.gradient() ?? this.w.zerosLike(p)
      p.clearGradient()
      return g
    })
  }

  /** Computes what update or apply assigned, together with other tensors. */
  realize(...others) { return this.w.watch('realize', () => this.w.realize(...others, ...this.model, this.count, ...Object.values(this.slots).flat())) }
}

const kindOf = (v) => isTensor(v) ? 'a tensor' : Array.isArray(v) ? 'an array' : v === undefined ? 'missing' : v === null ? 'null' : `of type ${typeof v}`
const as = (t, type) => t.dtype === type ? t : t.to(type)
const mix = (old, fresh, share) => old.mul(share).add(fresh.mul(1 - share))
const unbias = (c, beta) => c.once(`unbias ${beta}`, () => c.count.mul(Math.log(beta)).expm1().neg()) // 1 − βᵗ
const rateOf = (c, beta) => c.once('rate', () => c.rate.div(unbias(c, beta))) // of a mean that is not unbiased yet
const decayed = (c, { decay = 0, maximize }) => {
  const g = maximize ? c.g.neg() : c.g
  return decay ? g.add(c.p.mul(decay)) : g
}
// scale·a/b, or 1 where one of them is 0.
const trust = (a, b, scale = 1) => {
  const known = a.gt(0).logicalAnd(b.gt(0))
  return known.where(a.mul(scale).div(known.where(b, 1)), 1)
}
// The parameter and the gradient with the weight decay in one of them.
const begin = (c, o) => o.apart && o.decay ? [c.p.sub(c.p.mul(c.once('decay', () => c.rate.mul(o.decay)))), decayed(c, { ...o, decay: 0 })] : [c.p, decayed(c, o)]

// By name: the rate that is usual, the slots, and the rule, which gives a parameter's new value. Each is a function of the options.
const rules = {
  sgd: ({ momentum = 0, dampening = 0, nesterov, ...o }) => ({
    rate: 1e-3, slots: momentum ? ['momentum'] : [], rule(c) {
      let g = decayed(c, o)
      if (momentum) {
        let m = c.slot('momentum').mul(momentum).add(g.mul(1 - dampening))
        if (dampening) m = c.count.eq(1).where(g, m) // the first step begins with the whole gradient
        c.keep('momentum', m)
        g = nesterov ? g.add(m.mul(momentum)) : m
      }
      return c.p.sub(g.mul(c.rate))
    },
  }),
  adam: ({ beta1 = 0.9, beta2 = 0.999, eps = 1e-8, amsgrad, ...o }) => ({
    rate: 1e-3, slots: ['first', 'second', ...amsgrad ? ['largest'] : []], rule(c) {
      const [p, g] = begin(c, o)
      const first = c.keep('first', mix(c.slot('first'), g, beta1))
      let second = c.keep('second', mix(c.slot('second'), g.mul(g), beta2))
      if (amsgrad) second = c.keep('largest', c.slot('largest').maximum(second))
      const root = second.sqrt().div(c.once('root', () => unbias(c, beta2).sqrt())).add(eps)
      return p.sub(first.mul(rateOf(c, beta1)).div(root))
    },
  }),
  adamW: ({ decay = 0.01, ...o }) => rules.adam({ decay, ...o, apart: true }),
  adamax: ({ beta1 = 0.9, beta2 = 0.999, eps = 1e-8, ...o }) => ({
    rate: 2e-3, slots: ['first', 'largest'], rule(c) {
      const [p, g] = begin(c, o)
      const first = c.keep('first', mix(c.slot('first'), g, beta1))
      const largest = c.keep('largest', c.slot('largest').mul(beta2).maximum(g.abs().add(eps)))
      return p.sub(first.mul(rateOf(c, beta1)).div(largest))
    },
  }),
  nadam: ({ beta1 = 0.9, beta2 = 0.999, eps = 1e-8, momentumDecay = 0.004, ...o }) => ({
    rate: 2e-3, slots: ['first', 'second', ['products', (p) => p.to('f32')]], rule(c) {
      const [p, g] = begin(c, o)
      const momentum = (t) => t.mul(momentumDecay * Math.log(0.96)).exp().mul(-0.5).add(1).mul(beta1)
      const [now, next] = [momentum(c.count), momentum(c.count.add(1))]
      const product = c.keep('products', c.slot('products').add(now.log()), 'f32').exp()
      const first = c.keep('first', mix(c.slot('first'), g, beta1))
      const second = c.keep('second', mix(c.slot('second'), g.square(), beta2))
      const root = second.div(unbias(c, beta2)).sqrt().add(eps)
      const ahead = g.mul(now.rsub(1)).div(product.rsub(1)).add(first.mul(next).div(product.mul(next).rsub(1)))
      return p.sub(ahead.mul(c.rate).div(root))
    },
  }),
  radam: ({ beta1 = 0.9, beta2 = 0.999, eps = 1e-8, ...o }) => ({
    rate: 1e-3, slots: ['first', 'second'], rule(c) {
      const limit = 2 / (1 - beta2) - 1
      const [p, g] = begin(c, o)
      const first = c.keep('first', mix(c.slot('first'), g, beta1))
      const second = c.keep('second', mix(c.slot('second'), g.square(), beta2))
      const bias = unbias(c, beta2)
      const length = c.count.mul(bias.rsub(1)).mul(2).div(bias).rsub(limit)
      const known = length.gt(5)
      const l = known.where(length, limit)
      const share = l.sub(4).mul(l.sub(2)).mul(limit).div(l.mul((limit - 4) * (limit - 2)))
      const factor = known.where(share.mul(bias).sqrt().div(second.sqrt().add(eps)), 1)
      return p.sub(first.mul(rateOf(c, beta1)).mul(factor))
    },
  }),
  rmsProp: ({ alpha = 0.99, eps = 1e-8, momentum = 0, centered, ...o }) => ({
    rate: 0.01, slots: ['square', ...centered ? ['mean'] : [], ...momentum ? ['momentum'] : []], rule(c) {
      const g = decayed(c, o)
      let size = c.keep('square', mix(c.slot('square'), g.square(), alpha))
      if (centered) size = size.sub(c.keep('mean', mix(c.slot('mean'), g, alpha)).square())
      let step = g.div(size.sqrt().add(eps))
      if (momentum) step = c.keep('momentum', c.slot('momentum').mul(momentum).add(step))
      return c.p.sub(step.mul(c.rate))
    },
  }),
  adagrad: ({ rateDecay = 0, start = 0, eps = 1e-10, ...o }) => ({
    rate: 0.01, slots: ['sum'], rule(c) {
      const g = decayed(c, o)
      const before = start ? c.count.eq(1).where(start, c.slot('sum')) : c.slot('sum')
      const sum = c.keep('sum', before.add(g.square()))
      const rate = c.rate.div(c.count.sub(1).mul(rateDecay).add(1))
      return c.p.sub(g.mul(rate).div(sum.sqrt().add(eps)))
    },
  }),
  adadelta: ({ rho = 0.9, eps = 1e-6, ...o }) => ({
    rate: 1, slots: ['square', 'steps'], rule(c) {
      const g = decayed(c, o)
      const square = c.keep('square', mix(c.slot('square'), g.square(), rho))
      const step = c.slot('steps').add(eps).sqrt().div(square.add(eps).sqrt()).mul(g)
      c.keep('steps', mix(c.slot('steps'), step.square(), rho))
      return c.p.sub(step.mul(c.rate))
    },
  }),
  lamb: ({ beta1 = 0.9, beta2 = 0.999, eps = 1e-6, decay = 0, maximize }) => ({
    rate: 1e-3, slots: ['first', 'second'], rule(c) {
      const g = decayed(c, { maximize })
      const first = c.keep('first', mix(c.slot('first'), g, beta1)).div(unbias(c, beta1))
      const second = c.keep('second', mix(c.slot('second'), g.square(), beta2)).div(unbias(c, beta2))
      let step = first.div(second.sqrt().add(eps))
      if (decay) step = step.add(c.p.mul(decay))
      return c.p.sub(step.mul(c.rate.mul(trust(c.p.norm(2), step.norm(2)))))
    },
  }),
  lars: ({ momentum = 0.9, decay = 1e-4, trust: scale = 1e-3, nesterov, maximize }) => ({
    rate: 1e-3, slots: momentum ? ['momentum'] : [], rule(c) {
      const g = decayed(c, { maximize })
      const [size, slope] = [c.p.norm(2), g.norm(2)]
      const local = trust(size, slope.gt(0).where(slope.add(size.mul(decay)), 0), scale)
      const step = g.add(c.p.mul(decay)).mul(c.rate.mul(local))
      if (!momentum) return c.p.sub(step)
      const m = c.keep('momentum', c.slot('momentum').mul(momentum).add(step))
      return c.p.sub(nesterov ? step.add(m.mul(momentum)) : m)
    },
  }),
  rprop: ({ shrink = 0.5, grow = 1.2, least = 1e-6, most = 50, maximize }) => ({
    rate: 0.01, slots: ['gradient', 'step'], rule(c) {
      const g = decayed(c, { maximize })
      const turn = g.mul(c.slot('gradient')).sign()
      const factor = turn.gt(0).where(grow, turn.lt(0).where(shrink, 1))
      const step = c.keep('step', c.count.eq(1).where(c.rate, c.slot('step')).mul(factor).clamp(least, most))
      return c.p.sub(c.keep('gradient', turn.lt(0).where(0, g)).sign().mul(step))
    },
  }),
  asgd: ({ shrink = 1e-4, power = 0.75, start = 1e6, ...o }) => ({
    rate: 0.01, slots: ['mean'], rule(c) {
      const before = c.count.sub(1)
      const rate = c.once('falling', () => c.rate.mul(before.mul(c.rate).mul(shrink).add(1).pow(-power)))
      const p = c.p.mul(rate.mul(-shrink).add(1)).sub(decayed(c, o).mul(rate))
      const mean = c.slot('mean')
      c.keep('mean', mean.add(p.sub(mean).div(before.sub(start).maximum(1))))
      return p
    },
  }),
  adafactor: ({ power = -0.8, eps, least = 1e-3, clip = 1, decay = 0, maximize }) => ({
    rate: 0.01, slots: [['rows', (p) => p.shape.length < 2 ? p : p.mean({ axis: -1, keep: true })], ['columns', (p) => p.shape.length < 2 ? p.sum() : p.mean({ axis: -2, keep: true })]], rule(c) {
      const g = decayed(c, { maximize })
      const e = eps ?? { f64: 2 ** -52, f16: 2 ** -10, bf16: 2 ** -7 }[c.p.dtype] ?? 2 ** -23
      const share = c.once('share', () => c.count.pow(power))
      const mixed = (name, v) => c.keep(name, c.slot(name).lerp(v, share))
      let squares
      if (c.p.shape.length < 2) squares = mixed('rows', g.square())
      else {
        const [rows, columns] = [mixed('rows', g.square().mean({ axis: -1, keep: true })), mixed('columns', g.square().mean({ axis: -2, keep: true }))]
        squares = rows.matmul(columns).div(rows.mean({ axis: -2, keep: true }).clamp(e, null))
      }
      const size = (x) => x.square().mean().sqrt()
      const step = squares.clamp(e * e, null).rsqrt().mul(g)
      const scale = c.rate.minimum(c.count.rsqrt()).mul(size(c.p).maximum(least)).div(size(step).div(clip).maximum(1))
      return c.p.mul(c.rate.mul(-decay).add(1)).sub(step.mul(scale))
    },
  }),
  custom: ({ slots = [] }, rule) => ({
    rate: 1e-3, slots, rule(c) {
      const there = (f) => (name, ...rest) => {
        if (!slots.includes(name)) throw new RangeError(`custom: the optimiser was made without a slot "${name}"; slots are ${slots.join(', ') || 'none'}`)
        return f(name, ...rest)
      }
      const value = rule({ parameter: c.p, gradient: c.g, rate: c.rate, count: c.count, index: c.index, slot: there(c.slot), keep: there(c.keep) })
      if (!isTensor(value)) throw new TypeError(`custom: the rule gave ${kindOf(value)}; it must give a tensor, the new value of the parameter`)
      return value
    },
  }),
  muon: ({ decay = 0.1, momentum = 0.95, nesterov = true, newton = [3.4445, -4.775, 2.0315], eps = 1e-7, iterations = 5, matchAdam }) => ({
    rate: 1e-3, slots: ['momentum'], matrices: true, rule(c) {
      let m = c.keep('momentum', mix(c.slot('momentum'), c.g, momentum))
      if (nesterov) m = mix(m, c.g, momentum)
      const [rows, columns] = c.shape
      const scale = matchAdam ? 0.2 * Math.sqrt(Math.max(rows, columns)) : Math.sqrt(Math.max(1, rows / columns))
      let x = rows > columns ? m.t() : m
      x = x.div(x.norm(2).maximum(eps))
      for (let i = 0; i < iterations; i++) { // brings all singular values near 1
        const a = x.matmul(x.t())
        x = x.mul(newton[0]).add(a.mul(newton[1]).add(a.matmul(a).mul(newton[2])).matmul(x))
      }
      const step = (rows > columns ? x.t() : x).mul(c.rate.mul(scale))
      return c.p.sub(c.p.mul(c.rate.mul(decay))).sub(step)
    },
  }),
}

const known = { // options of each, which misspelt ones are told by
  sgd: 'momentum dampening nesterov decay maximize', adam: 'beta1 beta2 eps amsgrad decay maximize', adamax: 'beta1 beta2 eps decay apart maximize',
  nadam: 'beta1 beta2 eps momentumDecay decay apart maximize', radam: 'beta1 beta2 eps decay apart maximize',
  rmsProp: 'alpha eps momentum centered decay maximize', adagrad: 'rateDecay start eps decay maximize', adadelta: 'rho eps decay maximize',
  lamb: 'beta1 beta2 eps decay maximize', lars: 'momentum decay trust nesterov maximize', custom: 'slots',
  rprop: 'shrink grow least most maximize', asgd: 'shrink power start decay maximize', adafactor: 'power eps least clip decay maximize',
  muon: 'decay momentum nesterov newton eps iterations matchAdam',
}
known.adamW = known.adam
const free = ['dampening', 'power', 'most'] // any number

const flags = /^(amsgrad|apart|centered|matchAdam|maximize|nesterov)$/

// Refuses what an option cannot be.
function right(name, key, v) {
  if (/^(newton|slots)$/.test(key)) return
  const flag = flags.test(key)
  if (flag ? typeof v === 'boolean' : typeof v === 'number') return
  throw new TypeError(`${name}: ${key} is ${typeof v === 'string' ? JSON.stringify(v) : v}; it must be ${flag ? 'true or false' : 'a number'}`)
}

/** Makes the optimiser of a name for a model. */
export async function make(w, name, model, given = {}, rule) {
  if (!isPlain(given)) throw new TypeError(`${name}: the options are ${kindOf(given)}; they must be an object with any of rate, ${known[name].replaceAll(' ', ', ')}`)
  const { rate, ...options } = given
  for (const key of Object.keys(options)) {
    if (!known[name].split(' ').includes(key)) throw new TypeError(`${name}: there is no option "${key}"; there are rate, ${known[name].replaceAll(' ', ', ')}`)
  }
  for (const [key, v] of Object.entries({ rate, ...options })) {
    if (v !== undefined) right(name, key, v)
    if (typeof v !== 'number' || free.includes(key)) continue
    const below = key.startsWith('beta') || key === 'alpha' || key === 'rho' ? 1 : Infinity
    if (!(v >= 0 && v < below)) throw new RangeError(`${name}: ${key} is ${v}; it must be ${v >= 0 && below === 1 ? 'less than 1' : 'a finite number, not negative'}`)
  }
  if (options.nesterov && !(options.momentum ?? name !== 'sgd')) throw new RangeError(`${name}: nesterov looks ahead along the momentum, and there is none`)
  const params = leaves(model).filter((l) => !l.state).map((l) => l.tensor)
  if (!params.length) throw new TypeError(`${name}: nothing to train: the model holds no tensors`)
  const r = rules[name](options, rule)
  for (const { tensor } of leaves(model)) tensor.own()
  const o = w.standing(make, () => new Optimizer(w, model, params, rate ?? r.rate, r.slots, r.rule))
  await w.realize(...o.model, o.rate, o.count, ...Object.values(o.slots).flat())
  o.types = params.map((p) => p.dtype)
  const no = o.types.findIndex((d) => !/^b?f\d/.test(d))
  if (no >= 0) throw new TypeError(`${name}: tensor ${no} of the model is ${o.types[no]}, and only floats are trained`)
  if (!r.matrices) return o
  o.shapes = params.map((p) => p.shape)
  const bad = o.shapes.find((s) => s.length !== 2)
  if (bad) throw new RangeError(`${name}: it trains matrices only, not a parameter of shape [${bad.join(', ')}]; give the others to adamW`)
  return o
}
