package tests

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// TestLongSums adds many equal terms, whose roundings all go in the same direction: along rows and columns, in loops that blocks divide and that
// they do not, and in products.
func TestLongSums(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{Poison: true, Fence: device == "CPU"})
			tenths := func(shape ...int) *tensor.Tensor {
				return tensor.Full(float32(0.1), tensor.DefaultFloat(), shape...).On(b.Name()).Contiguous()
			}
			few := 1
			if device == "INTERP" {
				few = 4
			}
			for _, shape := range [][]int{{600000 / few, 3}, {400003 / few, 3}, {262147, 2}, {50000 / few, 40}, {2000000 / few}, {3, 900001 / few}} {
				t.Run(fmt.Sprint(shape), func(t *testing.T) {
					x := tenths(shape...)
					require.NoError(t, x.Realize(context.Background()))
					for axis := range shape {
						got, err := x.Mean(axis).Reshape(-1).Narrow(0, 0, 1).Item(context.Background())
						require.NoError(t, err)
						require.InEpsilon(t, 0.1, got, 2e-5, "along axis %d", axis)
					}
				})
			}
			for _, s := range [][3]int{{8, 200000 / few, 8}, {16, 100003 / few, 5}, {32, 40000 / few, 40}} {
				t.Run(fmt.Sprint("product ", s), func(t *testing.T) {
					x, y := tenths(s[1], s[0]), tenths(s[1], s[2])
					require.NoError(t, tensor.Realize(context.Background(), x, y))
					got, err := x.T().MatMul(y).Reshape(-1).Narrow(0, 0, 1).Item(context.Background())
					require.NoError(t, err)
					require.InEpsilon(t, 0.01*float64(s[1]), got, 4e-5)
				})
			}
		})
	}
}
