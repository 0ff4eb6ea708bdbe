package tests

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// narrowWindows are convolutions of narrow numbers and their gradients, with as many channels as a unit for products of matrices is used for. All
// sums are exact in any order.
func narrowWindows(t *testing.T, device string, o engine.Options) map[string][]float32 {
	b := newBench(t, device, o)
	out := map[string]*tensor.Tensor{}
	small := func(d dtype.DType, shape ...int) *tensor.Tensor { return b.ints(7, shape...).Sub(3).To(d) }
	for i, c := range []struct {
		in, out, side, size int
		o                   tensor.Conv
	}{
		{16, 48, 9, 3, tensor.Conv{Padding: 1}}, {64, 64, 7, 3, tensor.Conv{Padding: 1}}, {5, 51, 17, 3, tensor.Conv{}}, {48, 50, 12, 3, tensor.Conv{Padding: 1, Stride: 2}},
		{16, 64, 16, 5, tensor.Conv{Padding: 4, Dilation: 2}}, {96, 128, 8, 3, tensor.Conv{Padding: 1, Groups: 2}}, {64, 48, 10, 2, tensor.Conv{Padding: 2, Stride: 3}},
		{48, 48, 6, 3, tensor.Conv{Paddings: []int{3, 0, 0, 3}}},
	} {
		for _, d := range []dtype.DType{dtype.BF16, dtype.I8} {
			x, w := small(d, 2, c.in, c.side, c.side), small(d, c.out, c.in/max(c.o.Groups, 1), c.size, c.size)
			name := fmt.Sprint(i, " ", d)
			if d == dtype.I8 {
				out[name] = x.To(dtype.I32).Conv2D(w.To(dtype.I32), nil, c.o)
				continue
			}
			y := x.Conv2D(w, nil, c.o)
			g := y.Mul(small(d, y.Shape()...)).Sum().Grad(x, w)
			out[name], out[name+" to pictures"], out[name+" to filters"] = y, g[0], g[1]
		}
	}
	x, w := small(dtype.BF16, 3, 64, 40), small(dtype.BF16, 64, 48, 5)
	y := x.ConvTranspose(w, nil, tensor.Conv{Stride: 2, Padding: 2})
	g := y.Mul(small(dtype.BF16, y.Shape()...)).Sum().Grad(x, w)
	out["transposed"], out["transposed to rows"], out["transposed to filters"] = y, g[0], g[1]
	p := small(dtype.BF16, 1, 16, 5, 6, 7).Conv(small(dtype.BF16, 48, 16, 3, 2, 3), nil, tensor.Conv{Padding: 1})
	out["of three axes"] = p
	got := map[string][]float32{}
	for name, x := range out {
		v, err := tensor.Data[float32](context.Background(), x.To(dtype.F32))
		require.NoError(t, err, name)
		got[name] = v
	}
	return got
}

// Windows of narrow numbers give the same to the bit, however they are multiplied.
func TestNarrowWindows(t *testing.T) {
	want := narrowWindows(t, "INTERP", engine.Options{NoOpt: true})
	for _, o := range []engine.Options{{Threads: 1}, {Threads: 3}, {Fence: true}} {
		for name, v := range narrowWindows(t, "CPU", o) {
			assert.Equal(t, want[name], v, "%s %+v", name, o)
		}
	}
}
