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
	b := newBench(t, "WASM", engine.Options{})
	x := b.floats(6, 6)
	z := x
	for range 24 {
		z = z.Add(z.Reshape(4, 9).Permute(1, 0).Reshape(6, 6))
	}
	require.NoError(t, tensor.Realize(context.Background(), z))
}
