package tensor_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A transposed convolution puts each element, times the filter, where the strides say, and adds up: whatever strides, filters,
// paddings and groups.
func TestConvTransposeOfPhases(t *testing.T) {
	ctx := context.Background()
	for _, rows := range []int{1, 2, 5} {
		for _, k := range []int{1, 2, 3, 5} {
			for _, stride := range []int{1, 2, 3, 4, 7, 1 << 20} {
				for _, padding := range [][]int{{0, 0}, {1, 0}, {0, 2}, {2, 1}} {
					for _, dilation := range []int{1, 2} {
						size := (rows-1)*stride - padding[0] - padding[1] + dilation*(k-1) + 1
						if size < 1 || size > 100 {
							continue
						}
						const in, out, groups = 4, 3, 2
						x := tensor.Arange(in*rows).Sub(7).Reshape(1, in, rows)
						w := tensor.Arange(in*out*k).Mul(2).Sub(5).Reshape(in, out, k)
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

// Fold adds integers as well as floats.
func TestFoldOfIntegers(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I32, dtype.U8, dtype.I64, dtype.F32} {
		x := tensor.Ones(1, 4, 9).To(d)
		got, err := tensor.Data[float32](context.Background(), x.Fold([]int{4, 4}, tensor.Pool{Size: []int{2, 2}}).To(dtype.F32))
		require.NoError(t, err)
		require.Equal(t, []float32{1, 2, 2, 1, 2, 4, 4, 2, 2, 4, 4, 2, 1, 2, 2, 1}, got, "%v", d)
	}
}
