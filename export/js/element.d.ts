// Types of <weft-model>, for element.js, which defines it.
import type { Elements, Model, Nested, Result } from './model.js'

/** An exported function as an element: see docs/embedding.md for its attributes. */
export class WeftModel extends HTMLElement {
  /** The folder, once it is loaded. */
  readonly model: Model | null
  /** Runs the function with inputs by name, and shows what it gives. */
  run(inputs: Record<string, Elements | Nested>): Promise<void>
}

declare global {
  interface HTMLElementTagNameMap { 'weft-model': WeftModel }
  interface HTMLElementEventMap {
    'weft-ready': CustomEvent<null>
    'weft-result': CustomEvent<Record<string, Result<Elements>>>
    'weft-error': CustomEvent<Error>
  }
}
