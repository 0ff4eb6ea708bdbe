package tests

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// TestSorts compares orders with those that Go's own stable sort gives, on both sides of the lengths from which rows are sorted by digits
// and cut into blocks, for every kind of key, along every axis, of what lies backwards and of one element repeated, both ways. Floats, signed words and
// bytes are tried in all arrangements, and other types, of which only the keys differ, in lengths on both sides.
func TestSorts(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM", "REF"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{Poison: true, Fence: device == "CPU"})
			r := rand.New(rand.NewPCG(9, 9))
			specials := []float64{math.NaN(), -math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -5e-324, 1e-40, -1e-40, math.MaxFloat64, 1}
			float := func() float64 {
				if r.IntN(2) == 0 {
					return specials[r.IntN(len(specials))]
				}
				return r.NormFloat64()
			}
			all := func(of func(shape ...int) *tensor.Tensor) []*tensor.Tensor {
				return []*tensor.Tensor{of(0), of(1), of(2, 0, 3), of(79), of(81), of(2, 128), of(129, 3), of(3, 193), of(2, 321), of(4, 200, 2).Flip(1), of(200, 2, 3).Flip(0, 2),
					of(1).Expand(300), of(2, 1, 150).Expand(2, 3, 150), of(4095), of(8193)}
			}
			few := func(of func(shape ...int) *tensor.Tensor) []*tensor.Tensor {
				return []*tensor.Tensor{of(79), of(2, 128), of(129, 3), of(3, 193), of(8193)}
			}
			sorts(t, b, dtype.F32, all, func() float32 { return float32(float()) }, floatOrder[float32])
			sorts(t, b, dtype.I64, all, func() int64 { return int64(r.Uint64()) >> r.IntN(64) }, cmp.Compare[int64])
			sorts(t, b, dtype.U8, all, func() uint8 { return uint8(r.Uint32()) }, cmp.Compare[uint8])
			if device != "CPU" { // the graphs are the same everywhere
				return
			}
			sorts(t, b, dtype.F64, few, float, floatOrder[float64])
			sorts(t, b, dtype.I32, few, func() int32 { return int32(r.Uint64()) >> r.IntN(32) }, cmp.Compare[int32])
			sorts(t, b, dtype.U64, few, func() uint64 { return r.Uint64() >> r.IntN(64) }, cmp.Compare[uint64])
			sorts(t, b, dtype.U32, few, func() uint32 { return r.Uint32() >> r.IntN(32) }, cmp.Compare[uint32])
			sorts(t, b, dtype.I16, few, func() int16 { return int16(r.Uint32()) }, cmp.Compare[int16])
			sorts(t, b, dtype.I8, few, func() int8 { return int8(r.Uint32()) }, cmp.Compare[int8])
			sorts(t, b, dtype.Bool, few, func() bool { return r.IntN(2) == 0 }, func(a, b bool) int { return cmp.Compare(boolean(a), boolean(b)) })
		})
	}
}

// floatOrder has all NaN as one, the greatest, and 0 and −0 as one.
func floatOrder[T float32 | float64](a, b T) int {
	if a != a || b != b {
		return cmp.Compare(boolean(a != a), boolean(b != b))
	}
	return cmp.Compare(a, b)
}

func boolean(x bool) int {
	if x {
		return 1
	}
	return 0
}

func sorts[T tensor.Element](t *testing.T, b *bench, d dtype.DType, arrays func(of func(shape ...int) *tensor.Tensor) []*tensor.Tensor, random func() T, compare func(a, b T) int) {
	ctx := context.Background()
	many := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = random()
		}
		return x
	}
	of := func(shape ...int) *tensor.Tensor {
		n := 1
		for _, d := range shape {
			n *= d
		}
		raw, err := binary.Append(nil, binary.LittleEndian, many(n))
		require.NoError(t, err)
		return b.leaf(d, raw, shape...)
	}
	for _, x := range arrays(of) {
		for axis := range x.Rank() {
			for _, falling := range []bool{false, true} {
				v, i := x.Sort(axis, falling)
				last := func(y *tensor.Tensor) *tensor.Tensor { return y.Transpose(axis, -1) }
				in, values, order := last(x), last(v), last(i)
				require.NoError(t, tensor.Realize(ctx, in, values, order))
				all, err := tensor.Data[T](ctx, in)
				require.NoError(t, err)
				got, err := tensor.Data[T](ctx, values)
				require.NoError(t, err)
				at, err := tensor.Data[int32](ctx, order)
				require.NoError(t, err)
				n := x.Dim(axis)
				for from := 0; from < len(all); from += n {
					row, want := all[from:from+n], make([]int32, n)
					for k := range want {
						want[k] = int32(k)
					}
					slices.SortStableFunc(want, func(i, j int32) int {
						if falling {
							i, j = j, i
						}
						return compare(row[i], row[j])
					})
					require.Equal(t, want, at[from:from+n], "%v along %d, falling %v", x, axis, falling)
					for k, w := range want {
						require.Zero(t, compare(row[w], got[from+k]), "%v along %d, falling %v", x, axis, falling)
					}
				}
			}
			if x.Dim(axis) > 0 {
				modes(t, x, axis, compare)
			}
		}
	}
}

// modes compares the most frequent values, and where they are last, with those that counting in order gives.
func modes[T tensor.Element](t *testing.T, x *tensor.Tensor, axis int, compare func(a, b T) int) {
	ctx := context.Background()
	value, index := x.ModeKeep(axis)
	in, value, index := x.Transpose(axis, -1), value.Transpose(axis, -1), index.Transpose(axis, -1)
	require.NoError(t, tensor.Realize(ctx, in, value, index))
	all, err := tensor.Data[T](ctx, in)
	require.NoError(t, err)
	got, err := tensor.Data[T](ctx, value)
	require.NoError(t, err)
	at, err := tensor.Data[int32](ctx, index)
	require.NoError(t, err)
	n := x.Dim(axis)
	for i := range at {
		row := all[i*n : i*n+n]
		order := make([]int32, n)
		for k := range order {
			order[k] = int32(k)
		}
		slices.SortStableFunc(order, func(i, j int32) int { return compare(row[i], row[j]) })
		var want, most, run int32
		for k, o := range order {
			if run++; k == 0 || compare(row[o], row[order[k-1]]) != 0 {
				run = 1
			}
			if run > most {
				most, want = run, o
			}
		}
		require.Equal(t, want, at[i], "%v along %d", x, axis)
		require.Zero(t, compare(row[want], got[i]), "%v along %d", x, axis)
	}
}
