// The plans of a program, from weft viz or from the program itself: a server on this machine.

export class Served {
  /** One, where the page came from such a server; else null. */
  static here() {
    const at = document.querySelector('meta[name="weft-plans"]')?.content
    return at ? new Served(at) : null
  }

  constructor(at) {
    this.at = at
    this.left = ''
  }

  async get(path) {
    const response = await fetch(this.at + path)
    const told = await response.json().catch(() => ({ error: `the program answers ${response.status}` }))
    if (told.error) throw new Error(told.error)
    return told
  }

  /** The plans: {title}. */
  async plans() {
    const { plans, left } = await this.get('')
    this.left = left ?? ''
    return plans
  }

  /** One in the form of inspect, with the chains that there are. */
  plan(i) { return this.get(`/${i}`) }

  chain(i, id) { return this.get(`/${i}/${encodeURIComponent(id)}`) }
}
