package lower

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// accesses proves loads and stores of a tree to lie within their buffers: by the extents of loops, by the conditions
// around them and, for a load, by its gate. Nothing is taken on trust: names are replaced by what they stand for, and a
// condition that differs between lanes protects only what differs between them too, because the lanes of a vector load
// what they share without asking, and one ends to protect where something that it was computed from is assigned.
//
// The pass "guard" gives a gate or a condition of its own to what cannot be proven; after the last pass everything is
// proven once more, and a tree in which something is not is refused.
type accesses struct {
	t        *uop.Table
	fold     func(*uop.UOp) *uop.UOp
	sizes    map[*uop.UOp]int // elements of scratch
	values   map[*uop.UOp]*uop.UOp
	assigned map[*uop.UOp]bool // registers and buffers that are written
	facts    *affine.Facts
	lanes    affine.RangeSet     // ranges of the Vector loops that are open
	conds    []*uop.UOp          // that hold here
	seen     []map[*uop.UOp]bool // expressions that are proven, under each of the conditions and those before it
	guarded  int
	unproven func(what string, buf, at *uop.UOp, conds []*uop.UOp)
}

func newAccesses(t *uop.Table, stmts []codegen.Stmt) *accesses {
	v := &accesses{t: t, sizes: map[*uop.UOp]int{}, values: map[*uop.UOp]*uop.UOp{}, assigned: map[*uop.UOp]bool{}, facts: affine.NewFacts(), seen: []map[*uop.UOp]bool{{}}}
	for _, s := range stmts {
		codegen.Writes(s, v.assigned)
	}
	return v
}

// guard gives every access that is not proven a condition under which it is. Code that is right never needs one of them; what
// remains are sums and quotients that bounds do not see through.
func (b *builder) guard(stmts []codegen.Stmt) []codegen.Stmt {
	v := newAccesses(b.Table, stmts)
	v.fold = b.Fold
	out := v.block(stmts)
	b.guarded = v.guarded
	return out
}

// verifyAccesses is an error where an access is not proven.
func verifyAccesses(t *uop.Table, stmts []codegen.Stmt) (err error) {
	v := newAccesses(t, stmts)
	v.fold = func(u *uop.UOp) *uop.UOp { return u }
	v.unproven = func(what string, buf, at *uop.UOp, conds []*uop.UOp) {
		if err == nil {
			err = fmt.Errorf("a %s is not proven to lie within its %d elements:\n%sunder\n%s", what, v.size(buf), uop.Print(at), uop.Print(conds...))
		}
	}
	v.block(stmts)
	return err
}

func (v *accesses) block(stmts []codegen.Stmt) []codegen.Stmt {
	var out []codegen.Stmt
	for _, s := range stmts {
		out = append(out, v.stmt(v.loads(s)))
		v.outdate(s)
	}
	return out
}

// outdate forgets conditions that speak of what a statement assigns, and what was proven under them.
func (v *accesses) outdate(s codegen.Stmt) {
	if len(v.conds) == 0 {
		return
	}
	written := map[*uop.UOp]bool{}
	codegen.Writes(s, written)
	if len(written) == 0 {
		return
	}
	for i, c := range v.conds {
		if slices.ContainsFunc(uop.Topo(c), func(u *uop.UOp) bool { return written[u] }) {
			v.conds[i] = v.t.True()
			for _, m := range v.seen[i+1:] {
				clear(m)
			}
		}
	}
}

// stmt looks into a statement whose own loads are seen to.
func (v *accesses) stmt(s codegen.Stmt) codegen.Stmt {
	switch s := s.(type) {
	case *codegen.Alloc:
		v.sizes[s.Buf] = s.N
	case *codegen.Let:
		if !v.assigned[s.Reg] {
			v.values[s.Reg] = v.resolve(s.Value)
		}
	case *codegen.Team: // a range in its place knows as much
		v.values[s.ID] = v.t.Range(1<<24+len(v.values), s.Most, "")
	case *codegen.MatrixProduct:
		v.matrix(s)
	case *codegen.Four:
		for i := range s.Regs {
			v.proven("load by four", s.Buf, s.Base.Add(v.t.Index(4*s.At+i)), nil)
		}
	case *codegen.Store:
		if !v.proven("store", s.Buf, s.Index[0], nil) && v.unproven == nil {
			return &codegen.If{Cond: v.within(s.Buf, s.Index[0]), Body: []codegen.Stmt{s}}
		}
	case *codegen.If:
		n := len(v.conds)
		v.conds, v.seen = append(v.conds, v.resolve(s.Cond)), append(v.seen, map[*uop.UOp]bool{})
		c := codegen.WithBody(s, v.block(s.Body))
		v.conds, v.seen = v.conds[:n], v.seen[:n+1]
		return c
	case *codegen.Loop:
		old := v.lanes
		v.outdate(s) // an iteration comes after others
		if s.Kind == codegen.Vector {
			v.lanes = v.lanes.Or(v.facts.Set(s.Range))
		}
		c := codegen.WithBody(s, v.block(s.Body))
		v.lanes = old
		return c
	}
	return s
}

