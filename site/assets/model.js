// What the pages with models of others share: the engine that reads them, the models that the site has, and files that are dropped.

import { open } from '../weft.js'
import { byId, words } from './dom.js'

/** Says how the page is doing; bad marks that something is wrong. */
export function say(text, bad = false) {
  const status = byId('status')
  status.textContent = text
  status.classList.toggle('bad', bad)
}

/** Has what goes wrong in f be told. */
export const telling = (f) => async (...args) => {
  try {
    return await f(...args)
  } catch (e) {
    if (e.name !== 'AbortError') say(words(e), true)
  }
}

let engine

/** The engine, opened once. */
export const weft = () => engine ??= open({ models: true, onprogress: ({ loaded, total }) => say(`Loading the engine: ${Math.round(100 * loaded / (total || loaded))} %.`) })

/** The addresses of models that this copy of the site has; null where one is missing. */
export async function shipped(...names) {
  const folder = new URL(`../models/`, import.meta.url) // which the site's build makes
  const list = await fetch(new URL(`list.json`, folder)).then((r) => r.ok ? r.json() : [])
  return names.every((n) => list.includes(n)) ? names.map((n) => new URL(n, folder)) : null
}

// The files of what was dropped, folders gone through.
async function filesOf(data) {
  const entries = [...data.items].map((i) => i.webkitGetAsEntry?.()).filter(Boolean)
  if (!entries.length) return [...data.files]
  const out = []
  const walk = async (entry) => {
    if (entry.isFile) return out.push(await new Promise((done, failed) => entry.file(done, failed)))
    const reader = entry.createReader()
    for (;;) {
      const some = await new Promise((done, failed) => reader.readEntries(done, failed))
      if (!some.length) return
      for (const e of some) await walk(e)
    }
  }
  for (const e of entries) await walk(e)
  return out
}

/** Has an area and an input take files. */
export function takes(area, input, take) {
  const tell = telling(take)
  const over = (on) => area.toggleAttribute('data-over', on)
  area.addEventListener('dragover', (e) => { e.preventDefault(); over(true) })
  area.addEventListener('dragleave', () => over(false))
  area.addEventListener('drop', async (e) => {
    e.preventDefault()
    over(false)
    const files = await filesOf(e.dataTransfer)
    if (files.length) tell(files)
  })
  input.addEventListener('change', () => {
    const files = [...input.files]
    input.value = ''
    if (files.length) tell(files)
  })
}

/** Loads the model of the page: that of the site, and whatever is dropped in its place. */
export function modelOf(names, what, load) {
  const drop = byId('drop')
  const begin = telling(async (files) => {
    const w = await weft()
    say('Reading the model.')
    await load(w, files)
    drop.hidden = false
    byId('drop-text').textContent = `Another model can be dropped here: ${what}.`
  })
  takes(drop, byId('model'), begin)
  return telling(async () => {
    const files = await shipped(...names)
    if (files) return begin(files)
    drop.hidden = false
    byId('drop-text').textContent = `This copy of the site has no model with it. One can be dropped here: ${what}.`
    say('A model is needed.')
  })()
}

/** A colour of the page's, as canvases take it: its own, light or dark. */
export function colour(name, element) {
  element.style.color = `var(${name})`
  return getComputedStyle(element).color
}
