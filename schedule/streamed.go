package schedule

import (
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// reduction is the law's right side. All terms are taken by a power of two smaller, so that their sum exceeds none of the values
// and overflows only where the left side does.
func (w *weightedSum) reduction(t *uop.Table, now func(u *uop.UOp) *uop.UOp) *uop.UOp {
	s := replaced(t, now(w.score), now(w.factors), storedFactors(now(w.factors)))
	if w.by != 1 {
		s = s.Mul(s.Float(w.by))
	}
	for _, u := range slices.Backward(w.moves) {
		below := s
		s = u.WithSrc(t, func(*uop.UOp) *uop.UOp { return below })
	}
	v := storedBelow(now(w.value))
	n := s.Shape()[w.axis]
	share := v.Float(1 / float64(uint64(1)<<bits.Len(uint(n-1))))
	r := t.ReduceParts(uop.SumExp, []int{w.axis}, s, v.Mul(share), share)
	total := r.Part(2)
	if w.empty { // where all scores are −∞ both sums are 0
		total = total.Equal(total.Int(0)).Where(total.Int(1), total)
	}
	return r.Part(1).Div(total).Contiguous()
}

// storedFactors is a sum of products whose factors lie in memory: blocks read them again and again.
func storedFactors(r *uop.UOp) *uop.UOp {
	x := r.At(0)
	return storedBelow(x.At(0)).Mul(storedBelow(x.At(1))).Reduce(uop.Sum, r.Arg().(uop.ReduceArg).Axes.Slice()...)
}

// storedBelow stores what u moves, unless it lies in memory anyway.
func storedBelow(u *uop.UOp) *uop.UOp {
	switch {
	case u.Op().IsMovement():
		return u.WithSrc(u.Home(), storedBelow)
	case u.Op() == uop.Param || u.Op() == uop.Contiguous || u.Op() == uop.Const || u.Op() == uop.Var:
		return u
	}
	return u.Contiguous()
}

// replaced is u with a node in place of another.
func replaced(t *uop.Table, u, old, by *uop.UOp) *uop.UOp {
	done := map[*uop.UOp]*uop.UOp{old: by}
	for _, x := range uop.Topo(u) {
		if x != old {
			done[x] = x.WithSrc(t, func(y *uop.UOp) *uop.UOp { return done[y] })
		}
	}
	return done[u]
}

// weighs says that a stored node is a weighted sum that goes in blocks.
func (s *scheduler) weighs(u *uop.UOp) bool {
	if !s.config.Streams || u.Op() != uop.Contiguous || u.At(0).Op() != uop.Div {
		return false
	}
	p := u.At(0).At(0)
	return p.Op() == uop.Part && p.At(0).Op() == uop.Reduce && p.At(0).Arg().(uop.ReduceArg).Monoid == uop.SumExp
}

// streamed are the nodes that a weighted sum computes in blocks of its terms: from the scores down to their product.
func (s *scheduler) streamed() map[*uop.UOp]bool {
	out := map[*uop.UOp]bool{}
	if !s.config.Streams {
		return out
	}
	for _, u := range s.topo {
		if a, ok := u.Arg().(uop.ReduceArg); !ok || u.Op() != uop.Reduce || a.Monoid != uop.SumExp {
			continue
		}
		score := u.At(0)
		if r := scoreProduct(score); r != nil {
			for _, x := range scorePath(score, r) {
				out[x] = true
			}
		}
	}
	return out
}
