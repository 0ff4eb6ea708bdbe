package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A decoder with a cache that grows is captured once, for all lengths, and gives what functions of fixed lengths give.
func TestDecodeInAPage(t *testing.T) {
	p := open(t)
	var got struct {
		Worst    float64
		Plans    []float64
		Compared int
		Jitted   []float64
		Forms    int
	}
	require.NoError(t, p.Run(`
		const room = 512, width = 8
		const w = await weft.open({device: 'wasm'})
		await w.seed(1)
		const rows = w.randn([room, 2 * width]), queries = w.randn([room, width])
		await w.realize(rows, queries)
		const keys = w.zeros([room, width]).own(), values = w.zeros([room, width]).own()
		await w.realize(keys, values)
		const n = w.variable('n', 0, room - 1)
		const attend = (q, k, v) => q.unsqueeze(0).matmul(k.transpose(0, 1)).mul(width ** -0.5).softmax(-1).matmul(v).squeeze(0)
		const step = w.capture((row, q) => {
			keys.setAt(row.narrow(0, 0, width), n)
			values.setAt(row.narrow(0, width, width), n)
			const length = n.plus(1)
			return attend(q, keys.narrow(0, 0, length), values.narrow(0, 0, length))
		})
		const plans = []
		let worst = 0, compared = 0
		for (let i = 0; i < room; i++) {
			const out = await step.run(rows.select(0, i).contiguous(), queries.select(0, i).contiguous(), n.bind(i))
			const data = await out.data()
			plans.push((await w.stats()).plans)
			if ([0, 1, 2, 16, 99, 255, 510, 511].includes(i)) {
				const seen = rows.narrow(0, 0, i + 1)
				const want = await attend(queries.select(0, i), seen.narrow(1, 0, width), seen.narrow(1, width, width)).data()
				want.forEach((v, j) => { worst = Math.max(worst, Math.abs(v - data[j]) || (Number.isNaN(v - data[j]) ? Infinity : 0)) })
				compared++
			}
		}
		const f = w.jit((x, n) => x.narrow(0, 1, n).sum())
		const m = w.variable('m', 1, 3), x = w.tensor([1, 2, 3, 4])
		const jitted = []
		for (const k of [1, 2, 3]) jitted.push(await (await f(x, m.bind(k))).item())
		const out = {worst, compared, plans: [plans[3], plans[15], plans[98], plans[254], plans[509]], jitted, forms: f.size}
		w.close()
		return out`, &got))
	assert.Less(t, got.Worst, 1e-5)
	assert.Equal(t, 8, got.Compared)
	assert.Equal(t, []float64{2, 5, 9}, got.Jitted)
	assert.Equal(t, 1, got.Forms)
	t.Log(got.Plans)
	for i, n := range got.Plans[1:] { // what was compared with, and its rows, are compiled for their lengths
		assert.LessOrEqual(t, n-got.Plans[0], float64(2*(i+1)), "plans %v", got.Plans)
	}
}

