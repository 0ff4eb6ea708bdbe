package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// placer names values: each is computed in the outermost loop that defines what it depends on, values used
// more than once get a name. A load stays below what stores to its buffer and inside conditions.
type placer struct {
	*builder
	scopes []*scope
	depth  map[*uop.UOp]int // of ranges and registers
	named  uop.Map[*uop.UOp]
	refs   uop.Map[int]
	muts   uop.Map[[]*uop.UOp]
	ever   map[*uop.UOp]bool // registers and buffers that are written at all
	active []named

	branches  bool // there is a choice, and enough that may stand behind its condition
	branching int  // how many conditions of branches are open
}

// named is a name whose value may become stale.
type named struct {
	key  *uop.UOp
	muts []*uop.UOp
}

// scope is one open block.
type scope struct {
	out     []codegen.Stmt
	writes  map[*uop.UOp]bool
	barrier bool
	levels  uop.Map[int]
	keys    []*uop.UOp
}

// mostSpelled is how many nodes an index that differs between lanes may be spelled with where it is used again: each use of a
// part spells it once more, and chains of quotients and remainders would double with every link.
const mostSpelled = 256

// deepest is how high an expression may grow before a part of it gets a name: C compilers nest brackets so far.
const deepest = 24

func (b *builder) placeAll(stmts []codegen.Stmt) []codegen.Stmt {
	p := &placer{builder: b, depth: map[*uop.UOp]int{}, ever: map[*uop.UOp]bool{}}
	for _, s := range stmts {
		codegen.Writes(s, p.ever)
	}
	seen := map[*uop.UOp]bool{}
	choice, cost := false, 0.0
	codegen.Visit(stmts, func(s codegen.Stmt) {
		uop.Walk(codegen.Exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
			seen[u] = true
			if u.DType() != dtype.Index {
				choice, cost = choice || u.Op() == uop.Where && u.DType() != dtype.Bool, cost+uop.Info(u.Op()).Cost.Loop
			}
			for _, x := range u.Src() {
				n, _ := p.refs.Get(x)
				p.refs.Set(x, n+1)
			}
		})
		for _, u := range codegen.Exprs(s) {
			n, _ := p.refs.Get(u)
			p.refs.Set(u, n+1)
		}
	})
	p.branches = p.Target.Branches && choice && cost >= branchCost/branchShare
	return p.block(stmts, &scope{})
}

func (p *placer) block(stmts []codegen.Stmt, sc *scope) []codegen.Stmt {
	sc.writes = map[*uop.UOp]bool{}
	for _, s := range stmts {
		codegen.Writes(s, sc.writes)
	}
	p.scopes = append(p.scopes, sc)
	at := len(p.scopes) - 1
	for _, s := range stmts {
		p.stmt(s, sc, at)
		p.stale(s)
	}
	p.scopes = p.scopes[:at]
	for _, k := range sc.keys {
		p.named.Set(k, nil)
	}
	return sc.out
}

func (p *placer) stmt(s codegen.Stmt, sc *scope, at int) {
	switch s := s.(type) {
	case *codegen.Loop:
		p.depth[s.Range] = at + 1
		sc.out = append(sc.out, codegen.WithBody(s, p.block(s.Body, &scope{})))
		return
	case *codegen.If:
		cond := p.value(s.Cond)
		sc.out = append(sc.out, &codegen.If{Cond: cond, Body: p.block(s.Body, &scope{barrier: true})})
		return
	case *codegen.Alloc:
		p.depth[s.Buf] = at
	case *codegen.Team:
		p.depth[s.Lane], p.depth[s.ID], p.depth[s.Count] = at, at, at
	case *codegen.Let:
		value := p.value(s.Value)
		p.depth[s.Reg] = at
		sc.out = append(sc.out, &codegen.Let{Reg: s.Reg, Value: value})
		return
	}
	var values []*uop.UOp
	for _, u := range codegen.Exprs(s) {
		values = append(values, p.value(u))
	}
	switch s := s.(type) {
	case *codegen.Set:
		sc.out = append(sc.out, &codegen.Set{Regs: s.Regs, Values: values})
	case *codegen.HorizontalReduce:
		sc.out = append(sc.out, &codegen.HorizontalReduce{Regs: s.Regs, Monoid: s.Monoid, Range: s.Range, Values: values})
	case *codegen.Store:
		sc.out = append(sc.out, &codegen.Store{Buf: s.Buf, Index: values[1:], Value: values[0]})
	case *codegen.Prefetch:
		sc.out = append(sc.out, &codegen.Prefetch{Buf: s.Buf, Index: values[0], Write: s.Write})
	case *codegen.MatrixProduct:
		c := *s
		c.ABase, c.BBase = values[0], values[1]
		sc.out = append(sc.out, &c)
	default:
		sc.out = append(sc.out, s)
	}
}

