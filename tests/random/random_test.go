// Package random tests the numbers that are drawn, on every device.
package random

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

var ctx = context.Background()

// each runs f with each device as the default one.
func each(t *testing.T, f func(t *testing.T)) {
	for _, name := range []string{"REF", "INTERP", "CPU", "WASM", "WEBGPU"} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Use(name)
			need.Device(t, name, err)
			engine.Configure(engine.Options{}, name)
			defer engine.Configure(engine.Options{}, "")
			f(t)
		})
	}
}

func read[T tensor.Element](t *testing.T, x *tensor.Tensor) []T {
	t.Helper()
	v, err := tensor.Data[T](ctx, x)
	require.NoError(t, err)
	return v
}

// numbers reads integers of any type.
func numbers(t *testing.T, x *tensor.Tensor) []*big.Int {
	out := make([]*big.Int, 0, x.Numel())
	if x.DType() == dtype.U64 {
		for _, v := range read[uint64](t, x) {
			out = append(out, new(big.Int).SetUint64(v))
		}
		return out
	}
	for _, v := range read[int](t, x) {
		out = append(out, big.NewInt(int64(v)))
	}
	return out
}

func number(v any) *big.Int {
	n, ok := new(big.Int).SetString(fmt.Sprint(v), 10)
	if !ok {
		panic(v)
	}
	return n
}

// TestRandIntIsExact compares with integers of any length: low + ⌊n·fraction⌋, of the words that RandIntOf(U32, 0, nil) gives.
func TestRandIntIsExact(t *testing.T) {
	const count = 33
	top := uint64(1) << 63
	each(t, func(t *testing.T) {
		tensor.Seed(3)
		var words [3][]*big.Int
		for i := range words {
			words[i] = numbers(t, tensor.RandIntOf(dtype.U32, 0, nil, count))
		}
		cases := []struct {
			d         dtype.DType
			low, high any
		}{
			{dtype.I32, 0, 10}, {dtype.I32, 1_000_000, 1_000_001}, {dtype.I32, -7, 1<<24 + 5}, {dtype.I32, math.MinInt32, math.MaxInt32},
			{dtype.I32, math.MinInt32, 1 << 31}, {dtype.I32, math.MinInt32, nil}, {dtype.I32, math.MaxInt32, nil}, {dtype.I32, 5, 5 + 1<<20},
			{dtype.U32, 0, 1 << 32}, {dtype.U32, 3, uint32(math.MaxUint32)}, {dtype.U32, 3, nil}, {dtype.I8, -128, 128}, {dtype.U8, 1, 256},
			{dtype.I16, -300, nil}, {dtype.U16, 0, 1 << 16},
			{dtype.I64, 0, 10}, {dtype.I64, -5, int64(1) << 40}, {dtype.I64, 0, int64(1) << 33}, {dtype.I64, -5, int64(3) << 61},
			{dtype.I64, math.MinInt64, math.MaxInt64}, {dtype.I64, math.MinInt64, top}, {dtype.I64, math.MinInt64, nil}, {dtype.I64, 1, nil},
			{dtype.I64, math.MinInt64, 0}, {dtype.I64, math.MinInt64, -1},
			{dtype.U64, 0, nil}, {dtype.U64, 1, nil}, {dtype.U64, top, uint64(math.MaxUint64)}, {dtype.U64, 0, uint64(1<<32 + 1)},
		}
		drawn := make([]*tensor.Tensor, len(cases))
		for i, c := range cases {
			tensor.Seed(3)
			drawn[i] = tensor.RandIntOf(c.d, c.low, c.high, 3, count/3)
		}
		require.NoError(t, tensor.Realize(ctx, drawn...))
		for i, c := range cases {
			got, name := numbers(t, drawn[i]), fmt.Sprint(c.d, " ", c.low, " ", c.high)
			end := new(big.Int)
			if c.high != nil {
				end = number(c.high)
			} else if bits := uint(c.d.Bits()); c.d.IsUnsigned() {
				end.Lsh(big.NewInt(1), bits)
			} else {
				end.Lsh(big.NewInt(1), bits-1)
			}
			n := new(big.Int).Sub(end, number(c.low))
			used := 3
			switch power := new(big.Int).And(n, new(big.Int).Sub(n, big.NewInt(1))).Sign() == 0; {
			case power && n.BitLen() <= 33:
				used = 1
			case power || n.BitLen() <= 32:
				used = 2
			}
			for i := range count {
				f := new(big.Int)
				for _, w := range words[:used] {
					f.Or(f.Lsh(f, 32), w[i])
				}
				want := f.Rsh(f.Mul(f, n), uint(32*used))
				require.Equal(t, want.Add(want, number(c.low)).String(), got[i].String(), "%s: element %d", name, i)
			}
		}
		tensor.Seed(42)
		assert.Equal(t, []int32{5, 6, 7, 4}, read[int32](t, tensor.RandInt(0, 10, 4)))
		assert.Empty(t, read[int32](t, tensor.RandInt(0, 10, 0)))
		assert.Equal(t, []int32{9}, read[int32](t, tensor.RandInt(9, 10)), "no axes")
	})
}

