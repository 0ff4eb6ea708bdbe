// Small helpers that the pages share. They know the document and nothing about tensors.

export const byId = (id) => document.getElementById(id)

/** el('li', {class: 'x', 'aria-label': 'y'}, child, 'text') makes an element. */
export function el(name, attrs = {}, ...children) {
  const e = document.createElement(name)
  for (const [k, v] of Object.entries(attrs)) if (v != null && v !== false) e.setAttribute(k, v === true ? '' : v)
  e.append(...children)
  return e
}

/** svg is el for drawings. */
export function svg(name, attrs = {}, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name)
  for (const [k, v] of Object.entries(attrs)) if (v != null) e.setAttribute(k, v)
  e.append(...children)
  return e
}

let policy

/** An address of a script of the site as its policy wants it. */
export function trusted(url) {
  policy ??= globalThis.trustedTypes?.createPolicy('site', { createScriptURL: (s) => s })
  return policy?.createScriptURL(url.href) ?? url
}

/** Devices as people call them. */
const names = { WEBGPU: 'WebGPU', WASM: 'WebAssembly', INTERP: 'the interpreter', CPU: 'CPU' }
export const deviceName = (d) => names[d] || d

/** What went wrong, in words, without a stack. */
export const words = (err) => String((err && err.message) || err)

/** What a page that is not isolated lacks, and the remedy; '' where it lacks nothing. */
export const confined = (w) => w.device === 'WASM' && !globalThis.crossOriginIsolated && navigator.hardwareConcurrency > 1
  ? 'This page is not cross-origin isolated, so WebAssembly has one thread. A host that sends Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp gives it all cores.'
  : ''

/** 1234.5 → "1,235"; 0.01234 → "0.0123"; 0.00001234 → "1.23e-5". */
export function short(x, digits = 3) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? 'NaN' : x > 0 ? '∞' : '−∞'
  if (Math.abs(x) >= 1000) return Math.round(x).toLocaleString('en')
  const rounded = Number(x.toPrecision(digits))
  return rounded !== 0 && Math.abs(rounded) < 1e-3 ? rounded.toExponential() : String(rounded)
}

/** bytes → "12.3 kB". */
export function size(bytes) {
  for (const [unit, n] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]) if (bytes >= n) return `${short(bytes / n)} ${unit}`
  return `${bytes} B`
}

/** Has a button copy what text() gives, and say that it did. */
export function copies(button, text) {
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text())
      button.textContent = 'Copied'
    } catch {
      button.textContent = 'Not allowed here'
    }
    setTimeout(() => (button.textContent = 'Copy'), 1500)
  })
  return button
}

/** Lets the page breathe between pieces of long work. */
export const breathe = () => new Promise((done) => (globalThis.scheduler?.yield ? scheduler.yield().then(done) : setTimeout(done)))

/** The next frame, for work that is done in pieces; or a while later in a page that is not seen. */
export const frame = () => new Promise((done) => {
  requestAnimationFrame(done)
  if (document.hidden) setTimeout(done, 100)
})

/** The kernel's name with each dimension in the colour of its axis kind. */
export function kernelName(name, kinds = '') {
  const parts = name.split('_')
  const out = [parts[0]]
  parts.slice(1).forEach((p, i) => out.push('_', el('span', kinds[i] ? { class: `kind-${kinds[i]}`, title: kindNames[kinds[i]] } : {}, p)))
  return el('span', { class: 'kernel' }, ...out)
}

export const kindNames = {
  g: 'workgroup', t: 'parallel', l: 'invocation', r: 'reduction', s: 'loop', u: 'registers', v: 'vector lanes',
  U: 'unrolled reduction', V: 'reduction in lanes',
}
