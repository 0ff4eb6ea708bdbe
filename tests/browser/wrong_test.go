package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Values that make no sense are errors at the await that reads what was made of them, or, where that was asked for, are not
// looked for.
func TestWrongValuesInAPage(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got struct {
			Index, Class, History, State string
			Fine, Again                  []float64
			Off                          []float64
		}
		require.NoError(t, p.Run(`
			const device = '`+device+`'
			const told = async (f) => { try { await f(); return 'nothing' } catch (e) { return e.message } }
			const w = await weft.open({device})
			const x = w.tensor([1, 2, 3]), ids = (...v) => w.tensor(new Int32Array(v), [v.length])
			const bad = x.indexSelect(0, ids(0, 5)), fine = x.indexSelect(0, ids(0, -1))
			await w.realize(bad, fine)
			const y = x.mul(2)
			await w.realize(y)
			const sum = w.zeros([1]).own()
			await w.realize(sum)
			const step = w.capture((i) => { const v = x.indexSelect(0, i); sum.assign(sum.add(v.sum())); return v })
			await step.run(ids(0, 1))
			const wrong = await step.run(ids(0, 3)), again = await step.run(ids(2, 1))
			const out = {
				index: await told(() => bad.data()),
				class: await told(() => w.zeros([2, 10]).crossEntropy(ids(1, 10)).item()),
				history: await told(() => y.sum().grad([x])[0].list()),
				state: await told(() => sum.list()),
				fine: await fine.list(), again: await again.list(),
			}
			w.close()
			const v = await weft.open({device, checks: false})
			out.off = await v.tensor([1, 2, 3]).indexSelect(0, v.tensor(new Int32Array([1, 5]), [2])).list()
			v.close()
			return out`, &got))
		assert.Equal(t, "indexSelect: index 5 is out of range for axis 0 of size 3", got.Index)
		assert.Equal(t, "crossEntropy: class 10 is out of range for 10 classes", got.Class)
		assert.Contains(t, got.History, "tensor 0 is not reached: what was computed from it has been realized since")
		assert.Contains(t, got.State, "index 3 is out of range")
		assert.Equal(t, []float64{1, 3}, got.Fine)
		assert.Equal(t, []float64{3, 2}, got.Again)
		assert.Equal(t, []float64{2, 0}, got.Off)
	}
}
