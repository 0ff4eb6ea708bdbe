package uop_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func TestEveryOpHasARow(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for o := range uop.NumOps {
		info := uop.Info(o)
		require.NotEmpty(t, info.Name, "op %d has no row in the table", o)
		require.False(t, names[info.Name], "two ops are called %s", info.Name)
		names[info.Name] = true
		require.Equal(t, o.Elementwise(), info.Takes != uop.Nothing && info.Cost.Element > 0 && info.Cost.Loop > 0, "%s: elementwise ops, and only they, have a domain and a cost", o)
		require.Equal(t, o.Elementwise(), info.Eval != nil, "%s: elementwise ops, and only they, have a meaning on elements", o)
		if o.Elementwise() {
			require.Equal(t, map[uop.Group]int{uop.Unary: 1, uop.Binary: 2, uop.Ternary: 3}[info.Group], info.Arity, o.String())
		}
	}
	require.Less(t, int(uop.NumOps), 64, "rule matching keeps sets of ops in one word")
}

// TestAlgebra checks what the table says of each op against its meaning.
func TestAlgebra(t *testing.T) {
	t.Parallel()
	for o := range uop.NumOps {
		info := uop.Info(o)
		if info.Group != uop.Binary {
			require.Zero(t, info.Algebra, o.String())
			continue
		}
		for _, d := range []dtype.DType{dtype.Bool, dtype.I8, dtype.U64, dtype.I64} {
			to := d
			if info.Type == uop.Boolean {
				to = dtype.Bool
			}
			eval := func(a, b uop.Value) uop.Value { return uop.Eval(o, d, to, a, b) }
			if o == uop.Div {
				continue
			}
			vs := integers(d)
			for _, a := range vs {
				if info.Algebra&uop.Idempotent != 0 {
					require.Equal(t, a, eval(a, a), "%v %v", o, d)
				}
				for _, b := range vs {
					if info.Algebra&uop.Commutative != 0 {
						require.Equal(t, eval(a, b), eval(b, a), "%v %v", o, d)
					}
					if info.Algebra&uop.Associative != 0 {
						for _, c := range vs {
							require.Equal(t, eval(eval(a, b), c), eval(a, eval(b, c)), "%v %v", o, d)
						}
					}
				}
			}
		}
	}
}

func integers(d dtype.DType) []uop.Value {
	lo, hi := uop.IntLimits(d)
	var out []uop.Value
	for _, i := range []int64{lo.Int(), hi.Int(), 0, 1, -1, 2, -3, 7, lo.Int() + 1} {
		out = append(out, uop.IntValue(d, i))
	}
	return out
}