func TestRandIntErrors(t *testing.T) {
	for _, c := range []struct {
		d         dtype.DType
		low, high any
		says      string
	}{
		{dtype.I32, 3, 3, "no number is at least 3 and below 3"}, {dtype.I32, 3, -3, "no number"}, {dtype.U64, 0, 0, "no number"},
		{dtype.I32, 0, 1<<31 + 1, "not all numbers of int32"}, {dtype.I32, math.MinInt32 - 1, 0, "not all numbers of int32"},
		{dtype.U8, -1, 5, "not all numbers of uint8"}, {dtype.U8, 0, 257, "not all numbers"}, {dtype.I64, 0, uint64(1<<63 + 1), "not all numbers"},
		{dtype.I8, 200, nil, "not all numbers of int8"}, {dtype.I32, 0.5, 3, "must be an integer"}, {dtype.I32, 0, true, "must be an integer"},
		{dtype.F32, 0, 3, "needs an integer type"}, {dtype.Bool, 0, 1, "needs an integer type"},
	} {
		assert.ErrorContains(t, tensor.Try(func() { tensor.RandIntOf(c.d, c.low, c.high, 2) }), c.says)
	}
	assert.ErrorContains(t, tensor.Try(func() { tensor.RandInt(0, 1<<40, 2) }), "not all numbers of int32")
	for _, b := range [][2]float64{{0, math.NaN()}, {math.Inf(-1), 0}, {0, 1e39}} {
		assert.ErrorContains(t, tensor.Try(func() { tensor.Uniform(b[0], b[1], 2) }), "must be finite float32 numbers")
	}
	assert.Empty(t, read[float32](t, tensor.KaimingUniform(0, 3, 0)), "no inputs")
	assert.Empty(t, read[float32](t, tensor.GlorotUniform(0, 0)))
	assert.Empty(t, read[float32](t, tensor.KaimingNormal(0, 3, 0)))
}

// TestRandIntIsUniform counts, with bounds that are met by all but one in 10⁶ seeds.
func TestRandIntIsUniform(t *testing.T) {
	tensor.Seed(1)
	const count = 1 << 16
	for _, n := range []int{3, 10, 64, 1000} {
		hits := make([]int, n)
		for _, v := range read[int32](t, tensor.RandInt(-5, n-5, count)) {
			hits[v+5]++
		}
		chi, mean := 0., float64(count)/float64(n)
		for _, h := range hits {
			chi += (float64(h) - mean) * (float64(h) - mean) / mean
		}
		assert.Less(t, math.Abs(chi-float64(n-1)), 5*math.Sqrt(2*float64(n))+10, "%d", n)
	}
	odd, upper := 0, 0
	for _, v := range read[int32](t, tensor.RandInt(0, 3<<29, count)) { // float32 has 24 bits
		odd += int(v & 1)
		if v >= 1<<30 {
			upper++
		}
	}
	assert.InDelta(t, count/2, odd, 5*math.Sqrt(count)/2)
	assert.InDelta(t, count/3, upper, 5*math.Sqrt(count)/2)
}

func TestUniformLeavesOutItsEnd(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, b := range [][2]float32{{0, 1}, {1e6, 1e6 + 1}, {-1e6 - 1, -1e6}, {1, -1}, {1e6 + 1, 1e6}, {16777216, 16777220}, {-3e38, 3e38}, {2, 2}, {-1, 0}} {
			least, most := b[0], b[0]
			for _, v := range read[float32](t, tensor.Uniform(float64(b[0]), float64(b[1]), 20_000)) {
				least, most = min(least, v), max(most, v)
			}
			assert.GreaterOrEqual(t, least, min(b[0], b[1]), "%v", b)
			assert.LessOrEqual(t, most, max(b[0], b[1]), "%v", b)
			switch {
			case b[0] < b[1]:
				assert.Less(t, most, b[1])
				assert.GreaterOrEqual(t, most, b[0]+(b[1]/2-b[0]/2))
			case b[0] > b[1]:
				assert.Greater(t, least, b[1])
			}
		}
		assert.Equal(t, []float32{1, 1}, read[float32](t, tensor.Uniform(1, 1+1e-12, 2)))
	})
}

