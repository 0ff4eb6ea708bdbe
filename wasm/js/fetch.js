// Bytes from an address to a device's memory, as they arrive: neither the page nor the engine holds them. It refuses to know
// whose memory it is.

const AHEAD = 16 << 20 // bytes that are handed over until the device must have taken them
const NEWS = 30 // ms between two news

/** Hands whole words over, whatever pieces they come in, and takes their fingerprint. to has write(at, bytes), and drain to wait. */
class Words {
  sum = 0x811c9dc5
  any = 0 // the bits that are set in any word
  #to
  #at = 0
  #rest = new Uint8Array(4) // bytes of a word that is not whole
  #kept = 0
  #ahead = 0

  constructor(to) { this.#to = to }

  async add(bytes) {
    if (this.#kept) {
      const n = Math.min(4 - this.#kept, bytes.length)
      this.#rest.set(bytes.subarray(0, n), this.#kept)
      this.#kept += n
      if (this.#kept < 4) return
      this.#put(this.#rest)
      bytes = bytes.subarray(n)
    }
    const whole = bytes.length & ~3
    this.#rest.set(bytes.subarray(whole))
    this.#kept = bytes.length - whole
    this.#put(bytes.subarray(0, whole))
    if (this.#ahead < AHEAD) return
    this.#ahead = 0
    await this.#to.drain()
  }

  /** Fills the last word up. */
  async end() {
    if (this.#kept) await this.add(new Uint8Array(4 - this.#kept))
    await this.#to.drain()
  }

  #put(bytes) {
    if (!bytes.length) return
    this.#to.write(this.#at, bytes)
    this.#at += bytes.length
    this.#ahead += bytes.length
    const { buffer, byteOffset } = bytes.byteOffset % 4 ? bytes.slice() : bytes
    const words = new Uint32Array(buffer, byteOffset, bytes.length / 4)
    let { sum, any } = this
    for (let i = 0; i < words.length; i++) {
      sum = Math.imul(sum ^ words[i], 0x01000193)
      any |= words[i]
    }
    Object.assign(this, { sum, any })
  }
}

// Asks for n bytes, and says how many others come before them.
async function ask(url, offset, n, signal, again) {
  const headers = offset < 0 ? {} : { range: `bytes=${offset}-${offset + n - 1}` }
  const response = await fetch(url, { headers, signal, cache: again ? 'force-cache' : 'default' }).catch((e) => {
    throw new Error(`it cannot be reached: ${e.cause?.message || e.message}`)
  })
  const { status, statusText } = response
  const range = response.headers.get('content-range') // other servers may hide it
  if (!response.ok) throw new Error(`the server answers ${[status, statusText, range].filter(Boolean).join(' ')}`)
  if (status !== 206) return { response, skip: Math.max(offset, 0) } // it gives no parts
  const first = /^bytes (\d+)-/.exec(range)?.[1] ?? offset
  if (Number(first) !== offset) throw new Error(`the server gives ${range}`)
  return { response, skip: 0 }
}

/**
 * Fetches n bytes from offset on, or n that are all where that is negative, and gives their fingerprint. No bit of mask may be
 * set in any word. progress hears of what has arrived.
 */
export async function stream({ url, offset, n, mask, again, signal, progress }, to) {
  const words = new Words(to)
  let loaded = 0
  let reader
  try {
    const got = n || offset < 0 ? await ask(url, offset, n, signal, again) : {}
    reader = got.response?.body?.getReader()
    let { skip } = got
    for (let told = 0; reader && (loaded < n || offset < 0);) {
      const { done, value } = await reader.read().catch((e) => { throw new Error(`it broke off after ${loaded}: ${e.message}`) })
      if (done) break
      const bytes = value.subarray(Math.min(skip, value.length))
      skip -= value.length - bytes.length
      if (offset < 0 && bytes.length > n - loaded) {
        const all = got.response.headers.get('content-length')
        throw new Error(`more arrive${all ? ` (content-length: ${all})` : ''}; give offset to take a part`)
      }
      const part = bytes.subarray(0, n - loaded)
      loaded += part.length
      await words.add(part)
      const now = Date.now()
      if (now - told < NEWS && loaded < n) continue
      told = now
      progress({ loaded, total: n })
    }
    if (loaded < n) throw new Error(`${loaded} arrived`)
    await words.end()
    if (words.any & mask) throw new Error('some are neither 0 nor 1, as those of bool must be')
    return words.sum >>> 0
  } catch (e) {
    const from = offset < 0 ? '' : ` from ${offset} on`
    throw Object.assign(new Error(`weft: fetch ${url}: ${n} bytes${from} are expected; ${e.message}`), { kind: e.kind })
  } finally {
    reader?.cancel().catch(() => {})
  }
}
