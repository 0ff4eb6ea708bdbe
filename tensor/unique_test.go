package tensor_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// ordered are the elements of an array as numbers that say their order: all NaN are one, the greatest, and 0 and −0 are one.
func ordered(t *testing.T, x *tensor.Tensor) []float64 {
	if !x.IsFloat() { // those of the test are exact
		x = x.To(dtype.F64)
	}
	v := values(t, x)
	for i := range v {
		if v[i] != v[i] {
			v[i] = math.Inf(1)
		} else if math.IsInf(v[i], 1) {
			v[i] = math.MaxFloat64
		}
	}
	return v
}

func longsOf(t *testing.T, x *tensor.Tensor) []int64 {
	require.Equal(t, dtype.I64, x.DType())
	v, err := tensor.Data[int64](ctx, x)
	require.NoError(t, err)
	return v
}

// isUnique compares groups of the n rows of width elements of x with those that a stable sort finds.
func isUnique(t *testing.T, x *tensor.Tensor, n, width int, runs bool, u tensor.Uniques) {
	key, raw := ordered(t, x), bytesOf(t, x)
	row := func(i int) []float64 { return key[i*width : (i+1)*width] }
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if !runs {
		slices.SortStableFunc(order, func(i, j int) int { return slices.Compare(row(i), row(j)) })
	}
	inverse, counts := make([]int64, n), []int64{}
	size := width * x.DType().Size()
	want := []byte{}
	for k, i := range order {
		if k == 0 || !slices.Equal(row(i), row(order[k-1])) {
			counts = append(counts, 0)
			want = append(want, raw[i*size:(i+1)*size]...)
		}
		counts[len(counts)-1]++
		inverse[i] = int64(len(counts) - 1)
	}
	require.Equal(t, want, bytesOf(t, u.Values))
	require.Equal(t, inverse, longsOf(t, u.Inverse))
	require.Equal(t, counts, longsOf(t, u.Counts))
}

func TestUniqueIsWhatAStableSortFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 3, -3}
	for _, d := range []dtype.DType{dtype.Bool, dtype.I8, dtype.U8, dtype.I16, dtype.U16, dtype.I32, dtype.U32, dtype.I64, dtype.U64,
		dtype.F16, dtype.BF16, dtype.F32, dtype.F64} {
		for _, n := range []int{1, 6, 600, 5000} {
			raw := make([]byte, n*d.Size())
			for i := range n {
				b := raw[i*d.Size():]
				v := r.Int64N(int64(n)) - int64(n)/3
				switch {
				case d == dtype.Bool:
					b[0] = byte(v & 1)
				case d == dtype.F64:
					binary.LittleEndian.PutUint64(b, math.Float64bits(odd[r.IntN(len(odd))]*float64(1+v%5)))
				case d == dtype.F32:
					binary.LittleEndian.PutUint32(b, math.Float32bits(float32(odd[r.IntN(len(odd))]*float64(1+v%5))))
				case d.IsFloat():
					h, inf := uint16(r.IntN(1<<16))&0xfc83, map[dtype.DType]uint16{dtype.F16: 0x7c00, dtype.BF16: 0x7f80}[d] // few
					if h&0x7fff > inf {
						h = h&0x8000 | inf | inf>>1 // devices may keep only this one and its negative
					}
					binary.LittleEndian.PutUint16(b, h)
				case i%7 == 0: // over all the range, but within what float64 has exactly
					v = (v << 58) >> (64 - d.Bits())
					fallthrough
				default:
					if d == dtype.U64 && i%7 > 0 {
						v = max(v, -v)
					}
					for k := range d.Size() {
						b[k] = byte(v >> (8 * k))
					}
				}
			}
			x := tensor.FromBytes(d, []int{n}, raw)
			u, err := x.Unique(ctx)
			require.NoError(t, err, "%v", d)
			isUnique(t, x, n, 1, false, u)
			u, err = x.UniqueRuns(ctx)
			require.NoError(t, err)
			isUnique(t, x, n, 1, true, u)
			for _, width := range []int{2, 3, 20} {
				if n%width != 0 {
					continue
				}
				rows := x.Reshape(n/width, width)
				u, err = rows.UniqueAlong(ctx, 0)
				require.NoError(t, err)
				isUnique(t, rows, n/width, width, false, u)
				u, err = rows.UniqueRunsAlong(ctx, 0)
				require.NoError(t, err)
				isUnique(t, rows, n/width, width, true, u)
			}
		}
	}
}

func TestUniqueOfFarAndManyAndFew(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for name, v := range map[string]func() int64{
		"all equal":       func() int64 { return -7 },
		"all bits":        func() int64 { return r.Int64() >> 11 << 11 * (1 - 2*r.Int64N(2)) },
		"about 0":         func() int64 { return r.Int64N(5) - 2 },
		"bits in between": func() int64 { return r.Int64N(1000) << 30 },
	} {
		t.Run(name, func(t *testing.T) {
			list := make([]int64, 3000)
			for i := range list {
				list[i] = v()
			}
			x := tensor.Of(list)
			u, err := x.Unique(ctx)
			require.NoError(t, err)
			isUnique(t, x, len(list), 1, false, u)
			u, err = x.UniqueRuns(ctx)
			require.NoError(t, err)
			isUnique(t, x, len(list), 1, true, u)
		})
	}
}

