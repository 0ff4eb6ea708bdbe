package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A reduction to fewer than splitOut elements of at least splitIn each is cut into splitParts partial results and
// a merge. The counts depend on shapes only, so that the number of threads never changes a result.
const (
	splitOut   = 16
	splitIn    = 1 << 15
	splitParts = 64

	// Where many invocations have to be kept busy (Config.Parallel): a workgroup of partLanes reduces a part of leastPart elements at
	// least. In a sum of products, where what is loaded is used leastReuse times, an invocation computes partResults results, of leastTerms
	// products at least, which cost more than the partial results that memory holds; sums of less than leastWork products an invocation are not worth a
	// launch more.
	partLanes   = 64
	leastPart   = 1 << 12
	partResults = 16
	leastReuse  = 4
	leastTerms  = 256
	leastWork   = 256 // times the invocations
	mostParts   = 1 << 10

	// Where neighbours are results of their own, as in the sums of columns, a workgroup of a result would read apart what lies together: rows are cut
	// instead, into at most mostRowParts parts of leastRows at least, and an invocation does a part of a column.
	leastColumns = 32
	leastRows    = 128
	mostRowParts = 32

	// A sum of sums of more products than this, as the gradient of weights that many steps use, is computed in as many at a time: a
	// kernel of all of them has a loop that no compiler finds registers for.
	splitProducts = 16
)

var (
	splitLaw    = rewrite.Named("a large reduction is one of partial results")
	productsLaw = rewrite.Named("a sum of many products is sums of some")
	scanLaw     = rewrite.Named("a long scan is scans of blocks")
	sortLaw     = rewrite.Named("a sort is one of each digit")
)

// split rewrites large reductions to small results as two, long scans as scans of blocks, and sorts as what they consist of. It expects and
// leaves tensor-level nodes.
func (s *scheduler) split(roots []*uop.UOp) []*uop.UOp {
	parts := map[*uop.UOp][]*uop.UOp{} // of tuples that are none any more
	order := uop.Topo(roots...)
	uses := usesOf(order, roots)
	single := map[*uop.UOp]bool{} // rebuilt nodes that one node uses
	return s.rebuilt(order, roots, func(u, v *uop.UOp, _ func(*uop.UOp) *uop.UOp) *uop.UOp {
		var w *uop.UOp
		law := splitLaw
		switch v.Op() {
		case uop.Reduce:
			if list := s.splitReduce(v); len(list) == 1 {
				w = list[0]
			} else if list != nil {
				parts[u] = list
			} else {
				w, law = splitProductSum(v, single), productsLaw
			}
		case uop.Scan:
			w, law = s.splitScan(v), scanLaw
		case uop.ArgSort:
			w, law = s.argSort(v), sortLaw
		case uop.Part:
			i := v.Arg().(uop.PartArg).I
			if list := parts[u.At(0)]; list != nil {
				w = list[i]
			} else if v.At(0).Op() == uop.After { // a scan that was split
				w, law = partOf(v.At(0), i), scanLaw
			}
		}
		if w != nil {
			s.noted(law, v, w)
			v = w
		}
		single[v] = uses[u] == 1
		return v
	})
}

// splitProductSum is the sum u of many added products as sums of some of them, each added to the stored one before; nil where they are
// few. single are the nodes that one node uses.
func splitProductSum(u *uop.UOp, single map[*uop.UOp]bool) *uop.UOp {
	if !isSum(u) {
		return nil
	}
	var terms []*uop.UOp
	stack, products := []*uop.UOp{u.At(0)}, 0
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if x.Op() == uop.Add && single[x] {
			stack = append(stack, x.At(1), x.At(0))
			continue
		}
		terms = append(terms, x)
		if x.Op() == uop.Mul {
			products++
		}
	}
	if products <= splitProducts {
		return nil
	}
	var sum *uop.UOp
	axes := u.Arg().(uop.ReduceArg).Axes.Slice()
	for some := range slices.Chunk(terms, splitProducts) {
		x := some[0]
		for _, y := range some[1:] {
			x = x.Add(y)
		}
		x = x.Reduce(uop.Sum, axes...)
		if sum != nil {
			x = sum.Contiguous().Add(x)
		}
		sum = x
	}
	return sum
}

// partsOf is in how many partial results a reduction should be cut; 0 or 1 for none.
func (s *scheduler) partsOf(u *uop.UOp) int {
	out := u.Shape().Numel()
	if out == 0 || u.Arg().(uop.ReduceArg).Monoid == uop.Linear {
		return 0
	}
	all := u.At(0).Shape().Numel()
	terms := all / out
	switch {
	case s.config.Parallel == 0 && (out >= splitOut || terms < splitIn):
		return 0
	case s.config.Parallel == 0:
		return splitParts
	case isSum(u) && all >= leastWork*s.config.Parallel && all >= leastReuse*leaves(u.At(0)): // of products, which share what they load
		return min(partResults*s.config.Parallel/out, terms/leastTerms, mostParts)
	}
	if s.ofColumns(u) {
		return min(2*s.config.Parallel/out, terms/leastRows, mostRowParts)
	}
	return min(s.config.Parallel/partLanes/out, terms/leastPart, mostParts)
}

