// Models and arguments: tensors in arrays, plain objects and instances of layers, within each other. Everything else in them is
// left as it is.

/** Whether t is a tensor. */
export const isTensor = (t) => typeof t?.ref === 'number' && typeof t.w?.record === 'function' && typeof t.matmul === 'function'

const inner = (t) => typeof t === 'object' && t !== null && !isTensor(t) && !ArrayBuffer.isView(t) && !(t instanceof ArrayBuffer)

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
