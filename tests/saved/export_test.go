package saved

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// result is what a run gave.
type result struct {
	DType string
	Shape []int
	Data  []byte
}

// played are the runs of a case in the form that drive.js takes, and what they give here.
func played(t *testing.T, e *engine.Engine, inputs map[string][]form, fs functions, from, to int) (script string, want []result) {
	var list []any
	for run := from; run < to; run++ {
		for _, name := range slices.Sorted(maps.Keys(fs)) {
			given := map[string]string{}
			var in []*T
			for i, f := range inputs[name] {
				x := numbered(t, e, f, run)
				raw, err := x.Bytes(ctx)
				require.NoError(t, err)
				given[fs[name].InputName(i)] = base64.StdEncoding.EncodeToString(raw)
				in = append(in, x)
			}
			list = append(list, []any{name, given, map[string]int{"n": run}})
			out, err := fs[name].With(tensor.Values{n: run}).Run(ctx, in...)
			require.NoError(t, err)
			for _, x := range out {
				raw, err := x.Bytes(ctx)
				require.NoError(t, err)
				want = append(want, result{x.DType().String(), append([]int{}, x.Shape()...), raw})
			}
		}
	}
	b, err := json.Marshal(list)
	require.NoError(t, err)
	return string(b), want
}

// alike compares floats within what kernels of other devices round, everything else exactly.
func alike(t *testing.T, want, got []result) {
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.DType, g.DType, "result %d", i)
		require.Equal(t, w.Shape, g.Shape, "result %d", i)
		require.Len(t, g.Data, len(w.Data))
		if w.DType != "float32" {
			assert.Equal(t, w.Data, g.Data, "result %d", i)
			continue
		}
		for at := 0; at < len(w.Data); at += 4 {
			a := float64(math.Float32frombits(binary.LittleEndian.Uint32(w.Data[at:])))
			b := float64(math.Float32frombits(binary.LittleEndian.Uint32(g.Data[at:])))
			require.True(t, math.Abs(a-b) <= 2e-5*(1+math.Abs(a)), "result %d, element %d: %v and %v", i, at/4, a, b)
		}
	}
}

// exported writes a case to a folder, and gives the runs that follow.
func exported(t *testing.T, name string, o export.Options) (dir, script string, want []result, r *export.Report) {
	e := use(t, "WASM")
	c := cases[name]
	fs := c.make(t, e)
	runs(t, e, c.inputs, fs, 0, 3)
	dir = t.TempDir()
	r, err := export.Write(ctx, dir, fs, o)
	require.NoError(t, err)
	script, want = played(t, e, c.inputs, fs, 3, 6)
	return dir, script, want, r
}

func node(t *testing.T) string {
	path, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	return path
}

// inNode runs the body of a module in Node; it prints JSON.
func inNode(t *testing.T, body string, result any) {
	file := filepath.Join(t.TempDir(), "test.mjs")
	require.NoError(t, os.WriteFile(file, []byte(body), 0o666))
	cmd := exec.Command(node(t), file)
	var said, complained bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &complained
	require.NoError(t, cmd.Run(), "%s%s", complained.String(), said.String())
	require.Empty(t, complained.String())
	require.NoError(t, json.Unmarshal(said.Bytes(), result), "%s", said.String())
}

func testdata(t *testing.T, name string) string {
	path, err := filepath.Abs(filepath.Join("testdata", name))
	require.NoError(t, err)
	return path
}

