// What a page can do where memory is short: have its collector find tensors that were only dropped. Loaded then.

const SIZE = 1 << 27 // bytes of an array,
const COUNT = 4 // so many at once,
const TRIES = 20 // and so often: Chromium and Node took 1 to 3

/** Makes arrays, which nobody writes to, so that they take addresses and no memory, and lets others have a turn, until come says that something was collected. */
export async function collect(come) {
  for (let i = 0; i < TRIES && !come(); i++) {
    try {
      Array.from({ length: COUNT }, () => new ArrayBuffer(SIZE))
    } catch { /* then the collector has come as well */ }
    await new Promise((done) => setTimeout(done, 5))
  }
}
