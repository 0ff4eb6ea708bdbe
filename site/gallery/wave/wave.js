// A wave on a grid: the wave equation, leapfrog in time (Courant, Friedrichs and Lewy 1928), a captured step that assigns the two states it
// goes on from. examples/gallery/wave is the same in Go.
import { byId, short } from '../../assets/dom.js'
import { play, colour, onScheme } from '../page.js'

const side = 128
const stepsAtOnce = 4
const courant2 = 0.25 // squared: half a cell a step; over 1/2 the method is unstable
const damping = 0.9995

const canvas = byId('water')
const drops = [[0, 0]] // places in −1 … 1 where drops are to fall

/** The sum of the differences from the four neighbours; at the walls the water is reflected. */
function laplace(u) {
  const p = u.pad([1, 1], [1, 1], 0, 'replicate')
  const at = (y, x) => p.narrow(0, y, side).narrow(1, x, side)
  return at(0, 1).add(at(2, 1)).add(at(1, 0)).add(at(1, 2)).sub(u.mul(4))
}

function paint(heights) {
  const [low, high, still] = [colour('accent'), colour('gold'), colour('well')]
  const image = new ImageData(side, side)
  for (let i = 0; i < heights.length; i++) {
    const h = Math.max(-1, Math.min(1, 2.5 * heights[i]))
    const to = h < 0 ? low : high
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = still[c] + (to[c] - still[c]) * Math.abs(h)
    image.data[4 * i + 3] = 255
  }
  canvas.getContext('2d').putImageData(image, 0, 0)
}

let last = new Float32Array(side * side)
onScheme(() => paint(last))

canvas.addEventListener('pointerdown', (e) => {
  const box = canvas.getBoundingClientRect()
  drops.push([2 * (e.clientY - box.top) / box.height - 1, 2 * (e.clientX - box.left) / box.width - 1])
})
byId('drop').addEventListener('click', () => drops.push([0, 0]))

play(async (w) => {
  const axis = w.linspace(-1, 1, side)
  const now = w.zeros([side, side]).own()
  const before = w.zeros([side, side]).own()
  await w.realize(axis, now, before)
  const fall = w.capture((y, x) => {
    const hill = axis.sub(y).square().reshape([side, 1]).add(axis.sub(x).square()).mul(-250).exp().mul(0.6)
    now.assign(now.add(hill))
    before.assign(before.add(hill))
    return hill.max()
  })
  const step = w.capture(() => {
    const next = now.mul(2).sub(before).add(laplace(now).mul(courant2)).mul(damping)
    before.assign(now)
    now.assign(next)
    return next.mul(1)
  })
  let steps = 0
  return async () => {
    for (const [y, x] of drops.splice(0)) await fall.run(w.tensor([y]), w.tensor([x]))
    const begin = performance.now()
    let out
    for (let i = 0; i < stepsAtOnce; i++) out = await step.run()
    last = await out.data()
    const ms = performance.now() - begin
    steps += stepsAtOnce
    paint(last)
    return `${steps} steps of ${side} × ${side} cells, ${short(ms / stepsAtOnce, 2)} ms each.`
  }
})
