package tests

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// runningResults are running reductions of positive numbers, of a long row first, along both axes of a matrix, and gradients.
func runningResults(t *testing.T, device string, o engine.Options) (out [][]float32) {
	b := newBench(t, device, o)
	long, wide := b.floats(50_021).Abs().Add(0.001), b.floats(70, 2311).Abs().Add(0.001)
	require.NoError(t, tensor.Realize(context.Background(), long, wide))
	for _, x := range []*tensor.Tensor{
		long.CumSum(0), long.LogCumSumExp(0), wide.CumSum(0), wide.CumSum(1), wide.Mul(2).CumSum(1).Sqrt(),
		long.CumSum(0).Sum().Grad(long)[0], wide.CumProd(1).Sum().Grad(wide)[0], wide.LogCumSumExp(0).Sum().Grad(wide)[0],
	} {
		v, err := tensor.Data[float32](context.Background(), x)
		require.NoError(t, err)
		out = append(out, v)
	}
	return out
}

// The number of threads changes no bit of a running reduction, directives and fusion change its rounding only, and running sums
// of positive numbers never fall: who searches in them relies on it.
func TestRunningReductions(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP"} {
		t.Run(device, func(t *testing.T) {
			want := runningResults(t, device, engine.Options{Threads: 1})
			for i, v := range want[0][1:] {
				if !(v >= want[0][i]) {
					require.Fail(t, "a running sum falls", "from %v to %v at %d", want[0][i], v, i+1)
				}
			}
			for _, threads := range []int{2, 5} {
				assert.Equal(t, want, runningResults(t, device, engine.Options{Threads: threads}), "%d threads", threads)
			}
			for _, o := range []engine.Options{{NoOpt: true}, {StoreAll: true}, {NoOpt: true, StoreAll: true}} {
				for i, got := range runningResults(t, device, o) {
					for j, v := range got {
						if w := float64(want[i][j]); !(math.Abs(float64(v)-w) <= 1e-4*math.Abs(w)+1e-7) {
							require.Fail(t, "modes differ", "%+v: element %d of result %d is %v, not %v", o, j, i, v, w)
						}
					}
				}
			}
		})
	}
}

// Every second of some running sums is replaced: their axis is not taken apart into even and odd places, though the kernel asks for
// both alone.
func TestScanStaysInOnePiece(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM", "REF"} {
		b := newBench(t, device, engine.Options{})
		for _, n := range []int{4, 6, 64, 4096} {
			x := b.floats(n, 1)
			got, err := tensor.Data[float32](context.Background(), x.CumSum(0).WithAt(-2., tensor.RS(tensor.Begin, tensor.End, 2)))
			require.NoError(t, err, "%s %d", device, n)
			want, err := tensor.Data[float32](context.Background(), x.CumSum(0))
			require.NoError(t, err)
			for i := range want {
				if i%2 == 0 {
					want[i] = -2
				}
			}
			require.Equal(t, want, got, "%s %d", device, n)
		}
	}
}

// The diagonal of running sums goes along their axis and another one at once.
func TestDiagonalOfScans(t *testing.T) {
	for _, device := range []string{"INTERP", "CPU", "WASM"} {
		b := newBench(t, device, engine.Options{})
		x := b.leaf(dtype.F32, bytesOf([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9}), 3, 3)
		for what, c := range map[string]struct {
			got  *tensor.Tensor
			want []float32
		}{
			"along rows": {x.CumSum(1).Diagonal(0), []float32{1, 9, 24}}, "along columns": {x.CumSum(0).Diag(), []float32{1, 7, 18}},
			"and more": {x.CumProd(0).Diagonal(0).Add(1), []float32{2, 11, 163}},
		} {
			got, err := tensor.Data[float32](context.Background(), c.got)
			require.NoError(t, err)
			require.Equal(t, c.want, got, "%s on %s", what, device)
		}
	}
}
