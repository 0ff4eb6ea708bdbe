package browser_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// declared gives the members of each class in weft.d.ts.
func declared(t *testing.T) map[string][]string {
	source, err := os.ReadFile(filepath.Join(need.Root(t), "wasm/js/weft.d.ts"))
	require.NoError(t, err)
	member := regexp.MustCompile(`(?m)^  (?:readonly )?(\w+)[(:<]`)
	out := map[string][]string{}
	for _, class := range regexp.MustCompile(`(?ms)^export class (\w+)[^\n]*\{\n(.*?)^\}`).FindAllStringSubmatch(string(source), -1) {
		for _, m := range member.FindAllStringSubmatch(class[2], -1) {
			if !slices.Contains(out[class[1]], m[1]) {
				out[class[1]] = append(out[class[1]], m[1])
			}
		}
	}
	return out
}

// What the types promise is there, and what is there the types tell, but for what the classes use among themselves.
func TestTypesAreTheFace(t *testing.T) {
	inner := map[string][]string{
		"Tensor": {"w", "ref", "gone", "known", "form", "told", "below", "leaf", "anew", "weighs"}, "Captured": {"w", "ref", "f", "ready", "form", "forms", "takes", "captured"},
		"Weft": {"boot", "module", "folder", "ending", "settings", "asked", "number", "own", "forget", "record", "recording", "call", "start", "keep", "alive", "outside", "watch", "from", "stand", "standing", "writer"},
	}
	p := open(t)
	var there map[string][]string
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([1, 2])
		const c = w.capture((x) => x.add(1))
		await c.run(x)
		const members = (o) => [...Object.getOwnPropertyNames(o), ...Object.getOwnPropertyNames(Object.getPrototypeOf(o))].filter((n) => n !== 'constructor')
		const out = {Tensor: members(x), Captured: members(c), Weft: members(w)}
		w.close()
		return out`, &there))
	said := declared(t)
	for class, names := range there {
		for _, n := range said[class] {
			assert.Contains(t, names, n, "weft.d.ts promises %s.%s", class, n)
		}
		for _, n := range names {
			assert.True(t, slices.Contains(said[class], n) || slices.Contains(inner[class], n), "weft.d.ts does not tell of %s.%s", class, n)
		}
	}
}

// A page of somebody who knows nothing but weft.js: the table of the API from top to bottom, under a strict policy.
func TestOutsider(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got map[string]any
		require.NoError(t, p.Run(`
		const device = '`+device+`'
		const { open } = await import('./weft.js')
		const loaded = []
		const w = await open({ device, onprogress: (p) => loaded.push(p) })
		const out = { device: w.device, progress: loaded.length > 0 && loaded.at(-1).loaded === loaded.at(-1).total }
		out.nested = await w.tensor([[1, 2], [3, 4]]).list()
		out.typed = [...await w.tensor(new Float32Array([1, 2, 3, 4]), [2, 2]).matmul(w.tensor([[0, 1], [1, 0]])).data()]
		out.half = await w.randn([2, 3], { dtype: 'f16' }).dtype
		const ints = await w.tensor(new Int32Array([3, -4])).mul(2).data()
		out.ints = [ints.constructor.name, ...ints]
		out.bool = await w.tensor([1, 5]).gt(2).list()
		out.conv = await w.ones([1, 1, 4, 4]).conv2d(w.ones([1, 1, 3, 3]), null, { stride: 2, padding: 1 }).shape
		out.shapes = [await w.zeros([6]).reshape([2, -1]).shape, await w.zeros([2, 3]).permute([1, 0]).shape]
		const x = w.tensor([[1, 2], [3, 4]])
		out.sums = [await x.sum().item(), await x.sum({ axis: 1, keep: true }).list(), await x.sum(0).list()]
		out.soft = (await x.softmax(-1).sum(1).list()).map((v) => Math.round(v * 1e5) / 1e5)
		out.at = [await x.at(0, [1, -1]).shape, await x.at(1, 0).item(), await x.at([0, null, 1], w.tensor(new Int32Array([1]))).list()]
		const v = w.tensor([[1], [1]]).own()
		const y = w.tensor([[5], [11]])
		const step = w.capture((x, y) => {
			const loss = x.matmul(v).mse(y)
			const [g] = loss.grad([v])
			v.assign(v.sub(g.mul(0.02)))
			return loss
		})
		let loss
		for (let i = 0; i < 400; i++) loss = await step.run(x, y)
		out.loss = await loss.item() < 1e-2
		out.learnt = await v.list()
		let error
		function mine() { return w.zeros([2, 3]).and(1) }
		const wrong = mine()
		try { await wrong.add(1).data() } catch (e) { error = e }
		out.error = error instanceof Error && error.message
		out.stack = /mine/.test(error.stack)
		out.goesOn = await w.ones([3]).sum().item()
		const before = (await w.stats()).tensors
		wrong.dispose()
		for (let i = 0; i < 10; i++) w.zeros([4]).dispose()
		await w.zeros([1]).item()
		out.disposed = (await w.stats()).tensors <= before + 1
		out.isolated = crossOriginIsolated
		w.close()
		try { await x.data() } catch (e) { out.closed = e.message }
		return out`, &got))
		assert.Equal(t, map[string]any{
			"device": strings.ToUpper(device), "progress": true,
			"nested": []any{[]any{1., 2.}, []any{3., 4.}}, "typed": []any{2., 1., 4., 3.}, "half": "f16", "ints": []any{"Int32Array", 6., -8.},
			"bool": []any{0., 1.}, "conv": []any{1., 1., 2., 2.}, "shapes": []any{[]any{2., 3.}, []any{3., 2.}},
			"sums": []any{10., []any{[]any{3.}, []any{7.}}, []any{4., 6.}}, "soft": []any{1., 1.},
			"at": []any{[]any{0.}, 3., []any{[]any{2.}, []any{4.}}}, "loss": true, "learnt": got["learnt"],
			"error": "and: f32: needs integers or bools", "stack": true, "goesOn": 3., "disposed": true,
			"isolated": false, "closed": "data: the engine was closed; open() gives another",
		}, got)
	}
}