// matrix proves that all rows of a product of matrices lie within their scratch.
func (v *accesses) matrix(s *codegen.MatrixProduct) {
	free := func(i, n int) *uop.UOp { return v.t.Range(1<<25+i, n, "") }
	i, j, k := free(0, s.Rows), free(1, s.Cols), free(2, s.Steps)
	at := func(base, row *uop.UOp, n int, col *uop.UOp) *uop.UOp {
		return base.Add(row.Mul(v.t.Index(n))).Add(col)
	}
	ok := v.proven("row of a product", s.Acc, at(v.t.Index(0), i, s.Cols, j), nil)
	ok = v.proven("row of a factor", s.A, at(s.ABase, i, s.ARow, k), nil) && ok
	if ok = v.proven("row of a factor", s.B, at(s.BBase, k, s.BRow, j), nil) && ok; !ok && v.unproven == nil {
		refuse("matrix: a row is not proven to lie within its scratch")
	}
}

// loads guards the loads in a statement's own expressions.
func (v *accesses) loads(s codegen.Stmt) codegen.Stmt {
	need := map[*uop.UOp]bool{}
	seen := v.seen[len(v.seen)-1]
	known := func(u *uop.UOp) bool {
		return slices.ContainsFunc(v.seen, func(m map[*uop.UOp]bool) bool { return m[u] })
	}
	uop.Walk(codegen.Exprs(s), known, func(u *uop.UOp) {
		proven := !slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return !known(x) })
		if u.Op() == uop.Load && !v.proven("load", u.At(0), u.At(2), u) {
			need[u], proven = true, false
		}
		if proven {
			seen[u] = true
		}
	})
	if len(need) == 0 || v.unproven != nil {
		return s
	}
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp { w, _ := done.Get(u); return w }
	c := codegen.MapExprs(s, func(u *uop.UOp) *uop.UOp {
		return codegen.Remember(&done, u, func(u *uop.UOp) *uop.UOp {
			w := codegen.Remake(v.t, u, codegen.MapAll(u.Src(), get))
			if need[u] { // its index may hold loads that have got gates by now
				return v.t.Load(w.At(0), v.fold(w.At(1).And(v.within(w.At(0), w.At(2)))), w.At(2))
			}
			return w
		})
	})
	if b := codegen.Body(s); b != nil {
		return codegen.WithBody(c, b)
	}
	return c
}

// within is the condition that an index lies in a buffer.
func (v *accesses) within(buf, at *uop.UOp) *uop.UOp {
	v.guarded++
	return v.fold(v.fold(v.t.Index(-1).Less(at)).And(v.fold(at.Less(v.t.Index(v.size(buf))))))
}

// proven says whether an access needs no condition. load is nil for a store.
func (v *accesses) proven(what string, buf, at, load *uop.UOp) bool {
	whole := v.resolve(at)
	if load != nil {
		whole = v.resolve(load)
	}
	conds := v.holding(whole)
	if load != nil {
		conds, whole = append(conds, whole.At(1)), whole.At(2)
	}
	if symbolic.Under(v.t, conds...).Within(whole, v.size(buf)) {
		return true
	}
	if v.unproven != nil {
		v.unproven(what, buf, whole, conds)
	}
	return false
}

// resolve replaces names by what they stand for.
func (v *accesses) resolve(u *uop.UOp) *uop.UOp {
	w := &codegen.Rewriter{Table: v.t, Fold: func(u *uop.UOp) *uop.UOp {
		if x := v.values[u]; x != nil {
			return x
		}
		return u
	}}
	return w.Do(u)
}

// holding are the conditions that protect an access.
func (v *accesses) holding(u *uop.UOp) []*uop.UOp {
	varies := v.facts.FreeRanges(u).And(v.lanes)
	return slices.DeleteFunc(slices.Clone(v.conds), func(c *uop.UOp) bool {
		return !v.facts.FreeRanges(c).And(v.lanes).Within(varies)
	})
}

func (v *accesses) size(buf *uop.UOp) int {
	if n, ok := v.sizes[buf]; ok {
		return n
	}
	return buf.Arg().(uop.ParamArg).N
}
