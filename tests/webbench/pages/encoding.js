// What a dispatch of a plan costs the player in JavaScript: the time of Player.play, submission included, by the number of
// dispatches. The bind groups are there already, as they are from the second play of any plan on.

import { Player } from '/weft/player.js'

globalThis.encoding = async (dispatches, rounds) => {
  const player = new Player()
  await player.open()
  const plan = await player.load(new Uint8Array(await (await fetch('many.plan')).arrayBuffer()))
  const buffer = player.alloc(1 << 16)
  player.write(buffer, 0, new Uint8Array(1 << 16))
  const times = []
  for (let i = 0; i < rounds; i++) {
    const start = performance.now()
    player.play(plan, [buffer], [])
    times.push(performance.now() - start)
    await player.sync() // so that the queue is empty again
  }
  const one = new Float32Array((await player.read(buffer, 0, 4)).buffer)[0]
  if (one !== rounds * dispatches / 64) return { failed: `wrong values: ${one} where ${rounds * dispatches / 64} was to be counted` }
  const sorted = times.slice(rounds / 5).sort((a, b) => a - b)
  return { ms: sorted[sorted.length >> 1] / dispatches, low: sorted[0] / dispatches, high: sorted.at(-1) / dispatches, runs: sorted.length }
}
