package tests

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// onDevices computes a program without optimization and with it, with the same random numbers.
func onDevices(t *testing.T, f func(b *bench) *tensor.Tensor) {
	var want []float32
	for _, c := range []struct {
		device string
		o      engine.Options
	}{{"CPU", engine.Options{NoOpt: true}}, {"CPU", engine.Options{}}, {"CPU", engine.Options{Fence: true}}, {"WASM", engine.Options{}}} {
		got, err := tensor.Data[float32](context.Background(), f(newBench(t, c.device, c.o)))
		require.NoError(t, err)
		if want == nil {
			want = got
		}
		for i := range want {
			if !assert.InDelta(t, want[i], got[i], 1e-3, "element %d on %s", i, c.device) {
				break
			}
		}
	}
}

// What a pad adds is 0, whatever finite numbers the factors have: two of three factors overflow together.
func TestPadOfThreeFactors(t *testing.T) {
	const I, J, L, K, pad = 6, 16, 24, 96, 8
	onDevices(t, func(b *bench) *tensor.Tensor {
		large := func(n int) []byte {
			x := make([]float32, n*K)
			x[0] = 1e30
			return bytesOf(x)
		}
		x, y := b.leaf(dtype.F32, large(I), I, 1, 1, K), b.leaf(dtype.F32, large(J), 1, J, 1, K)
		z := x.Mul(y).Mul(b.floats(1, 1, L, K)).Pad([]int{0, 0, 0, 0}, []int{0, 0, pad, 0}).Sum(3)
		return z.Narrow(2, L, pad)
	})
}

// A load that one sum multiplies with a factor of its gate, and another with something else.
func TestLoadOfTwoSums(t *testing.T) {
	const I, J, K, pad = 64, 64, 96, 8
	onDevices(t, func(b *bench) *tensor.Tensor {
		x, y, z := b.floats(I, 1, K), b.floats(1, J, K), b.floats(1, J+pad, K)
		xp := x.Expand(I, J, K).Pad([]int{0, 0, 0}, []int{pad, pad, 0})
		yp := y.Expand(I, J, K).Pad([]int{0, 0, 0}, []int{pad, pad, 0})
		return xp.Mul(yp).Sum(2).Add(xp.Mul(z).Add(z).Sum(2))
	})
}
