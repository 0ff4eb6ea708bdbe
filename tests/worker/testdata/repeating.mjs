// The worker with a player that plays a plan as often as the address says: ?plays=5.
import { Processor } from './build/model/player/processor.js'
import worker from './worker.mjs'

let plays = 1
const { play } = Processor.prototype
Processor.prototype.play = function (...args) {
  for (let i = 0; i < plays; i++) play.apply(this, args)
}

export default {
  fetch(request, env, ctx) {
    plays = Number(new URL(request.url).searchParams.get('plays') ?? 1)
    return worker.fetch(request, env, ctx)
  },
}
