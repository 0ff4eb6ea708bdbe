package symbolic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// What Within proves, and what it must not.
func TestWithin(t *testing.T) {
	a := uop.NewArena()
	n := a.Index
	i, k, j := a.Range(0, 18, "i"), a.Range(1, 5, "k"), a.Range(2, 16, "j")
	less := func(x *uop.UOp, c int) *uop.UOp { return x.Less(n(c)) }
	m := i.IDiv(n(3)).Mod(n(2)).Mul(n(-16)).Max(n(-1)).Neg()
	big := a.Range(3, 256, "a")
	u := big.Add(k.Mul(n(36)))
	p, q := a.Range(4, 25, "p"), a.Range(5, 2304, "q")
	h := q.Mul(n(16)).Add(j)
	r := j.Add(p.Mul(n(2)))
	cases := []struct {
		name  string
		conds []*uop.UOp
		e     *uop.UOp
		n     int
	}{
		{"extents", nil, i.Mul(n(16)).Add(j), 288},
		{"a guard", []*uop.UOp{less(i.Mul(n(16)).Add(j), 100)}, i.Mul(n(16)).Add(j), 100},
		{"a guard in other words", []*uop.UOp{i.Less(n(7).Add(j.Neg()))}, i.Mul(n(3)).Add(j.Mul(n(3))), 19},
		{"never", []*uop.UOp{n(-1).Less(j.Add(n(-1))), less(j.Add(n(-1)), 0)}, j, 0},
		{"never, by what is known of a leaf", []*uop.UOp{n(16).Less(i), i.Mul(n(4)).Add(k).Mod(n(80)).Less(n(66))}, j, 0},
		{"a quotient beside its remainder", []*uop.UOp{less(big.Add(k.Mul(n(256))), 1276)},
			u.Mod(n(44)).Add(k.Mul(n(1320))).Add(u.IDiv(n(44)).Mul(n(264))), 7656 - 220},
		{"what follows for leaves", []*uop.UOp{less(m.Add(j).Add(n(-1)), 15), n(-1).Less(m.Add(j).Add(n(-1))), less(i.IDiv(n(6)).Add(n(-1)), 1), n(-1).Less(i.IDiv(n(6)).Add(n(-1)))},
			i.IDiv(n(6)).Mul(n(181)).Add(i.Mod(n(3)).Mul(n(4))).Add(m.Mul(n(12))).Add(n(-192)).Add(j.Mul(n(12))), 178},
		{"two pairs", []*uop.UOp{
			less(h.IDiv(n(24)).Mod(n(24)).Add(r.IDiv(n(5)).Add(p).Mod(n(5))).Add(n(-2)), 24), n(-1).Less(h.IDiv(n(24)).Mod(n(24)).Add(r.IDiv(n(5)).Add(p).Mod(n(5))).Add(n(-2))),
			less(h.Mod(n(24)).Add(r.Mod(n(5))).Add(n(-2)), 24), n(-1).Less(h.Mod(n(24)).Add(r.Mod(n(5))).Add(n(-2)))},
			h.Mod(n(24)).Add(r.Mod(n(5))).Add(n(-50)).Add(h.IDiv(n(24)).Mod(n(24)).Add(r.IDiv(n(5)).Add(p).Mod(n(5))).Mul(n(24))), 576},
	}
	for _, c := range cases {
		known := symbolic.Under(a, c.conds...)
		require.True(t, known.Within(c.e, c.n), c.name)
		if c.n > 0 {
			require.False(t, known.Within(c.e, c.n-1), "%s: one less", c.name)
		}
	}
}

// What is proven of one index says nothing of how the next one is looked at: under the same conditions many are asked about, in any order.
func TestWithinOfMany(t *testing.T) {
	a := uop.NewArena()
	n := a.Index
	i, j := a.Range(0, 100, "i"), a.Range(1, 100, "j")
	sum := i.Add(j.Mul(n(3)))
	known := symbolic.Under(a, sum.Less(n(90)))
	for round := range 3 {
		for d := 2; d < 60; d++ {
			q := sum.Add(n(d)).IDiv(n(d))
			require.True(t, known.Within(q.Add(i.IDiv(n(d)).Mul(n(2))), 1000), "%d %d", round, d)
			require.False(t, known.Within(q.Add(j.IDiv(n(d))).Add(n(-2)), 1), "%d %d", round, d)
		}
	}
}