// stale forgets names whose value a statement has changed.
func (p *placer) stale(s codegen.Stmt) {
	if len(p.active) == 0 {
		return
	}
	w := map[*uop.UOp]bool{}
	codegen.Writes(s, w)
	if len(w) == 0 {
		return
	}
	p.active = slices.DeleteFunc(p.active, func(n named) bool {
		if slices.ContainsFunc(n.muts, func(m *uop.UOp) bool { return w[m] }) {
			p.named.Set(n.key, nil)
			return true
		}
		return false
	})
}

// level is the depth of the outermost block in which an expression can be computed.
func (p *placer) level(u *uop.UOp) int {
	memo := &p.scopes[len(p.scopes)-1].levels
	if l, ok := memo.Get(u); ok {
		return l
	}
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool { _, ok := memo.Get(u); return ok }, func(u *uop.UOp) {
		l := 0
		for _, s := range u.Src() {
			x, _ := memo.Get(s)
			l = max(l, x)
		}
		switch u.Op() {
		case uop.Range, uop.Reg:
			l = max(p.depth[u], p.written(u))
		case uop.Load:
			l = max(l, p.depth[u.At(0)], p.written(u.At(0)))
			for i, sc := range p.scopes {
				if sc.barrier {
					l = max(l, i)
				}
			}
		}
		memo.Set(u, l)
	})
	l, _ := memo.Get(u)
	return l
}

// written is the depth of the innermost open block that assigns u.
func (p *placer) written(u *uop.UOp) int {
	if p.ever[u] {
		for i := len(p.scopes) - 1; i > 0; i-- {
			if p.scopes[i].writes[u] {
				return i
			}
		}
	}
	return 0
}

// inline says that a value never gets a name: leaves, and indices that differ between lanes, of which languages
// want to see base and stride. A choice between indices has neither, and chains of them would double with every use.
func (p *placer) inline(u *uop.UOp) bool {
	if n, _ := p.refs.Get(u); n > 1 && u.Op() == uop.Where {
		return false
	}
	return len(u.Src()) == 0 || isOffset(u) || u.DType() == dtype.Index && !p.Facts.FreeRanges(u).Disjoint(p.vectors)
}

// isOffset says that u is an index and a constant: what machines add for nothing.
func isOffset(u *uop.UOp) bool {
	return u.Op() == uop.Add && u.DType() == dtype.Index && u.At(1).Op() == uop.Const
}

// value is the expression as the current block sees it: what is computed elsewhere, or twice, replaced by names.
func (p *placer) value(root *uop.UOp) *uop.UOp {
	if p.branches {
		p.branch(root)
	}
	here := len(p.scopes) - 1
	type built struct {
		u      *uop.UOp
		height int
		size   int // nodes, counted once a use
	}
	var done uop.Map[built]
	get := func(u *uop.UOp) built {
		if r, _ := p.named.Get(u); r != nil {
			return built{r, 0, 1}
		}
		b, _ := done.Get(u)
		return b
	}
	give := func(u *uop.UOp, level int) built {
		b := get(u)
		if p.inline(u) || b.u.Op() == uop.Reg {
			return b
		}
		return built{p.name(u, b.u, level), 0, 1}
	}
	cut := func(u *uop.UOp) bool {
		r, _ := p.named.Get(u)
		return r != nil
	}
	uop.Walk([]*uop.UOp{root}, cut, func(u *uop.UOp) {
		l := p.level(u)
		src := make([]*uop.UOp, len(u.Src()))
		height, size := 0, 1
		for i, s := range u.Src() {
			b := get(s)
			if ls := p.level(s); ls < l || b.height > deepest || isOffset(u) {
				b = give(s, ls)
			}
			src[i], height, size = b.u, max(height, b.height+1), size+b.size
		}
		done.Set(u, built{codegen.Remake(p.Table, u, src), height, size})
		switch n, _ := p.refs.Get(u); {
		case n > 1 && size > mostSpelled:
			p.name(u, get(u).u, l)
		case n > 1 && !p.inline(u):
			give(u, l)
		}
	})
	b := get(root)
	if l := p.level(root); l < here {
		b = give(root, l)
	}
	return b.u
}

