// Package capture tests that recorded functions replay as they would run.
package capture

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// onCPU skips where the default device cannot capture.
func onCPU(t *testing.T) context.Context {
	e, err := engine.Use("")
	require.NoError(t, err)
	if e.Name() == "REF" {
		t.Skip("REF cannot capture")
	}
	return context.Background()
}

func values(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](context.Background(), x)
	require.NoError(t, err)
	return v
}

func TestCaptureReplaysWithOtherInputs(t *testing.T) {
	ctx := onCPU(t)
	x := tensor.Of([]float32{1, 2, 3})
	w := tensor.Of([]float32{10, 20, 30})
	calls := 0
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		calls++
		return []*tensor.Tensor{in[0].Mul(w), in[0].Add(in[1]).Sum(), in[0]}
	}, x, x)
	require.NoError(t, err)
	for range 3 {
		a, err := f.Run(ctx, x, x)
		require.NoError(t, err)
		b, err := f.Run(ctx, tensor.Of([]float32{1, 1, 1}).Mul(2), x)
		require.NoError(t, err)
		assert.Equal(t, []float32{10, 40, 90}, values(t, a[0]))
		assert.Equal(t, []float32{12}, values(t, a[1]))
		assert.Equal(t, []float32{1, 2, 3}, values(t, a[2]))
		assert.Equal(t, []float32{20, 40, 60}, values(t, b[0]), "outputs of another run are others")
		assert.Equal(t, []float32{12}, values(t, b[1]))
		assert.Equal(t, []float32{2, 2, 2}, values(t, b[2]))
	}
	assert.Equal(t, 1, calls)
}

func TestCaptureUpdatesStates(t *testing.T) {
	ctx := onCPU(t)
	total, last := tensor.Zeros(3).Own(), tensor.Of([]float32{-1, -1, -1})
	require.NoError(t, tensor.Realize(ctx, total))
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		total.Assign(total.Add(in[0]))
		last.Assign(in[0])
		total.Assign(total.Add(1))
		return []*tensor.Tensor{total.Mul(2), total}
	}, last.Clone())
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 0, 0}, values(t, total), "recording changes nothing")
	assert.Equal(t, []float32{-1, -1, -1}, values(t, last))
	for i := range 3 {
		out, err := f.Run(ctx, tensor.Of([]float32{1, 2, 3}))
		require.NoError(t, err)
		k := float32(i + 1)
		assert.Equal(t, []float32{2 * k, 3 * k, 4 * k}, values(t, total))
		assert.Equal(t, []float32{4 * k, 6 * k, 8 * k}, values(t, out[0]))
		assert.Equal(t, values(t, total), values(t, out[1]))
		assert.Equal(t, []float32{1, 2, 3}, values(t, last))
	}
	// Assignments outside, realized or not, are seen by the next run.
	total.Assign(100)
	out, err := f.Run(ctx, tensor.Of([]float32{1, 2, 3}))
	require.NoError(t, err)
	assert.Equal(t, []float32{102, 103, 104}, values(t, total))
	assert.Equal(t, []float32{105, 106, 107}, values(t, total.Add(3)))
	assert.Equal(t, []float32{204, 206, 208}, values(t, out[0]))
	_, err = f.Run(ctx, total)
	assert.ErrorContains(t, err, "input 0 of a captured function is a tensor that the function assigns; pass a copy")
}

// A constant, which fits any device, comes to that of the captured function.
func TestCaptureTakesConstants(t *testing.T) {
	e, err := engine.Open("INTERP", engine.Options{}) // not the default device
	require.NoError(t, err)
	defer e.Close()
	u, err := e.FromBytes(dtype.F32, []int{2}, make([]byte, 8))
	require.NoError(t, err)
	f, err := tensor.Capture(context.Background(), func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Add(1)} }, tensor.FromNode(u, e))
	require.NoError(t, err)
	out, err := f.Run(context.Background(), tensor.Zeros(2))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 1}, values(t, out[0]))
}

