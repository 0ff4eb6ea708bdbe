// A worker that has a model for the page: see load's option worker.
import { borrow } from './lent.js'
import { load } from './model.js'

const borrowed = borrow((message) => postMessage(message))
let model

onmessage = async ({ data }) => {
  if (data.thread !== undefined) return borrowed.take(data)
  const { id, call, args } = data
  try {
    let result
    if (call === 'load') {
      const [folder, options] = args
      model = await load(folder, { ...options, start: borrowed.start, onprogress: (...progress) => postMessage({ progress }) })
      result = { device: model.device, functions: model.functions }
    } else result = await model[call](...args)
    postMessage({ id, result })
  } catch (e) {
    postMessage({ id, error: e.message, known: e.name })
  }
}
