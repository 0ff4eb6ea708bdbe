package symbolic_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// generator makes random expressions over a few ranges.
type generator struct {
	arena
	*rand.Rand
	ranges []*uop.UOp
	load   []*uop.UOp
}

func newGenerator(seed uint64) *generator {
	g := &generator{arena: newArena(), Rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 1 + g.IntN(3) {
		g.ranges = append(g.ranges, g.r(i, 1+g.IntN(12)))
	}
	for i, d := range []dtype.DType{dtype.I32, dtype.U8, dtype.F32, dtype.Bool} {
		g.load = append(g.load, g.Make(uop.Reg, d, uop.RegArg{ID: i}))
	}
	return g
}

func (g *generator) pick(ops ...uop.Op) uop.Op { return ops[g.IntN(len(ops))] }

// index is a random Index expression.
func (g *generator) index(depth int) *uop.UOp {
	if depth == 0 {
		if g.IntN(4) == 0 {
			return g.Index(g.IntN(30) - 10)
		}
		return g.ranges[g.IntN(len(g.ranges))]
	}
	a := g.index(depth - 1)
	n := g.Index([]int{1, 2, 3, 4, 6, 8, 12, 5, 24, 2, 4, -3, 0}[g.IntN(13)])
	switch g.IntN(16) {
	case 0, 1, 2:
		return a.Add(g.index(depth - 1))
	case 3:
		return a.Sub(g.index(depth - 1))
	case 4, 5:
		return a.Mul(n)
	case 6, 7, 8:
		return a.IDiv(n)
	case 9, 10:
		return a.Mod(n)
	case 11:
		return a.Mul(n).Add(a.Mod(g.Index(4))).Add(a.IDiv(g.Index(4)).Mul(g.Index(4)))
	case 12:
		return g.Make(g.pick(uop.Max, uop.Mul, uop.IDiv, uop.Mod), dtype.Index, nil, a, g.index(depth-1))
	case 13:
		return a.Min(g.index(depth - 1))
	case 14:
		return g.condition(depth-1).Where(a, g.index(depth-1))
	}
	return g.integer(dtype.I32, depth-1).Cast(dtype.Index)
}

// condition is a random condition.
func (g *generator) condition(depth int) *uop.UOp {
	if depth == 0 {
		return g.index(0).Less(g.index(0))
	}
	switch g.IntN(12) {
	case 0, 1, 2:
		return g.index(depth - 1).Less(g.index(depth - 1))
	case 3, 4:
		return g.index(depth - 1).Equal(g.index(depth - 1))
	case 5, 6:
		return g.condition(depth - 1).And(g.condition(depth - 1))
	case 7:
		return g.condition(depth - 1).Or(g.condition(depth - 1))
	case 8:
		return g.condition(depth - 1).Not()
	case 9:
		return g.condition(depth-1).Where(g.condition(depth-1), g.condition(depth-1))
	case 10:
		d := []dtype.DType{dtype.I32, dtype.U8, dtype.F32}[g.IntN(3)]
		return g.Make(g.pick(uop.Less, uop.Equal), dtype.Bool, nil, g.value(d, depth-1), g.value(d, depth-1))
	}
	return g.load[3]
}

// integer is a random expression of an integer type that wraps.
func (g *generator) integer(d dtype.DType, depth int) *uop.UOp {
	if depth == 0 {
		switch g.IntN(3) {
		case 0:
			return g.Table.Int(d, g.IntN(300)-20)
		case 1:
			return g.index(0).Cast(d)
		}
		if d == dtype.I32 {
			return g.load[0]
		}
		return g.load[1]
	}
	a := g.integer(d, depth-1)
	switch g.IntN(8) {
	case 0:
		return a.Not()
	case 1:
		return g.index(depth - 1).Cast(d)
	case 2:
		return g.condition(depth-1).Where(a, g.integer(d, depth-1))
	case 3:
		return a.Sub(g.integer(d, depth-1))
	case 4:
		from := []dtype.DType{dtype.I32, dtype.U8, dtype.F32}[g.IntN(3)]
		return g.value(from, depth-1).Cast([]dtype.DType{dtype.I64, dtype.I8, dtype.U16, dtype.F32, dtype.Index}[g.IntN(5)]).Cast(d)
	}
	o := g.pick(uop.Add, uop.Mul, uop.IDiv, uop.Mod, uop.Max, uop.And, uop.Or, uop.Xor)
	return g.Make(o, d, nil, a, g.integer(d, depth-1))
}

// float is a random float32 expression with zeros, infinities and NaN.
func (g *generator) float(depth int) *uop.UOp {
	if depth == 0 {
		switch g.IntN(3) {
		case 0:
			f := []float64{0, math.Copysign(0, -1), 1, -1, 2, 0.5, math.Inf(1), math.NaN(), 4, -8}[g.IntN(10)]
			return g.ConstOf(dtype.F32, uop.FloatValue(dtype.F32, f))
		case 1:
			return g.index(0).Cast(dtype.F32)
		}
		return g.load[2]
	}
	a := g.float(depth - 1)
	switch g.IntN(8) {
	case 0:
		return a.Neg()
	case 1:
		return g.condition(depth-1).Where(a, g.float(depth-1))
	case 2:
		return a.MulAdd(g.float(depth-1), g.float(depth-1))
	case 3:
		return g.integer(dtype.I32, depth-1).Cast(dtype.F32)
	}
	return g.Make(g.pick(uop.Add, uop.Mul, uop.Div, uop.Max), dtype.F32, nil, a, g.float(depth-1))
}

func (g *generator) value(d dtype.DType, depth int) *uop.UOp {
	switch d {
	case dtype.Index:
		return g.index(depth)
	case dtype.Bool:
		return g.condition(depth)
	case dtype.F32:
		return g.float(depth)
	}
	return g.integer(d, depth)
}

// assign gives values to the ranges and loaded values.
func (g *generator) assign() map[*uop.UOp]uop.Value {
	env := map[*uop.UOp]uop.Value{}
	for _, r := range g.ranges {
		env[r] = uop.Value(g.IntN(r.Arg().(uop.RangeArg).N))
	}
	for _, l := range g.load {
		values := lawtest.Values(l.DType(), false)
		env[l] = values[g.IntN(len(values))]
	}
	return env
}

// checkSimplify simplifies one random expression: values stay, bounds hold, and the form is normal.
func checkSimplify(t *testing.T, seed uint64) {
	g := newGenerator(seed)
	d := []dtype.DType{dtype.Index, dtype.Index, dtype.Index, dtype.Bool, dtype.Bool, dtype.I32, dtype.U8, dtype.F32}[g.IntN(8)]
	e := g.value(d, 1+g.IntN(4))
	s := symbolic.Simplify(g.Table, e)
	require.Equal(t, e.DType(), s.DType())
	require.Same(t, s, symbolic.Simplify(g.Table, s))
	lo, hi, bounded := symbolic.Bounds(e)
	for range 60 {
		env := g.assign()
		want, got := lawtest.Eval(e, env), lawtest.Eval(s, env)
		if !lawtest.Same(d, want, got) {
			t.Fatalf("seed %d: %s = %v\nbecame %s = %v\nwith %v", seed, show(e), want.Int(), show(s), got.Int(), env)
		}
		if v := want.Int(); bounded && !d.IsFloat() && (v < int64(lo) || v > int64(hi)) {
			t.Fatalf("seed %d: %s = %v is outside %d … %d", seed, show(e), v, lo, hi)
		}
	}
	other := uop.NewArena() // a normal form stays one, and does not depend on what else a table has seen
	if again := symbolic.Simplify(other, s); show(again) != show(s) {
		t.Fatalf("seed %d: %s\nbecame %s\nand then %s", seed, show(e), show(s), show(again))
	}
}

// checkUnder simplifies under a random guard: values stay where it holds.
func checkUnder(t *testing.T, seed uint64) {
	g := newGenerator(seed)
	guard := g.condition(1 + g.IntN(3))
	es := []*uop.UOp{g.index(1 + g.IntN(3)), g.condition(1 + g.IntN(2))}
	out := symbolic.SimplifyUnder(g.Table, guard, es...)
	for range 60 {
		env := g.assign()
		if !lawtest.Eval(guard, env).Bool() {
			continue
		}
		for i, e := range es {
			if lawtest.Eval(e, env) != lawtest.Eval(out[i], env) {
				t.Fatalf("seed %d: under %s\n%s\nbecame %s\nwith %v", seed, show(guard), show(e), show(out[i]), env)
			}
		}
	}
}

func TestSimplifyUnderKeepsValues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		checkUnder(t, seed)
	}
}

func TestSimplifyKeepsValues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5000) {
		checkSimplify(t, seed)
	}
}

func FuzzAlgebra(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkSimplify(t, seed)
		checkUnder(t, seed)
	})
}
