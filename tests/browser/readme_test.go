package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// The program for pages in the README runs, and prints what it says.
func TestReadmeProgram(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```js\nimport { open } from './weft.js'\n")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	p := open(t)
	var said [][]any
	require.NoError(t, p.Run(`
		const { open } = weft, said = []
		const console = { log: (...words) => said.push(words) }
		`+program+`
		return said`, &said))
	matrix := func(rows ...[]any) any {
		var out []any
		for _, r := range rows {
			out = append(out, r)
		}
		return out
	}
	assert.Equal(t, [][]any{
		{[]any{2., 3.}, "f32"},
		{matrix([]any{2., 3., 0.}, []any{4., 5., 0.}), matrix([]any{4., 4., 0.}, []any{6., 6., 0.})},
		{matrix([]any{-1., -2., 3.}, []any{-3., -4., 7.})},
	}, said)
}

// So do functions of functions.
func TestReadmeFunctions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```js\nconst rows = ")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	p := open(t)
	var got []any
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([[1, 2, 3], [4, 5, 6]]), v = w.tensor([3, 6, 9])
		const rows = `+program+`
		const [g] = deep(v).sum().grad([v]), [h] = hard(v).sum().grad([v])
		const out = [await rows.list(), dy.shape, await pullback(w.ones([3]))[0].list(), g.shape, await h.list(), await blur.list(), draws.shape, value.dtype, y.dtype, sums.shape]
		w.close()
		return out`, &got))
	assert.Equal(t, []any{[]any{42., 96.}, []any{3.}, []any{6., 12., 18.}, []any{3.}, []any{1., 1., 1.}, []any{3., 6., 5.}, []any{2., 3.}, "f32", "f32", []any{2., 3.}}, got)
}

// So does the one with a model, for the inputs that it speaks of.
func TestReadmeModel(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```js\nconst model = ")
	require.True(t, found)
	program, _, _ := strings.Cut(rest, "```")
	p := open(t)
	var got struct {
		Names         []string
		Before, After float64
		Fast, Picture []int
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.rand([4, 1, 8, 8]), y = w.tensor(Int32Array.of(1, 2, 3, 4)), canvas = new OffscreenCanvas(4, 3)
		canvas.getContext('2d')
		await w.realize(x)
		const model = `+program+`
		const before = await (await step.run(x, y)).item()
		for (let k = 0; k < 20; k++) await step.run(x, y)
		const out = {names: Object.keys(w.nn.state(gradient)), before, after: await (await step.run(x, y)).item(), fast: await (await fast(model, x)).shape, picture: await picture.shape}
		w.close()
		return out`, &got))
	assert.Contains(t, got.Names, "norm.running_mean")
	assert.Less(t, got.After, got.Before)
	assert.Equal(t, []int{4, 10}, got.Fast)
	assert.Equal(t, []int{3, 3, 4}, got.Picture)
}