// Kernels in a file of their own are played all the same: by who compiles the file, by who is given the compiled module, and on
// several threads.
func TestKernelsApart(t *testing.T) {
	dir, script, want, r := exported(t, "training", export.Options{Devices: []string{"WASM"}, KernelsApart: true})
	assert.True(t, slices.ContainsFunc(r.Files, func(f export.File) bool { return f.Name == "kernels.wasm" }))
	plans, err := os.ReadFile(filepath.Join(dir, "wasm.plan"))
	require.NoError(t, err)
	assert.NotContains(t, string(plans), "\x00asm", "no module is in the plans")
	for name, option := range map[string]string{
		"file": `{}`, "module": `{ kernels: await WebAssembly.compile(await readFile('` + dir + `/kernels.wasm')) }`,
	} {
		t.Run(name, func(t *testing.T) {
			var got []result
			inNode(t, `
				import { readFile } from 'node:fs/promises'
				import { load } from '`+dir+`/player/model.js'
				import { drive } from '`+testdata(t, "drive.js")+`'
				console.log(JSON.stringify(await drive(await load('`+dir+`', `+option+`), `+script+`)))`, &got)
			alike(t, want, got)
		})
	}
	within, _, _, _ := exported(t, "inference", export.Options{Devices: []string{"WASM"}})
	file, err := os.ReadFile(filepath.Join(dir, "kernels.wasm"))
	require.NoError(t, err)
	var said []string
	inNode(t, `
		import { readFile, writeFile } from 'node:fs/promises'
		import { load } from '`+dir+`/player/model.js'
		import { Processor } from '`+dir+`/player/processor.js'
		const said = []
		const says = async (f) => { try { await f(); said.push('nothing') } catch (e) { said.push(e.message) } }
		const kernels = await WebAssembly.compile(await readFile('`+dir+`/kernels.wasm'))
		await says(() => load('`+within+`', { kernels }))
		await says(() => load('`+dir+`', { kernels, device: 'webgpu' }))
		await says(() => load('`+dir+`', { kernels: 1 }))
		await says(() => {
			const p = new Processor({ threads: 2, isolated: true, start: () => ({ postMessage() {}, terminate() {} }) })
			p.add(kernels)
		})
		await writeFile('`+dir+`/kernels.wasm', new Uint8Array(`+fmt.Sprint(len(file))+`))
		await says(() => load('`+dir+`'))
		console.log(JSON.stringify(said))`, &said)
	require.Len(t, said, 5)
	for i, w := range []string{
		"no kernels in a file of their own", "no kernels in a file of their own", "is a WebAssembly.Module", "run on one thread", "kernels.wasm is damaged",
	} {
		assert.Contains(t, said[i], w)
	}
}

// Kernels that differ in constants only are one in a folder too, which brings these, and tables that kernels in WebAssembly look bytes up in. Players that know of none refuse it by its version, and play
// folders without any.
func TestConstantsInFolder(t *testing.T) {
	for name, devices := range map[string][]string{"alike": {"wasm", "webgpu"}, "bytes": {"wasm"}, "inference": nil} {
		dir, _, _, _ := exported(t, name, export.Options{})
		b, err := os.ReadFile(filepath.Join(dir, "model.json"))
		require.NoError(t, err)
		var info struct {
			Version   int                                   `json:"version"`
			Functions map[string]map[string]json.RawMessage `json:"functions"`
		}
		require.NoError(t, json.Unmarshal(b, &info))
		assert.Equal(t, 1+min(1, len(devices)), info.Version, name)
		for _, device := range []string{"wasm", "webgpu"} {
			assert.Equal(t, slices.Contains(devices, device), strings.Contains(string(info.Functions["main"][device]), `"constants":[[`), "%s %s", name, device)
		}
	}
}

// A folder runs in Node as the functions go on here.
func TestFolderInNode(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			if name == "checked" {
				t.Skip("see TestPlayerSaysWhatIsWrong: its runs end in an error")
			}
			dir, script, want, _ := exported(t, name, export.Options{Devices: []string{"WASM"}})
			var got []result
			inNode(t, `
				import { load } from '`+dir+`/player/model.js'
				import { drive } from '`+testdata(t, "drive.js")+`'
				const model = await load('`+dir+`')
				console.log(JSON.stringify(await drive(model, `+script+`)))
				await model.close()`, &got)
			alike(t, want, got)
		})
	}
}

// In Go a folder gives what it was written from.
func TestFolderInGo(t *testing.T) {
	dir, _, want, _ := exported(t, "training", export.Options{})
	e := use(t, "WASM")
	fs, err := export.Open(ctx, dir, "")
	require.NoError(t, err)
	_, got := played(t, e, cases["training"].inputs, fs, 3, 6)
	assert.Equal(t, want, got)
	_, err = export.Open(ctx, t.TempDir(), "")
	assert.ErrorContains(t, err, "give the folder that weft export wrote")
}

// zipped is what a host sends of some files.
func zipped(t *testing.T, dir string, names ...string) (n int) {
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		n += z.Len()
	}
	return n
}

