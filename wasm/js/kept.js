// Files of models from an address: with news of how much has come, going on where a connection broke, by their hash if it is given, and kept in the
// browser's storage if that is asked for. It refuses to know what the files mean.
//
// Kept is a file in parts, each an entry of the Cache of the page's origin, so that what came before a page was closed need not come again. The entry
// 'about' of a file says what it was: { address, tag, total, parts: sizes, whole }.

import { reach } from './start.js'

const STORE = 'weft-models'
const PART = 8 << 20 // bytes
const TRIES = 5 // in a row that bring nothing
const PAUSE = 250 // ms before the second try; each time twice as long

const place = (address, part) => `https://kept.invalid/${encodeURIComponent(address)}/${part}`
const mebibytes = (n) => `${(n / (1 << 20)).toFixed(1)} MB`

function storage() {
  if (globalThis.caches) return caches.open(STORE)
  throw new Error('cache: there is no storage for files here; pages have one that come by https or from localhost')
}

/** A file of the storage: its bytes so far, and what is known of it. */
class Kept {
  static async open(address) {
    const store = await storage()
    const about = await (await store.match(place(address, 'about')))?.json()
    return new Kept(store, address, about)
  }

  constructor(store, address, about) {
    Object.assign(this, { store, address, about: about ?? { address, parts: [] } })
  }

  get bytes() { return this.about.parts.reduce((sum, n) => sum + n, 0) }

  /** The bytes that are there. What another tab has cleared meanwhile ends them. */
  async read() {
    const pieces = []
    for (const [i, size] of this.about.parts.entries()) {
      const part = await (await this.store.match(place(this.address, i)))?.arrayBuffer()
      if (part?.byteLength !== size) {
        await this.restart()
        return []
      }
      pieces.push(new Uint8Array(part))
    }
    return pieces
  }

  /** Adds a part. */
  async add(bytes) {
    const { parts } = this.about
    await this.#put(parts.length, bytes)
    parts.push(bytes.length)
    await this.note()
  }

  note() { return this.#put('about', JSON.stringify(this.about)) }

  async restart() {
    await forget(this.store, this.about)
    this.about = { address: this.address, parts: [] }
  }

  async #put(part, body) {
    try {
      await this.store.put(place(this.address, part), new Response(body))
    } catch (e) {
      if (e.name !== 'QuotaExceededError') throw e
      throw new Error(`cache: the browser's storage has no room for ${this.address}; w.clearKept() gives back what models take, and without cache the file is not kept`, { cause: e })
    }
  }
}

async function forget(store, { address, parts }) {
  await store.delete(place(address, 'about')) // first: what has none is nothing
  for (const i of parts.keys()) await store.delete(place(address, i))
}

async function list(store) {
  const found = []
  for (const { url } of await store.keys()) {
    if (url.endsWith('/about')) found.push(await (await store.match(url)).json())
  }
  return found
}

/** What is kept: { bytes, files: [{ address, bytes, whole }] }. */
export async function kept() {
  if (!globalThis.caches || !await caches.has(STORE)) return { bytes: 0, files: [] }
  const files = (await list(await storage())).map(({ address, parts, whole = false }) => ({ address, bytes: parts.reduce((sum, n) => sum + n, 0), whole }))
  return { bytes: files.reduce((sum, f) => sum + f.bytes, 0), files }
}

/** Forgets a file that is kept, or all. */
export async function clearKept(address) {
  if (!globalThis.caches) return
  if (address === undefined) {
    await caches.delete(STORE)
    return
  }
  const store = await storage(), at = absolute(address)
  for (const about of await list(store)) if (about.address === at) await forget(store, about)
}

const absolute = (address) => new URL(address, globalThis.document?.baseURI ?? globalThis.location?.href).href

// What tells one state of a file from another.
const tagOf = ({ headers }) => headers.get('etag') ?? headers.get('last-modified') ?? undefined

// How long the whole file is, where that is told: compressed answers tell the length of something else.
function totalOf({ headers, status }) {
  if (headers.get('content-encoding')) return undefined
  if (status === 206) return Number(/\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1]) || undefined
  return Number(headers.get('content-length')) || undefined
}

/** The bytes of the file at an address. */
export class Loading {
  pieces = []
  loaded = 0
  total
  tag
  #part = [] // pieces that are not kept yet
  #size = 0

  /** first is an answer that is there already: what it breaks off with is the end. */
  constructor(address, { onprogress, signal, cache, want, as, name, first }) {
    Object.assign(this, { address, onprogress, signal, cache, want, as, name, first })
  }

  async bytes() {
    if (this.cache) await this.#recall()
    if (!this.done) await this.#load()
    const all = await this.#joined()
    try {
      await verified(all, this.name, this.want, this.as)
    } catch (e) {
      await this.store?.restart()
      throw e
    }
    if (this.store && !this.store.about.whole) {
      this.store.about.whole = true
      await this.store.note()
    }
    return all
  }

