package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/uop"
)

// expand unrolls Tile loops and brings Vector loops to the machine's width. Instances run in lock step: a
// statement that depends on the range is repeated, a loop is kept and its body repeated inside. What
// does not depend on the range, or becomes equal, stays single.
func (b *builder) expand(stmts []codegen.Stmt) []codegen.Stmt {
	var out []codegen.Stmt
	for _, s := range stmts {
		inside := codegen.Body(s)
		if inside == nil {
			out = append(out, s)
			continue
		}
		l, ok := s.(*codegen.Loop)
		if ok && b.Target.TileLoops && (l.Kind == codegen.Tile || l.Kind == codegen.Vector) {
			if two := b.behind(l); two != nil {
				out = append(out, two...)
				continue
			}
		}
		inside = b.expand(inside)
		switch {
		case ok && l.Kind == codegen.Tile:
			at := make([]*uop.UOp, codegen.Extent(l.Range))
			for i := range at {
				at[i] = b.Table.Index(i)
			}
			out = append(out, b.jam(inside, l.Range, at)...)
		case ok && l.Kind == codegen.Vector:
			out = append(out, b.vector(l, inside)...)
		default:
			out = append(out, codegen.WithBody(s, inside))
		}
	}
	return out
}

// lanes is the width of machine vectors for a Vector loop: a power of two that divides its extent.
func (b *builder) lanes(r *uop.UOp, body []codegen.Stmt) int {
	vary := codegen.VariationOver(body, r)
	n := 64
	if b.Target.VectorLen(codegen.Widest) == 1 { // no lanes, whatever depends on the range
		n = 1
	}
	seen := map[*uop.UOp]bool{}
	codegen.Visit(body, func(s codegen.Stmt) {
		uop.Walk(codegen.Exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
			seen[u] = true
			if w := b.Target.VectorLen(u.DType()); w > 0 && vary.Depends(u) {
				n = min(n, w)
			}
		})
	})
	for codegen.Extent(r)%n != 0 {
		n /= 2
	}
	return n
}

func (b *builder) vector(l *codegen.Loop, body []codegen.Stmt) []codegen.Stmt {
	n := codegen.Extent(l.Range)
	w := b.lanes(l.Range, body)
	if w == n {
		return []codegen.Stmt{codegen.WithBody(l, body)}
	}
	inner := b.NewRange(w, "")
	at := make([]*uop.UOp, n/w)
	for i := range at {
		at[i] = b.Table.Index(i)
		if w > 1 {
			at[i] = inner.Add(b.Table.Index(i * w))
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
			out = append(out, &codegen.Set{Regs: f.Regs, Values: b.mergeLegal(f.Monoid, f.Regs, values)})
		} else {
			out = append(out, &codegen.HorizontalReduce{Regs: f.Regs, Monoid: f.Monoid, Range: inner, Values: values})
		}
	}
	if w == 1 {
		return out
	}
	return []codegen.Stmt{&codegen.Loop{Range: inner, Kind: codegen.Vector, Reduce: l.Reduce, Body: out}}
}

func cutFolds(body []codegen.Stmt) (rest []codegen.Stmt, folds []*codegen.HorizontalReduce) {
	for _, s := range body {
		if f, ok := s.(*codegen.HorizontalReduce); ok {
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
	vary *codegen.Variation
	inst []*codegen.Rewriter
}

func (b *builder) jam(body []codegen.Stmt, r *uop.UOp, at []*uop.UOp) []codegen.Stmt {
	return b.newJam(body, r, at).stmts(body)
}

func (b *builder) newJam(body []codegen.Stmt, r *uop.UOp, at []*uop.UOp) *jam {
	j := &jam{b: b, vary: codegen.VariationOver(body, r)}
	for _, x := range at {
		w := &codegen.Rewriter{Table: b.Table, Fold: b.Fold}
		w.Done.Set(r, x)
		j.inst = append(j.inst, w)
	}
	for _, u := range j.vary.Order { // registers and scratch of each instance
		for i, w := range j.inst {
			if i == 0 {
				w.Done.Set(u, u)
			} else if u.Op() == uop.Reg {
				w.Done.Set(u, b.reg(u.DType()))
			} else {
				w.Done.Set(u, b.newScratch(u.DType(), u.Arg().(uop.ParamArg).N))
			}
		}
	}
	return j
}

// stmts repeats statements. Assignments that follow each other are repeated together, instance by instance: what they
// share of one instance, an operand for several accumulators, is needed for a short while only.
func (j *jam) stmts(body []codegen.Stmt) (out []codegen.Stmt) {
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
				out = append(out, codegen.MapExprs(s, w.Do))
			}
		}
		body = body[n:]
	}
	return out
}

