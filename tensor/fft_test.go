package tensor_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// line is a complex array of n numbers on an engine of its own.
func line(t testing.TB, device string, n int) (*tensor.Tensor, *engine.Engine) {
	values := make([]float32, 2*n)
	for i := range values {
		values[i] = float32(i*37%101)/50 - 1
	}
	e := alone(t, device)
	return array(t, e, values...).Reshape(n, 2), e
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

// naive is the transform of complex numbers by its definition.
func naive(x []complex128, inverse bool) []complex128 {
	n := len(x)
	y := make([]complex128, n)
	for k := range y {
		for j, v := range x {
			a := -2 * math.Pi * float64(j*k%n) / float64(n)
			if inverse {
				a = -a
			}
			s, c := math.Sincos(a)
			y[k] += v * complex(c, s)
		}
	}
	return y
}

// Transforms of real numbers, and back, are those of the definition, by one matrix, in stages, of large primes and of lengths that
// are even or odd. Imaginary parts of the ends of half a spectrum do not count.
func TestRealFFT(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{1, 2, 63, 64, 65, 66, 100, 134, 400, 512, 1000, 1006} {
		const rows = 3
		r := rand.New(rand.NewPCG(uint64(n), 1))
		in := make([]float64, rows*n)
		for i := range in {
			in[i] = 2*r.Float64() - 1
		}
		half := n/2 + 1
		spectrum := make([]float64, rows*half*2)
		for i := range spectrum {
			spectrum[i] = 2*r.Float64() - 1
		}
		var got, back []float64
		require.NoError(t, tensor.Try(func() {
			y := tensor.Of(in, rows, n).RFFT(-1, 1, tensor.Backward)
			z := tensor.Of(spectrum, rows, half, 2).IRFFT(n, 1, tensor.Backward)
			var err error
			got, err = tensor.Data[float64](ctx, y)
			require.NoError(t, err)
			back, err = tensor.Data[float64](ctx, z)
			require.NoError(t, err)
		}))
		for row := range rows {
			x, s := make([]complex128, n), make([]complex128, n)
			for j := range n {
				x[j] = complex(in[row*n+j], 0)
				k := min(j, n-j)
				z := complex(spectrum[2*(row*half+k)], spectrum[2*(row*half+k)+1])
				switch {
				case j == 0 || 2*j == n:
					z = complex(real(z), 0)
				case j > k:
					z = complex(real(z), -imag(z))
				}
				s[j] = z
			}
			for k, want := range naive(x, false)[:half] {
				assert.InDelta(t, real(want), got[2*(row*half+k)], 1e-9, "%d of %d", k, n)
				assert.InDelta(t, imag(want), got[2*(row*half+k)+1], 1e-9, "%d of %d", k, n)
			}
			for j, want := range naive(s, true) {
				assert.InDelta(t, real(want)/float64(n), back[row*n+j], 1e-9, "%d of %d, inverse", j, n)
			}
		}
	}
}

// Transforms of many numbers are those of the definition, of any factors, along any axis, and so are their gradients.
func TestLongFFT(t *testing.T) {
	for _, device := range []string{"REF", "INTERP", "WASM", "CPU"} {
		t.Run(device, func(t *testing.T) { longFFT(t, device) })
	}
}

func longFFT(t *testing.T, device string) {
	ctx := context.Background()
	for _, c := range []struct {
		shape []int
		axis  int
	}{{[]int{1 << 14}, 0}, {[]int{8 * 9 * 5 * 7 * 7}, 0}, {[]int{2, 60, 144}, 1}, {[]int{1, 3, 5832}, 2}} {
		e, err := engine.Open(device, engine.Options{})
		need.Device(t, device, err)
		n, numbers := c.shape[c.axis], 1
		for _, k := range c.shape {
			numbers *= k
		}
		in, raw := make([]float64, 2*numbers), []byte(nil)
		for i := range in {
			in[i] = float64(i*37%101)/64 - 0.75
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(in[i])))
		}
		u, err := e.FromBytes(dtype.F32, append(append([]int{}, c.shape...), 2), raw)
		require.NoError(t, err)
		x := tensor.FromNode(u, e)
		y := x.FFT(-1, c.axis, tensor.Backward)
		g := y.Mul(x).Sum().Grad(x)[0] // of a symmetric product: the transform's gradient applied to x, and the transform
		out, err := tensor.Data[float32](ctx, y)
		require.NoError(t, err)
		grad, err := tensor.Data[float32](ctx, g)
		require.NoError(t, err)
		inner := 1
		for _, k := range c.shape[c.axis+1:] {
			inner *= k
		}
		for at := 0; at < numbers; at += 1 + numbers/23 {
			first, k := at/(n*inner)*(n*inner)+at%inner, at/inner%n
			var z, w complex128
			for j := range n {
				i := first + j*inner
				s, c := math.Sincos(-2 * math.Pi * float64(j*k%n) / float64(n))
				v := complex(in[2*i], in[2*i+1])
				z, w = z+v*complex(c, s), w+v*complex(c, -s)
			}
			tol := 1e-5 * math.Sqrt(float64(n)) * 10
			assert.InDelta(t, real(z), float64(out[2*at]), tol, "%s %v %d", device, c, at)
			assert.InDelta(t, imag(z), float64(out[2*at+1]), tol, "%s %v %d", device, c, at)
			assert.InDelta(t, real(z+w), float64(grad[2*at]), tol, "%s %v %d", device, c, at)
			assert.InDelta(t, imag(z+w), float64(grad[2*at+1]), tol, "%s %v %d", device, c, at)
		}
		require.NoError(t, e.Close())
	}
}

// Along an axis with many numbers behind it the lanes of all stages are those numbers: nothing is gathered from rows.
func TestFFTGathersNothing(t *testing.T) {
	e, err := engine.Open("CPU", engine.Options{})
	need.Device(t, "CPU", err)
	require.NoError(t, e.Close())
	x, _ := line(t, "CPU", 1<<16)
	x = x.Reshape(256, 256, 2)
	for _, y := range []*tensor.Tensor{x.FFT(-1, 0, tensor.Backward), x.IFFT(-1, 0, tensor.Backward)} {
		view, err := y.Schedule()
		require.NoError(t, err)
		require.Contains(t, view.String(), "f32x")
		assert.NotContains(t, view.String(), "gt_f32")
	}
}

// The axis of 7·11·13 numbers is three in the last stage, so that loads are affine.
func TestFFTOfThreeFactors(t *testing.T) {
	x, _ := line(t, "NULL", 16*1001)
	view, err := x.Reshape(16, 1001, 2).FFT(-1, 1, tensor.Backward).Schedule()
	require.NoError(t, err)
	for _, k := range view.Plan.Kernels {
		assert.NotContains(t, k.Name+"_", "_1001_")
	}
}
