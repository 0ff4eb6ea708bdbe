// Colours for WGSL, C, JavaScript and Go, from one small tokenizer.
import { el, breathe } from './dom.js'

const token = new RegExp(
  [
    /(?<c>\/\/.*)/, /(?<s>"[^"]*"|'[^']*'|`[^`]*`)/, /(?<a>@\w+|^\s*#.*)/,
    /(?<k>\b(?:var|let|const|fn|func|for|if|else|while|loop|break|continue|return|struct|switch|case|default|import|from|await|export|package|range|static|inline|void|restrict|typedef|select|storage|read_write|read|uniform|workgroup)\b)/,
    /(?<t>\b(?:[fiu]32|u8|f16|bool|array|vec[234]|float|double|int|char|unsigned|u?int(?:8|16|32|64)_t|[fiu]\d+x\d+u?)\b)/,
    /(?<n>\b(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)[fuil]*\b)/,
  ].map((r) => r.source).join('|'),
  'gm',
)
const classes = { c: 'tok-c', s: 'tok-n', a: 'tok-a', k: 'tok-k', t: 'tok-t', n: 'tok-n' }

function line(text, into) {
  let at = 0
  for (const m of text.matchAll(token)) {
    if (m.index > at) into.append(text.slice(at, m.index))
    const kind = Object.keys(classes).find((k) => m.groups[k] !== undefined)
    into.append(el('span', { class: classes[kind] }, m[0]))
    at = m.index + m[0].length
  }
  into.append(text.slice(at) + '\n')
}

const coloured = 3000 // lines; what follows is plain

/** Puts source into a <code> element, in pieces, so that long kernels do not block the page. */
export async function highlight(code, source) {
  code.textContent = ''
  const lines = source.replace(/\n+$/, '').split('\n')
  const run = (code.run = {})
  for (let i = 0; i < lines.length; ) {
    const piece = document.createDocumentFragment()
    const until = performance.now() + 8
    do line(lines[i++], piece)
    while (i < Math.min(lines.length, coloured) && performance.now() < until)
    if (i >= coloured && i < lines.length) {
      piece.append(lines.slice(i).join('\n'))
      i = lines.length
    }
    code.append(piece)
    if (i < lines.length) await breathe()
    if (code.run !== run) return // other source came in the meantime
  }
}
