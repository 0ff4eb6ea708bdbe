// Sizes that vary: integers that a captured function is built with and gets when it runs.

/** A sum of a number and multiples of variables: where a part begins, how many elements of an axis count. */
export class Size {
  constructor(w, base, terms) {
    this.w = w
    this.base = base
    this.terms = terms // {name, low, high, value, times}; value null: it has none yet
  }

  /** The form in which it crosses to the engine. */
  get wire() { return ['size', this.base, ...this.terms.flatMap((t) => [t.name, t.low, t.high, t.value, t.times])] }

  /** This and another size, or a number, together. */
  plus(n) { return this.#sum(n, 1) }

  /** This less another size, or a number. */
  minus(n) { return this.#sum(n, -1) }

  /** A multiple. */
  times(k) { return new Size(this.w, this.base * k, this.terms.map((t) => ({ ...t, times: t.times * k }))) }

  /** The variable with a value. */
  bind(value) {
    const [t] = this.terms
    if (this.terms.length !== 1 || this.base !== 0 || t.times !== 1) throw new TypeError('bind: this is an expression; bind the variables that it is made of')
    if (value < t.low || value > t.high) throw new RangeError(`bind: the variable ${t.name} is from ${t.low} to ${t.high}, and ${value} is not`)
    return new Size(this.w, 0, [{ ...t, value }])
  }

  toString() {
    const one = (t) => `${t.times === 1 ? '' : `${t.times}·`}${t.name}${t.value === null ? '' : `=${t.value}`}`
    return [...this.terms.map(one), ...(this.base || !this.terms.length ? [this.base] : [])].join(' + ')
  }

  #sum(n, sign) {
    const other = typeof n === 'number' ? { base: n, terms: [] } : n
    const terms = this.terms.map((t) => ({ ...t }))
    for (const t of other.terms) {
      const same = terms.find((u) => u.name === t.name && u.low === t.low && u.high === t.high)
      if (same) Object.assign(same, { times: same.times + sign * t.times, value: same.value ?? t.value })
      else terms.push({ ...t, times: sign * t.times })
    }
    return new Size(this.w, this.base + sign * other.base, terms.filter((t) => t.times !== 0))
  }
}
