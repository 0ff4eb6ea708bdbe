package tests

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Long axes are not sorted to find a few of their elements; these are the ones that sorting finds, the first of equal ones
// first, NaN the greatest, for every type and along every axis.
func TestOrdinals(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{})
			ctx := context.Background()
			x := b.floats(3, 3001, 2)
			hard := x.Mul(40).Round().Div(4) // with many equal ones
			hard = x.Gt(1.2).Where(math.NaN(), hard)
			hard = x.Lt(-1.2).Where(math.Inf(-1), hard)
			require.NoError(t, tensor.Realize(ctx, x, hard))
			kinds := []*tensor.Tensor{hard, x.Gt(0), hard.Permute(1, 0, 2).Reshape(3001, 6), hard.Narrow(1, 0, 65)}
			if device == "CPU" { // the graphs are the same everywhere
				kinds = append(kinds, hard.To(dtype.F16), x.Mul(50).To(dtype.I8), x.Mul(50).Abs().To(dtype.U8), x.Mul(1e9).To(dtype.I64),
					x.Mul(1e9).To(dtype.I64).Bitcast(dtype.U64), x.To(dtype.F64).Mul(1.1), hard.Narrow(1, 0, 65).To(dtype.F64))
			}
			for i, c := range kinds {
				axis := slices.IndexFunc(c.Shape(), func(n int) bool { return n > 64 })
				n := c.Dim(axis)
				var got, want []*tensor.Tensor
				for _, largest := range []bool{false, true} {
					_, all := c.Sort(axis, largest)
					for _, k := range []int{1, 60, min(700, n)} {
						if i > 0 && (i%2 == 0) == (largest == (k == 1)) {
							continue // floats have all numbers at both ends, other kinds some at each
						}
						_, i := c.TopK(k, axis, largest)
						got, want = append(got, i), append(want, all.Narrow(axis, 0, k))
					}
				}
				_, all := c.Sort(axis, false)
				for _, k := range []int{1, n / 2, n} {
					_, i := c.KthValue(k, axis)
					got, want = append(got, i), append(want, all.Narrow(axis, k-1, 1).Squeeze(axis))
				}
				require.NoError(t, tensor.Realize(ctx, append(slices.Clone(got), want...)...))
				for i := range got {
					g, err := tensor.Data[int32](ctx, got[i])
					require.NoError(t, err)
					w, err := tensor.Data[int32](ctx, want[i])
					require.NoError(t, err)
					assert.Equal(t, w, g, "%v, result %d", c, i)
				}
			}
		})
	}
}

// Where values belong among few others, which are all compared, and among many, which are searched, both as NumPy has it.
func TestSearchSorted(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, "CPU", engine.Options{})
	for _, n := range []int{1, 2, 33, 64, 65, 200} {
		edges := b.floats(2, n).Mul(20).Round().Div(4)
		edges = edges.Gt(9).Where(math.NaN(), edges)
		edges, _ = edges.Sort(1, false)
		x := b.floats(2, 300).Mul(20).Round().Div(4)
		x = x.Gt(8.7).Where(math.NaN(), x)
		for _, right := range []bool{false, true} {
			list := edges.Select(0, 0)
			got := []*tensor.Tensor{edges.SearchSorted(x, right), list.SearchSorted(x, right)}
			require.NoError(t, tensor.Realize(ctx, append(got, edges, x)...))
			e, err := tensor.Data[float32](ctx, edges)
			require.NoError(t, err)
			v, err := tensor.Data[float32](ctx, x)
			require.NoError(t, err)
			for k := range got {
				g, err := tensor.Data[int32](ctx, got[k])
				require.NoError(t, err)
				for i := range v {
					row := e[:n]
					if k == 0 {
						row = e[i/300*n:][:n]
					}
					want := 0
					for _, y := range row {
						before := y < v[i] || v[i] != v[i] && y == y
						if right {
							before = y <= v[i] || v[i] != v[i]
						}
						if before {
							want++
						}
					}
					require.EqualValues(t, want, g[i], "%v among %v, right %v", v[i], row, right)
				}
			}
		}
	}
}

// None of the elements, be there none or many.
func TestNoneOfTheElements(t *testing.T) {
	for _, shape := range [][]int{{0}, {3, 0}, {0, 5}, {5}, {2, 700}, {0, 700}, {90_000}} {
		last := len(shape) - 1
		values, indices := tensor.Zeros(shape...).TopK(0, last, true)
		want := append(slices.Clone(shape[:last]), 0)
		require.Equal(t, want, values.Shape())
		require.Equal(t, want, indices.Shape())
		require.NoError(t, tensor.Realize(context.Background(), values, indices))
	}
}

// Medians and quantiles of long axes leave NaN out, or are NaN.
func TestMediansOfLongAxes(t *testing.T) {
	ctx := context.Background()
	v := make([]float32, 2001)
	for i := range v {
		v[i] = float32((i * 7919) % 2001)
	}
	x := tensor.Of(v, 2001)
	some := x.Gt(1799).Where(math.NaN(), x) // 0 … 1799 and 201 NaN
	m, _ := x.Median(0)
	n, _ := some.Median(0)
	nm, _ := some.NanMedian(0)
	for _, c := range []struct {
		t    *tensor.Tensor
		want float64
	}{
		{m, 1000}, {n, math.NaN()}, {nm, 899}, {x.Quantile([]float64{.25}, 0, tensor.BetweenLinear, false), 500},
		{some.Quantile([]float64{.5}, 0, tensor.BetweenLinear, true), 899.5},
		{some.Quantile([]float64{.5}, 0, tensor.BetweenLinear, false), math.NaN()},
	} {
		got, err := tensor.Data[float32](ctx, c.t)
		require.NoError(t, err)
		require.Len(t, got, 1)
		if math.IsNaN(c.want) {
			assert.True(t, math.IsNaN(float64(got[0])))
			continue
		}
		assert.Equal(t, float32(c.want), got[0])
	}
}
