package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// expand unrolls Tile loops and brings Vector loops to the machine's width. Instances run in lock step: a
// statement that depends on the range is repeated, a loop is kept and its body repeated inside. What
// does not depend on the range, or becomes equal, stays single.
func (b *builder) expand(stmts []Stmt) []Stmt {
	var out []Stmt
	for _, s := range stmts {
		inside := body(s)
		if inside == nil {
			out = append(out, s)
			continue
		}
		inside = b.expand(inside)
		l, ok := s.(*Loop)
		switch {
		case ok && l.Kind == Tile:
			at := make([]*uop.UOp, extent(l.Range))
			for i := range at {
				at[i] = b.t.Index(i)
			}
			out = append(out, b.jam(inside, l.Range, at)...)
		case ok && l.Kind == Vector:
			out = append(out, b.vector(l, inside)...)
		default:
			out = append(out, withBody(s, inside))
		}
	}
	return out
}

// lanes is the width of machine vectors for a Vector loop: a power of two that divides its extent.
func (b *builder) lanes(r *uop.UOp, body []Stmt) int {
	vary := b.varying(body, r)
	n := 64
	if b.target.VectorLen(widest) == 1 { // no lanes, whatever depends on the range
		n = 1
	}
	seen := map[*uop.UOp]bool{}
	visit(body, func(s Stmt) {
		walk(exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
			seen[u] = true
			if w := b.target.VectorLen(u.DType()); w > 0 && vary.depends(u) {
				n = min(n, w)
			}
		})
	})
	for extent(r)%n != 0 {
		n /= 2
	}
	return n
}

func (b *builder) vector(l *Loop, body []Stmt) []Stmt {
	n := extent(l.Range)
	w := b.lanes(l.Range, body)
	if w == n {
		return []Stmt{withBody(l, body)}
	}
	inner := b.newRange(w, "")
	at := make([]*uop.UOp, n/w)
	for i := range at {
		at[i] = b.t.Index(i)
		if w > 1 {
			at[i] = inner.Add(b.t.Index(i * w))
			if i == 0 {
				at[i] = inner
			}
		}
	}
	body, folds := cutFolds(body)
	j := b.newJam(body, l.Range, at)
	out := j.stmts(body)
	for _, f := range folds {
		values := j.merged(f)
		if w == 1 {
			out = append(out, &Set{f.Regs, b.mergeLegal(f.Monoid, f.Regs, values)})
		} else {
			out = append(out, &HorizontalReduce{f.Regs, f.Monoid, inner, values})
		}
	}
	if w == 1 {
		return out
	}
	return []Stmt{&Loop{Range: inner, Kind: Vector, Reduce: l.Reduce, Body: out}}
}

func cutFolds(body []Stmt) (rest []Stmt, folds []*HorizontalReduce) {
	for _, s := range body {
		if f, ok := s.(*HorizontalReduce); ok {
			folds = append(folds, f)
		} else {
			rest = append(rest, s)
		}
	}
	return rest, folds
}

// jam repeats statements for each value of a range.
type jam struct {
	b    *builder
	vary *varying
	inst []*rewriter
}

func (b *builder) jam(body []Stmt, r *uop.UOp, at []*uop.UOp) []Stmt {
	return b.newJam(body, r, at).stmts(body)
}

func (b *builder) newJam(body []Stmt, r *uop.UOp, at []*uop.UOp) *jam {
	j := &jam{b: b, vary: b.varying(body, r)}
	for _, x := range at {
		w := &rewriter{t: b.t, fold: b.fold}
		w.done.Set(r, x)
		j.inst = append(j.inst, w)
	}
	for _, u := range j.vary.order { // registers and scratch of each instance
		for i, w := range j.inst {
			if i == 0 {
				w.done.Set(u, u)
			} else if u.Op() == uop.Reg {
				w.done.Set(u, b.reg(u.DType()))
			} else {
				w.done.Set(u, b.newScratch(u.DType(), u.Arg().(uop.ParamArg).N))
			}
		}
	}
	return j
}

