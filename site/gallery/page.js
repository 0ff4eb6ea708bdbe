// What the pages of the gallery share: an engine, a button that runs and pauses, and what is said of both.
import { open } from '../weft.js'
import { byId, words, frame, deviceName, confined } from '../assets/dom.js'

const ui = { run: byId('run'), status: byId('status'), problem: byId('problem') }

function fail(err) {
  ui.problem.textContent = words(err)
  ui.problem.hidden = false
  ui.run.disabled = true
}

/**
 * Opens an engine, has make prepare with it, and calls what that gives, once a frame while the page runs. It gives what is to be
 * said of the last round. The page begins to run by itself unless its reader wants no motion.
 */
export async function play(make) {
  try {
    const w = await open()
    const round = await make(w)
    let running = !matchMedia('(prefers-reduced-motion: reduce)').matches
    let wake = () => {}
    const say = (text) => { ui.status.textContent = `${text} On ${deviceName(w.device)}. ${confined(w)}`.trim() }
    const show = () => {
      ui.run.textContent = running ? 'Pause' : 'Run'
      ui.run.setAttribute('aria-pressed', String(running))
    }
    ui.run.addEventListener('click', () => {
      running = !running
      show()
      wake()
    })
    ui.run.disabled = false
    show()
    say(running ? 'Running.' : 'Ready.')
    for (;;) {
      if (!running || document.hidden) {
        await new Promise((done) => {
          wake = done
          document.addEventListener('visibilitychange', done, { once: true })
        })
        continue
      }
      const text = await round()
      if (text) say(text)
      if (text === null) { // it has come to its end
        running = false
        show()
      }
      await frame()
    }
  } catch (err) {
    fail(err)
  }
}

/** A colour of the sheet as three numbers from 0 to 255. */
export function colour(name) {
  const c = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  c.fillStyle = resolved(name)
  c.fillRect(0, 0, 1, 1)
  return [...c.getImageData(0, 0, 1, 1).data.slice(0, 3)]
}

// resolved is a colour of the sheet for the scheme that is in use.
function resolved(name) {
  const probe = document.createElement('span')
  probe.className = `probe ${name}`
  document.body.append(probe)
  const c = getComputedStyle(probe).color
  probe.remove()
  return c
}

/** Calls f when the colours of the page change. */
export function onScheme(f) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', f)
  new MutationObserver(f).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
}
