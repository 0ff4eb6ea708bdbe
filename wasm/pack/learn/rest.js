// In place of wasm/js/rest.js while the engine is asked which of its functions a first result needs: in that engine every function calls rest
// with its number.

const seen = new Uint8Array(1 << 20)
let engine = false

export function begin() { engine = true }

export async function ahead() {}

export function rest(number) { seen[number] = 1 }

const channel = new BroadcastChannel('weft learnt')
channel.onmessage = () => {
  if (engine) channel.postMessage(Array.from(seen.keys()).filter((i) => seen[i])) // other workers of this script are threads
}
