package tensor_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// line is a complex array of n numbers on an engine of its own.
func line(t testing.TB, device string, n int) (*tensor.Tensor, *engine.Engine) {
	e, err := engine.Open(device, engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	var raw []byte
	for i := range 2 * n {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(i*37%101)/50-1))
	}
	u, err := e.FromBytes(dtype.F32, []int{n, 2}, raw)
	require.NoError(t, err)
	return tensor.FromNode(u, e), e
}

// The graph of a transform of prime length lists as many numbers as the array has, not their square.
func TestPrimeFFTListsFewNumbers(t *testing.T) {
	x, e := line(t, "INTERP", 1009)
	before := e.Stats().LiveBytes
	y := x.FFT(-1, 0, tensor.Backward)
	assert.LessOrEqual(t, e.Stats().LiveBytes-before, int64(100*1009))
	require.NoError(t, tensor.Realize(context.Background(), y))
	plans := e.Stats().Compiled
	for range 3 {
		require.NoError(t, tensor.Realize(context.Background(), x.FFT(-1, 0, tensor.Backward)))
	}
	assert.Equal(t, plans, e.Stats().Compiled)
}

// Transforms of prime lengths are those of the definition, and their inverse gives back what was there.
func TestPrimeFFT(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{61, 67, 127, 254, 1009} {
		x, _ := line(t, "INTERP", n)
		y := x.FFT(-1, 0, tensor.Backward)
		back := y.IFFT(-1, 0, tensor.Backward)
		in, err := tensor.Data[float32](ctx, x)
		require.NoError(t, err)
		out, err := tensor.Data[float32](ctx, y)
		require.NoError(t, err)
		again, err := tensor.Data[float32](ctx, back)
		require.NoError(t, err)
		for k := 0; k < n; k += 1 + n/20 {
			re, im := 0.0, 0.0
			for j := range n {
				s, c := math.Sincos(-2 * math.Pi * float64(j*k%n) / float64(n))
				a, b := float64(in[2*j]), float64(in[2*j+1])
				re, im = re+a*c-b*s, im+a*s+b*c
			}
			assert.InDelta(t, re, float64(out[2*k]), 2e-4*math.Sqrt(float64(n)))
			assert.InDelta(t, im, float64(out[2*k+1]), 2e-4*math.Sqrt(float64(n)))
		}
		for i := range in {
			assert.InDelta(t, in[i], again[i], 2e-5)
		}
	}
}

// BenchmarkFFTGraph builds the graph of a transform of prime length.
func BenchmarkFFTGraph(b *testing.B) {
	x, _ := line(b, "CPU", 1009)
	for b.Loop() {
		x.FFT(-1, 0, tensor.Backward)
	}
}

// BenchmarkPrimeFFT computes one.
func BenchmarkPrimeFFT(b *testing.B) {
	x, e := line(b, "CPU", 1009)
	for b.Loop() {
		require.NoError(b, tensor.Realize(context.Background(), x.FFT(-1, 0, tensor.Backward)))
		require.NoError(b, e.Sync(context.Background()))
	}
}