// stmts repeats statements. Assignments that follow each other are repeated together, instance by instance: what they
// share of one instance, an operand for several accumulators, is needed for a short while only.
func (j *jam) stmts(body []Stmt) (out []Stmt) {
	for len(body) > 0 {
		n := 0
		for n < len(body) && j.own(body[n]) {
			n++
		}
		if n == 0 {
			out = append(out, j.stmt(body[0])...)
			body = body[1:]
			continue
		}
		for _, w := range j.inst {
			for _, s := range body[:n] {
				out = append(out, mapExprs(s, w.do))
			}
		}
		body = body[n:]
	}
	return out
}

// own says that a statement assigns registers of one instance only.
func (j *jam) own(s Stmt) bool {
	set, ok := s.(*Set)
	return ok && !slices.ContainsFunc(set.Regs, func(r *uop.UOp) bool { return !j.vary.depends(r) })
}

func (j *jam) stmt(s Stmt) (out []Stmt) {
	if !j.vary.stmt(s) {
		return []Stmt{s}
	}
	switch s := s.(type) {
	case *Loop:
		return []Stmt{withBody(s, j.stmts(s.Body))}
	case *If:
		if !j.vary.depends(s.Cond) {
			return []Stmt{withBody(s, j.stmts(s.Body))}
		}
		for _, w := range j.inst {
			one := &jam{b: j.b, vary: j.vary, inst: []*rewriter{w}}
			out = append(out, when(w.do(s.Cond), one.stmts(s.Body)...)...)
		}
		return out
	case *Set:
		return j.set(s.Regs, s.Values, func(regs, values []*uop.UOp) Stmt { return &Set{regs, values} })
	case *HorizontalReduce:
		return j.set(s.Regs, s.Values, func(regs, values []*uop.UOp) Stmt { return &HorizontalReduce{regs, s.Monoid, s.Range, values} })
	}
	for _, w := range j.inst {
		out = append(out, mapExprs(s, w.do))
	}
	return out
}

// set repeats an assignment. Where some registers are shared by the instances and others not, all are
// assigned at once, the shared ones once.
func (j *jam) set(regs, values []*uop.UOp, make func(regs, values []*uop.UOp) Stmt) (out []Stmt) {
	shared := 0
	for _, r := range regs {
		if !j.vary.depends(r) {
			shared++
		}
	}
	if shared == 0 {
		for _, w := range j.inst {
			out = append(out, make(mapAll(regs, w.do), mapAll(values, w.do)))
		}
		return out
	}
	var rs, vs []*uop.UOp
	for i, w := range j.inst {
		for n, r := range regs {
			if i == 0 || j.vary.depends(r) {
				rs, vs = append(rs, w.do(r)), append(vs, w.do(values[n]))
			}
		}
	}
	return append(out, &Set{rs, vs})
}

func mapAll(list []*uop.UOp, f func(*uop.UOp) *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(list))
	for i, u := range list {
		out[i] = f(u)
	}
	return out
}

// merged merges the values of a HorizontalReduce over the instances, pairwise.
func (j *jam) merged(f *HorizontalReduce) []*uop.UOp {
	var list [][]*uop.UOp
	for _, w := range j.inst {
		list = append(list, mapAll(f.Values, w.do))
	}
	for len(list) > 1 {
		var next [][]*uop.UOp
		for i := 0; i+1 < len(list); i += 2 {
			next = append(next, j.b.mergeLegal(f.Monoid, list[i], list[i+1]))
		}
		if len(list)%2 == 1 {
			next = append(next, list[len(list)-1])
		}
		list = next
	}
	return list[0]
}

// mergeLegal merges two elements, in order, with ops that the target has: what is made here comes too late for the pass
// that legalises.
func (b *builder) mergeLegal(m uop.Monoid, x, y []*uop.UOp) []*uop.UOp {
	const first = 1 << 22 // of the placeholders
	p, q := make([]*uop.UOp, len(x)), make([]*uop.UOp, len(x))
	with := map[*uop.UOp]*uop.UOp{}
	for i := range x {
		p[i] = b.t.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: first + 2*i})
		q[i] = b.t.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: first + 2*i + 1})
		with[p[i]], with[q[i]] = x[i], y[i]
	}
	return uop.Substitute(b.t, with, Legalize(b.t, b.target, m.Info().Merge(p, q)...)...)
}