  // Takes what is kept.
  async #recall() {
    this.store = await Kept.open(absolute(this.address))
    this.pieces = await this.store.read()
    this.loaded = this.pieces.reduce((sum, p) => sum + p.length, 0);
    ({ tag: this.tag, total: this.total, whole: this.done = false } = this.store.about)
    if (this.loaded) this.#tell()
  }

  #tell() {
    try {
      this.onprogress?.({ file: this.name, loaded: this.loaded, total: Math.max(this.total ?? 0, this.loaded) })
    } catch (e) { // the page's own, for which nothing is asked again
      throw Object.assign(new Error(`${this.as}: onprogress has thrown: ${e?.message ?? e}`, { cause: e }), { final: true })
    }
  }

  async #load() {
    for (let failed = 0; ;) {
      this.signal?.throwIfAborted()
      const before = this.loaded
      try {
        await this.#take(this.first ?? await this.#ask())
        return
      } catch (e) {
        if (e.final || this.first || this.signal?.aborted) throw e
        if (this.loaded > before) failed = 0
        if (++failed >= TRIES) {
          await this.#keep(true)
          throw new Error(`${this.as}: ${this.name}: the connection broke at ${mebibytes(this.loaded)} of ${this.total ? mebibytes(this.total) : 'an unknown size'}, and ${TRIES} attempts ` +
            `brought nothing more (${e.message})${this.store ? '; what has come is kept, and loading it again goes on from there' : ''}`, { cause: e })
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE * 2 ** (failed - 1)))
      }
    }
  }

  // Asks for what is still to come, of the same state of the file where a server can be asked for that.
  #ask() {
    const headers = {}
    if (this.loaded) {
      headers.Range = `bytes=${this.loaded}-`
      if (this.tag && absolute(this.address).startsWith(globalThis.location?.origin + '/')) headers['If-Range'] = this.tag // elsewhere servers would be asked for leave
    }
    return reach(this.address, { signal: this.signal, headers })
  }

  async #take(response) {
    const { status } = response
    const final = (message) => Object.assign(new Error(`${this.as}: ${message}`), { final: true })
    if (status === 416 && this.loaded && this.loaded === this.total) return
    if (status >= 500 || status === 429) throw new Error(`${status} ${response.statusText}`)
    if (!response.ok && status !== 416) throw final(`${this.address} cannot be loaded: ${status} ${response.statusText}`)
    const tag = tagOf(response), total = totalOf(response)
    const from = status === 206 ? Number(/^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '')?.[1] ?? this.loaded) : 0
    const other = tag !== this.tag || this.total && total && total !== this.total
    if (this.loaded && (status !== 206 || from !== this.loaded || other)) { // another file by now, or a server without ranges
      Object.assign(this, { pieces: [], loaded: 0 })
      this.#part = []
      this.#size = 0
      await this.store?.restart()
      if (status !== 200) {
        await response.body?.cancel()
        return this.#take(await this.#ask())
      }
    }
    this.tag = tag
    this.total = total ?? this.total
    const body = this.first ? response.body.pipeThrough(new TransformStream(), { signal: this.signal }) : response.body // the page's own has no signal
    for (const reader = body.getReader(); ;) {
      const { done, value } = await reader.read()
      if (done) break
      this.pieces.push(value)
      this.loaded += value.length
      if (this.store) {
        this.#part.push(value)
        this.#size += value.length
        await this.#keep(false)
      }
      this.#tell()
    }
    if (this.total && this.loaded < this.total) throw new Error('the answer ended early')
    await this.#keep(true)
  }

  // Keeps the bytes that have come, in parts of some size, or all of them.
  async #keep(all) {
    if (!this.store || !this.#size || !all && this.#size < PART) return
    const bytes = joined(this.#part, this.#size)
    this.#part = []
    this.#size = 0
    Object.assign(this.store.about, { tag: this.tag, total: this.total })
    try {
      await this.store.add(bytes)
    } catch (e) {
      throw Object.assign(e, { final: true })
    }
  }

  #joined() {
    const all = joined(this.pieces, this.loaded)
    this.pieces = []
    return all
  }
}

function joined(pieces, size) {
  if (pieces.length === 1) return pieces[0]
  const all = new Uint8Array(size)
  let at = 0
  for (const [i, p] of pieces.entries()) {
    all.set(p, at)
    at += p.length
    pieces[i] = null // so that no more than a file and a piece are there at once
  }
  return all
}

/** The hash that the options say a file must have, in hexadecimal digits; one for a single file, or an object of them by the names of files. */
export function hashOf(name, { sha256 }, as) {
  const want = (typeof sha256 === 'object' ? sha256[name] : sha256)?.toLowerCase()
  if (want !== undefined && !/^[0-9a-f]{64}$/.test(want)) throw new TypeError(`${as}: the SHA-256 of ${name} has 64 hexadecimal digits; ${want} is none`)
  if (want && !globalThis.crypto?.subtle) throw new Error(`${as}: a hash can be computed only in pages that come by https or from localhost`)
  return want
}

/** Bytes that have the hash. */
export async function verified(bytes, name, want, as) {
  if (!want) return bytes
  const got = Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)), (b) => b.toString(16).padStart(2, '0')).join('')
  if (got !== want) throw new Error(`${as}: ${name} has the SHA-256 ${got}, not ${want}: it is another file, or was damaged on its way`)
  return bytes
}
