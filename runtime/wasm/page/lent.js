// Threads that a page starts for one of its workers. A worker may start workers itself, but in Firefox (153) it may then wait for ever: within new Worker it
// waits, at the condition variable at which the new one waits for its first task, for the word that the new one is known to debuggers, and that word wakes one of
// the two. A page does not wait there. The page hands on what both say: it refuses to know what that is.

/** Whether memory can be shared with workers here: WebKit may call a page isolated and have none. */
export const shares = () => !!globalThis.crossOriginIsolated && typeof SharedArrayBuffer === 'function'

/** The worker's end. post gives a message to the page, whose messages with a thread go to take. start gives what stands for a thread's worker. */
export function borrow(post) {
  const threads = []
  return {
    start() {
      const thread = threads.length
      const w = { postMessage: (message) => post({ thread, message }), terminate: () => post({ thread }) }
      threads.push(w)
      return w
    },
    take({ thread, data, failed }) { failed ? threads[thread].onerror(failed) : threads[thread].onmessage({ data }) },
  }
}

// What a thread that ends has been sent.
const ALL = 2 ** 31 - 1

/**
 * The page's end. start starts a worker, post gives a message to the one that borrows, whose messages with a thread go to take. The first message of a
 * thread has a bell, two words that it shares: the second counts what it was sent, and a change of the first wakes it up. It is rung before the
 * thread is ended, as Deno ends none that waits.
 */
export function lend(start, post) {
  const workers = []
  const bells = []
  const end = (thread) => {
    const bell = bells[thread]
    if (bell) {
      Atomics.store(bell, 1, ALL)
      Atomics.add(bell, 0, 1)
      Atomics.notify(bell, 0)
    }
    workers[thread]?.terminate()
  }
  let closed = false
  const started = (thread) => {
    const failed = ({ message }) => post({ thread, failed: { message } })
    try {
      const w = start()
      w.unref?.() // no program goes on because of it
      w.onmessage = ({ data }) => post({ thread, data }, [data])
      w.onerror = failed
      return w
    } catch (e) {
      failed(e)
      return { postMessage() {}, terminate() {} }
    }
  }
  return {
    take({ thread, message }) {
      if (closed) return
      if (!message) return end(thread)
      bells[thread] ??= message.bell
      workers[thread] ??= started(thread)
      workers[thread].postMessage(message)
    },
    close() {
      closed = true
      for (const thread of workers.keys()) end(thread)
    },
  }
}
