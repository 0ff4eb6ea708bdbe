package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// maxGrowth bounds the extra additions (of zeros, under padding) that merging two sums may cost.
const maxGrowth = 2

var mergeLaw = rewrite.Named("a sum of moved sums is one sum")

// merge turns sums of moved sums into one: Σ_B move(Σ_A x) = Σ_{A∪B} move(x). The gradient of a convolution is such a
// chain, one sum for each axis of the window; what lies between would be many times the size of both ends. It expects and
// leaves tensor-level nodes.
func (s *scheduler) merge(roots []*uop.UOp) []*uop.UOp {
	order := uop.Topo(roots...)
	uses := usesOf(order, roots)
	single := map[*uop.UOp]bool{} // rebuilt nodes that one node uses
	return s.rebuilt(order, roots, func(u, v *uop.UOp, _ func(*uop.UOp) *uop.UOp) *uop.UOp {
		for isSum(v) {
			w := mergeSums(v, single)
			if w == nil {
				break
			}
			s.noted(mergeLaw, v, w)
			v = w
		}
		single[v] = uses[u] == 1
		return v
	})
}

// usesOf counts what uses each node: nodes and roots.
func usesOf(order, roots []*uop.UOp) map[*uop.UOp]int {
	uses := make(map[*uop.UOp]int, len(order))
	for _, u := range order {
		for _, x := range u.Src() {
			uses[x]++
		}
	}
	for _, r := range roots {
		uses[r]++
	}
	return uses
}

func isSum(u *uop.UOp) bool {
	a, ok := u.Arg().(uop.ReduceArg)
	return ok && u.Op() == uop.Reduce && a.Monoid == uop.Sum
}

// mergeSums is the sum u joined with the sum below it, or nil.
func mergeSums(u *uop.UOp, single map[*uop.UOp]bool) *uop.UOp {
	var chain []*uop.UOp
	inner := u.At(0)
	for inner.Op().IsMovement() && single[inner] {
		chain = append(chain, inner)
		inner = inner.At(0)
	}
	if !isSum(inner) || !single[inner] {
		return nil
	}
	x := inner.At(0)
	axes := inner.Arg().(uop.ReduceArg).Axes.Slice()
	var kept, tail []int
	var extra []int // sizes of the inner sum's axes, which go last
	for i, n := range x.Shape() {
		if slices.Contains(axes, i) {
			tail, extra = append(tail, i), append(extra, n)
		} else {
			kept = append(kept, i)
		}
	}
	if uop.Times(u.At(0).Shape().Numel(), uop.Shape(extra).Numel()) > maxGrowth*x.Shape().Numel() {
		return nil
	}
	y := x.Permute(append(kept, tail...)...)
	for _, m := range slices.Backward(chain) {
		y = widen(m, y, extra)
	}
	outer := u.Arg().(uop.ReduceArg).Axes.Slice()
	n := len(u.At(0).Shape())
	for i := range extra {
		outer = append(outer, n+i)
	}
	return y.Reduce(uop.Sum, outer...)
}

// widen applies movement m to y, which has the axes of m's operand and then some more, untouched.
func widen(m, y *uop.UOp, extra []int) *uop.UOp {
	zeros := make([]int, len(extra))
	rank := len(m.Shape())
	switch a := m.Arg().(type) {
	case uop.Ints:
		switch m.Op() {
		case uop.Reshape:
			return y.Reshape(append(slices.Clone(m.Shape()), extra...)...)
		case uop.Expand:
			return y.Expand(append(slices.Clone(m.Shape()), extra...)...)
		case uop.Permute:
			order := a.Slice()
			for i := range extra {
				order = append(order, rank+i)
			}
			return y.Permute(order...)
		case uop.Flip:
			return y.Flip(a.Slice()...)
		}
	case uop.PadArg:
		if m.Op() == uop.Pad {
			return y.Pad(append(a.Lo.Slice(), zeros...), append(a.Hi.Slice(), zeros...))
		}
		return y.Shrink(append(a.Lo.Slice(), zeros...), append(a.Hi.Slice(), extra...))
	case uop.SlideArg:
		return y.Slide(a.Axis, a.By, a.Step, a.Lo, a.N)
	}
	panic("BUG: movement " + m.Op().String())
}
