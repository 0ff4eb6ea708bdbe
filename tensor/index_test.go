package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// An integer tensor without axes takes one element of an axis, as a number does: it does not decide where the axes of other tensors come.
func TestAtOfTensorsWithoutAxes(t *testing.T) {
	engine.Configure(engine.Options{}, "REF")
	x := tensor.Arange(4*5*6).Reshape(4, 5, 6)
	n := func(v int32) *tensor.Tensor { return tensor.Of([]int32{v}).Reshape() }
	two := tensor.Of([]int32{0, 1}, 2)
	for _, c := range []struct {
		name  string
		index []any
		same  []any
	}{
		{"before a range", []any{n(-1), tensor.All, two}, []any{-1, tensor.All, []int{0, 1}}},
		{"after a range", []any{two, tensor.All, n(2)}, []any{[]int{0, 1}, tensor.All, 2}},
		{"between", []any{two, n(3), two}, []any{[]int{0, 1}, 3, []int{0, 1}}},
		{"around", []any{n(1), two, n(2)}, []any{1, []int{0, 1}, 2}},
		{"alone", []any{tensor.All, n(1)}, []any{tensor.All, 1}},
		{"two alone", []any{n(1), tensor.All, n(-2)}, []any{1, tensor.All, -2}},
	} {
		got, want := x.At(c.index...), x.At(c.same...)
		assert.Equal(t, want.Shape(), got.Shape(), c.name)
		a, err := tensor.Data[int32](context.Background(), got)
		require.NoError(t, err, c.name)
		b, err := tensor.Data[int32](context.Background(), want)
		require.NoError(t, err, c.name)
		assert.Equal(t, b, a, c.name)
		// What is written goes there too.
		v := tensor.Arange(want.Numel()).Reshape(want.Shape()...)
		a, err = tensor.Data[int32](context.Background(), x.WithAt(v, c.index...))
		require.NoError(t, err, c.name)
		b, err = tensor.Data[int32](context.Background(), x.WithAt(v, c.same...))
		require.NoError(t, err, c.name)
		assert.Equal(t, b, a, c.name)
	}
}
