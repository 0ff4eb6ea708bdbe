package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Sums of fewer terms, or for fewer rows of weights, are not worth a kernel that packs what the weights are made of.
const (
	streamTerms = 128
	streamRows  = 32
	streamShare = 8 // rows that are made of the same terms
	streamLanes = 4 // elements that share a weight
)

var streamLaw = rewrite.Named("a sum weighted by a softmax is one reduction")

// stream is the law Σₖ softmaxₖ(s)·vₖ = Σₖ vₖ·2^(c·sₖ − m) / Σₖ 2^(c·sₖ − m), whose right side is one reduction with the monoid
// SumExp: the weights of a block of terms are computed where they are used, and no array of them is stored. It pays where s
// are products themselves and nobody else looks at the weights; that is what it asks for. It expects and leaves
// tensor-level nodes.
func (s *scheduler) stream(roots []*uop.UOp) []*uop.UOp {
	if !s.config.Streams {
		return roots
	}
	order := uop.Topo(roots...)
	m := streaming{t: s.t, uses: valueUses(roots), matrix: s.config.Matrix}
	m.narrow = m.narrowSums(order)
	return s.rebuilt(order, roots, func(u, v *uop.UOp, became func(*uop.UOp) *uop.UOp) *uop.UOp {
		if w := m.weighted(u); w != nil {
			one := w.reduction(s.t, became)
			s.noted(streamLaw, v, one)
			v = one
		}
		return v
	})
}

// streaming looks for weighted sums.
type streaming struct {
	t      *uop.Table
	uses   map[*uop.UOp]int
	matrix *codegen.MatrixUnit
	narrow map[*uop.UOp]dtype.DType // the types that sums are rounded to, of which nothing else is used
}

// narrowSums are the sums of which only what they are rounded to is used.
func (m *streaming) narrowSums(order []*uop.UOp) map[*uop.UOp]dtype.DType {
	out := map[*uop.UOp]dtype.DType{}
	for _, u := range order {
		if u.Op() != uop.Cast || !u.DType().IsNarrow() {
			continue
		}
		x := u.At(0)
		for x.Op().IsMovement() && m.uses[x] == 1 {
			x = x.At(0)
		}
		if isSum(x) && m.uses[x] == 1 {
			out[x] = u.DType()
		}
	}
	return out
}

// valueUses counts the nodes that compute with a node; stated derivatives do not.
func valueUses(roots []*uop.UOp) map[*uop.UOp]int {
	uses := map[*uop.UOp]int{}
	var todo []*uop.UOp
	need := func(u *uop.UOp) {
		if uses[u]++; uses[u] == 1 {
			todo = append(todo, u)
		}
	}
	for _, r := range roots {
		need(r)
	}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if u.Op() == uop.Detach {
			need(u.At(0))
			continue
		}
		seen := u.Src()[:0:0]
		for _, x := range u.Src() {
			if !slices.Contains(seen, x) {
				seen = append(seen, x)
				need(x)
			}
		}
	}
	return uses
}

// weightedSum is Σ over an axis of moved weights, times a value.
type weightedSum struct {
	axis  int
	moves []*uop.UOp // from the sum's operand down to the weights
	score *uop.UOp   // weights are 2^(by·(score − max score)), normalised
	by    float64
	empty bool // where all scores are −∞ the weights are 0
	value *uop.UOp

	factors *uop.UOp // the sum of products that scores are made of
}

// weighted says what u is the weighted sum of; nil where it is none, or better left as it is.
func (m *streaming) weighted(u *uop.UOp) *weightedSum {
	if !isSum(u) || u.DType() != dtype.F32 || u.At(0).Op() != uop.Mul {
		return nil
	}
	axes := u.Arg().(uop.ReduceArg).Axes.Slice()
	x := u.At(0)
	if len(axes) != 1 || x.Shape()[axes[0]] < streamTerms || m.uses[x] != 1 {
		return nil
	}
	for side := range 2 {
		w := &weightedSum{axis: axes[0], value: x.At(1 - side)}
		p := x.At(side)
		for p.Op().IsMovement() && m.uses[p] == 1 {
			w.moves = append(w.moves, p)
			p = p.At(0)
		}
		p = m.rounded(u, p)
		if k := m.softmax(w, p); k >= 0 && m.uses[p] == 1 && m.along(w, x.Shape(), p.Shape(), k) && m.product(w, k) {
			return w
		}
	}
	return nil
}

// rounded looks through weights of a sum that are rounded to a narrow type as the sum is too, which then keeps more of its digits, where that serves no
// unit of the machine that multiplies such numbers.
func (m *streaming) rounded(sum, p *uop.UOp) *uop.UOp {
	if p.Op() != uop.Cast || m.uses[p] != 1 {
		return p
	}
	q := p.At(0)
	if q.Op() != uop.Cast || q.DType() != m.narrow[sum] || m.uses[q] != 1 || q.At(0).DType() != p.DType() {
		return p
	}
	if m.matrix == nil || !m.matrix.Multiplies(q.DType(), p.DType()) {
		return q.At(0)
	}
	return p
}

