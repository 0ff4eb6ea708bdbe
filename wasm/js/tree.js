// Models and arguments: tensors in arrays, plain objects and instances of layers, within each other. Everything else in them is
// left as it is.

/** Whether t is a tensor. */
export const isTensor = (t) => typeof t?.ref === 'number' && typeof t.w?.record === 'function' && typeof t.matmul === 'function'

/** Whether v is a size that varies. Scripts that are loaded later have classes of their own, so its fields tell it. */
export const isSize = (v) => Array.isArray(v?.terms) && Array.isArray(v.wire)

/** Whether v is an object without a class, of whatever realm. */
export const isPlain = (v) => typeof v === 'object' && v !== null && !Object.getPrototypeOf(Object.getPrototypeOf(v) ?? Object.prototype)

const inner = (t) => typeof t === 'object' && t !== null && !isTensor(t) && !isSize(t) && !ArrayBuffer.isView(t) && !(t instanceof ArrayBuffer)

/** The tensors of a tree, each once, with the names of the fields that lead there. */
export function leaves(tree, path = [], seen = new Set(), out = []) {
  if (seen.has(tree)) return out
  if (isTensor(tree)) {
    seen.add(tree)
    out.push({ path, tensor: tree, state: false })
  } else if (inner(tree)) {
    seen.add(tree)
    const own = tree.constructor?.state ?? [] // fields that are not trained
    for (const [name, v] of Object.entries(tree)) {
      const at = out.length
      leaves(v, [...path, name], seen, out)
      if (own.includes(name)) for (const l of out.slice(at)) l.state = true
    }
  }
  return out
}

/** A tree of the same form with f(tensor) in the place of each tensor. */
export function mapTree(tree, f) {
  if (isTensor(tree)) return f(tree)
  if (Array.isArray(tree)) return tree.map((t) => mapTree(t, f))
  if (!inner(tree) || leaves(tree).length === 0) return tree
  const out = Object.create(Object.getPrototypeOf(tree))
  for (const [name, v] of Object.entries(tree)) out[name] = mapTree(v, f)
  return out
}

/** The name of a tensor in files: fields in snake case with points between. */
export const nameOf = (path) => path.map((p) => p.replace(/[A-Z]/g, (c) => '_' + c.toLowerCase())).join('.')

/** How many letters a path may have for visit: what is nested deeper holds itself, or is a mistake. */
export const longest = 1000

const holds = (v) => Array.isArray(v) || Object.prototype.toString.call(v) === '[object Object]' && !isTensor(v)

/** Calls f for all that stands in arrays and objects within each other, in order, with where it stands: '.loss', '[0].w'. */
export function visit(v, f, path = '') {
  if (!holds(v) || path.length > longest) f(v, path)
  else if (Array.isArray(v)) for (let i = 0; i < v.length; i++) visit(v[i], f, `${path}[${i}]`)
  else for (const [name, x] of Object.entries(v)) visit(x, f, `${path}.${name}`)
}

/** Arrays and objects of the same form, with what next gives in the place of all that visit finds. */
export function filled(v, next) {
  if (v === undefined) return undefined
  if (!holds(v)) return next()
  if (Array.isArray(v)) return v.map((x) => filled(x, next))
  const out = Object.create(Object.getPrototypeOf(v))
  for (const [name, x] of Object.entries(v)) out[name] = filled(x, next)
  return out
}
