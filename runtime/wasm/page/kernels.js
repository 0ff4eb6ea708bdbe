// Compiles and calls kernels for the engine: WebAssembly modules that import the engine's own memory.

const text = new TextEncoder()

// A function with one f32x4.relaxed_madd: what validates, runs.
const relaxed = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 6, 1, 96, 1, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 0, 32, 0, 253, 133, 2, 11)

/** The functions that the engine imports from "kernels". memory gives its memory. */
export function imports(memory) {
  const functions = []
  let problem = ''
  return {
    relaxed: () => Number(WebAssembly.validate(relaxed)),
    /** Compiles a module and gives the number of its first function; −1 says that problem tells why not. */
    compile(at, n) {
      try {
        const module = new WebAssembly.Module(new Uint8Array(memory().buffer, at >>> 0, n))
        const { exports } = new WebAssembly.Instance(module, { weft: { memory: memory() } })
        const first = functions.length
        for (const { name } of WebAssembly.Module.exports(module)) functions.push(exports[name])
        return first
      } catch (e) {
        problem = text.encode(e.message)
        return -1
      }
    },
    /** Has a kernel do the iterations lo to hi; 1 says that it trapped. */
    call(kernel, buf, vars, scratch, lo, hi) {
      try {
        functions[kernel](buf, vars, scratch, lo, hi)
        return 0
      } catch (e) {
        problem = text.encode(e.message)
        return 1
      }
    },
    size: () => problem.length,
    take(to, n) { new Uint8Array(memory().buffer, to >>> 0, n).set(problem.subarray(0, n)) },
  }
}
