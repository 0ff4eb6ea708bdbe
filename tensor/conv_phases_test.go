package tensor_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A transposed convolution puts each element, times the filter, where the strides say, and adds up: whatever strides, filters,
// paddings and groups.
func TestConvTransposeOfPhases(t *testing.T) { onEach(t, convTransposeOfPhases) }

func convTransposeOfPhases(t *testing.T, device string) {
	ctx := context.Background()
	for _, rows := range []int{1, 2, 5} {
		for _, k := range []int{1, 2, 3, 5} {
			for _, stride := range []int{1, 2, 3, 4, 7, 1 << 20} {
				for _, padding := range [][]int{{0, 0}, {1, 0}, {0, 2}, {2, 1}, {3, 4}} {
					for _, dilation := range []int{1, 2, 3} {
						size := (rows-1)*stride - padding[0] - padding[1] + dilation*(k-1) + 1
						if size < 1 || size > 100 {
							continue
						}
						const in, out, groups = 4, 3, 2
						x := tensor.Arange(in*rows).Sub(7).Reshape(1, in, rows).On(device)
						w := tensor.Arange(in*out*k).Mul(2).Sub(5).Reshape(in, out, k).On(device)
						want := make([]int32, out*groups*size)
						for i := range in {
							for r := range rows {
								for o := range out {
									for j := range k {
										at := r*stride + j*dilation - padding[0]
										if at >= 0 && at < size {
											g := i / (in / groups)
											want[(g*out+o)*size+at] += int32((i*rows + r - 7) * (2*((i*out+o)*k+j) - 5))
										}
									}
								}
							}
						}
						what := fmt.Sprintf("%d rows, filters of %d, stride %d, padding %v, dilation %d", rows, k, stride, padding, dilation)
						y := x.ConvTranspose(w, nil, tensor.Conv{Stride: stride, Paddings: padding, Dilation: dilation, Groups: groups})
						require.Equal(t, []int{1, out * groups, size}, y.Shape(), what)
						got, err := tensor.Data[int32](ctx, y)
						require.NoError(t, err, what)
						assert.Equal(t, want, got, what)
					}
				}
			}
		}
	}
}

// What a transposed convolution puts nowhere near an infinite or undefined element, or filter, stays finite.
func TestConvTransposeOfInfinities(t *testing.T) {
	ctx := context.Background()
	const in, out, rows, columns = 2, 2, 3, 4
	for _, bad := range []float32{float32(math.Inf(1)), float32(math.NaN())} {
		for _, k := range []int{1, 2, 3, 4} {
			for _, stride := range []int{1, 2, 3, 5} {
				for _, dilation := range []int{1, 2} {
					for at := range 6 {
						x, w := make([]float32, in*rows*columns), make([]float32, in*out*k*k)
						for i := range x {
							x[i] = float32(i%5) - 2
						}
						for i := range w {
							w[i] = float32(i%3) - 1
						}
						if at < 4 {
							x[[]int{0, 5, columns - 1, len(x) - 1}[at]] = bad
						} else {
							w[[]int{0, len(w) - 1}[at-4]] = bad
						}
						const lo, hi = 1, 0
						high, wide := (rows-1)*stride-lo-hi+dilation*(k-1)+1, (columns-1)*stride-lo-hi+dilation*(k-1)+1
						if high < 1 || wide < 1 {
							continue
						}
						want := make([]float32, out*high*wide)
						for i := range in * out * rows * columns * k * k {
							i, kx := i/k, i%k
							i, ky := i/k, i%k
							i, c := i/columns, i%columns
							i, r := i/rows, i%rows
							i, o := i/out, i%out
							y, z := r*stride+ky*dilation-lo, c*stride+kx*dilation-lo
							if y >= 0 && y < high && z >= 0 && z < wide {
								want[(o*high+y)*wide+z] += x[(i*rows+r)*columns+c] * w[((i*out+o)*k+ky)*k+kx]
							}
						}
						what := fmt.Sprintf("%v at %d, filters of %d, stride %d, dilation %d", bad, at, k, stride, dilation)
						y := tensor.Of(x, 1, in, rows, columns).ConvTranspose(tensor.Of(w, in, out, k, k), nil, tensor.Conv{Stride: stride, Paddings: []int{lo, lo, hi, hi}, Dilation: dilation})
						got, err := tensor.Data[float32](ctx, y)
						require.NoError(t, err, what)
						for i := range want {
							require.True(t, got[i] == want[i] || got[i] != got[i] && want[i] != want[i], "%s: element %d of %dx%d is %v, not %v", what, i, high, wide, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

// Fold adds integers as well as floats.
func TestFoldOfIntegers(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I32, dtype.U8, dtype.I64, dtype.F32} {
		x := tensor.Ones(1, 4, 9).To(d)
		got, err := tensor.Data[float32](context.Background(), x.Fold([]int{4, 4}, tensor.Pool{Size: []int{2, 2}}).To(dtype.F32))
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1}, got, "%v", d)
	}
	const odd = 1<<60 + 1
	y := tensor.Of([]int64{odd, odd, odd, odd}, 1, 2, 2).Fold([]int{3, 1}, tensor.Pool{Size: []int{2, 1}})
	got, err := tensor.Data[int64](context.Background(), y)
	require.NoError(t, err)
	require.Equal(t, []int64{odd, 2 * odd, odd}, got)
}

// A convolution leaves the caller's lists of options as they are: a layer uses them again.
func TestConvTransposeKeepsOptions(t *testing.T) {
	o := tensor.Conv{Strides: []int{2, 3}, Paddings: []int{1, 1}}
	x, w := tensor.Arange(12).Reshape(1, 1, 4, 3), tensor.Arange(9).Reshape(1, 1, 3, 3)
	first := x.ConvTranspose(w, nil, o).Shape()
	assert.Equal(t, []int{1, 1}, o.Paddings)
	assert.Equal(t, first, x.ConvTranspose(w, nil, o).Shape(), "the second time")
	o = tensor.Conv{Strides: []int{2, 2}, OutputPadding: []int{1, 1}}
	tensor.Arange(4).Reshape(1, 1, 1, 4).ConvTranspose(w, nil, o)
	assert.Equal(t, []int{2, 2}, o.Strides)
	o = tensor.Conv{Strides: []int{2, 2}, Paddings: []int{1, 1, 1, 1}}
	x.ConvTranspose(w, nil, o)
	assert.Equal(t, []int{1, 1, 1, 1}, o.Paddings)
}
