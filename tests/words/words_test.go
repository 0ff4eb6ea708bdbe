// Package words reads the errors of the whole repository as a person would: typical mistakes are made, and what is said must not
// say a thing twice. It refuses to know who says what.
package words

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/safetensors"
	. "github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// twice finds a prefix that is said again: "tensor: tensor: …", "open CPU: CPU: …", "CPU: load plan: CPU: …".
func twice(message string) string {
	line, _, _ := strings.Cut(message, "\n")
	seen := map[string]bool{}
	for _, part := range strings.Split(line, ": ") {
		if len(part) > 40 { // a sentence
			break
		}
		words := strings.Fields(part)
		if len(words) == 0 {
			return "an empty prefix"
		}
		last := words[len(words)-1]
		if seen[part] || len(words) == 1 && seen[last] {
			return part
		}
		seen[part], seen[last] = true, true
	}
	return ""
}

func TestTwice(t *testing.T) {
	for _, m := range []string{"tensor: tensor: x", "open CPU: CPU: no compiler", "CPU: load plan: CPU: x", "weft: a: weft: b", "a: : b"} {
		assert.NotEmpty(t, twice(m), m)
	}
	for _, m := range []string{"tensor: MatMul [2 3]: inner sizes differ (x.go:3)", "CPU: out of memory: asked for 3", "DEV=GPU: unknown device \"GPU\": there are CPU"} {
		assert.Empty(t, twice(m), m)
	}
}

// mistakes are what people get wrong, with any device.
func mistakes(t *testing.T, device string) map[string]error {
	ctx, dir := context.Background(), t.TempDir()
	out := map[string]error{}
	try := func(name string, f func() error) {
		var err error
		if failed := Try(func() { err = f() }); failed != nil {
			err = failed
		}
		out[name] = err
	}
	realized := func(name string, f func() *Tensor) { try(name, func() error { return Realize(ctx, f()) }) }
	x := Of([]float32{1, 2, 3, 4}, 2, 2)
	realized("shapes", func() *Tensor { return x.MatMul(Ones(3, 3)) })
	realized("types", func() *Tensor { return x.Bitcast(dtype.Bool) })
	realized("argument", func() *Tensor { return ArangeOf(dtype.F32, 0, 1, 0) })
	realized("axis", func() *Tensor { return x.Sum(7) })
	realized("found by uop", func() *Tensor { return FromNode(uop.NewIota(3).Reshape(4), nil) })
	realized("huge shape", func() *Tensor { return Zeros(1<<40, 1<<40) })
	realized("huge array", func() *Tensor { return x.Reshape(4, 1).Expand(4, 1<<40).Add(1) })
	realized("huge constant", func() *Tensor { return Zeros(1 << 40) })
	realized("huge data", func() *Tensor { return Empty(dtype.F32, 1<<40) })
	realized("other device", func() *Tensor { return x.Add(Ones(2, 2).On("REF").Add(1)) })
	realized("no such device", func() *Tensor { return x.On("GPU") })
	try("stale", func() error {
		y := Of([]float32{1, 2}, 2)
		z := y.Add(1)
		y.Assign(Of([]float32{3, 4}, 2))
		if err := Realize(ctx, y); err != nil {
			return err
		}
		return Realize(ctx, z)
	})
	try("discarded", func() error { y := Of([]float32{1, 2}, 2); y.Discard(); return Realize(ctx, y.Add(1)) })
	try("read as another type", func() error { _, err := Data[int32](ctx, x); return err })
	try("item", func() error { _, err := x.Item(ctx); return err })
	try("file is missing", func() error { return nn.Load(ctx, filepath.Join(dir, "none"), &struct{ W *Tensor }{Ones(2)}) })
	try("file is none", func() error {
		file := filepath.Join(dir, "bad")
		require.NoError(t, os.WriteFile(file, []byte("not a file of tensors"), 0o600))
		return nn.Load(ctx, file, &struct{ W *Tensor }{Ones(2)})
	})
	try("no folder", func() error { return nn.Save(ctx, filepath.Join(dir, "no", "file"), &struct{ W *Tensor }{Ones(2)}) })
	try("data", func() error { _, err := safetensors.Open(filepath.Join(dir, "none")); return err })
	try("nothing to train", func() error { _, err := nn.NewAdam(ctx, &struct{}{}, nn.AdamOptions{}); return err })
	e, err := engine.Use(device)
	require.NoError(t, err)
	try("plan", func() error { _, err := e.Device().Load(ctx, &plan.Plan{Version: 99}); return err })
	try("kernel", func() error {
		target := map[string]string{"CPU": "c", "WASM": "wasm", "INTERP": "interp", "WEBGPU": "wgsl"}[device]
		_, err := e.Device().Load(ctx, &plan.Plan{Version: plan.Version, Target: target, Memory: []plan.Memory{{}},
			Kernels: []plan.Kernel{{Name: "k", Entry: "k", Source: "nonsense", Threads: 1, Grid: [3]uint32{1, 1, 1}}},
			Steps:   []plan.Step{{}}})
		return err
	})
	try("memory", func() error { _, err := e.Device().Alloc(-1); return err })
	try("no memory", func() error { _, err := e.Device().Alloc(1 << 50); return err })
	mem, err := e.Device().Alloc(16)
	require.NoError(t, err)
	try("span", func() error { return e.Device().Write(mem, 12, make([]byte, 8)) })
	mem.Free()
	try("freed", func() error { return e.Device().Write(mem, 0, make([]byte, 8)) })
	return out
}

