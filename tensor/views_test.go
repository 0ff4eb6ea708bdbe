package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What was realized keeps its elements, also where it is a view of an array that is assigned afterwards, in the same run or in
// a run that was built before.
func TestRealizedViewsOutliveAssignments(t *testing.T) {
	ctx := context.Background()
	old, now := []int64{1, 2, 3, 4, 5, 6}, []int64{0, 0, 0, 4, 5, 6}
	set := func(a *tensor.Tensor) { a.SetAt(0, tensor.RS(0, 3, 1)) }
	views := map[string]func(a *tensor.Tensor) *tensor.Tensor{
		"reshaped": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(3, 2) },
		"the same": func(a *tensor.Tensor) *tensor.Tensor { return a.Reshape(6) },
		"flipped":  func(a *tensor.Tensor) *tensor.Tensor { return a.Flip(0).Flip(0) },
	}
	orders := map[string]func(a, b *tensor.Tensor) error{
		"before": func(a, b *tensor.Tensor) error {
			err := b.Realize(ctx)
			set(a)
			return err
		},
		"both before": func(a, b *tensor.Tensor) error {
			err := tensor.Realize(ctx, a, b)
			set(a)
			return err
		},
		"between":        func(a, b *tensor.Tensor) error { set(a); return b.Realize(ctx) },
		"with it":        func(a, b *tensor.Tensor) error { set(a); return tensor.Realize(ctx, a, b) },
		"with it, first": func(a, b *tensor.Tensor) error { set(a); return tensor.Realize(ctx, b, a) },
		"read between": func(a, b *tensor.Tensor) error {
			set(a)
			_, err := tensor.Data[int64](ctx, b)
			return err
		},
	}
	for view, f := range views {
		for order, realize := range orders {
			t.Run(view+" "+order, func(t *testing.T) {
				a := tensor.Of(old, 6)
				b := f(a)
				require.NoError(t, realize(a, b))
				require.NoError(t, a.Realize(ctx))
				got, err := tensor.Data[int64](ctx, b)
				require.NoError(t, err)
				assert.Equal(t, old, got)
				got, err = tensor.Data[int64](ctx, a)
				require.NoError(t, err)
				assert.Equal(t, now, got)
				a.Assign(a.Add(1))
				require.NoError(t, a.Realize(ctx))
				got, err = tensor.Data[int64](ctx, b)
				require.NoError(t, err)
				assert.Equal(t, old, got)
			})
		}
	}
}