// ofColumns says that neighbours in an array that a reduction reads are parts of results of their own.
func (s *scheduler) ofColumns(u *uop.UOp) bool {
	axes := u.Arg().(uop.ReduceArg).Axes.Slice()
	return slices.ContainsFunc(s.leavesOf(u.At(0)), func(l leaf) bool {
		return slices.ContainsFunc(l.terms, func(t symbolic.Term) bool {
			a := t.Node.Arg().(uop.RangeArg)
			return t.Coef == 1 && a.N >= leastColumns && !slices.Contains(axes, a.ID)
		}) && slices.ContainsFunc(axes, func(a int) bool { return l.stride(a) > 1 })
	})
}

// leaves is how many elements there are of what a value is computed from element by element.
func leaves(u *uop.UOp) (n int) {
	seen := map[*uop.UOp]bool{}
	for stack := []*uop.UOp{u}; len(stack) > 0; {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case seen[x]:
		case x.Op() == uop.Detach: // the rest is for differentiation
			stack = append(stack, x.At(0))
		case x.Op().Elementwise() || x.Op().IsMovement():
			stack = append(stack, x.Src()...)
		default:
			n += x.Shape().Numel()
		}
		seen[x] = true
	}
	return n
}

// splitReduce gives the parts of u from a reduction of partial results, or nil where it is small or has no axis to cut. What a cut
// leaves over is merged in the end.
func (s *scheduler) splitReduce(u *uop.UOp) []*uop.UOp {
	if s.config.WholeRows > 0 {
		if axis, count := s.wholeRows(u); count > 1 {
			return inParts(u, axis, count, true)
		}
	}
	want := s.partsOf(u)
	if want < 2 {
		return nil
	}
	a := u.Arg().(uop.ReduceArg)
	in := u.At(0).Shape()
	axes := a.Axes.Slice()
	best, count := -1, 1
	for _, ax := range axes { // parts of an outer one lie together
		if c := divisor(in[ax], want); c > count && (best < 0 || c > 2*count) && !u.At(0).Varies(ax) {
			best, count = ax, c
		}
	}
	if best < 0 || count < min(8, (want+1)/2) {
		best, count = axes[0], want
		for _, ax := range axes {
			if in[ax] > in[best] {
				best = ax
			}
		}
		if in[best] < want || u.At(0).Varies(best) {
			return nil
		}
	}
	return inParts(u, best, count, false)
}

// inParts gives the parts of u from a reduction of count partial results, each of neighbours along an axis. The axis of partial results lies
// where that one did among those that are left, or first.
func inParts(u *uop.UOp, axis, count int, first bool) []*uop.UOp {
	a := u.Arg().(uop.ReduceArg)
	in, axes := u.At(0).Shape(), a.Axes.Slice()
	cut := in[axis] / count * count
	shape := slices.Insert(slices.Clone(in), axis, count)
	shape[axis+1] = cut / count
	order := make([]int, len(shape)) // of the axes of what is reduced
	for i := range order {
		order[i] = i
	}
	place := 0 // of the partial results' axis among those that are left
	if first {
		order = slices.Insert(slices.Delete(order, axis, axis+1), 0, axis)
	} else {
		for ax := range axis {
			if !slices.Contains(axes, ax) {
				place++
			}
		}
	}
	var inner []int
	for _, ax := range axes {
		if ax >= axis {
			ax++
		}
		inner = append(inner, slices.Index(order, ax))
	}
	lo, hi := make([]int, len(in)), slices.Clone(in)
	hi[axis] = cut
	var main, rest []*uop.UOp
	for _, x := range u.Src() {
		main = append(main, x.Shrink(lo, hi).Reshape(shape...).Permute(order...))
	}
	partial := resultsOf(u, a.Monoid, inner, main)
	for i, x := range partial {
		partial[i] = x.Contiguous()
	}
	out := resultsOf(u, a.Monoid, []int{place}, partial)
	if cut == in[axis] {
		return out
	}
	lo[axis], hi[axis] = cut, in[axis]
	for _, x := range u.Src() {
		rest = append(rest, x.Shrink(lo, hi))
	}
	return a.Monoid.Info().Merge(out, resultsOf(u, a.Monoid, axes, rest))
}

// resultsOf reduces values and gives each result.
func resultsOf(u *uop.UOp, m uop.Monoid, axes []int, values []*uop.UOp) (out []*uop.UOp) {
	r := u.Home().ReduceParts(m, axes, values...)
	if len(values) == 1 {
		return []*uop.UOp{r}
	}
	for i := range values {
		out = append(out, r.Part(i))
	}
	return out
}

// divisor is the largest divisor of n up to a limit.
func divisor(n, most int) int {
	for d := min(most, n); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
