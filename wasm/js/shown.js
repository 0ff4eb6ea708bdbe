// What strings and consoles show of a tensor: its shape and type where they are known without asking the engine, and its device.

import { written } from './methods.js'

/** What is known of a tensor, as developers' tools show it among its fields. */
export const form = (shape, dtype) => dtype ? `${written(shape)} ${dtype}` : written(shape)

function words(t) {
  if (t.gone) return `Tensor that ${t.gone}`
  return `Tensor ${t.known ?? 'of a shape that await t.shape() tells,'} on ${t.w.device ?? 'a device to come'}`
}

/** Gives a class of tensors the words for its instances. */
export function shown(Tensor) {
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(Tensor.prototype, name, { value() { return words(this) }, writable: true, configurable: true })
  }
}
