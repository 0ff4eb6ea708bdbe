package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Windows are laid out for as many rows of results, and as many numbers in each of these rows, at least; and up to as many bytes, beyond which
// memory takes longer than the products.
const (
	windowRows  = 48
	windowSteps = 32
	windowLanes = 16
	windowMost  = 64 << 20
)

var windowsLaw = rewrite.Named("windows of narrow numbers are laid out before they are multiplied")

// windows is the law Σ x[i+k]·w[k] = Σ y[k, i]·w[k] with y[k, i] = x[i+k] stored, for narrow numbers that a unit of the machine multiplies by blocks
// of matrices: what it takes has one axis that is summed, and no conditions. It expects and leaves tensor-level nodes.
// (Chellapilla, Puri, Simard, "High performance convolutional neural networks for document processing", 2006.)
func (s *scheduler) windows(roots []*uop.UOp) []*uop.UOp {
	if s.config.Matrix == nil || s.config.StoreAll {
		return roots
	}
	return s.rebuilt(uop.Topo(roots...), roots, func(u, v *uop.UOp, became func(*uop.UOp) *uop.UOp) *uop.UOp {
		w := s.layWindows(v)
		s.noted(windowsLaw, v, w)
		return w
	})
}

// windowed is a factor of a sum of products: movement over narrow numbers.
type windowed struct {
	u       *uop.UOp
	shape   []int      // of the products that are summed
	moves   []*uop.UOp // from these down to the numbers
	numbers *uop.UOp
	index   []*uop.UOp        // of these, for ranges of the factor's axes
	gate    *uop.UOp          // or nil
	ranges  []*uop.UOp        // by axis
	needs   map[*uop.UOp]bool // ranges on which the index depends
	at      []int             // by axis: where, along those on which it does not
	plain   bool              // only reshaped and expanded
}

// factorOf takes a factor of products that are moved before they are summed apart; nil where it is none of narrow numbers that the unit multiplies.
func (s *scheduler) factorOf(u *uop.UOp, moves []*uop.UOp, shape []int) *windowed {
	f := &windowed{u: u, shape: shape, moves: slices.Clone(moves), needs: map[*uop.UOp]bool{}, at: make([]int, len(shape)), plain: len(moves) == 0}
	for u.Op().IsMovement() {
		f.moves = append(f.moves, u)
		f.plain = f.plain && (u.Op() == uop.Reshape || u.Op() == uop.Expand)
		u = u.At(0)
	}
	if u.Op() != uop.Cast || !s.config.Matrix.Multiplies(u.At(0).DType(), u.DType()) {
		return nil
	}
	f.numbers = u.At(0)
	for i, n := range shape {
		f.ranges = append(f.ranges, s.t.Range(i, n, ""))
	}
	f.index = f.ranges
	for _, m := range f.moves {
		var valid *uop.UOp
		f.index, valid = through(s.t, m, f.index)
		f.gate = and(s.t, f.gate, valid)
	}
	for _, e := range f.index {
		for _, r := range f.ranges {
			f.needs[r] = f.needs[r] || dependsOn(e, r)
		}
	}
	return f
}

// layWindows lays out the windows among the factors of a sum, if there are any for which that is worth it.
func (s *scheduler) layWindows(u *uop.UOp) *uop.UOp {
	if !isSum(u) || u.Arg().(uop.ReduceArg).Parts != 1 {
		return u
	}
	var moves []*uop.UOp
	product := u.At(0)
	for product.Op().IsMovement() {
		moves, product = append(moves, product), product.At(0)
	}
	if product.Op() != uop.Mul {
		return u
	}
	summed, shape := u.Arg().(uop.ReduceArg).Axes.Slice(), u.At(0).Shape()
	x, y := s.factorOf(product.At(0), moves, shape), s.factorOf(product.At(1), moves, shape)
	if x == nil || y == nil {
		return u
	}
	over, into := x.window(summed), y.window(summed)
	if (over == nil) == (into == nil) {
		return u
	}
	if over == nil {
		x, y, over = y, x, into
	}
	rows, lanes, steps := 1, 1, 1
	for i, n := range shape {
		switch own, other := x.needs[x.ranges[i]], y.needs[y.ranges[i]]; {
		case slices.Contains(summed, i):
			if !own || !other {
				return u
			}
			steps *= n
		case !own:
			rows *= n
		default:
			lanes *= n
		}
	}
	size := x.numbers.DType().Size()
	if len(summed) == 1 && x.gate == nil { // as heads that lie beside each other in rows: the unit takes that as it is
		return u
	}
	if rows < windowRows || steps*size < 2*windowSteps || lanes < windowLanes || lanes*steps*size > windowMost {
		return u
	}
	if !s.ungated(x, y) {
		return u
	}
	a := x.laid(summed, over)
	b := y.u
	if !y.plain || !together(summed, y) {
		b = y.laid(summed, nil)
	}
	return a.Mul(b).Reduce(uop.Sum, summed...)
}

