package symbolic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