// varying says which registers and scratch buffers differ between the values of a range.
type varying struct {
	set   map[*uop.UOp]bool
	order []*uop.UOp
	memo  uop.Map[bool]
	local map[*uop.UOp]bool // declared inside
	lanes bool              // one block of code serves all values: what it declares is not declared for each
}

func (b *builder) varying(stmts []Stmt, r *uop.UOp) *varying { return varyingIn(stmts, r, false) }

func varyingIn(stmts []Stmt, r *uop.UOp, lanes bool) *varying {
	v := &varying{set: map[*uop.UOp]bool{r: true}, local: map[*uop.UOp]bool{}, lanes: lanes}
	visit(stmts, func(s Stmt) {
		switch s := s.(type) {
		case *Let:
			v.local[s.Reg] = true
		case *Alloc:
			v.local[s.Buf] = true
		}
	})
	for again := true; again; {
		again = v.sweep(stmts, false)
		v.memo = uop.Map[bool]{}
	}
	return v
}

func (v *varying) add(u *uop.UOp) bool {
	if v.set[u] || !v.local[u] {
		return false
	}
	v.set[u] = true
	v.order = append(v.order, u)
	return true
}

// sweep finds more of them; under says that an enclosing condition varies.
func (v *varying) sweep(stmts []Stmt, under bool) (found bool) {
	for _, s := range stmts {
		dep := under || slices.ContainsFunc(exprs(s), v.depends)
		switch s := s.(type) {
		case *Let:
			if v.lanes {
				dep = v.depends(s.Value)
			}
			found = dep && v.add(s.Reg) || found
		case *Set:
			for i, r := range s.Regs {
				found = (under || v.depends(s.Values[i])) && v.add(r) || found
			}
		case *HorizontalReduce:
			for _, r := range s.Regs {
				found = dep && v.add(r) || found
			}
		case *Store:
			found = dep && v.add(s.Buf) || found
		case *MatrixProduct:
			found = (dep || v.set[s.A] || v.set[s.B]) && v.add(s.Acc) || found
		case *If:
			found = v.sweep(s.Body, dep) || found
		case *Loop:
			found = v.sweep(s.Body, under) || found
		}
	}
	return found
}

// depends says whether an expression differs between the values of the range.
func (v *varying) depends(u *uop.UOp) bool {
	if d, ok := v.memo.Get(u); ok {
		return d
	}
	walk([]*uop.UOp{u}, func(u *uop.UOp) bool { _, ok := v.memo.Get(u); return ok }, func(u *uop.UOp) {
		d := v.set[u]
		for _, s := range u.Src() {
			x, _ := v.memo.Get(s)
			d = d || x
		}
		v.memo.Set(u, d)
	})
	d, _ := v.memo.Get(u)
	return d
}

// stmt says whether anything in a statement does.
func (v *varying) stmt(s Stmt) bool {
	if slices.ContainsFunc(exprs(s), v.depends) {
		return true
	}
	switch s := s.(type) {
	case *Alloc:
		return v.set[s.Buf]
	case *Store:
		return v.set[s.Buf]
	case *MatrixProduct:
		return v.set[s.Acc] || v.set[s.A] || v.set[s.B]
	case *Set:
		return slices.ContainsFunc(s.Regs, v.depends)
	case *HorizontalReduce:
		return slices.ContainsFunc(s.Regs, v.depends)
	case *SubgroupReduce:
		return v.depends(s.Reg)
	case *Let:
		return v.set[s.Reg]
	}
	return slices.ContainsFunc(body(s), v.stmt)
}

// Varying says which values differ between the lanes of a Vector loop.
func Varying(l *Loop) func(u *uop.UOp) bool {
	return varyingIn(l.Body, l.Range, true).depends
}

// Exprs lists the expressions of one statement, not those of statements inside it; of a Store the value first.
func Exprs(s Stmt) []*uop.UOp { return exprs(s) }