// What a device of pages cannot do is said, with what to do about it.
func TestExportForDeviceThatCannot(t *testing.T) {
	e := use(t, "INTERP")
	c := capture(t, e, func(in ...*T) []*T { return []*T{in[0].Add(1)} }, form{dtype.F64, []int{3}})
	dir := filepath.Join(t.TempDir(), "x")
	_, err := export.Write(ctx, dir, functions{"main": c}, export.Options{})
	require.ErrorContains(t, err, `export for WEBGPU: function "main"`)
	assert.ErrorContains(t, err, "float64")
	assert.ErrorContains(t, err, "name another device")
	assert.NoDirExists(t, dir, "nothing is written by halves")
	_, err = export.Write(ctx, dir, functions{"main": c}, export.Options{Devices: []string{"wasm"}})
	require.NoError(t, err)
	_, err = export.Write(ctx, dir, nil, export.Options{})
	assert.ErrorContains(t, err, "no function to save")
	_, err = export.Write(ctx, dir, functions{"main": nil}, export.Options{})
	assert.ErrorContains(t, err, "is nil")
}

// The player's code for one device has at most 15 kB, and for both 25.
func TestPlayerIsSmall(t *testing.T) {
	dir, _, _, _ := exported(t, "inference", export.Options{})
	wasm := []string{"player/model.js", "player/elements.js", "player/lent.js", "player/worker.js", "player/processor.js", "player/threads.js", "player/spares.js", "player/thread.js"}
	one, other := zipped(t, dir, wasm...), zipped(t, dir, "player/model.js", "player/elements.js", "player/lent.js", "player/worker.js", "player/player.js")
	both := zipped(t, dir, append(wasm, "player/player.js")...)
	t.Logf("gzip: %d bytes for WebAssembly, %d for WebGPU, %d for both", one, other, both)
	assert.Less(t, max(one, other), 15_000)
	assert.Less(t, both, 25_000)
}

// What is wrong with a folder or with what a run is given is said in words.
func TestPlayerSaysWhatIsWrong(t *testing.T) {
	dir, _, _, _ := exported(t, "variable", export.Options{Devices: []string{"WASM"}})
	checked, _, _, _ := exported(t, "checked", export.Options{Devices: []string{"WASM"}})
	var said []string
	inNode(t, `
		import { load } from '`+dir+`/player/model.js'
		import { cp, readFile, writeFile, mkdtemp } from 'node:fs/promises'
		const said = []
		const says = async (f) => { try { await f(); said.push('nothing') } catch (e) { said.push(e.constructor.name + ' ' + e.message) } }
		const changed = async (name, change) => {
			const to = await mkdtemp('`+t.TempDir()+`/x')
			await cp('`+dir+`', to, { recursive: true })
			await writeFile(to + '/' + name, change(await readFile(to + '/' + name)))
			return load(to)
		}
		const flip = (b) => { b[b.length - 70] ^= 1; return b }
		const json = (change) => (b) => { const m = JSON.parse(b); change(m); return JSON.stringify(m) }
		await says(() => changed('model.json', json((m) => { m.version = 9 })))
		await says(() => changed('model.json', json((m) => { m.format = 'x' })))
		await says(() => changed('model.json', () => '<html>'))
		await says(() => changed('weights.bin', flip))
		await says(() => changed('weights.bin', (b) => b.subarray(1)))
		await says(() => changed('wasm.plan', flip))
		await says(() => load('`+dir+`', { device: 'webgpu' }))
		await says(() => load('`+dir+`', { device: 'x' }))
		const m = await load('`+dir+`')
		await says(() => m.run('no'))
		await says(() => m.run('constructor'))
		await says(() => m.run('main', { row: [1, 2, 3] }))
		await says(() => m.run('main', { row: [1, 2, 3] }, { vars: { n: 7 } }))
		await says(() => m.run('main', { row: [1, 2] }, { vars: { n: 1 } }))
		await says(() => m.run('main', { row: ['a', 2, 3] }, { vars: { n: 1 } }))
		await says(() => m.run('main', { row: Int32Array.of(1, 2, 3) }, { vars: { n: 1 } }))
		await says(() => m.run('main', { line: 1 }, { vars: { n: 1 } }))
		await says(() => m.run('main', {}, { vars: { n: 1 } }))
		await says(() => m.run('main', { row: [1, 2, 3] }, { vars: { n: 1 }, read: ['no'] }))
		await says(() => m.restore(Uint8Array.of(1)))
		const c = await load('`+checked+`')
		await says(() => c.run('main', { in0: [0, 8, 9, 1] }))
		await says(() => c.run('main', { in0: [0, -10, 1, 1] }))
		await says(() => c.run('main', { in0: [0, 1.5, 1, 1] }))
		await says(() => c.run('main', { in0: [0, 8, 7, 1] }))
		console.log(JSON.stringify(said))`, &said)
	want := []string{
		"plays folders up to version 2, and", "is no exported function", "is no JSON", "is damaged: its checksum differs", "bytes, not", "is damaged: its checksum differs",
		"has no kernels for webgpu, but for wasm", "there is no device x", "there is no function no; there are main", "there is no function constructor",
		"variable n is undefined; give it an integer of 0 … 6 in vars", "variable n is 7", "has 3 elements, not 2", "has an element that is no number",
		"needs a Float32Array, not a Int32Array", "has no input line; its inputs are row", "needs the input row: float32 of shape [3]",
		"has no result no; its results are seen, mean, at", "were not saved by this model", "index 9", "index -10", "has an element that is no int32",
	}
	require.Len(t, said, len(want)+1)
	for i, w := range want {
		assert.Contains(t, said[i], "ModelError ", w)
		if strings.HasPrefix(w, "index") {
			w = strings.TrimPrefix(w, "index ")
		}
		assert.Contains(t, said[i], w)
	}
	assert.Equal(t, "nothing", said[len(want)])
}

