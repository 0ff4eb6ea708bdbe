package symbolic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A dividend that is never negative stays so: machines round toward zero.
func TestDividendsStayNotNegative(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	i, j := a.Range(0, 9, "i"), a.Range(1, 16, "j")
	for _, k := range []int{128, 130, 1024} {
		x := i.Mul(a.Index(-16)).Add(j).Add(a.Index(k))
		for _, e := range []*uop.UOp{x.IDiv(a.Index(100)), x.Mod(a.Index(100)), x.IDiv(a.Index(3)).IDiv(a.Index(37))} {
			got := symbolic.Simplify(a, e)
			for _, u := range uop.Topo(got) {
				if u.Op() == uop.IDiv || u.Op() == uop.Mod {
					lo, _, ok := symbolic.Bounds(u.At(0))
					require.True(t, ok && lo >= 0, uop.Print(got))
				}
			}
		}
	}
}

// Quotients and remainders of what has two values are linear in it; numbers that leave no room are left alone.
func TestDivisionsOfTwoValues(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	p := a.Range(0, 2, "p")
	for n := 2; n < 6; n++ {
		for k := range 7 {
			for f := -5; f < 6; f++ {
				x := p.Mul(a.Index(f)).Add(a.Index(k + 5))
				for _, e := range []*uop.UOp{x.IDiv(a.Index(n)), x.Mod(a.Index(n))} {
					terms, c, ok := symbolic.Affine(symbolic.Simplify(a, e))
					require.True(t, ok && len(terms) <= 1, uop.Print(e))
					for v := range 2 {
						got := c
						for _, u := range terms {
							require.Equal(t, p, u.Node)
							got += u.Coef * v
						}
						want := (f*v + k + 5) / n
						if e.Op() == uop.Mod {
							want = (f*v + k + 5) % n
						}
						require.Equal(t, want, got, "%d·p + %d and %d", f, k+5, n)
					}
				}
			}
		}
	}
	far := a.Make(uop.Var, dtype.Index, uop.VarArg{Name: "far", Lo: 1 << 55, Hi: 1<<55 + 1}).Mul(a.Index(1 << 40)).Add(a.Index(1)).IDiv(a.Index(3))
	require.NotNil(t, symbolic.Simplify(a, far))
}

// What is left of a sum without its remainder is a multiple.
func TestMultiplesWithoutRemainders(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	i, j := a.Range(0, 30, "i"), a.Range(1, 4, "j")
	for _, c := range []int{0, 1, 2, 7} {
		x := i.Add(a.Index(c))
		got := symbolic.Simplify(a, x.Sub(x.Mod(a.Index(3))).Sub(j.Mul(a.Index(3))).Add(a.Index(12)).IDiv(a.Index(3)))
		want := symbolic.Simplify(a, x.IDiv(a.Index(3)).Sub(j).Add(a.Index(4)))
		require.Equal(t, want, got, uop.Print(got))
	}
}
