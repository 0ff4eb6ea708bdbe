// Runs an example and writes what it gives.
import { inputs } from './inputs.js'

/** What the example of a method gives, as text. */
export async function told(w, method) {
  const given = { w }
  for (const name of method.uses) given[name] = inputs[name](w)
  try {
    return await text(await method.run(given))
  } finally {
    for (const name of method.uses) [given[name]].flat().forEach((t) => t.dispose?.())
  }
}

async function text(v) {
  if (Array.isArray(v) && v.some((t) => t?.list)) return (await Promise.all(v.map(text))).join('\n\n')
  if (v?.list) {
    const [list, data] = await Promise.all([v.list(), v.data()])
    v.dispose?.()
    return `${data.constructor.name} [${shapeOf(list)}]\n${written(list)}`
  }
  return written(v)
}

function shapeOf(list) {
  const shape = []
  for (let l = list; Array.isArray(l); l = l[0]) shape.push(l.length)
  return shape.join(', ')
}

/** Numbers with as many digits as one reads; long lists cut. */
function written(v) {
  const s = JSON.stringify(v, (_, x) => {
    if (typeof x === 'bigint') return `${x}n`
    if (ArrayBuffer.isView(x)) return [...x].map((e) => (typeof e === 'bigint' ? `${e}n` : e))
    return typeof x === 'number' && !Number.isInteger(x) ? (Number.isFinite(x) ? Number(x.toPrecision(6)) : String(x)) : x
  }) ?? String(v)
  const cut = 1500
  return s.length > cut ? `${s.slice(0, cut)}…` : s.replaceAll(',', ', ')
}