func TestNumerics(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	negZero := math.Copysign(0, -1)
	f := func(x float64) uop.Value { return uop.FloatValue(dtype.F32, x) }
	i := func(d dtype.DType, x int64) uop.Value { return uop.IntValue(d, x) }
	cases := []struct {
		op       uop.Op
		from, to dtype.DType
		v        []uop.Value
		want     uop.Value
	}{
		{uop.IDiv, dtype.I32, dtype.I32, []uop.Value{i(dtype.I32, -7), i(dtype.I32, 2)}, i(dtype.I32, -4)},
		{uop.Mod, dtype.I32, dtype.I32, []uop.Value{i(dtype.I32, -7), i(dtype.I32, 2)}, 1},
		{uop.Mod, dtype.I32, dtype.I32, []uop.Value{7, i(dtype.I32, -2)}, i(dtype.I32, -1)},
		{uop.IDiv, dtype.I32, dtype.I32, []uop.Value{5, 0}, 0},
		{uop.Mod, dtype.I32, dtype.I32, []uop.Value{5, 0}, 0},
		{uop.IDiv, dtype.I32, dtype.I32, []uop.Value{i(dtype.I32, math.MinInt32), i(dtype.I32, -1)}, i(dtype.I32, math.MinInt32)},
		{uop.IDiv, dtype.I64, dtype.I64, []uop.Value{i(dtype.I64, math.MinInt64), i(dtype.I64, -1)}, i(dtype.I64, math.MinInt64)},
		{uop.Mod, dtype.I64, dtype.I64, []uop.Value{i(dtype.I64, math.MinInt64), i(dtype.I64, -1)}, 0},
		{uop.IDiv, dtype.U64, dtype.U64, []uop.Value{^uop.Value(0), 2}, math.MaxInt64},
		{uop.Add, dtype.I8, dtype.I8, []uop.Value{127, 1}, i(dtype.I8, -128)},
		{uop.Add, dtype.U8, dtype.U8, []uop.Value{255, 1}, 0},
		{uop.Neg, dtype.U8, dtype.U8, []uop.Value{1}, 255},
		{uop.Mul, dtype.I64, dtype.I64, []uop.Value{1 << 62, 4}, 0},
		{uop.Shl, dtype.I32, dtype.I32, []uop.Value{1, 33}, 2},
		{uop.Shr, dtype.I32, dtype.I32, []uop.Value{i(dtype.I32, -8), 1}, i(dtype.I32, -4)},
		{uop.Shr, dtype.U8, dtype.U8, []uop.Value{0x80, 7}, 1},
		{uop.Shl, dtype.Index, dtype.Index, []uop.Value{3, 4}, 48},
		{uop.Less, dtype.U64, dtype.Bool, []uop.Value{1, ^uop.Value(0)}, 1},
		{uop.Less, dtype.F32, dtype.Bool, []uop.Value{f(nan), f(1)}, 0},
		{uop.Equal, dtype.F32, dtype.Bool, []uop.Value{f(nan), f(nan)}, 0},
		{uop.Equal, dtype.F32, dtype.Bool, []uop.Value{f(0), f(negZero)}, 1},
		{uop.Max, dtype.F32, dtype.F32, []uop.Value{f(negZero), f(0)}, f(0)},
		{uop.Max, dtype.U64, dtype.U64, []uop.Value{1, ^uop.Value(0)}, ^uop.Value(0)},
		{uop.Cast, dtype.F32, dtype.I8, []uop.Value{f(300)}, 127},
		{uop.Cast, dtype.F32, dtype.I8, []uop.Value{f(-inf)}, i(dtype.I8, -128)},
		{uop.Cast, dtype.F32, dtype.U8, []uop.Value{f(-1.5)}, 0},
		{uop.Cast, dtype.F32, dtype.I32, []uop.Value{f(nan)}, 0},
		{uop.Cast, dtype.F32, dtype.I32, []uop.Value{f(-1.9)}, i(dtype.I32, -1)},
		{uop.Cast, dtype.F32, dtype.I64, []uop.Value{f(1e30)}, math.MaxInt64},
		{uop.Cast, dtype.F32, dtype.U64, []uop.Value{f(1e30)}, ^uop.Value(0)},
		{uop.Cast, dtype.F32, dtype.Bool, []uop.Value{f(nan)}, 1},
		{uop.Cast, dtype.F32, dtype.Bool, []uop.Value{f(negZero)}, 0},
		{uop.Cast, dtype.I32, dtype.U8, []uop.Value{i(dtype.I32, -1)}, 255},
		{uop.Cast, dtype.I64, dtype.F32, []uop.Value{1<<40 + 1}, f(1 << 40)},
		{uop.Cast, dtype.U64, dtype.F64, []uop.Value{^uop.Value(0)}, uop.FloatValue(dtype.F64, 1<<64)},
		{uop.Bitcast, dtype.F32, dtype.I32, []uop.Value{f(-2)}, i(dtype.I32, -1<<30)},
		{uop.Bitcast, dtype.I32, dtype.F32, []uop.Value{0x3f800000}, f(1)},
		{uop.Bitcast, dtype.U16, dtype.BF16, []uop.Value{0xc000}, f(-2)},
	}
	for n, c := range cases {
		require.Equal(t, c.want, uop.Eval(c.op, c.from, c.to, c.v...), "case %d: %v of %v to %v of %v", n, c.op, c.from, c.to, c.v)
	}
	for _, v := range [][2]float64{{nan, 1}, {1, nan}, {nan, inf}} {
		got := uop.Eval(uop.Max, dtype.F32, dtype.F32, f(v[0]), f(v[1])).Float()
		require.True(t, got != got, "NaN passes through max")
	}
	diff := uop.Eval(uop.Add, dtype.F32, dtype.F32, f(inf), f(-inf)).Float()
	require.True(t, diff != diff)
}

