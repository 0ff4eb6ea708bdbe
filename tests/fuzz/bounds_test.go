package fuzz

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// bounded gives the bounds of what f makes of some numbers.
func bounded(f func(x T) T, x ...float32) (dtype.DType, []bound) {
	graphs()
	s := newState(effort)
	v := make([]uint64, len(x))
	for i, n := range x {
		v[i] = uint64(uop.FloatValue(dtype.F32, float64(n)))
	}
	t := f(s.leaf(&Leaf{Type: dtype.F32, Shape: []int{len(x)}, Given: v}, 0, true))
	return t.DType(), s.eval.of(t.Node())
}

// What is exact in any order is one number; what is rounded is a narrow interval; what depends on a tie of rounded
// numbers is open.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		f     func(x T) T
		lo    float64
		hi    float64
		exact bool
	}{
		"a sum of quarters":         {func(x T) T { return x.Sum() }, 4.25, 4.25, true},
		"a sum of exact sums":       {func(x T) T { return x.Narrow(0, 0, 1).Mul(.875*(1+0x1p-15)).Expand(8, 6).Sum(1).Sum() }, 31.5, 31.51, false},
		"a sum of sums that cancel": {func(x T) T { return x.Sub(.7).Div(3).Expand(50, 6).Sum(1).Sum() }, .8, .87, false},
		"a sum of sums of products": {func(x T) T {
			y := x.Narrow(0, 2, 2)
			return y.Mul(1 + 0x1p-23).Add(y.Mul(1 - 0x1p-23)).Sum()
		}, 11.99, 12.01, false},
		"a product of quarters":        {func(x T) T { return x.Prod() }, -3, -3, true},
		"a greatest":                   {func(x T) T { return x.Max() }, 4, 4, true},
		"where it is":                  {func(x T) T { return x.ArgMax() }, 2, 2, true},
		"a sum of sines":               {func(x T) T { return x.Sin().Sum() }, -0.588, -0.586, false},
		"a rounded number's floor":     {func(x T) T { return x.Sin().Mul(0).Floor().Sum() }, 0, 0, true},
		"which of two equal ones":      {func(x T) T { return tensor.Stack(0, x.Sum().Exp(), x.Sum().Exp().Add(0)).ArgMax() }, 0, 1, false},
		"a difference of equal ones":   {func(x T) T { return x.Exp().Sum().Sub(x.Exp().Sum()) }, -1e-3, 1e-3, false},
		"a comparison of rounded ones": {func(x T) T { return x.Sin().Lt(x.Sin().Add(1e-9)).All() }, 0, 1, false},
	} {
		d, b := bounded(c.f, 0.75, -0.5, 4, 2, -1, -1)
		if name == "a product of quarters" {
			d, b = bounded(c.f, 0.75, -0.5, 4, 2, 1, 1)
		}
		if name == "a sum of sines" {
			want := 0.
			for _, x := range []float64{0.75, -0.5, 4, 2, -1, -1} {
				want += math.Sin(x)
			}
			c.lo, c.hi = want-1e-4, want+1e-4
		}
		require.Len(t, b, 1, name)
		lo, hi := float64(b[0].lo.Int()), float64(b[0].hi.Int())
		if d.IsFloat() {
			lo, hi = b[0].flo(), b[0].fhi()
		}
		assert.GreaterOrEqual(t, lo, c.lo, name)
		assert.LessOrEqual(t, hi, c.hi, name)
		assert.Equal(t, c.exact, lo == hi, name)
	}
}

// A device that errs in one element, by a thousandth or by one, is found out nearly always.
func TestPlanted(t *testing.T) {
	graphs()
	tried, missed := 0, 0
	for seed := range uint64(150) {
		g := Generate(seed)
		for _, w := range g.Want[0] {
			for i, b := range w.bounds {
				got := b.hi
				switch {
				case w.dtype == dtype.Bool:
					got = 1 - got&1
				case w.dtype.IsFloat() && w.dtype.Size() == 1: // which has no thousandths
					got = uop.FloatValue(w.dtype, b.fhi()+math.Abs(b.fhi())/4+1e-2)
				case w.dtype.IsFloat():
					got = uop.FloatValue(w.dtype, b.fhi()+math.Abs(b.fhi())/128+1e-3)
				default:
					got = uop.IntValue(w.dtype, got.Int()+1)
				}
				tried++
				if b.holds(w.dtype, got) || isUnknown(w.dtype, b) || w.dtype == dtype.Bool && b.lo != b.hi {
					missed++
				}
				if i > 50 {
					break
				}
			}
		}
	}
	require.Greater(t, tried, 5000)
	require.Less(t, 50*missed, tried, "%d of %d", missed, tried)
}