// Weights of fewer bits are the same numbers in Go and in a page; what a function assigns keeps all of its bits.
func TestShorterWeights(t *testing.T) {
	e := use(t, "WASM")
	w := random(t, e, 40, 30)
	c := capture(t, e, func(in ...*T) []*T { return []*T{in[0].MatMul(w), w} }, form{cases["inference"].inputs["main"][0].d, []int{5, 40}})
	inputs := map[string][]form{"main": {{w.DType(), []int{5, 40}}}}
	_, exact := played(t, e, inputs, functions{"main": c}, 0, 1)
	for form, most := range map[saved.Form]float64{saved.Half: 1. / 2048, saved.Bytes: 1. / 254} {
		dir := t.TempDir()
		_, err := export.Write(ctx, dir, functions{"main": c}, export.Options{Weights: form})
		require.NoError(t, err)
		fs, err := export.Open(ctx, dir, "")
		require.NoError(t, err)
		script, want := played(t, e, inputs, fs, 0, 1)
		var got []result
		inNode(t, `
			import { load } from '`+dir+`/player/model.js'
			import { drive } from '`+testdata(t, "drive.js")+`'
			console.log(JSON.stringify(await drive(await load('`+dir+`'), `+script+`)))`, &got)
		alike(t, want, got)
		assert.Equal(t, want[1], got[1], "the weights themselves")
		differ := 0
		for at := 0; at < len(got[1].Data); at += 4 {
			a := float64(math.Float32frombits(binary.LittleEndian.Uint32(exact[1].Data[at:])))
			b := float64(math.Float32frombits(binary.LittleEndian.Uint32(got[1].Data[at:])))
			require.True(t, math.Abs(a-b) <= most, "%v and %v", a, b)
			if a != b {
				differ++
			}
		}
		assert.Greater(t, differ, 600, "%v", form)
	}
	dir, _, want, _ := exported(t, "training", export.Options{Weights: saved.Bytes})
	fs, err := export.Open(ctx, dir, "")
	require.NoError(t, err)
	_, got := played(t, e, cases["training"].inputs, fs, 3, 6)
	assert.Equal(t, want, got)
}

// The types of a folder are right for a program that uses it, and wrong for one that does not give what it takes.
func TestTypesOfFolder(t *testing.T) {
	tsc := need.TypeScript(t)
	dir, _, _, _ := exported(t, "variable", export.Options{Devices: []string{"WASM"}})
	check := func(program string) (string, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "program.ts"), []byte("import { load } from './player/model.js'\nconst m = await load('./', { worker: true })\n"+program), 0o666))
		cmd := exec.Command(tsc, "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "program.ts")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o666))
	out, err := check(`
		const r = await m.run('main', { row: [[1, 2, 3]] }, { vars: { n: 3 }, read: ['mean'] })
		const data: Float32Array = r.mean.data
		const shape: number[] = r.seen.shape
		const at: Int32Array = r.at.data
		await m.restore(await m.save())
		console.log(data, shape, at, m.device, m.functions.main.vars[0].lo)
		await m.close()`)
	require.NoError(t, err, "%s", out)
	out, err = check(`await m.run('main', { line: [1] }, { vars: { k: 1 } }); await m.run('no', {})`)
	require.Error(t, err)
	assert.Contains(t, out, "'line' does not exist")
	assert.Contains(t, out, `"no"`)
}
