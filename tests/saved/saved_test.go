package saved

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// use makes a device the default.
func use(t *testing.T, name string) *engine.Engine {
	engine.Configure(engine.Options{Threads: 2}, name)
	e, err := engine.Use("")
	need.Device(t, name, err)
	return e
}

// runs plays all functions of a case in turns, and gives the bytes of all results and at last of all that was assigned.
func runs(t *testing.T, e *engine.Engine, inputs map[string][]form, fs functions, from, to int) []byte {
	var out bytes.Buffer
	put := func(x *T) {
		raw, err := x.Bytes(ctx)
		require.NoError(t, err)
		out.Write(raw)
		out.WriteString(x.DType().String())
	}
	names := slices.Sorted(maps.Keys(fs))
	for run := from; run < to; run++ {
		for _, name := range names {
			var in []*T
			for _, f := range inputs[name] {
				in = append(in, numbered(t, e, f, run))
			}
			results, err := fs[name].With(tensor.Values{n: run}).Run(ctx, in...)
			require.NoError(t, err)
			for _, r := range results {
				put(r)
			}
		}
	}
	for _, name := range names {
		for _, s := range fs[name].States() {
			put(s)
		}
	}
	return out.Bytes()
}

const child = "WEFT_SAVED_CHILD" // device, case, file and where results go

// The other process: it has nothing but the file.
func TestChild(t *testing.T) {
	device, name, file, to := os.Getenv(child), os.Getenv(child+"_CASE"), os.Getenv(child+"_FILE"), os.Getenv(child+"_TO")
	if device == "" {
		t.Skip("is run by the other tests")
	}
	e := use(t, device)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	fs, err := tensor.LoadFunctions(ctx, f, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, runs(t, e, cases[name].inputs, fs, 3, 6), 0o666))
}

// inChild loads a file in another process and gives what its runs gave there.
func inChild(t *testing.T, device, name, file string) []byte {
	to := filepath.Join(t.TempDir(), "results")
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), child+"="+device, child+"_CASE="+name, child+"_FILE="+file, child+"_TO="+to)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	raw, err := os.ReadFile(to)
	require.NoError(t, err, "%s", out)
	return raw
}

// A function that was saved goes on in another process with the same bits, and here as if it had not been saved.
func TestGoesOnInAnotherProcess(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM", "WEBGPU"} {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(device+"/"+name, func(t *testing.T) {
				e := use(t, device)
				c := cases[name]
				fs := c.make(t, e)
				runs(t, e, c.inputs, fs, 0, 3)
				file := filepath.Join(t.TempDir(), "function")
				var b bytes.Buffer
				require.NoError(t, tensor.SaveFunctions(ctx, &b, fs))
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o666))
				want := runs(t, e, c.inputs, fs, 3, 6)
				require.NotEmpty(t, want)
				assert.Equal(t, want, inChild(t, device, name, file))
			})
		}
	}
}

// On another device values are those of that device; integers are the same.
func TestLoadsOnAnotherDevice(t *testing.T) {
	e := use(t, "INTERP")
	c := cases["types"]
	fs := c.make(t, e)
	var b bytes.Buffer
	require.NoError(t, tensor.SaveFunctions(ctx, &b, fs))
	other := use(t, "WASM")
	loaded, err := tensor.LoadFunctions(ctx, &b, "WASM")
	require.NoError(t, err)
	x := func(e *engine.Engine) []*T {
		var in []*T
		for _, f := range c.inputs["main"] {
			in = append(in, numbered(t, e, f, 1))
		}
		return in
	}
	want, err := fs["main"].Run(ctx, x(e)...)
	require.NoError(t, err)
	got, err := loaded["main"].Run(ctx, x(other)...)
	require.NoError(t, err)
	for i := range want[:7] {
		a, err := want[i].Bytes(ctx)
		require.NoError(t, err)
		b, err := got[i].Bytes(ctx)
		require.NoError(t, err)
		assert.Equal(t, a, b, "result %d", i)
	}
}

func TestNamesAndErrorsAfterLoading(t *testing.T) {
	e := use(t, "INTERP")
	save := func(name string) *tensor.Captured {
		var b bytes.Buffer
		require.NoError(t, cases[name].make(t, e)["main"].Save(ctx, &b))
		c, err := tensor.LoadCaptured(ctx, &b, "")
		require.NoError(t, err)
		return c
	}
	c := save("variable")
	assert.Equal(t, []string{"row", "seen"}, []string{c.InputName(0), c.ResultName(0)})
	row := numbered(t, e, form{dtype.F32, []int{3}}, 0)
	_, err := c.Run(ctx, row)
	assert.ErrorContains(t, err, "variable n(0…6) has no value")
	_, err = c.With(tensor.Values{n: 7}).Run(ctx, row)
	assert.ErrorContains(t, err, "is 7, not within its bounds 0…6")
	out, err := c.With(tensor.Values{n: 4}).Run(ctx, row)
	require.NoError(t, err)
	assert.Equal(t, []int{5, 3}, out[0].Shape())
	require.Len(t, c.States(), 1)
	assert.Equal(t, []int{7, 3}, c.States()[0].Shape())
	_, err = c.With(tensor.Values{n: 4}).Run(ctx, row, row)
	assert.ErrorContains(t, err, "takes 1 inputs, not 2")
	_, err = c.With(tensor.Values{n: 4}).Run(ctx, numbered(t, e, form{dtype.F32, []int{4}}, 0))
	assert.ErrorContains(t, err, "captured with shape [3]")

	k := save("checked")
	at := tensor.Of([]int32{0, 8, 9, 1}).On(e.Name())
	out, err = k.Run(ctx, at)
	require.NoError(t, err)
	_, err = out[0].Bytes(ctx)
	assert.ErrorContains(t, err, "9")
	_, err = out[1].Bytes(ctx)
	assert.NoError(t, err)
}
