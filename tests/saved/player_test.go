package saved

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
)

// Functions, inputs and results may have the names of what every object of JavaScript has.
func TestPlayerTakesEveryName(t *testing.T) {
	e := use(t, "WASM")
	x, k := tensor.Ones(2).On(e.Name()), tensor.Ones(2).To(dtype.I64).On(e.Name())
	require.NoError(t, tensor.Realize(ctx, x, k))
	c, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Mul(2), in[1].Add(1)} }, x, k)
	require.NoError(t, err)
	dir := t.TempDir()
	_, err = export.Write(ctx, dir, functions{"__proto__": c.Named([]string{"__proto__", "toString"}, []string{"__proto__", "toString"})}, export.Options{Devices: []string{"WASM"}})
	require.NoError(t, err)
	var said []string
	inNode(t, `
		import { load } from '`+dir+`/player/model.js'
		const said = []
		const says = async (f) => { try { said.push(await f()) } catch (e) { said.push(e.constructor.name + ' ' + e.message) } }
		const m = await load('`+dir+`')
		const run = (k) => m.run('__proto__', JSON.parse('{"__proto__": [1, 2], "toString": ' + k + '}'))
		await says(async () => Object.entries(await run('[1, 2]')).map(([name, r]) => name + ' ' + r.data).join(', '))
		await says(() => m.run('toString'))
		await says(() => m.run('__proto__', JSON.parse('{"__proto__": [1, 2]}')))
		await says(() => m.run('__proto__'))
		await says(() => run('[1.5, 2]'))
		await says(() => m.run('__proto__', { ['__proto__']: [undefined, 1], toString: [1, 2] }))
		await says(() => m.restore())
		await m.close()
		console.log(JSON.stringify(said))`, &said)
	assert.Equal(t, []string{
		"__proto__ 2,4, toString 2,3",
		"ModelError there is no function toString; there are __proto__",
		"ModelError __proto__ needs the input toString: int64 of shape [2]",
		"ModelError __proto__ needs the input __proto__: float32 of shape [2]",
		"ModelError __proto__: input toString has an element that is no int64",
		"ModelError __proto__: input __proto__ has an element that is no number",
		"ModelError restore: these bytes were not saved by this model",
	}, said)
}

// A run that is repeated, as the graphics processor was lost, draws the numbers that it drew before.
func TestRepeatedRunDrawsTheSame(t *testing.T) {
	dir, _, _, _ := exported(t, "variable", export.Options{Devices: []string{"WASM"}})
	var keys [][]int
	inNode(t, `
		import { Model } from '`+dir+`/player/model.js'
		import { sum } from '`+dir+`/player/elements.js'
		const keys = []
		const device = (lost) => {
			const key = { bytes: null }
			return {
				alloc: () => key, write: (at, bytes) => { key.bytes = [...bytes] }, load: async () => 0, play() { if (!lost) keys.push(key.bytes) }, close() {},
				async read(at, n) { if (lost) throw Object.assign(new Error('gone'), { kind: 'lost' }); return new Uint8Array(n) },
			}
		}
		const weights = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)
		const result = { name: 'y', dtype: 'uint32', shape: [2], target: 0, slot: -1 }
		const f = { inputs: [], results: [result], vars: [], arrays: [0], targets: [{ dtype: 'uint32', n: 2, dest: -1, checks: [] }],
			draws: [{ slot: 0, generator: 0, words: 1 }], ran: false, wasm: { kept: [], run: { at: 0, bytes: 0, args: [[0, 0]], vars: [] } } }
		const info = { weights: { sum: 0 }, arrays: [{ dtype: 'uint32', n: 2, form: 'exact', at: 0, bytes: 8, sum: sum(weights) }],
			generators: [{ seed: [1, 0], drawn: [0, 0] }], functions: { f } }
		const runs = async (lost) => {
			const m = new Model(info, 'wasm', new Uint8Array(), async () => weights, async () => device(false))
			await m.start(device(lost))
			await m.run('f')
			await m.run('f')
		}
		await runs(false)
		await runs(true)
		console.log(JSON.stringify(keys))`, &keys)
	require.Len(t, keys, 4)
	assert.NotEqual(t, keys[0], keys[1])
	assert.Equal(t, keys[:2], keys[2:])
}

// An export that cannot be written leaves the one before as it was.
func TestExportIsWholeOrNot(t *testing.T) {
	e := use(t, "WASM")
	x := tensor.Ones(2).On(e.Name())
	require.NoError(t, x.Realize(ctx))
	write := func(dir string, k float64) error {
		c, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Mul(k).Add(tensor.Full(k, dtype.F32, 2).Contiguous())} }, x)
		require.NoError(t, err)
		_, err = export.Write(ctx, dir, functions{"f": c}, export.Options{Devices: []string{"WASM"}})
		return err
	}
	contents := func(dir string) map[string]string {
		all := map[string]string{}
		require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				b, err := os.ReadFile(path)
				require.NoError(t, err)
				all[path] = string(b)
			}
			return err
		}))
		return all
	}
	dir := t.TempDir()
	require.NoError(t, write(dir, 2))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "player")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "player"), nil, 0o666)) // no folder can be made there
	before := contents(dir)
	for range 5 {
		require.ErrorContains(t, write(dir, 3), "export: ")
		require.Equal(t, before, contents(dir))
	}
}
