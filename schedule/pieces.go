package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A result that is stacked of different values along short axes, as the outputs of a butterfly are, is written piece by piece: its kernel
// goes over the other axes and computes all that lies at a place of them at once, an output each, so that what several of them need is
// computed once, and nothing is selected by where an element stands.
const (
	fewestPieces = 8  // fewer selections are cheap
	fewNodes     = 64 // of what is selected: as many are computed once, however few the pieces
	mostPieces   = 64 // of a kernel's text
	longestStack = uop.MostSelected
	pieceVisits  = 1 << 12 // nodes that are looked at for the axes of a kernel
	fewVisits    = 1 << 8  // after which nothing is expected of a kernel in which nothing was selected
)

// stacked says which axes of a stored node's kernel are written piece by piece: those along which each element is another value, and no
// reduction or index from data is.
func (s *scheduler) stacked(u *uop.UOp, axes []*uop.UOp) []*uop.UOp {
	if s.config.StoreAll || u.Op() == uop.Scatter || u.Op() == uop.Foreign || u.Op() == uop.Loop || u.DType().Size() < 4 || !s.selects()[u] {
		return nil
	}
	n := 1
	for _, r := range axes {
		if size := r.Arg().(uop.RangeArg).N; size <= longestStack {
			n *= size
		}
	}
	if n < 2 || n < fewestPieces && smaller(u, fewNodes) {
		return nil
	}
	w := &stackWalk{s: s, root: u, axes: axes, cuts: map[*uop.UOp]map[int]bool{}, whole: map[*uop.UOp]bool{}, along: map[*uop.UOp]int{}, seen: map[string]bool{}}
	if !w.visit(u, axes) {
		return nil
	}
	var out []*uop.UOp
	n = 1
	for _, r := range axes {
		if size := r.Arg().(uop.RangeArg).N; size > 1 && w.apart(r, size) {
			out, n = append(out, r), n*size
		}
	}
	if n < 2 || n < fewestPieces && w.nodes < fewNodes || n > mostPieces {
		return nil
	}
	return out
}

// smaller says that a node is computed from fewer than n, itself counted.
func smaller(u *uop.UOp, n int) bool {
	seen, next := map[*uop.UOp]bool{u: true}, []*uop.UOp{u}
	for len(next) > 0 && len(seen) < n {
		u, next = next[len(next)-1], next[:len(next)-1]
		for _, x := range u.Src() {
			if !seen[x] {
				seen[x] = true
				next = append(next, x)
			}
		}
	}
	return len(seen) < n
}

// selects are the nodes of whose elements some are selected by where they stand, in a kernel of element by element work.
func (s *scheduler) selects() map[*uop.UOp]bool {
	if s.selecting == nil {
		s.selecting = map[*uop.UOp]bool{}
		for _, u := range s.topo {
			first := u.Op() == uop.Contiguous || u.Op() == uop.Detach
			switch {
			case u.Op() == uop.Where && placeOf(u.At(0)) != nil:
				s.selecting[u] = true
			case first || u.Op().IsMovement():
				s.selecting[u] = s.selecting[u.At(0)]
			case u.Op().Elementwise():
				s.selecting[u] = slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return s.selecting[x] && x.Op() != uop.Contiguous })
			}
		}
	}
	return s.selecting
}

// placeOf is the index grid that a condition compares with a number, or nil.
func placeOf(c *uop.UOp) *uop.UOp {
	if c.Op() != uop.Less || bare(c.At(1)).Op() != uop.Const || !c.At(1).DType().IsInt() && c.At(1).DType() != dtype.Index {
		return nil
	}
	if r := bare(c.At(0)); r.Op() == uop.Range {
		return r
	}
	return nil
}

// bare is what is below movement that adds no zeros and below exact casts of indices.
func bare(u *uop.UOp) *uop.UOp {
	for {
		exact := u.Op() == uop.Cast && u.At(0).DType() == dtype.Index && u.DType().IsInt() && u.DType().Size() >= 4
		if !exact && (!u.Op().IsMovement() || u.Op() == uop.Pad || u.Op() == uop.Slide) {
			return u
		}
		u = u.At(0)
	}
}

// branch is the operand of a selection by place that an index selects, or nil.
func (s *scheduler) branch(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if u.Op() != uop.Where || placeOf(u.At(0)) == nil {
		return nil
	}
	at, n, ok := s.place(u.At(0), idx)
	if !ok {
		return nil
	}
	lo, hi, known := symbolic.Bounds(at)
	switch {
	case known && hi < n:
		return u.At(1)
	case known && lo >= n:
		return u.At(2)
	}
	return nil
}

// place is what a condition compares, at an index, and the number it compares it with.
func (s *scheduler) place(c *uop.UOp, idx []*uop.UOp) (at *uop.UOp, n int, ok bool) {
	x := c.At(0)
	for ; x.Op() != uop.Range; x = x.At(0) {
		if x.Op() != uop.Cast {
			idx, _ = through(s.t, x, idx)
		}
	}
	n, ok = bare(c.At(1)).ConstInt()
	return idx[0], n, ok
}

