package symbolic_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// What is said of a sum of registers holds for what the registers stand for, and taking it apart changes no value.
func TestScopeHolds(t *testing.T) {
	t.Parallel()
	bounded, multiples := 0, 0
	for seed := range uint64(3000) {
		g := newGenerator(seed)
		var scope symbolic.Scope
		value := g.index(1 + g.IntN(3))
		reg := g.Make(uop.Reg, dtype.Index, uop.RegArg{ID: 9})
		scope.Define(reg, value)
		e := g.index(g.IntN(3))
		e = []*uop.UOp{e.Add(reg), reg.Mul(g.Index(1 + g.IntN(8))).Add(e), reg.MulAdd(g.Index(4), e.Neg()), reg.Shl(g.Index(g.IntN(4))), reg.Max(e)}[g.IntN(5)]
		lo, hi, ok := scope.Bounds(e)
		n := scope.Multiple(e)
		terms, c, apart := symbolic.Summands(e)
		require.True(t, apart)
		for range 40 {
			env := g.assign()
			env[reg] = lawtest.Eval(value, env)
			v := lawtest.Eval(e, env).Int()
			require.Zero(t, v%int64(n), "seed %d: %s = %d is no multiple of %d", seed, show(e), v, n)
			if ok {
				require.True(t, int64(lo) <= v && v <= int64(hi), "seed %d: %s = %d is outside %d … %d", seed, show(e), v, lo, hi)
			}
			sum := int64(c)
			for _, m := range terms {
				sum += int64(m.Coef) * lawtest.Eval(m.Node, env).Int()
			}
			require.Equal(t, v, sum, "seed %d: %s", seed, show(e))
		}
		if ok {
			bounded++
		}
		if n > 1 {
			multiples++
		}
	}
	assert.Greater(t, bounded, 1000)
	assert.Greater(t, multiples, 300)
}

func TestScopeKnows(t *testing.T) {
	t.Parallel()
	a := newArena()
	var s symbolic.Scope
	reg, free := a.Make(uop.Reg, dtype.Index, uop.RegArg{ID: 1}), a.Make(uop.Reg, dtype.Index, uop.RegArg{ID: 2})
	s.Define(reg, a.r(0, 10).Mul(a.Index(12)))
	assert.Equal(t, 4, s.Multiple(reg))
	assert.Equal(t, 8, s.Multiple(reg.Mul(a.Index(2)).Add(a.Index(16))))
	assert.Equal(t, 1, s.Multiple(reg.Add(free)))
	lo, hi, ok := s.Bounds(reg.Add(a.Index(5)))
	assert.Equal(t, []any{5, 113, true}, []any{lo, hi, ok})
	_, _, ok = s.Bounds(free)
	assert.False(t, ok)
	lo, hi, ok = s.Bounds(reg.Shr(a.Make(uop.Reg, dtype.I32, uop.RegArg{ID: 3}).Cast(dtype.Index).Max(a.Index(0))))
	assert.Equal(t, []any{0, 108, true}, []any{lo, hi, ok}, "what is shifted away makes it no larger")
}