func TestOtherSamplers(t *testing.T) {
	each(t, func(t *testing.T) {
		normal := tensor.Randn(20_000)
		least, most := read[float32](t, normal.Min())[0], read[float32](t, normal.Max())[0]
		assert.Less(t, float32(-6), least)
		assert.Greater(t, float32(-3), least)
		assert.Less(t, most, float32(6))
		assert.Greater(t, most, float32(3))

		x := tensor.Of([]float32{1, float32(math.NaN()), float32(math.Inf(1)), -0.5})
		assert.Equal(t, []float32{0, 0, 0, 0}, read[float32](t, x.Dropout(1)), "everything is dropped")
		assert.Equal(t, []float32{0, 0, 0, 0}, read[float32](t, x.Dropout(1).Sum().Grad(x)[0]))
		ones := tensor.Ones(20_000)
		for _, p := range []float64{1e-12, 0.25, 0.9, 1 - 1e-12} {
			v, dropped := read[float32](t, ones.Dropout(p)), 0
			for _, e := range v {
				if e == 0 {
					dropped++
				} else {
					require.InEpsilon(t, 1/(1-p), e, 1e-6)
				}
			}
			assert.InDelta(t, 20_000*p, dropped, 5*math.Sqrt(20_000*p*(1-p))+0.01)
		}

		perm := read[int32](t, tensor.RandPerm(600))
		assert.False(t, slices.IsSorted(perm))
		slices.Sort(perm)
		for i, v := range perm {
			require.EqualValues(t, i, v)
		}
		assert.Equal(t, []int32{0}, read[int32](t, tensor.RandPerm(1)))
		assert.Empty(t, read[int32](t, tensor.RandPerm(0)))
	})
}

// Numbers of 64 bits are no rounded numbers of 32.
func TestNormalOfFloat64(t *testing.T) {
	fine := 0
	for _, v := range read[float64](t, tensor.RandnLike(tensor.Full(0, dtype.F64, 100))) {
		if float64(float32(v)) != v {
			fine++
		}
	}
	assert.Greater(t, fine, 90)
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		r := tensor.RandnLike(tensor.Full(0, d, 100))
		assert.Equal(t, d, r.DType())
		assert.Less(t, math.Abs(float64(read[float32](t, r.Max())[0])), 6.)
	}
}

// All orders of three are as likely.
func TestRandPermIsUniform(t *testing.T) {
	tensor.Seed(2)
	const times = 600
	f, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{tensor.RandPerm(3)} })
	require.NoError(t, err)
	hits := map[string]int{}
	for range times {
		out, err := f.Run(ctx)
		require.NoError(t, err)
		hits[fmt.Sprint(read[int32](t, out[0]))]++
	}
	assert.Len(t, hits, 6)
	for order, n := range hits {
		assert.InDelta(t, times/6, n, 5*math.Sqrt(times/6), order)
	}
}

// Goroutines that run one captured function, and goroutines that draw, never draw the same numbers.
func TestNoNumbersTwice(t *testing.T) {
	f, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{tensor.RandIntOf(dtype.U64, 0, nil, 4), tensor.Rand(8), tensor.RandPerm(16)}
	})
	require.NoError(t, err)
	var mu sync.Mutex
	var all sync.WaitGroup
	seen, drawn := map[string]bool{}, 0
	note := func(kind string, v any) {
		mu.Lock()
		defer mu.Unlock()
		seen[fmt.Sprint(kind, v)] = true
		drawn++
	}
	for i := range 16 {
		all.Go(func() {
			for range 20 {
				out := []*tensor.Tensor{tensor.RandIntOf(dtype.U64, 0, nil, 4), tensor.Rand(8), tensor.RandPerm(16)}
				if i%4 != 0 {
					var err error
					if out, err = f.Run(ctx); !assert.NoError(t, err) {
						return
					}
				}
				for _, w := range read[uint64](t, out[0]) {
					note("", w)
				}
				note("block", read[float32](t, out[1]))
				note("order", read[int32](t, out[2]))
			}
		})
	}
	all.Wait()
	assert.Len(t, seen, drawn)
}
