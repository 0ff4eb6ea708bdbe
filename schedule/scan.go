package schedule

import (
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A scan is stored, or computed in the kernel of what is made of it element by element; its own operands are computed in
// its kernel. The rows that it goes along are what threads share. Where there are few of them and they are long they are
// cut into blocks first: a scan of each block, one of the blocks' totals, and the total before a block merged into each of
// its elements. That depends on shapes only, so that the number of threads never changes a result.
const (
	scanRows  = 256     // rows that are enough
	scanShort = 1 << 11 // elements that one thread goes along in any case
	scanLong  = 1 << 14 // and more than which in no case
	scanBlock = 1 << 10 // the longest block
	scanLeast = 32      // the shortest block where many invocations have to be kept busy
	scanShare = 16      // the part of these that rows have to be, to stay whole
	scanFlops = 16      // an element that are better done beside a scan that has no lanes
)

// splitScan is u as scans of blocks, or nil where its rows are short or many.
func (s *scheduler) splitScan(u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ScanArg)
	shape := u.Shape()
	n := shape[a.Axis]
	if a.Step != nil || shape.Numel() == 0 || slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return len(x.Shape()) > 0 && x.Varies(a.Axis) }) {
		return nil
	}
	size := s.scanBlock(n, shape.Numel()/n)
	if size == 0 {
		return nil
	}
	blocks := (n + size - 1) / size
	cut, row, wide := slices.Insert(slices.Clone(shape), a.Axis, blocks), slices.Clone(shape), slices.Clone(shape)
	cut[a.Axis+1], row[a.Axis], wide[a.Axis] = size, blocks, blocks*size
	end, lo, hi := slices.Clone(cut), make([]int, len(cut)), make([]int, len(shape))
	end[a.Axis+1], lo[a.Axis+1], hi[a.Axis] = 1, size-1, blocks*size-n
	parts := make([]*uop.UOp, a.Parts)
	for i, x := range u.Src() {
		if len(x.Shape()) == 0 {
			parts[i] = x
			continue
		}
		parts[i] = x.Pad(make([]int, len(shape)), hi).Reshape(cut...) // what follows the last element reaches no result
	}
	inside := u.Home().ScanParts(a.Monoid, a.Axis+1, parts...)
	within, totals := make([]*uop.UOp, a.Parts), make([]*uop.UOp, a.Parts)
	for i := range parts {
		within[i] = inside.Part(i).Contiguous()
		totals[i] = within[i].Shrink(lo, cut).Reshape(row...)
	}
	sums := u.Home().ScanParts(a.Monoid, a.Axis, totals...)
	if cut := s.splitScan(sums); cut != nil {
		sums = cut
	}
	first := firstOf(u.Home(), cut, a.Axis)
	before := make([]*uop.UOp, a.Parts)
	for i := range parts {
		before[i] = previous(partOf(sums, i), a.Axis).Reshape(end...).Expand(cut...)
	}
	out := a.Monoid.Info().Merge(before, within)
	for i, x := range out {
		out[i] = shrinkAxis(first.Where(within[i], x).Contiguous().Reshape(wide...), a.Axis, n)
	}
	return held(u.Home(), out)
}

// held is a tuple of values that Part looks into.
func held(t *uop.Table, parts []*uop.UOp) *uop.UOp {
	if len(parts) == 1 {
		return parts[0]
	}
	return t.Make(uop.After, parts[0].DType(), nil, parts...)
}

// partOf is the i-th result of a scan, or of what became of it.
func partOf(u *uop.UOp, i int) *uop.UOp {
	switch {
	case u.Op() == uop.Scan:
		return u.Part(i)
	case u.Op() == uop.After:
		return u.At(i)
	}
	return u
}

// scanBlock is how long the blocks are of rows of n elements; 0 where rows stay whole.
func (s *scheduler) scanBlock(n, rows int) int {
	busy := s.config.Parallel
	switch {
	case busy == 0 && (n <= scanShort || n <= scanLong && rows >= scanRows):
		return 0
	case busy == 0:
		return blockSize(n)
	case n <= 2*scanLeast || rows >= busy/scanShare:
		return 0
	}
	size := scanLeast
	for size < scanBlock && n*rows/size > busy {
		size *= 2
	}
	return size
}

// blockSize is about the root of n, a number that divides it if there is one nearby.
func blockSize(n int) int {
	root := 64
	for root < scanBlock && root*root < n {
		root *= 2
	}
	for d := root; d > root/2; d-- {
		if n%d == 0 {
			return d
		}
	}
	return root
}

// previous is u moved on by one along an axis: the first place holds 0.
func previous(u *uop.UOp, axis int) *uop.UOp {
	n := u.Shape()[axis]
	lo := make([]int, len(u.Shape()))
	hi := make([]int, len(lo))
	lo[axis] = 1
	return shrinkAxis(u, axis, n-1).Pad(lo, hi)
}

// shrinkAxis keeps the first n elements of an axis.
func shrinkAxis(u *uop.UOp, axis, n int) *uop.UOp {
	hi := slices.Clone(u.Shape())
	hi[axis] = n
	return u.Shrink(make([]int, len(hi)), hi)
}

// firstOf says where an axis has index 0.
func firstOf(t *uop.Table, shape uop.Shape, axis int) *uop.UOp {
	ones := slices.Repeat([]int{1}, len(shape))
	ones[axis] = shape[axis]
	return t.Iota(shape[axis]).Less(t.Index(1)).Reshape(ones...).Expand(shape...)
}