// softmax says along which axis p is a softmax, or −1, and notes of what.
func (m *streaming) softmax(w *weightedSum, p *uop.UOp) int {
	var e, total *uop.UOp
	switch p.Op() {
	case uop.Div:
		e, total = p.At(0), p.At(1)
	case uop.Mul:
		for side := range 2 {
			if q := m.source(p.At(side)); q.Op() == uop.Div && isOne(q.At(0)) {
				e, total = p.At(1-side), q.At(1)
			}
		}
	}
	if total != nil {
		total, w.empty = m.source(total), false
		if r := orOne(total); r != nil {
			total, w.empty = m.source(r), true
		}
	}
	if total == nil || !isSum(total) || total.At(0) != e || m.uses[e] != 2 {
		return -1
	}
	k, ok := m.keptAxis(p, total)
	if !ok {
		return -1
	}
	if e.Op() == uop.Detach {
		if e = e.At(0); m.uses[e] != 1 {
			return -1
		}
	}
	if e.Op() != uop.Exp2 {
		return -1
	}
	d := e.At(0)
	w.by = 1
	if d.Op() == uop.Mul {
		for side := range 2 {
			if c, ok := d.At(side).ConstValue(); ok && c.Float() > 0 && m.uses[d] == 1 {
				w.by, d = c.Float(), d.At(1-side)
				break
			}
		}
	}
	if d.Op() != uop.Add || m.uses[d] != 1 {
		return -1
	}
	for side := range 2 {
		n, score := d.At(side), d.At(1-side)
		if n.Op() != uop.Neg {
			continue
		}
		top := m.source(n.At(0))
		if r := orLeast(top); r != nil {
			top = m.source(r)
		} else if w.empty {
			continue
		}
		if a, ok := top.Arg().(uop.ReduceArg); !ok || top.Op() != uop.Reduce || a.Monoid != uop.MaxOf || top.At(0) != score || m.uses[score] != 2 {
			continue
		}
		if j, ok := m.keptAxis(d, top); ok && j == k {
			w.score = score
			return k
		}
	}
	return -1
}

func isOne(u *uop.UOp) bool {
	v, ok := u.ConstValue()
	return ok && v.Float() == 1
}

// orOne says what u is, but 1 where it is less, as a row's total is where nothing counts; nil if u is nothing of the kind.
func orOne(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Where && isOne(u.At(1)) && u.At(0).Op() == uop.Less && u.At(0).At(0) == u.At(2) && isOne(u.At(0).At(1)) {
		return u.At(2)
	}
	return nil
}

// orLeast says what u is, but the least finite number where it is −∞; nil if u is nothing of the kind.
func orLeast(u *uop.UOp) *uop.UOp {
	if u.Op() != uop.Max {
		return nil
	}
	limits, _ := dtype.Finfo(u.DType())
	for side := range 2 {
		if v, ok := u.At(side).ConstValue(); ok && v.Float() == -limits.Max {
			return u.At(1 - side)
		}
	}
	return nil
}

// source looks through movement.
func (m *streaming) source(u *uop.UOp) *uop.UOp {
	for u.Op().IsMovement() || u.Op() == uop.Detach {
		u = u.At(0)
	}
	return u
}

// keptAxis says that wherever u uses the reduction r, it is that of the element's own row, and gives the axis.
func (m *streaming) keptAxis(u, r *uop.UOp) (axis int, ok bool) {
	a := r.Arg().(uop.ReduceArg).Axes
	if a.Len() != 1 || !r.At(0).Shape().Equal(u.Shape()) {
		return 0, false
	}
	idx := m.ranges(u.Shape())
	want := slices.Delete(slices.Clone(idx), a.At(0), a.At(0)+1)
	for _, x := range u.Src() {
		if x == r.At(0) || len(x.Shape()) == 0 || m.source(x) != r && !m.divided(x, r) {
			continue
		}
		got, plain := m.follow(x, idx, r)
		return a.At(0), plain && slices.Equal(m.unit(got, r.Shape()), m.unit(want, r.Shape()))
	}
	return 0, false
}

// divided looks through 1/r and −r, and what stands for r in rows without a term.
func (m *streaming) divided(x, r *uop.UOp) bool {
	x = m.source(x)
	if x.Op() == uop.Div || x.Op() == uop.Neg {
		x = m.source(operand(x))
	}
	return x == r || m.source(operand(x)) == r && (orOne(x) != nil || orLeast(x) != nil)
}

// operand is what u moves, divides by, negates, or stands for.
func operand(u *uop.UOp) *uop.UOp {
	for _, r := range []*uop.UOp{orOne(u), orLeast(u)} {
		if r != nil {
			return r
		}
	}
	switch {
	case len(u.Src()) == 0:
		return u
	case u.Op() == uop.Div:
		return u.At(1)
	}
	return u.At(0)
}

// unit is an index with 0 for axes of size 1.
func (m *streaming) unit(idx []*uop.UOp, shape uop.Shape) []*uop.UOp {
	out := slices.Clone(idx)
	for i, n := range shape {
		if n == 1 {
			out[i] = m.t.Index(0)
		}
	}
	return out
}