// may be no error on some device.
var may = map[string]bool{"other device": true, "discarded": true}

func TestNothingIsSaidTwice(t *testing.T) {
	for _, device := range []string{"CPU", "WASM", "INTERP", "WEBGPU"} {
		t.Run(device, func(t *testing.T) {
			engine.Configure(engine.Options{MemoryLimit: 64 << 20}, device)
			_, err := engine.Use(device)
			need.Device(t, device, err)
			for name, err := range mistakes(t, device) {
				if err == nil {
					assert.True(t, may[name], "%s: no error", name)
					continue
				}
				t.Logf("%s: %.300s", name, err.Error())
				assert.Empty(t, twice(err.Error()), "%s: %s", name, err.Error())
				assert.NotRegexp(t, regexp.MustCompile(`LOOK-|%!|<nil>|make no sense`), err.Error(), name)
			}
		})
	}
}

// An error of one operation that is the cause of another's.
func TestCauses(t *testing.T) {
	inner := &DeviceError{Op: "Empty", Err: &ShapeError{Op: "Empty", Reason: "too large"}}
	assert.Equal(t, "tensor: On: Empty: too large (x.go:1)", (&DeviceError{Op: "On", Err: inner, At: "x.go:1"}).Error())
}

// What goes wrong before a device is open.
func TestOpeningSaysNothingTwice(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, device := range []string{"CPU", "WASM", "INTERP", "WEBGPU", "GPU", ""} {
		for name, o := range map[string]engine.Options{
			"compiler": {CC: "no-such-compiler"}, "cache": {CacheDir: filepath.Join(file, "x")}, "memory": {MemoryLimit: -1},
			"threads": {Threads: -1},
		} {
			_, err := engine.Open(device, o)
			if err != nil {
				t.Logf("%s %s: %.300s", device, name, err.Error())
				assert.Empty(t, twice(err.Error()), "%s %s: %s", device, name, err.Error())
			}
		}
	}
	for _, v := range []string{"DEV", "DEBUG", "NOOPT", "WEFT_MEM", "WEFT_THREADS"} {
		_, _, err := backends.Settings(func(k string) string { return map[string]string{v: "x"}[k] }, nil)
		require.Error(t, err)
		assert.Empty(t, twice(err.Error()), err.Error())
	}
}