// own says that a statement assigns registers of one instance only.
func (j *jam) own(s codegen.Stmt) bool {
	set, ok := s.(*codegen.Set)
	return ok && !slices.ContainsFunc(set.Regs, func(r *uop.UOp) bool { return !j.vary.Depends(r) })
}

func (j *jam) stmt(s codegen.Stmt) (out []codegen.Stmt) {
	if !j.vary.Stmt(s) {
		return []codegen.Stmt{s}
	}
	switch s := s.(type) {
	case *codegen.Loop:
		return []codegen.Stmt{codegen.WithBody(s, j.stmts(s.Body))}
	case *codegen.If:
		if !j.vary.Depends(s.Cond) {
			return []codegen.Stmt{codegen.WithBody(s, j.stmts(s.Body))}
		}
		for _, w := range j.inst {
			one := &jam{b: j.b, vary: j.vary, inst: []*codegen.Rewriter{w}}
			out = append(out, when(w.Do(s.Cond), one.stmts(s.Body)...)...)
		}
		return out
	case *codegen.Set:
		return j.set(s.Regs, s.Values, func(regs, values []*uop.UOp) codegen.Stmt { return &codegen.Set{Regs: regs, Values: values} })
	case *codegen.HorizontalReduce:
		return j.set(s.Regs, s.Values, func(regs, values []*uop.UOp) codegen.Stmt {
			return &codegen.HorizontalReduce{Regs: regs, Monoid: s.Monoid, Range: s.Range, Values: values}
		})
	}
	for _, w := range j.inst {
		out = append(out, codegen.MapExprs(s, w.Do))
	}
	return out
}

// set repeats an assignment. Where some registers are shared by the instances and others not, all are
// assigned at once, the shared ones once.
func (j *jam) set(regs, values []*uop.UOp, make func(regs, values []*uop.UOp) codegen.Stmt) (out []codegen.Stmt) {
	shared := 0
	for _, r := range regs {
		if !j.vary.Depends(r) {
			shared++
		}
	}
	if shared == 0 {
		for _, w := range j.inst {
			out = append(out, make(codegen.MapAll(regs, w.Do), codegen.MapAll(values, w.Do)))
		}
		return out
	}
	var rs, vs []*uop.UOp
	for i, w := range j.inst {
		for n, r := range regs {
			if i == 0 || j.vary.Depends(r) {
				rs, vs = append(rs, w.Do(r)), append(vs, w.Do(values[n]))
			}
		}
	}
	return append(out, &codegen.Set{Regs: rs, Values: vs})
}

// merged merges the values of a HorizontalReduce over the instances, pairwise.
func (j *jam) merged(f *codegen.HorizontalReduce) []*uop.UOp {
	var list [][]*uop.UOp
	for _, w := range j.inst {
		list = append(list, codegen.MapAll(f.Values, w.Do))
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
		p[i] = b.Table.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: first + 2*i})
		q[i] = b.Table.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: first + 2*i + 1})
		with[p[i]], with[q[i]] = x[i], y[i]
	}
	return uop.Substitute(b.Table, with, legal.Legalize(b.Table, b.Target, m.Info().Merge(p, q)...)...)
}
