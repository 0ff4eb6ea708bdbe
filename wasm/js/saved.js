// Files of captured functions, written. Loaded on demand.

/** The bytes of a file with captured functions by their names. */
export async function save(w, functions, as) {
  const list = []
  for (const [name, f] of Object.entries(functions)) {
    const fail = (why) => { throw new TypeError(`${as}: ${JSON.stringify(name)} ${why}`) }
    if (typeof f?.run !== 'function' || !('launches' in f || 'f' in f)) fail('is no captured function; w.capture makes one')
    if (f.w !== w) fail('is of another engine')
    if (f.gone) fail(f.gone)
    if (!f.ready) fail('has not run yet, so nothing is recorded of it; let it run once before')
    await f.ready
    list.push([name, f])
  }
  if (!list.length) throw new TypeError(`${as}: there is no function to save`)
  return (await w.call('saveFunctions', [list], { as })).data
}
