//go:build !js

package backends_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// long is a graph that takes a while to be made into a plan: sums over a matrix and its shifted rows, each of its own shape.
func long(t *testing.T, e *engine.Engine) *uop.UOp { return sums(matrix(t, e)) }

func matrix(t *testing.T, e *engine.Engine) *uop.UOp {
	raw := make([]byte, 4*256*256)
	for i := range raw {
		raw[i] = byte(i % 61)
	}
	x, err := e.FromBytes(dtype.F32, []int{256, 256}, raw)
	require.NoError(t, err)
	return x
}

func sums(x *uop.UOp) *uop.UOp {
	sum := x.Reduce(uop.Sum, 0, 1)
	for n := 1; n < 24; n++ {
		y := x.Shrink([]int{0, n}, []int{256, 256})
		top := y.Reduce(uop.MaxOf, 1).Reshape(256, 1).Expand(256, 256-n)
		sum = sum.Add(y.Add(top.Neg()).Exp2().Mul(y).Contiguous().Reduce(uop.Sum, 0, 1))
	}
	return sum
}

// A plan that was kept gives the same bits as one that was made, can be looked at, and is for the graph and the options that it was made for.
func TestPlansAreKept(t *testing.T) {
	need.Compiler(t)
	dir := t.TempDir()
	open := func(o engine.Options) *engine.Engine {
		o.CacheDir = dir
		e, err := engine.Open("CPU", o)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, e.Close()) })
		return e
	}
	entries := func() []string {
		files, err := filepath.Glob(filepath.Join(dir, "plans", "*.plan"))
		require.NoError(t, err)
		return files
	}
	first, second, plain := open(engine.Options{}), open(engine.Options{}), open(engine.Options{NoOpt: true})
	want := computed(t, first, long(t, first), 4)
	require.Len(t, entries(), 1)
	made := first.Stats()
	kept, err := os.Stat(entries()[0])
	require.NoError(t, err)

	assert.Equal(t, want, computed(t, second, long(t, second), 4))
	assert.Equal(t, made.Kernels, second.Stats().Kernels)
	assert.Equal(t, made.Launches, second.Stats().Launches)
	now, err := os.Stat(entries()[0])
	require.NoError(t, err)
	assert.Equal(t, kept.ModTime(), now.ModTime(), "it was not made again")

	_ = computed(t, plain, long(t, plain), 4)
	assert.Len(t, entries(), 2, "loops without directives are another plan")

	for _, name := range entries() {
		require.NoError(t, os.WriteFile(name, []byte("weft code 1\nnothing of the kind"), 0o600))
	}
	third := open(engine.Options{})
	assert.Equal(t, want, computed(t, third, long(t, third), 4))
	assert.Len(t, entries(), 2)

	captured := func(e *engine.Engine) string {
		x := matrix(t, e)
		c, err := e.Capture(context.Background(), []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{sums(x)}, nil })
		require.NoError(t, err)
		return c.View().Schedule.String()
	}
	schedule, again := captured(open(engine.Options{})), captured(open(engine.Options{}))
	assert.Contains(t, schedule, "inline")
	assert.Equal(t, schedule, again, "the schedule of a plan that was kept")
}

// A plan of few steps is kept if it is made of much: one kernel may take seconds to be chosen.
func TestPlansOfFewSteps(t *testing.T) {
	need.Compiler(t)
	dir := t.TempDir()
	e, err := engine.Open("CPU", engine.Options{CacheDir: dir})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close()) })
	kept := func() int {
		files, err := filepath.Glob(filepath.Join(dir, "plans", "*.plan"))
		require.NoError(t, err)
		return len(files)
	}
	x := matrix(t, e)
	_ = computed(t, e, x.Exp2().Reduce(uop.Sum, 0, 1), 4)
	require.Zero(t, kept())
	y := x.Exp2()
	for i := range 200 {
		y = y.Mul(y.Float(float64(i))).Add(x)
	}
	_ = computed(t, e, y.Reduce(uop.Sum, 0, 1), 4)
	require.Equal(t, 1, kept())
}

// A plan that is kept has its constants with it, and one for whom kernels have numbers of their own is another plan.
func TestPlansAreKeptWithTheirConstants(t *testing.T) {
	need.Compiler(t)
	dir := t.TempDir()
	steps := func(x *uop.UOp) *uop.UOp {
		for i := range 12 {
			scale := x.Float(0.15 + 0.3*float64(i))
			y := x.Div(scale).RoundEven().Add(x.Float(float64(2*i - 5))).Mul(scale).Add(x.Sin()).Mul(x.Float(0.3 + 0.1*float64(i)))
			x = y.Sub(y.Reduce(uop.Sum, 0, 1).Mul(x.Float(1e-5)).Reshape(1, 1).Expand(x.Shape()...)).Contiguous()
		}
		return x
	}
	var want []byte
	var kernels []int
	for _, own := range []bool{false, false, true, true} {
		e, err := engine.Open("CPU", engine.Options{CacheDir: dir, OwnConstants: own})
		require.NoError(t, err)
		y := steps(matrix(t, e))
		got := computed(t, e, y, 4*256*256)
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got)
		kernels = append(kernels, e.Stats().Kernels)
		require.NoError(t, e.Close())
	}
	assert.Equal(t, kernels[0], kernels[1])
	assert.Greater(t, kernels[2], kernels[0])
	assert.Equal(t, kernels[2], kernels[3])
	files, err := filepath.Glob(filepath.Join(dir, "plans", "*.plan"))
	require.NoError(t, err)
	assert.Len(t, files, 2)
}
