package tests

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Convolutions of dilated windows, some of which lie mostly in the padding and are computed in parts, and their gradients have the values of the
// definition.
func TestConvOfFarWindows(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	noise := func(shape ...int) (*tensor.Tensor, []float32) {
		x := b.ints(9, shape...).Sub(4).To(dtype.F32)
		v, err := tensor.Data[float32](context.Background(), x)
		require.NoError(t, err)
		return x, v
	}
	for _, c := range []struct {
		batch, in, out, groups, h, w, kh, kw int
		o                                    tensor.Conv
	}{
		{1, 96, 96, 1, 24, 24, 3, 3, tensor.Conv{Padding: 18, Dilation: 18}},
		{1, 144, 144, 1, 14, 14, 3, 3, tensor.Conv{Padding: 12, Dilation: 12}}, // few of the windows have those at the corners inside
		{2, 64, 64, 2, 30, 30, 3, 3, tensor.Conv{Padding: 24, Dilation: 24}},
		{1, 96, 96, 1, 24, 24, 3, 3, tensor.Conv{Padding: 24, Dilation: 24}}, // only the middle is ever inside
		{3, 64, 64, 1, 33, 26, 3, 5, tensor.Conv{Paddings: []int{19, 40, 25, 33}, Dilation: 19, Stride: 2}},
		{1, 40, 40, 1, 20, 64, 5, 5, tensor.Conv{Padding: 28, Dilations: []int{14, 14}, Strides: []int{1, 3}}},
		{1, 8, 4, 1, 2, 3, 3, 3, tensor.Conv{Padding: 5, Dilation: 5}},                           // small: by one sum, with the middle alone
		{1, 4, 4, 1, 2, 2, 3, 3, tensor.Conv{Paddings: []int{9, 9, 1, 1}, Strides: []int{9, 1}}}, // some windows hold nothing
		{1, 32, 32, 1, 32, 32, 9, 9, tensor.Conv{Padding: 28, Dilation: 7}},                      // of 81 elements each would be a kernel
		{8, 3, 48, 1, 14, 14, 5, 5, tensor.Conv{Padding: 8, Dilation: 4}},                        // dense, in boxes of every fourth row
		{2, 12, 24, 2, 19, 31, 3, 4, tensor.Conv{Paddings: []int{4, 3, 5, 6}, Dilations: []int{3, 2}, Stride: 2}},
	} {
		what := fmt.Sprintf("%+v", c)
		xs, ws := []int{c.batch, c.in, c.h, c.w}, []int{c.out, c.in / c.groups, c.kh, c.kw}
		tx, x := noise(xs...)
		tw, w := noise(ws...)
		c.o.Groups = c.groups
		y := tx.Conv(tw, nil, c.o)
		tr, r := noise(y.Shape()...)
		grads := y.Mul(tr).Sum().Grad(tx, tw)
		out, dx, dw := make([]float32, y.Numel()), make([]float32, len(x)), make([]float32, len(w))
		pick := func(list []int, one, i int) int {
			if len(list) > 0 {
				return list[i]
			}
			return max(one, 1)
		}
		lo := [2]int{c.o.Padding, c.o.Padding}
		if len(c.o.Paddings) > 0 {
			lo = [2]int(c.o.Paddings[:2])
		}
		oh, ow := y.Dim(2), y.Dim(3)
		for i := range c.batch * c.out * c.kh * c.kw * ws[1] {
			i, ci := i/ws[1], i%ws[1]
			i, kx := i/c.kw, i%c.kw
			i, ky := i/c.kh, i%c.kh
			n, o := i/c.out, i%c.out
			ch := o/(c.out/c.groups)*ws[1] + ci
			at := ((o*ws[1]+ci)*c.kh+ky)*c.kw + kx
			for p := range oh {
				yy := p*pick(c.o.Strides, c.o.Stride, 0) + ky*pick(c.o.Dilations, c.o.Dilation, 0) - lo[0]
				if yy < 0 || yy >= c.h {
					continue
				}
				for q := range ow {
					xx := q*pick(c.o.Strides, c.o.Stride, 1) + kx*pick(c.o.Dilations, c.o.Dilation, 1) - lo[1]
					if xx < 0 || xx >= c.w {
						continue
					}
					from, to := ((n*c.in+ch)*c.h+yy)*c.w+xx, ((n*c.out+o)*oh+p)*ow+q
					out[to] += x[from] * w[at]
					dx[from] += r[to] * w[at]
					dw[at] += r[to] * x[from]
				}
			}
		}
		for i, got := range []*tensor.Tensor{y, grads[0], grads[1]} {
			v, err := tensor.Data[float32](context.Background(), got)
			require.NoError(t, err, what)
			for j, want := range [][]float32{out, dx, dw}[i] {
				require.Equal(t, want, v[j], "%s: element %d of the %s", what, j, []string{"result", "gradient of the input", "gradient of the filters"}[i])
			}
		}
	}
}

// Windows of many elements are no parts of many kernels.
func TestConvOfFarWindowsHasFewKernels(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, "CPU", engine.Options{})
	for size, most := range map[int]int{3: 12, 9: 2} {
		x, w := b.floats(1, 32, 32, 32), b.floats(64, 32, size, size)
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{in[0].Conv(in[1], nil, tensor.Conv{Padding: 7 * (size - 1) / 2, Dilation: 7})}
		}, x, w)
		require.NoError(t, err)
		require.LessOrEqual(t, c.Launches(), most, "%d×%d", size, size)
	}
}

// Windows are parts where a good part of their products is padding, unless that takes longer: it does where few windows have an element inside, of
// which the filters are read as long.
func TestConvOfFarWindowsIsParted(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, "CPU", engine.Options{})
	for _, c := range []struct {
		channels, side, dilation int
		parts                    bool
	}{{144, 14, 12, true}, {128, 28, 12, true}, {96, 28, 6, true}, {96, 28, 4, false}, {320, 7, 4, false}} {
		x, w := b.floats(1, c.channels, c.side, c.side), b.floats(c.channels, c.channels, 3, 3)
		f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{in[0].Conv(in[1], nil, tensor.Conv{Padding: c.dilation, Dilation: c.dilation})}
		}, x, w)
		require.NoError(t, err)
		require.Equal(t, c.parts, f.Launches() > 2, "%+v: %d", c, f.Launches())
	}
}