// name declares u, spelled as v, in the block at a level.
func (p *placer) name(u, v *uop.UOp, level int) *uop.UOp {
	sc := p.scopes[level]
	r := p.reg(u.DType())
	sc.out = append(sc.out, &codegen.Let{Reg: r, Value: v})
	sc.keys = append(sc.keys, u)
	p.depth[r] = level
	p.named.Set(u, r)
	if m := p.mutable(u); len(m) > 0 {
		p.active = append(p.active, named{u, m})
	}
	return r
}

// mutable lists what a value depends on that is assigned somewhere.
func (p *placer) mutable(u *uop.UOp) []*uop.UOp {
	if m, ok := p.muts.Get(u); ok {
		return m
	}
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool { _, ok := p.muts.Get(u); return ok }, func(u *uop.UOp) {
		var m []*uop.UOp
		if p.ever[u] {
			m = append(m, u)
		}
		for _, s := range u.Src() {
			x, _ := p.muts.Get(s)
			for _, y := range x {
				if !slices.Contains(m, y) {
					m = append(m, y)
				}
			}
		}
		p.muts.Set(u, m)
	})
	m, _ := p.muts.Get(u)
	return m
}

// linearise gives every access one linear offset, its terms ordered from the outermost loop to the innermost
// so that the outer part can be computed outside.
func (b *builder) linearise(stmts []codegen.Stmt) []codegen.Stmt {
	codegen.Visit(stmts, func(s codegen.Stmt) {
		if l, ok := s.(*codegen.Loop); ok && l.Kind == codegen.Vector {
			b.vectors = b.vectors.Or(b.Facts.Set(l.Range))
		}
	})
	return b.lineariseIn(stmts, map[*uop.UOp]int{}, 0)
}

func (b *builder) lineariseIn(stmts []codegen.Stmt, depth map[*uop.UOp]int, at int) []codegen.Stmt {
	w := &codegen.Rewriter{Table: b.Table}
	w.Fold = func(u *uop.UOp) *uop.UOp {
		if u.Op() == uop.Load {
			return b.Table.Load(u.At(0), u.At(1), b.offset(u.At(0), u.Src()[2:], depth))
		}
		return b.ordered(u, depth)
	}
	out := make([]codegen.Stmt, len(stmts))
	for i, s := range stmts {
		c := codegen.MapExprs(s, w.Do)
		if st, ok := c.(*codegen.Store); ok {
			st.Index = []*uop.UOp{w.Do(b.offset(st.Buf, st.Index, depth))}
		}
		if inside := codegen.Body(s); inside != nil {
			if l, ok := s.(*codegen.Loop); ok {
				depth[l.Range] = at + 1
			}
			c = codegen.WithBody(c, b.lineariseIn(inside, depth, at+1))
		}
		out[i] = c
	}
	return out
}

// ordered sorts the terms of a sum of indices.
func (b *builder) ordered(u *uop.UOp, depth map[*uop.UOp]int) *uop.UOp {
	if u.DType() != dtype.Index || u.Op() != uop.Add && u.Op() != uop.Mul && u.Op() != uop.Neg {
		return u
	}
	return b.sum(b.Facts.Form(u), depth)
}

func (b *builder) offset(buf *uop.UOp, index []*uop.UOp, depth map[*uop.UOp]int) *uop.UOp {
	var a affine.Form
	if arg := buf.Arg().(uop.ParamArg); arg.Scratch {
		a = b.Facts.Form(index[0])
	} else {
		a = b.Linear(arg.Slot, index)
	}
	return b.sum(a, depth)
}

// sum builds an affine form: terms of outer loops first, then the constant, then lanes.
func (b *builder) sum(a affine.Form, depth map[*uop.UOp]int) *uop.UOp {
	var scalar, lane affine.Form
	scalar.Const = a.Const
	for _, m := range a.Terms {
		if b.Facts.FreeRanges(m.Node).Disjoint(b.vectors) {
			scalar.Terms = append(scalar.Terms, m)
		} else {
			lane.Terms = append(lane.Terms, m)
		}
	}
	deep := func(t affine.Term) (d int) {
		b.Facts.FreeRanges(t.Node).Each(func(i int) { d = max(d, depth[b.Facts.Ranges[i]]) })
		return d
	}
	slices.SortStableFunc(scalar.Terms, func(x, y affine.Term) int { return deep(x) - deep(y) })
	switch {
	case len(lane.Terms) == 0:
		return scalar.Node(b.Table)
	case len(scalar.Terms) == 0 && scalar.Const == 0:
		return lane.Node(b.Table)
	}
	return scalar.Node(b.Table).Add(lane.Node(b.Table))
}