// scanOf is the scan whose result u is, or nil.
func scanOf(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Part {
		u = u.At(0)
	}
	if u.Op() == uop.Scan {
		return u
	}
	return nil
}

// alongRows says that a scan goes along contiguous elements: then lanes are of no use.
func alongRows(u *uop.UOp) bool {
	for _, n := range u.Shape()[u.Arg().(uop.ScanArg).Axis+1:] {
		if n > 1 {
			return false
		}
	}
	return true
}

// chooseScan computes a scan with what is made of its results one by one, where that is all that uses it.
func (s *scheduler) chooseScan(u *uop.UOp, uses []use, costs map[*uop.UOp]estimate, plans map[*uop.UOp]*plannedKernel) (bool, string) {
	if len(uses) != 1 || uses[0].opaque || uses[0].inner {
		return true, "used in more than one place, or out of order"
	}
	v, scan := uses[0], scanOf(u)
	p, along := plans[v.kernel], scan.Arg().(uop.ScanArg).Axis
	axis := v.idx[along]
	final := axis.IsConst(u.Shape()[along]-1) && u.Shape()[along] > 1 && p.pieces == nil
	if final {
		return s.chooseFinal(u, v, p)
	}
	back := axis.Op() != uop.Range && v.kernel.Op() != uop.Scatter && p.pieces == nil
	if back {
		axis = symbolic.Simplify(s.t, s.t.Index(u.Shape()[along]-1).Sub(axis))
	}
	whole := len(nonUnit(p.axes)) == len(nonUnit(rangesOf(v.loops, v.idx))) && (p.scan == nil || p.of == scan && p.scan == axis && p.back == back && !p.final)
	for i, e := range v.idx {
		if i == along {
			e = axis
		}
		n := u.Shape()[i]
		found := contains(p.axes, e) && e.Arg().(uop.RangeArg).N == n && slices.Index(v.idx, v.idx[i]) == i // a diagonal is read along two at once
		whole = whole && (n == 1 && e.IsConst(0) || found)
	}
	if !whole || v.kernel.Op() == uop.Scatter || v.kernel.DType().Bits() < 32 {
		return true, "read in another order than it is computed"
	}
	if costs[v.kernel].flops >= scanFlops && alongRows(scan) {
		return true, "what is made of it is better done in lanes"
	}
	if u.Shape().Numel() == 1 || axis.Op() != uop.Range || p.around(axis) {
		return true, "a reduction depends on its axis"
	}
	p.scan, p.back, p.of = axis, back, scan
	return false, "its consumer is its epilogue"
}

// chooseFinal computes a recurrence with what is made of the last of its results, where that is all that is read of it: none before is stored.
func (s *scheduler) chooseFinal(u *uop.UOp, v use, p *plannedKernel) (bool, string) {
	scan := scanOf(u)
	a := scan.Arg().(uop.ScanArg)
	whole := a.Step != nil && len(nonUnit(p.axes)) == len(nonUnit(rangesOf(v.loops, v.idx))) && (p.scan == nil || p.of == scan && p.final)
	for i, e := range v.idx {
		n := u.Shape()[i]
		whole = whole && (i == a.Axis || n == 1 && e.IsConst(0) || contains(p.axes, e) && e.Arg().(uop.RangeArg).N == n && slices.Index(v.idx, e) == i)
	}
	if !whole || len(p.prefix) > 0 || v.kernel.Op() == uop.Scatter || v.kernel.DType().Bits() < 32 {
		return true, "read in another order than it is computed"
	}
	if p.scan == nil {
		p.scan, p.final, p.of = s.t.Range(p.next, u.Shape()[a.Axis], ""), true, scan
		p.next++
	}
	return false, "what it ends with is all that is read"
}

// around says that a reduction inside of a kernel depends on an axis, and not on all.
func (p *plannedKernel) around(axis *uop.UOp) bool {
	return slices.ContainsFunc(p.prefix, func(need []*uop.UOp) bool {
		return contains(need, axis) && len(need) < len(nonUnit(p.axes))
	})
}

var scanOfLaw = rewrite.Named("an element of a scan merges those before it")

// scan is the running reduction at an index. Its values run over a range of their own; no condition on the index holds for
// those before it.
func (l *lowering) scan(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ScanArg)
	n := u.Shape()[a.Axis]
	over, at := l.newRange(n), idx[a.Axis]
	switch {
	case n <= 1:
		at = l.s.t.Index(0)
	case l.final != nil && at.IsConst(n-1):
		at = l.final
	case at.Op() != uop.Range:
		panic("BUG: a scan up to an index that is no axis")
	default:
		l.scanned = at
	}
	full := slices.Clone(idx)
	full[a.Axis] = over
	parts := make([]*uop.UOp, a.Parts)
	for i, x := range u.Src()[:a.Parts] {
		parts[i] = l.simplify(l.value(x, full, nil))
	}
	if a.Keys == 0 {
		return l.s.t.ScanRange(a, parts, over, at)
	}
	return l.s.t.ScanRange(a, parts, over, at, l.known(u.At(a.Parts), full, nil))
}

// lastly moves an axis to the end.
func lastly(axes []*uop.UOp, axis *uop.UOp) []*uop.UOp {
	if i := slices.Index(axes, axis); i >= 0 {
		return append(slices.Delete(slices.Clone(axes), i, i+1), axis)
	}
	return axes
}

// monoidOf is how a reduction or a scan merges.
func monoidOf(u *uop.UOp) uop.Monoid {
	if a, ok := u.Arg().(uop.ScanArg); ok {
		return a.Monoid
	}
	return u.Arg().(uop.ReduceArg).Monoid
}
