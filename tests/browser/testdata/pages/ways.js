// Ways of computing with a tensor that take functions, files, variables and several devices: program_functions_test.go has the same in Go.

const shapely = [
  (x) => x.mul(x).add(1),
  (x) => x.cumSum(-1),
  (x) => x.max({ axis: -1, keep: true }).sub(x),
  (x) => x.mul(x.gt(0).to(x.dtype)).flip(-1),
  (x) => x.sum({ axis: -1, keep: true }).mul(x),
  (x) => x.maximum(x.flip(-1)),
  (x) => x.roll(1, -1).mul(x),
  (x) => x.sigmoid().mul(x),
  (x) => x.tril(0),
  (x) => x.reshape([-1]).sum({ axis: 0, keep: true }).add(x),
]

const kind = (w) => w.device.toLowerCase()
const devices = (w) => [kind(w) + ':0', kind(w) + ':1']

function reduced(w, x, axis, size, how) {
  const part = x.narrow(axis, 0, size)
  return [() => part.sum(axis), () => part.mean(axis), () => part.sigmoid().cumSum(axis).narrow(axis, 0, 1), () => part.softmax(axis).square().sum(axis)][how]()
}

export const ways = {
  vmap: (w, x, k, axis) => [w.vmap(shapely[k], { in: axis, out: axis })(x)],
  vmapShared: (w, x, k) => [w.vmap((a, b) => shapely[k](a).mul(b), { in: [0, null], out: -1 })(x, x.at(0))],
  scan(w, x, k, back) {
    x = x.detach()
    const [{ s }, d] = w.scan(({ s }, v) => {
      const y = shapely[k](s).sigmoid().add(v)
      return [{ s: y }, y.sub(s)]
    }, { s: x.at(0) }, x, { back: back % 2 === 1 })
    return [s, d, s.sum().grad([x])[0]]
  },
  jvp: (w, x, k) => w.jvp(shapely[k], [x], [x.mul(0.5)]),
  vjp(w, x, k) {
    const [y, pull] = w.vjp(shapely[k], x)
    return [y, pull(y.mul(0.5))[0]]
  },
  checkpoint(w, x, k) {
    x = x.detach()
    const y = w.checkpoint(shapely[k])(x)
    return [y, y.mul(2).sum().grad([x])[0]]
  },
  function(w, x, k) {
    x = x.detach()
    const y = w.function('mine', shapely[k], { gradient: ([x], outs, [seed]) => [seed.mul(x).add(3)] })(x)
    return [y, y.sum().grad([x])[0]]
  },
  custom(w, x, n) {
    const flat = x.flatten()
    const y = w.custom('smeared', flat.shape, (k) => {
      const j = k.range(n)
      return k.sum(k.load(0, k.at(0).sub(j)).mul(j.add(1).to(x.dtype)), j)
    }, [flat])
    return [y.reshape(x.shape)]
  },
  generator(w, x, seed) {
    const g = w.generator(seed)
    const drawn = [g.rand([2, 3]), g.randint([4], -5, 5), g.dropout(x, 0.5), g.randn([3])]
    g.dispose()
    return drawn
  },
  backward(w, x, k) {
    const v = x.detach().requireGrad()
    shapely[k](v).sum().backward()
    v.square().sum().backward()
    return [v.gradient()]
  },
  vary: (w, x, axis, low, high, size, how) => [reduced(w, x, axis, w.variable('v', low, high).bind(size), how)],
  async varied(w, x, axis, low, high, size, how) {
    const n = w.variable('v', low, high)
    const f = w.capture((x) => reduced(w, x, axis, n, how))
    const own = x.clone()
    const outs = [await f.run(own, n.bind(size)), await f.run(own, n.bind(high))]
    f.dispose()
    return outs.map((t) => t.mul(1))
  },
  async saved(w, x, k) {
    const f = w.capture((x) => [shapely[k](x), x.sum()])
    const own = x.clone()
    await f.run(own)
    const g = await w.loadCaptured(await f.save())
    const outs = await g.run(own)
    f.dispose()
    g.dispose()
    return outs.map((t) => t.mul(1))
  },
  shard(w, x, k, axis) {
    const s = x.shard(devices(w), axis)
    return [shapely[k](s).on(kind(w)), s.sum(0).on(kind(w))]
  },
  replicated(w, x, k) {
    x = x.detach()
    const y = shapely[k](x.shard(devices(w))).sum().on(kind(w))
    return [y, y.grad([x])[0]]
  },
  there: (w, x, k) => [shapely[k](x.on(devices(w)[1])).on(kind(w)).add(x)],
}
