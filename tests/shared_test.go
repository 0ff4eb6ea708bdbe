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
