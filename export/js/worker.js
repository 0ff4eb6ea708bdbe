// A worker that has a model for the page: see load's option worker.
import { load } from './model.js'

let model

/** Takes the page's messages; more are options of load. */
export const answer = (more) => async ({ data: { id, call, args } }) => {
  try {
    let result
    if (call === 'load') {
      const [folder, options] = args
      model = await load(folder, { ...options, ...more, onprogress: (...progress) => postMessage({ progress }) })
      result = { device: model.device, functions: model.functions }
    } else result = await model[call](...args)
    postMessage({ id, result })
  } catch (e) {
    postMessage({ id, error: e.message, known: e.name })
  }
}

onmessage = answer()