func TestUniqueOfNothing(t *testing.T) {
	u, err := tensor.Full(0, dtype.I64, 0).Unique(ctx)
	require.NoError(t, err)
	require.Equal(t, [][]int{{0}, {0}, {0}}, [][]int{u.Values.Shape(), u.Inverse.Shape(), u.Counts.Shape()})
	u, err = tensor.Full(0, dtype.F32, 3, 0).UniqueAlong(ctx, 0) // three parts without elements are equal
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, u.Values.Shape())
	require.Equal(t, []int64{0, 0, 0}, longsOf(t, u.Inverse))
	require.Equal(t, []int64{3}, longsOf(t, u.Counts))
	u, err = tensor.Full(4, dtype.I32).UniqueRuns(ctx)
	require.NoError(t, err)
	require.Equal(t, []int{}, u.Inverse.Shape())
	require.Equal(t, []int64{1}, longsOf(t, u.Counts))
}

func TestNonZeroOfShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	for _, s := range [][]int{{}, {0}, {1}, {7}, {8}, {1000}, {3, 0}, {0, 3}, {40, 1}, {1, 40}, {5, 1, 9}, {13, 17}, {3, 2, 1, 4, 5}} {
		for _, dense := range []float64{0, .01, .5, 1} {
			n := 1
			for _, k := range s {
				n *= k
			}
			list := make([]float32, n)
			var want []int64
			var picked []float32
			for i := range list {
				list[i] = float32(math.Copysign(0, -1))
				if r.Float64() >= dense {
					continue
				}
				list[i] = []float32{1, -2, float32(math.NaN()), float32(math.Inf(1))}[r.IntN(4)]
				picked = append(picked, float32(i))
				at, rest := make([]int64, len(s)), i
				for k := len(s) - 1; k >= 0; k-- {
					at[k], rest = int64(rest%s[k]), rest/s[k]
				}
				want = append(want, at...)
			}
			x := tensor.Of(list).Reshape(s...)
			got, err := x.NonZero(ctx)
			require.NoError(t, err)
			require.Equal(t, []int{len(picked), len(s)}, got.Shape())
			require.Equal(t, append([]int64{}, want...), longsOf(t, got), "%v, %v", s, dense)
			numbers := tensor.Arange(n).To(dtype.F32).Reshape(s...)
			some, err := numbers.MaskedSelect(ctx, x.Ne(0))
			require.NoError(t, err)
			v, err := tensor.Data[float32](ctx, some)
			require.NoError(t, err)
			require.Equal(t, append([]float32{}, picked...), v)
		}
	}
}

// BenchmarkSizedByValues computes what only values tell the size of, of 1000000 elements.
func BenchmarkSizedByValues(b *testing.B) {
	const n = 1000000
	r := rand.New(rand.NewPCG(5, 4))
	three, many, floats, mask := make([]int64, n), make([]int64, n), make([]float32, n), make([]bool, n)
	for i := range n {
		three[i], many[i], floats[i], mask[i] = r.Int64N(3), r.Int64N(50000), r.Float32(), r.IntN(2) == 1
	}
	few, ids, numbers, on := tensor.Of(three), tensor.Of(many), tensor.Of(floats), tensor.Of(mask)
	all := func(u tensor.Uniques, err error) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{u.Values, u.Inverse, u.Counts}, err
	}
	one := func(x *tensor.Tensor, err error) ([]*tensor.Tensor, error) { return []*tensor.Tensor{x}, err }
	for _, c := range []struct {
		name string
		f    func() ([]*tensor.Tensor, error)
	}{
		{"UniqueRuns of 3", func() ([]*tensor.Tensor, error) { return all(few.UniqueRuns(ctx)) }},
		{"Unique of 3", func() ([]*tensor.Tensor, error) { return all(few.Unique(ctx)) }},
		{"Unique of 50000", func() ([]*tensor.Tensor, error) { return all(ids.Unique(ctx)) }},
		{"Unique of floats", func() ([]*tensor.Tensor, error) { return all(numbers.Unique(ctx)) }},
		{"UniqueAlong of rows", func() ([]*tensor.Tensor, error) { return all(few.Reshape(n/10, 10).UniqueAlong(ctx, 0)) }},
		{"NonZero", func() ([]*tensor.Tensor, error) { return one(on.NonZero(ctx)) }},
		{"NonZero of a table", func() ([]*tensor.Tensor, error) { return one(on.Reshape(1000, 1000).NonZero(ctx)) }},
		{"MaskedSelect", func() ([]*tensor.Tensor, error) { return one(numbers.MaskedSelect(ctx, on)) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				out, err := c.f()
				require.NoError(b, err)
				require.NoError(b, tensor.Realize(ctx, out...))
			}
		})
	}
}