// stackWalk looks for selections by the place on an axis.
type stackWalk struct {
	s    *scheduler
	root *uop.UOp
	axes []*uop.UOp
	cuts map[*uop.UOp]map[int]bool // by axis, where another value begins
	seen map[string]bool

	whole map[*uop.UOp]bool // axes that reductions depend on

	nodes int              // that are computed for each place
	along map[*uop.UOp]int // by axis, those that differ along it
}

// apart says that an axis should be written piece by piece: each element along it is another value, or some are and have much in common.
func (w *stackWalk) apart(r *uop.UOp, size int) bool {
	cuts := len(w.cuts[r])
	return !w.whole[r] && (cuts == size-1 || cuts > 0 && 4*w.along[r] <= 3*w.nodes)
}

// visit looks at what a node is made of at an index; false where that is too much, or a scan.
func (w *stackWalk) visit(u *uop.UOp, idx []*uop.UOp) bool {
	if u.Op() == uop.Param || u.Op() == uop.Const || u.Op() == uop.Var || u.Op() == uop.Range || len(u.Shape()) == 0 {
		return true
	}
	_, stored := w.s.stored[u]
	_, before := w.s.before[u] // and most likely will be
	if (stored || before && len(w.seen) > fewVisits || u.Op() == uop.Contiguous) && u != w.root {
		return true
	}
	key := w.s.table.tuple(append([]*uop.UOp{u}, idx...)...)
	if w.seen[key] {
		return true
	}
	if w.seen[key] = true; len(w.seen) > pieceVisits || len(w.seen) > fewVisits && len(w.cuts) == 0 {
		return false
	}
	switch {
	case u.Op() == uop.Contiguous || u.Op() == uop.Detach:
		return w.visit(u.At(0), idx)
	case u.Op().IsMovement():
		src, _ := through(w.s.t, u, idx)
		return w.visit(u.At(0), src)
	case u.Op() == uop.Gather:
		src := slices.Clone(idx)
		src[u.Arg().(uop.AxisArg).Axis] = w.s.t.Make(uop.Var, dtype.Index, uop.VarArg{Name: "from data"})
		return w.visit(u.At(1), idx) && w.visit(u.At(0), src)
	case u.Op() == uop.Reduce || u.Op() == uop.Part:
		for _, e := range idx {
			for _, r := range symbolic.Depends(e) {
				w.whole[r] = true
			}
		}
		return true
	case !u.Op().Elementwise():
		return false
	}
	if x := w.s.branch(u, idx); x != nil {
		return w.visit(x, idx)
	}
	w.count(idx)
	src := u.Src()
	if u.Op() == uop.Where && placeOf(u.At(0)) != nil {
		if at, n, ok := w.s.place(u.At(0), idx); ok && contains(w.axes, at) && at.Arg().(uop.RangeArg).N <= longestStack {
			if w.cuts[at] == nil {
				w.cuts[at] = map[int]bool{}
			}
			w.cuts[at][n] = true
		}
		src = src[1:]
	}
	for _, x := range src {
		if !w.visit(x, idx) {
			return false
		}
	}
	return true
}

// count notes a node that is computed at an index.
func (w *stackWalk) count(idx []*uop.UOp) {
	seen := map[*uop.UOp]bool{}
	for _, e := range idx {
		for _, r := range symbolic.Depends(e) {
			if !seen[r] {
				seen[r] = true
				w.along[r]++
			}
		}
	}
	if len(seen) > 0 {
		w.nodes++
	}
}

// pieceAt are axes with numbers in place of those that are written piece by piece, for the i-th piece.
func (s *scheduler) pieceAt(axes, pieces []*uop.UOp, i int) []*uop.UOp {
	out := slices.Clone(axes)
	for _, r := range slices.Backward(pieces) {
		n := r.Arg().(uop.RangeArg).N
		out[slices.Index(out, r)] = s.t.Index(i % n)
		i /= n
	}
	return out
}

// eachPiece calls f with the index of every piece of a stored node and the axes of its kernel that are left; with the axes themselves
// where there are no pieces.
func (s *scheduler) eachPiece(axes, pieces []*uop.UOp, f func(idx, loops []*uop.UOp)) {
	loops := slices.DeleteFunc(slices.Clone(axes), func(r *uop.UOp) bool { return contains(pieces, r) })
	n := 1
	for _, r := range pieces {
		n *= r.Arg().(uop.RangeArg).N
	}
	for i := range n {
		f(s.pieceAt(axes, pieces, i), loops)
	}
}

// pieces writes the Spec of a stored node whose kernel is written piece by piece.
func (l *lowering) pieces(u *uop.UOp, out int, axes []*uop.UOp) {
	p := l.s.plans[u]
	order := p.order(rearranged(l.s, u, axes))
	var own []*uop.UOp // those of the axes here
	for i, r := range p.axes {
		if contains(p.pieces, r) {
			own = append(own, axes[i])
		}
	}
	var starts []*uop.UOp
	l.s.eachPiece(axes, own, func(idx, _ []*uop.UOp) {
		var loops []*uop.UOp
		for _, r := range order {
			if !contains(own, r) {
				loops = append(loops, r)
			}
		}
		value := l.simplify(l.computed(u, idx, nil))
		l.k.spec.Outs = append(l.k.spec.Outs, codegen.Out{Param: out, Axes: loops, Index: rearranged(l.s, u, idx), Value: value})
		starts = append(starts, l.element(u, idx, nil))
	})
	l.started(starts...)
}