// TestMulAddRoundsOnce compares with arithmetic of 300 bits.
func TestMulAddRoundsOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16} {
		draw := func() float64 {
			for {
				v := uop.FromBits(d, r.Uint64()).Float()
				if math.Abs(v) < 1e8 && math.Abs(v) > 1e-8 {
					return v
				}
			}
		}
		for range 20_000 {
			x, y, z := draw(), draw(), draw()
			if r.IntN(2) == 0 { // close to a tie
				z = uop.FloatValue(d, x*y*math.Ldexp(1+r.Float64(), -8-r.IntN(40))).Float()
			}
			exact := func(v float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(v) }
			sum := new(big.Float).SetPrec(300).Mul(exact(x), exact(y))
			sum.Add(sum, exact(z))
			v := func(f float64) uop.Value { return uop.FloatValue(d, f) }
			got := uop.Eval(uop.MulAdd, d, d, v(x), v(y), v(z)).Float()
			// The result is a nearest value: no neighbour is closer.
			off := func(f float64) *big.Float {
				return new(big.Float).SetPrec(300).Abs(new(big.Float).SetPrec(300).Sub(sum, exact(f)))
			}
			bits := uop.ToBits(d, v(got))
			for _, n := range []uint64{bits - 1, bits + 1} {
				if f := uop.FromBits(d, n).Float(); !math.IsInf(f, 0) && f == f && !math.IsInf(got, 0) && bits != 0 {
					require.LessOrEqual(t, off(got).Cmp(off(f)), 0, "%v: %v·%v + %v = %v", d, x, y, z, got)
				}
			}
		}
	}
	f := func(x float64) uop.Value { return uop.FloatValue(dtype.F32, x) }
	tie := uop.Eval(uop.MulAdd, dtype.F32, dtype.F32, f(4.0693585523127954e+30), f(3), f(-69.48574829101562))
	require.Equal(t, f(1.2208075052475476e+31), tie)
}

func TestBitsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, d := range dtype.All {
		n := uint64(1) << min(d.Bits(), 16)
		for b := range n {
			if d.Bits() > 16 {
				b = b << (d.Bits() - 16) // the leading bits of the wide types
			}
			v := uop.FromBits(d, b)
			if d.IsFloat() && v.Float() != v.Float() {
				continue // any NaN is NaN
			}
			require.Equal(t, b, uop.ToBits(d, v), "%v", d)
		}
	}
}

func TestMonoids(t *testing.T) {
	t.Parallel()
	for m := uop.Sum; m <= uop.Last; m++ {
		info := m.Info()
		require.NotEmpty(t, info.Name)
		require.NotNil(t, info.Identity)
		require.NotNil(t, info.Merge)
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.I8, dtype.U8, dtype.Bool} {
		for _, m := range []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf} {
			a := uop.NewArena()
			e := m.Info().Identity(d, 0)
			x := a.Make(uop.Reg, d, uop.RegArg{})
			merged := m.Info().Merge([]*uop.UOp{a.ConstOf(d, e)}, []*uop.UOp{x})[0]
			for _, v := range integers(dtype.I8) {
				w := uop.ValueOf(d, v.Int())
				got := uop.Eval(merged.Op(), d, d, e, w)
				require.Equal(t, w, got, "%v of %v: %v is not neutral", m, d, e)
			}
		}
	}
}

// The digits of a logarithm near 0 are those of the argument less 1.
func TestBinaryLogNearOne(t *testing.T) {
	for x, want := range map[float64]float64{1: 0, 2: 1, 0.5: -1, 0.125: -3, 1.0184697549593988: 0.0264031378708352468, 1 + 0x1p-40: 0x1p-40 * math.Log2E * (1 - 0x1p-41)} {
		require.InDelta(t, want, uop.BinaryLog(x), 4e-16*math.Abs(want), "%v", x)
	}
}