func (m *streaming) ranges(shape uop.Shape) []*uop.UOp {
	out := make([]*uop.UOp, len(shape))
	for i, n := range shape {
		out[i] = m.t.Range(i, n, "")
	}
	return out
}

// follow pushes an index of u down to r, through movement without padding, and the ops that divided knows.
func (m *streaming) follow(u *uop.UOp, idx []*uop.UOp, r *uop.UOp) (at []*uop.UOp, ok bool) {
	for u != r {
		if u.Op().IsMovement() {
			var valid *uop.UOp
			if idx, valid = through(m.t, u, idx); valid != nil {
				return nil, false
			}
		}
		u = operand(u)
	}
	return idx, true
}

// along says that a term of the sum takes the weight of its own place on axis k, and that its row does not depend on it.
func (m *streaming) along(w *weightedSum, shape, weights uop.Shape, k int) bool {
	idx := m.ranges(shape)
	r := idx[w.axis]
	for _, u := range w.moves {
		var valid *uop.UOp
		if idx, valid = through(m.t, u, idx); valid != nil {
			return false
		}
	}
	if shape[w.axis] != weights[k] || weights[k] == 0 || weights.Numel()/weights[k] < streamRows {
		return false
	}
	last := len(shape) - 1 // of what is not summed: values lie there side by side
	if last == w.axis {
		last--
	}
	if last < 0 || shape[last] < streamLanes {
		return false
	}
	for i, e := range idx {
		if dependsOn(e, m.t.Range(last, shape[last], "")) {
			return false
		}
		if e = symbolic.Simplify(m.t, e); i == k && e != r || i != k && dependsOn(e, r) {
			return false
		}
	}
	return true
}

// product says that scores are made element by element of one sum of products, and of it alone by what has to be computed,
// and that several rows share the factors that lie along axis k.
func (m *streaming) product(w *weightedSum, k int) bool {
	r := scoreProduct(w.score)
	if r == nil || r.At(0).Op() != uop.Mul || r.Shape().Numel() != w.score.Shape().Numel() {
		return false
	}
	on := map[*uop.UOp]bool{}
	for _, u := range scorePath(w.score, r) {
		if on[u] = true; u != w.score && m.uses[u] != 1 {
			return false
		}
	}
	rows := m.ranges(w.score.Shape())
	idx := rows
	for u := w.score; u != r; {
		if u.Op().IsMovement() {
			var valid *uop.UOp
			if idx, valid = through(m.t, u, idx); valid != nil {
				return false
			}
		}
		u = u.Src()[slices.IndexFunc(u.Src(), func(x *uop.UOp) bool { return on[x] })]
	}
	next := len(rows)
	full, _ := spreadReduce(m.t, r.At(0).Shape(), r.Arg().(uop.ReduceArg).Axes.Slice(), idx, &next)
	for _, x := range r.At(0).Src() {
		at := full
		for x.Op().IsMovement() && at != nil {
			var valid *uop.UOp
			if at, valid = through(m.t, x, at); valid != nil {
				at = nil
			}
			x = x.At(0)
		}
		uses := func(row *uop.UOp) bool {
			return slices.ContainsFunc(at, func(e *uop.UOp) bool { return dependsOn(e, row) })
		}
		if at != nil && uses(rows[k]) && slices.ContainsFunc(rows, func(row *uop.UOp) bool { return extent([]*uop.UOp{row}) >= streamShare && !uses(row) }) {
			w.factors = r
			return true
		}
	}
	return false
}

// scoreProduct is the one sum among what scores are made of element by element; nil if there are none or several.
func scoreProduct(score *uop.UOp) *uop.UOp {
	var found *uop.UOp
	several := false
	seen := map[*uop.UOp]bool{}
	var walk func(u *uop.UOp)
	todo := []*uop.UOp{score}
	walk = func(u *uop.UOp) {
		switch {
		case seen[u]:
		case u.Op() == uop.Reduce:
			several = several || found != nil || !isSum(u)
			found = u
		case u.Op() == uop.Detach:
			todo = append(todo, u.At(0))
		case u.Op().IsMovement() || u.Op().Elementwise():
			todo = append(todo, u.Src()...)
		case u.Op() != uop.Param && u.Op() != uop.Const && u.Op() != uop.Var && u.Op() != uop.Range && u.Op() != uop.Contiguous:
			several = true // what is in it may be computed in the same kernel
		}
		seen[u] = true
	}
	for len(todo) > 0 {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		walk(u)
	}
	if several {
		return nil
	}
	return found
}

// scorePath are the nodes between scores and the sum r that they are made of, both included.
func scorePath(score, r *uop.UOp) []*uop.UOp {
	on := map[*uop.UOp]bool{r: true}
	var out []*uop.UOp
	for _, u := range uop.Topo(score) {
		if u != r {
			for _, x := range u.Src() {
				on[u] = on[u] || on[x]
			}
		}
		if on[u] {
			out = append(out, u)
		}
	}
	return out
}
