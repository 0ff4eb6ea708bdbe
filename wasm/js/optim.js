// What w.optim is: schedules of learning rates, clipping of gradients, and what makes optimisers (optimizers.js, which is loaded then).

import { Call, methods } from './methods.js'

const cosine = (a, b, at) => b + (a - b) * (1 + Math.cos(Math.PI * at)) / 2

// Numbers of steps, of which there must be some.
const positive = (name, steps) => {
  for (const what in steps) {
    if (!(steps[what] >= 1)) throw new RangeError(`${name}: ${what} is ${steps[what]}; it must be 1 or more`)
  }
}

/** Schedules: the learning rate of each step, from step 0 on, as a function of it. */
const schedules = {
  constant: (rate, factor, steps) => (t) => t < steps ? rate * factor : rate,
  stepDecay(rate, size, gamma = 0.1) {
    positive('stepDecay', { size })
    return (t) => rate * gamma ** Math.floor(t / size)
  },
  multiStep: (rate, milestones, gamma = 0.1) => (t) => rate * gamma ** milestones.filter((m) => m <= t).length,
  exponential: (rate, gamma) => (t) => rate * gamma ** t,
  linearRamp(rate, start, end, steps) {
    positive('linearRamp', { steps })
    return (t) => rate * (start + (end - start) * Math.min(t, steps) / steps)
  },
  polynomial(rate, steps, power = 1) {
    positive('polynomial', { steps })
    return (t) => rate * (1 - Math.min(t, steps) / steps) ** power
  },
  cosineAnnealing(rate, steps, least = 0) {
    positive('cosineAnnealing', { steps })
    return (t) => cosine(rate, least, t / steps)
  },
  cosineRestarts(rate, first, mult = 1, least = 0) {
    positive('cosineRestarts', { first, mult })
    return (t) => {
      let length = first
      for (; t >= length; length *= mult) t -= length
      return cosine(rate, least, t / length)
    }
  },
  oneCycle({ max, steps, warm = 0.3, linear, div = 25, finalDiv = 1e4, threePhase }) {
    positive('oneCycle', { steps })
    if (!(warm >= 0 && warm <= 1)) throw new RangeError(`oneCycle: warm is ${warm}; it must be a share of the steps, from 0 to 1`)
    const first = max / div
    const last = first / finalDiv
    const legs = threePhase ? [[warm * steps - 1, first, max], [2 * warm * steps - 2, max, first], [steps - 1, first, last]] : [[warm * steps - 1, first, max], [steps - 1, max, last]]
    return (t) => {
      const at = Math.min(t, steps - 1)
      let i = legs.findIndex(([end]) => at <= end)
      if (i < 0) i = legs.length - 1
      const start = i ? legs[i - 1][0] : 0
      const [end, from, to] = legs[i]
      const p = end === start ? 1 : (at - start) / (end - start) // 1 in a leg of no steps
      return linear ? from + (to - from) * p : cosine(from, to, p)
    }
  },
  cyclic({ base, max, up, down = up, halve, gamma = 1 }) {
    positive('cyclic', { up, down })
    const total = up + down
    const peak = up / total
    return (t) => {
      const cycle = Math.floor(1 + t / total)
      const x = 1 + t / total - cycle
      const height = x > peak ? (x - 1) / (peak - 1) : x / peak
      return base + height * (max - base) * (halve ? 2 ** (1 - cycle) : 1) * gamma ** t
    }
  },
  /** One schedule after the other, each for so many steps; the last one for ever. */
  chain(...parts) {
    const right = parts.length && parts.every((p) => Array.isArray(p) && typeof p[0] === 'function' && (p[1] === undefined || p[1] >= 0))
    if (!right) throw new TypeError('chain: it takes arrays, [schedule, steps]')
    return (t) => {
      for (const [schedule, steps] of parts) {
        if (steps === undefined || t < steps) return schedule(t)
        t -= steps
      }
      const [schedule, steps] = parts.at(-1)
      return schedule(t + steps)
    }
  },
  /** Lowers the rate when a metric has stopped improving: step(metric) gives the next one. */
  plateau(rate, { factor = 0.1, patience = 10, threshold = 1e-4, absolute, rising, cooldown = 0, least = 0, smallest = 1e-8 } = {}) {
    let best
    let bad = 0
    let resting = 0
    const better = (v) => {
      if (best === undefined) return !Number.isNaN(v) && v !== (rising ? -Infinity : Infinity)
      const margin = absolute ? threshold : threshold * best
      return rising ? v > best + margin : v < best - margin
    }
    return {
      get rate() { return rate },
      step(metric) {
        if (better(metric)) [best, bad] = [metric, 0]
        else bad++
        if (resting > 0) [resting, bad] = [resting - 1, 0]
        if (bad > patience) {
          const next = Math.max(rate * factor, least)
          if (rate - next > smallest) rate = next
          ;[resting, bad] = [cooldown, 0]
        }
        return rate
      },
    }
  },
}

const names = ['sgd', 'adam', 'adamW', 'adamax', 'nadam', 'radam', 'rmsProp', 'adagrad', 'adadelta', 'lamb', 'lars', 'muon', 'rprop', 'asgd', 'adafactor']

const clipping = {
  /** The length of all gradients together, computed in f32, or in f64 where one of them is. */
  norm(w, grads) {
    const dtype = grads.some((g) => g.dtype === 'f64') ? 'f64' : 'f32'
    return grads.length ? grads.map((g) => g.to(dtype).square().sum()).reduce((a, b) => a.add(b)).sqrt() : w.zeros([])
  },
  /** Gradients scaled down together, so that the length of all is at most max. */
  clipByNorm(w, grads, max) {
    const factor = clipping.norm(w, grads).add(1e-6).rdiv(max).minimum(1)
    return grads.map((g) => g.mul(factor.to(g.dtype)))
  },
  /** Gradients with each element within −max … max. */
  clipByValue: (w, grads, max) => grads.map((g) => g.clamp(-max, max)),
}

/** w.optim: what makes optimisers, of a model or an array of tensors; schedules; and clipping of gradients. */
export function optim(w) {
  const out = { ...schedules }
  for (const [name, row] of Object.entries(methods.Optim)) {
    out[name] = (...args) => {
      new Call(name, w).check(row, args)
      return clipping[name] ? clipping[name](w, ...args) : schedules[name](...args)
    }
  }
  for (const name of names) out[name] = (model, options) => w.watch(name, async () => (await import('./optimizers.js')).make(w, name, model, options))
  /** An optimiser with a rule of one's own: it gives the new value of a parameter. */
  out.custom = (model, rule, options) => w.watch('custom', async () => {
    if (typeof rule !== 'function') throw new TypeError('custom: the rule is no function; it takes {parameter, gradient, rate, count, index, slot, keep} and gives a tensor')
    return (await import('./optimizers.js')).make(w, 'custom', model, options, rule)
  })
  return out
}