func TestCaptureDrawsNewRandomNumbers(t *testing.T) {
	ctx := onCPU(t)
	tensor.Seed(7)
	want := [][]float32{}
	for range 3 {
		want = append(want, values(t, tensor.Rand(4)))
	}
	tensor.Seed(7)
	f, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{tensor.Rand(4)} })
	require.NoError(t, err)
	for _, w := range want {
		out, err := f.Run(ctx)
		require.NoError(t, err)
		assert.Equal(t, w, values(t, out[0]), "as without capture")
	}
}

func TestCaptureErrors(t *testing.T) {
	ctx := onCPU(t)
	x := tensor.Of([]float32{1, 2, 3})
	none, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		tensor.Data[float32](ctx, in[0].Add(1))
		return in
	}, x)
	assert.Nil(t, none, "whoever keeps the function at its first use tries again")
	assert.ErrorContains(t, err, "a value is read inside the captured function")
	assert.ErrorContains(t, err, "(capture_test.go:")
	_, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Reshape(7)} }, x)
	var shape *tensor.ShapeError
	assert.ErrorAs(t, err, &shape)
	lazy := x.Mul(2)
	_, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		lazy.Assign(in[0])
		return in
	}, x)
	assert.ErrorContains(t, err, "call Own and Realize on it before Capture")
	_, err = tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor { return nil })
	assert.ErrorContains(t, err, "computes nothing")
	_, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Add(1), nil} }, x)
	assert.ErrorContains(t, err, "Capture: result 1 of the function is nil (capture_test.go:")
	_, err = tensor.Jit(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].On("REF")} }).Run(ctx, x)
	assert.ErrorContains(t, err, "Capture: result 0 lies on REF")
	assert.ErrorContains(t, err, "(capture_test.go:")
	assert.Panics(t, func() {
		tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor { panic("mine") })
	})

	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Add(1)} }, x)
	require.NoError(t, err)
	_, err = f.Run(ctx)
	assert.ErrorContains(t, err, "takes 1 inputs, not 0")
	_, err = f.Run(ctx, tensor.Of([]float32{1}))
	assert.ErrorAs(t, err, &shape)
	_, err = f.Run(ctx, x.To(dtype.I32))
	var typ *tensor.TypeError
	assert.ErrorAs(t, err, &typ)
	out, err := f.Run(ctx, x)
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 3, 4}, values(t, out[0]), "errors leave it usable")
	assert.Equal(t, []float32{2, 4, 6}, values(t, lazy))
}

// The gradient through a state that the function assigns again and again is all of it.
func TestGradientsThroughAssignments(t *testing.T) {
	ctx := onCPU(t)
	w := tensor.Of([]float32{0.5}, 1)
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		sum := tensor.Zeros(1)
		for range 6 {
			sum.AddAssign(in[0].Square())
		}
		return sum.Sum().Grad(in[0])
	}, w)
	require.NoError(t, err)
	out, err := f.Run(ctx, w)
	require.NoError(t, err)
	assert.Equal(t, []float32{6}, values(t, out[0]))
}

// A captured function that reads a state finds what was assigned to it, in the memory in which it looks.
func TestCapturedFunctionsReadPendingAssignments(t *testing.T) {
	ctx := onCPU(t)
	s, z := tensor.Ones(2).Own(), tensor.Zeros(2).Own()
	require.NoError(t, tensor.Realize(ctx, s, z))
	run := func(f *tensor.Captured) *tensor.Tensor {
		out, err := f.Run(ctx, z)
		require.NoError(t, err)
		return out[0]
	}
	reads, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{s.Add(in[0])} }, z)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 1}, values(t, run(reads)))
	s.Assign(5)
	assert.Equal(t, []float32{5, 5}, values(t, run(reads)))
	adds, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		s.AddAssign(1)
		return []*tensor.Tensor{s.Add(in[0])}
	}, z)
	require.NoError(t, err)
	s.Assign(50)
	assert.Equal(t, []float32{51, 51}, values(t, run(adds)))
	s.AddAssign(1)
	s.AddAssign(1)
	assert.Equal(t, []float32{53, 53}, values(t, run(reads)))
	assert.Equal(t, []float32{53, 53}, values(t, s))
}
