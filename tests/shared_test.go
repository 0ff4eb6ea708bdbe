package tests

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// An index of quotients and remainders that each view of a view uses twice is spelled once, not once a path.
func TestManyViews(t *testing.T) {
	for _, c := range []struct {
		device string
		links  int
	}{{"WASM", 24}, {"CPU", 12}} {
		b := newBench(t, c.device, engine.Options{})
		z := b.floats(6, 6)
		for range c.links {
			z = z.Add(z.Reshape(4, 9).Permute(1, 0).Reshape(6, 6))
		}
		require.NoError(t, tensor.Realize(context.Background(), z), c.device)
	}
}

// Rolls by Go numbers that change: the index of a load is a sum of many parts, of each of which two facts are known.
func TestManyShiftsByNumbers(t *testing.T) {
	b := newBench(t, "INTERP", engine.Options{Numbers: true})
	x := b.floats(275)
	z := tensor.Stack(1, x, x).Roll([]int{2, 3}, []int{1, 0}).Roll([]int{6}, []int{0})
	z = z.Reshape(22, 5, 5).At(tensor.RS(1, tensor.End, 2), tensor.RS(tensor.Begin, tensor.End, 1), -5)
	require.NoError(t, tensor.Realize(context.Background(), z))
}
