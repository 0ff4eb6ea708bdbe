package tests

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Kernels of several outputs, of which what follows turns out to read none, are left out: here a padding hides all that a transposed
// convolution makes of the sorted values.
func TestKernelsThatNobodyReads(t *testing.T) {
	ctx := context.Background()
	var want []float32
	for _, device := range []string{"REF", "INTERP", "CPU"} {
		b := newBench(t, device, engine.Options{})
		x, w := b.floats(2, 2), b.floats(1, 2, 1)
		y := x.QuantileKeep([]float64{0.1}, -2, tensor.Interpolation(0), false).ConvTranspose(w, nil, tensor.Conv{Stride: 3, Padding: 1, Dilation: 1, Groups: 1})
		got, err := tensor.Data[float32](ctx, y)
		require.NoError(t, err, device)
		if want == nil {
			want = got
		}
		require.NotEmpty(t, got)
		require.InDeltaSlice(t, want, got, 1e-6, device)
	}
}
