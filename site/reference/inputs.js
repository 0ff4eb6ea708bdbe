// What the examples of the reference are called with. Their text is shown beside them.

export const inputs = {
  x: (w) => w.linspace(0.1, 1.2, 12).reshape([3, 4]),
  y: (w) => w.linspace(1.3, 0.2, 12).reshape([3, 4]),
  a: (w) => w.tensor([[1, -1, 0.5], [2, 0, 1], [-0.5, 1.5, 2]]),
  m: (w) => w.tensor([[4, 1, 0.5], [1, 3, 0.25], [0.5, 0.25, 2]]),
  b: (w) => w.tensor([[1, 2], [3, -1], [0.5, 2]]),
  s: (w) => w.linspace(-1, 1, 24).reshape([3, 8]),
  n: (w) => w.tensor([[1, NaN, 3, 2], [NaN, NaN, 1, 5], [4, 2, 2, 2]]),
  z: (w) => w.linspace(-0.5, 0.9, 8).reshape([4, 2]),
  i: (w) => w.tensor(Int32Array.of(0, 5, 3, 1, 6, 4, 2, 0, 5, 3, 1, 6), [3, 4]),
  j: (w) => w.tensor(Int32Array.of(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2), [3, 4]),
  ids: (w) => w.tensor(Int32Array.of(2, 0, 1, 1, 0, 2), [2, 3]),
  one: (w) => w.tensor(Int32Array.of(2, 0)),
  classes: (w) => w.tensor(Int32Array.of(1, 0, 3)),
  sign: (w) => w.tensor([1, -1, 1]),
  img: (w) => w.linspace(0, 1, 144).reshape([1, 4, 6, 6]),
  times: (w) => w.linspace(0, 1, 24).reshape([3, 2, 4]),
  recurrentWeights: (w) => [[8, 4], [8, 2], [8], [8]].map((shape) => w.full(shape, 0.1)),
}
