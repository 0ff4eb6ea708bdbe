package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Layers of a page take sizes that vary, as those of package nn do.
func TestLayersOfSizesThatVary(t *testing.T) {
	p := open(t)
	var got map[string]float64
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const n = w.variable('n', 1, 9)
		const x = await w.generator(1).randn([9, 6]).own().realize()
		const ids = await w.tensor([1, 2, 0, 1, 2, 2, 0, 1, 99], {dtype: 'i32'}).own().realize()
		const [linear, table] = [w.nn.linear(6, 6), w.nn.embedding(3, 6)]
		await w.realize(linear.weight.own(), linear.bias.own(), table.weight.own())
		const out = {}
		for (const [name, f] of Object.entries({
			linear: (x) => linear.forward(x),
			embedding: (x, ids) => table.forward(ids),
			cat: (x) => w.cat([x, x.mul(2)], 1),
			stack: (x) => w.stack([x, x.mul(2)]),
			bce: (x) => x.bceWithLogits(x.sigmoid()),
			cosine: (x) => x.cosineSimilarity(x.mul(x), {axis: 1}),
		})) {
			try {
				const c = w.capture((x, ids) => f(x.narrow(0, 0, n), ids.narrow(0, 0, n)).square().sum())
				const y = await c.run(x, ids, n.bind(4))
				out[name] = Math.abs(await y.item() - await f(x.narrow(0, 0, 4), ids.narrow(0, 0, 4)).square().sum().item())
			} catch (e) { throw new Error(name + ': ' + e.message) }
		}
		w.close()
		return out`, &got))
	for name, d := range got {
		assert.Less(t, d, 1e-3, name)
	}
}
