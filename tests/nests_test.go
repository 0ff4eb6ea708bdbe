package tests

import (
	"context"
	"strings"
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

// A step that a program repeats is compiled once, also where it is long and something that comes once stands before it: of the eight steps of a
// factorisation, eight rows with their roots each, few are written out.
func TestLongStepsAreCompiledOnce(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	roots := 0
	seen := map[string]bool{}
	for _, k := range b.plan(b.floats(64, 64).Cholesky()).Launches() {
		if !seen[k.Source] {
			seen[k.Source] = true
			roots += strings.Count(k.Source, "sqrtf(")
		}
	}
	require.Positive(t, roots)
	require.LessOrEqual(t, roots, 4*8)
}
