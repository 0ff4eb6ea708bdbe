// What strings and consoles show of a tensor: its shape, its type and its device.

import { written } from './methods.js'

/** A shape and a type in words, with what stands between the type and what is said of the shape. */
export const formed = ({ shape, dtype }, more = '') => Array.isArray(shape) ? `${written(shape)} ${dtype}${more}` : `${dtype}${more}; its shape ${shape}`

const words = (t) => `Tensor ${t.gone ? `that ${t.gone}` : formed(t.form, ` on ${t.w.device ?? 'a device to come'}`)}`

/** Gives a class of tensors the words for its instances. */
export function shown(Tensor) {
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')]) {
    Object.defineProperty(Tensor.prototype, name, { value() { return words(this) }, writable: true, configurable: true })
  }
}
