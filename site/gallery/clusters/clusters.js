// Groups of points without being told of any (k-means, Lloyd 1982), a round a moment. A round is captured, and takes the centres of the one before.
// examples/gallery/clusters is the same in Go.
import { byId, short } from '../../assets/dom.js'
import { play, colour, onScheme } from '../page.js'

const each = 120
const colours = ['accent', 'gold', 'good', 'bad', 'ink', 'strong']
const canvas = byId('points')
const ui = { groups: byId('groups'), fresh: byId('fresh') }

let seen = null // what is drawn: points, groups and centres
function paint() {
  if (!seen) return
  const c = canvas.getContext('2d')
  const n = canvas.width
  const at = (v) => n / 2 + v * n / 9
  const named = Object.fromEntries(colours.map((name) => [name, `rgb(${colour(name).join(' ')})`]))
  c.clearRect(0, 0, n, n)
  for (let i = 0; i < seen.group.length; i++) {
    c.fillStyle = named[colours[seen.group[i] % colours.length]]
    c.beginPath()
    c.arc(at(seen.points[2 * i]), at(seen.points[2 * i + 1]), n / 160, 0, 7)
    c.fill()
  }
  c.lineWidth = n / 160
  for (let g = 0; 2 * g < seen.centres.length; g++) {
    c.strokeStyle = named[colours[g % colours.length]]
    c.beginPath()
    c.arc(at(seen.centres[2 * g]), at(seen.centres[2 * g + 1]), n / 40, 0, 7)
    c.stroke()
  }
}
onScheme(paint)

let again = true
ui.groups.addEventListener('change', () => { again = true })
ui.fresh.addEventListener('click', () => { again = true })

play(async (w) => {
  let points, centres, round, rounds, settled, left
  const begin = async () => {
    again = false
    const groups = Number(ui.groups.value)
    points = w.rand([groups, 1, 2]).mul(6).sub(3).add(w.randn([groups, each, 2]).mul(0.55)).reshape([groups * each, 2])
    await w.realize(points)
    centres = points.narrow(0, 0, groups).contiguous()
    const numbers = w.arange(groups)
    round = w.capture((at) => {
      const distance = points.unsqueeze(1).sub(at.unsqueeze(0)).square().sum(2)
      const nearest = distance.argMin(1)
      const member = nearest.unsqueeze(1).eq(numbers).to('f32')
      const count = member.sum(0).maximum(1).unsqueeze(1)
      return [member.transpose(0, 1).matmul(points).div(count), nearest, distance.min(1).mean()]
    })
    rounds = 0
    settled = Infinity
    left = 0
  }
  return async () => {
    if (again) await begin()
    if (left > 0) { // a round takes no time to compute, and some to be seen
      left--
      return ''
    }
    left = 20
    const [next, nearest, mean] = await round.run(centres)
    seen = { points: await points.data(), group: await nearest.data(), centres: await centres.data() }
    const now = await mean.item()
    centres = next
    rounds++
    paint()
    const still = now >= settled
    settled = Math.min(settled, now)
    return `Round ${rounds}: mean square distance from a centre ${short(now)}${still ? ', and no point moves any more' : ''}.`
  }
})