// window gives the axes that are not summed and go along the numbers with one that is; nil if there are none. Where what lies densely is summed, it
// is the list of none.
func (f *windowed) window(summed []int) (over []int) {
	for i, e := range f.index {
		var sum, free []int
		widest := -1
		for k, r := range f.ranges {
			if !dependsOn(e, r) {
				continue
			}
			if slices.Contains(summed, k) {
				sum = append(sum, k)
			} else {
				free = append(free, k)
			}
			if widest < 0 || f.shape[k] > f.shape[widest] {
				widest = k
			}
		}
		if len(sum) == 0 || len(free) == 0 {
			continue
		}
		if i == len(f.index)-1 && slices.Contains(sum, widest) {
			return []int{}
		}
		over = append(over, free...)
	}
	slices.Sort(over)
	return over
}

// ungated says that what is left out of y's numbers is left out of x's as well, and that y has all of them somewhere along the axes on which they
// do not depend; x has them anywhere there.
func (s *scheduler) ungated(x, y *windowed) bool {
	if y.gate == nil {
		return x.everywhere()
	}
	conds := symbolic.Conjuncts(y.gate)
	if x.gate == nil || slices.ContainsFunc(conds, func(c *uop.UOp) bool { return !slices.Contains(symbolic.Conjuncts(x.gate), c) }) {
		return false
	}
	middle := map[*uop.UOp]*uop.UOp{}
	for i, r := range y.ranges {
		if !y.needs[r] && dependsOn(y.gate, r) {
			y.at[i] = y.shape[i] / 2
			middle[r] = s.t.Index(y.at[i])
		}
	}
	there := symbolic.Simplify(s.t, uop.Substitute(s.t, middle, y.gate)[0])
	return there.IsConst(1) && x.everywhere()
}

// everywhere says that what is left out does not depend on axes on which the numbers do not.
func (f *windowed) everywhere() bool {
	return f.gate == nil || !slices.ContainsFunc(f.ranges, func(r *uop.UOp) bool { return !f.needs[r] && dependsOn(f.gate, r) })
}

// together says that axes which are summed follow each other in a factor that is only reshaped and expanded.
func together(summed []int, f *windowed) bool {
	for i := slices.Min(summed); i < slices.Max(summed); i++ {
		if !slices.Contains(summed, i) && f.needs[f.ranges[i]] {
			return false
		}
	}
	return slices.IsSorted(summed)
}

// laid is a factor stored for itself: first the axes that are not summed and not last, then those that are, then the last ones.
func (f *windowed) laid(summed, last []int) *uop.UOp {
	v := f.numbers
	for _, m := range slices.Backward(f.moves) {
		v = widen(m, v, nil)
	}
	end := slices.Clone(f.shape)
	var order []int
	for i := range f.shape {
		if !f.needs[f.ranges[i]] {
			end[i] = f.at[i] + 1
		}
		if !slices.Contains(summed, i) && !slices.Contains(last, i) {
			order = append(order, i)
		}
	}
	order = append(append(order, summed...), last...)
	back := make([]int, len(order))
	for i, k := range order {
		back[k] = i
	}
	v = v.Shrink(f.at, end).Permute(order...).Contiguous().Permute(back...)
	return v.Expand(f.shape...).Cast(f.u.DType())
}