// What varies, in the words of a page.
func TestSizesInAPage(t *testing.T) {
	p := open(t)
	var got struct {
		Text   []string
		Values [][]float64
		Shape  []int
		Shapes [][][]int
		Wrong  []string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'}), other = await weft.open({device: 'wasm'})
		const n = w.variable('n', 1, 4), m = w.variable('m', 0, 2)
		const x = w.tensor([1, 2, 3, 4, 5, 6])
		const text = [n, n.plus(1), n.times(2).minus(m).plus(-3), n.minus(n), n.bind(3), n.bind(3).plus(n)].map(String)
		const f = w.capture((x) => [
			x.at([m, m.plus(n)]).sum(), x.at(m), x.narrow(0, 0, n.plus(m)).max(), w.arange(n).sum(), w.scalar(n.times(10)),
			x.reshape([1, 6]).expand([n, 6]).sum(), x.narrow(0, 0, n.times(1)).reshape([n, 1]).mean(),
		])
		const values = [], shapes = []
		for (const [a, b] of [[1, 0], [4, 2], [2, 1]]) {
			const outs = await f.run(x, n.bind(a), m.bind(b))
			values.push(await Promise.all(outs.map((o) => o.item())))
		}
		const k = w.variable('n', 1, 3)
		const h = w.capture((x) => [x.reshape([2, 3]).narrow(1, 0, k), x.reshape([2, 3]).narrow(1, 0, k).sum(1)])
		for (const size of [1, 3, 2]) shapes.push((await h.run(x, k.bind(size))).map((t) => t.shape))
		const rows = (await h.run(x, k.bind(2)))[0]
		shapes.push([w.vmap((r) => r.sum())(rows).shape, rows.add(1).shape])
		const bound = x.narrow(0, 1, n.bind(3))
		const shape = await bound.shape
		const wrong = []
		const tries = [
			() => n.bind(5), () => n.plus(1).bind(2), () => w.variable('k', 3, 1), () => x.narrow(0, 0, 1.5), () => x.narrow(0, 0, other.variable('n', 1, 4)),
			() => f.run(x, n), () => f.run(x, n.plus(1)), () => w.zeros([n]), () => x.narrow(0, 0, n).sum().item(), () => f.run(x, n.bind(2)).then((o) => o[0].item()),
			() => w.arange(1, n).sum().item(), () => x.at([null, n]).sum().item(),
		]
		for (const f of tries) {
			try { await f(); wrong.push('nothing') } catch (e) { wrong.push(e.message) }
		}
		const out = {text, values, shape, shapes, wrong}
		w.close()
		other.close()
		return out`, &got))
	assert.Equal(t, []string{"n", "n + 1", "2·n + -1·m + -3", "0", "n=3", "2·n=3"}, got.Text)
	assert.Equal(t, [][]float64{{1, 1, 1, 0, 10, 21, 1}, {18, 3, 6, 6, 40, 84, 2.5}, {5, 2, 3, 1, 20, 42, 1.5}}, got.Values)
	assert.Equal(t, []int{3}, got.Shape)
	assert.Equal(t, [][][]int{{{2, 1}, {2}}, {{2, 3}, {2}}, {{2, 2}, {2}}, {{2}, {2, 2}}}, got.Shapes, "what a run gives tells its shape")
	assert.Equal(t, []string{
		"bind: the variable n is from 1 to 4, and 5 is not",
		"bind: this is an expression; bind the variables that it is made of",
		`variable: "k" from 3 to 1; it needs a name, and bounds in order`,
		"narrow: n is the number 1.5; it must be an integer from -2147483648 to 2147483647",
		"narrow: n is a size of another engine",
		"run: inputs 1 is the size n; it must be a variable with a value: n.bind(17)",
		"run: inputs 1 is the size n + 1; it must be a variable with a value: n.bind(17)",
		"zeros: shape[0] is the size n; it must be an integer from 0 to 2147483647",
		"item: variable n has no value; give it one of its bounds 1…4",
		"run: variable m(0…2) has no value; give the run one",
		"arange: up to a size that varies, numbers are 0, 1, …",
		"at: a part of an axis whose ends vary is [from, to], with both ends",
	}, got.Wrong)
}

// vmap goes along an axis whose size varies, and the shape of what it gives is known as that of any other value.
func TestVmapOfSizesInAPage(t *testing.T) {
	p := open(t)
	var got struct {
		Before, After, More []int
		Values              [][]float64
		Text                string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const n = w.variable('n', 1, 6), x = w.arange(0, 12, 1, {dtype: 'f32'}).reshape([6, 2])
		const rows = w.vmap((row) => row.mul(2).sum())
		const bound = rows(x.narrow(0, 0, n.bind(3)))
		const f = w.capture((x) => rows(x.narrow(0, 0, n)))
		const run = await f.run(x, n.bind(2))
		let text
		try { rows(x.narrow(0, 0, n)).shape } catch (e) { text = e.message }
		const values = [await bound.list(), await run.list()]
		const out = {before: bound.shape, after: run.shape, more: run.unsqueeze(0).shape, values, text}
		w.close()
		return out`, &got))
	assert.Equal(t, []int{3}, got.Before)
	assert.Equal(t, []int{2}, got.After)
	assert.Equal(t, []int{1, 2}, got.More)
	assert.Equal(t, [][]float64{{2, 10, 18}, {2, 10}}, got.Values)
	assert.Equal(t, "shape: the shape of this tensor varies with n; it is there after await realize()", got.Text)
}
