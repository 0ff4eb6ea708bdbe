// The network of digits, which the larger engine trains for this page. It knows the engine's requests and nothing about the document.

/** A network that learns to read digits, and its data. */
class Digits {
  constructor(w) {
    this.w = w
    this.ref = w.number()
  }

  /** Trains for so many steps; hears {step, loss, stepsPerSecond} of each. */
  train(steps, progress) { return this.w.call('train', [this, steps], { progress }) }

  /** The share of n held-back digits that it reads rightly, in per cent. */
  evaluate(n) { return this.w.call('evaluate', [this, n]) }

  /** The probabilities of the ten digits for a picture, one byte a pixel, white on black. */
  predict(pixels) { return this.w.call('predict', [this, pixels]) }

  /** k held-back digits with what the network takes them for: {pixels, label, guess, sure}. */
  samples(k) { return this.w.call('samples', [this, k]) }

  /** Starts anew with fresh weights. */
  reset() { return this.w.call('reset', [this]) }

  dispose() { this.w.forget(this) }
}

/**
 * Makes one, in an engine that was opened whole: {channels: [8, 16] or 'full', data: 'synthetic' or {images, labels, n, h, w, testImages,
 * testLabels, testN}, batch, seed, rate}. It has heldBack, height and width besides.
 */
export async function digits(w, options = {}) {
  const d = new Digits(w)
  return Object.assign(d, await w.call('digits', [options], { outs: [d] }))
}
