package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// quad is four neighbours: those from base + 4·at on, base being a multiple of 4.
type quad struct {
	buf, base *uop.UOp
	at        int
}

// leastOfFour is how many of four neighbours are used on average, at least, where they are loaded together.
const leastOfFour = 3

// fours loads neighbours of an array by four where that is one access instead of four, and one check of the index (Four). All
// loads of an array must lend themselves to it, for a language gives an array one type; and nothing may write it while the
// kernel runs, but the memory of a workgroup, which is loaded anew behind a barrier. It expects one index an access and names
// for what is used twice, and leaves the same values.
func (b *builder) fours(stmts []codegen.Stmt) []codegen.Stmt {
	f := &fourer{b: b, assigned: map[*uop.UOp]bool{}, chosen: map[*uop.UOp]bool{}, names: map[quad][4]*uop.UOp{}, shared: map[*uop.UOp]int{}}
	for _, s := range stmts {
		codegen.Writes(s, f.assigned)
	}
	if f.choose(stmts); len(f.chosen) == 0 {
		return stmts
	}
	return f.block(stmts)
}

type fourer struct {
	b        *builder
	assigned map[*uop.UOp]bool // registers and buffers that are written
	scope    symbolic.Scope
	chosen   map[*uop.UOp]bool // buffers
	shared   map[*uop.UOp]int  // elements of memory of the workgroup
	names    map[quad][4]*uop.UOp
	order    []quad // of the names, those of inner blocks last
}

// choose decides which arrays are read by four.
func (f *fourer) choose(stmts []codegen.Stmt) {
	type element struct {
		buf, base *uop.UOp
		at        int
	}
	loads, groups := map[*uop.UOp]int{}, map[*uop.UOp]int{}
	single, four, never := map[element]bool{}, map[quad]bool{}, map[*uop.UOp]bool{}
	codegen.Visit(stmts, func(s codegen.Stmt) {
		if l, ok := s.(*codegen.Let); ok && l.Reg.DType() == dtype.Index && !f.assigned[l.Reg] {
			f.scope.Define(l.Reg, l.Value)
		}
		if a, ok := s.(*codegen.Alloc); ok && a.Shared {
			f.shared[a.Buf] = a.N
		}
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() != uop.Load {
				continue
			}
			buf := u.At(0)
			base, c := f.base(u.At(2))
			if gate, ok := u.At(1).ConstValue(); never[buf] || !ok || !gate.Bool() || !f.fit(buf) || f.scope.Multiple(base) < 4 || !f.constant(base) {
				never[buf] = true
				continue
			}
			if e := (element{buf, base, c}); !single[e] {
				single[e] = true
				loads[buf]++
			}
			if q := (quad{buf, base, c >> 2}); !four[q] {
				four[q] = true
				groups[buf]++
			}
		}
	})
	for buf, n := range loads {
		if !never[buf] && n >= leastOfFour*groups[buf] {
			f.chosen[buf] = true
		}
	}
}

// fit says that an array consists of whole fours that nothing writes meanwhile.
func (f *fourer) fit(buf *uop.UOp) bool {
	if a := buf.Arg().(uop.ParamArg); !a.Scratch {
		return f.b.readByFour(f.b.Params[a.Slot])
	}
	n := f.shared[buf]
	return n > 0 && n%4 == 0 && f.b.Target.Fours(buf.DType())
}

// readByFour says that an argument consists of whole fours that the kernel only reads.
func (b *builder) readByFour(p codegen.Param) bool {
	n := 1
	for _, d := range p.Dims {
		n *= d
	}
	return !p.Write && n%4 == 0 && b.Target.Fours(p.DType)
}

// base takes a constant off an index.
func (f *fourer) base(u *uop.UOp) (base *uop.UOp, c int) {
	if n, ok := u.ConstInt(); ok {
		return f.b.Table.Index(0), n
	}
	if u.Op() == uop.Add {
		if n, ok := u.At(1).ConstInt(); ok {
			return u.At(0), n
		}
	}
	return u, 0
}

// constant says that an index keeps its value where it is in scope.
func (f *fourer) constant(u *uop.UOp) bool {
	return !slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return f.assigned[x] || x.Op() == uop.Load })
}

func (f *fourer) block(stmts []codegen.Stmt) []codegen.Stmt {
	known := len(f.order)
	var out []codegen.Stmt
	for _, s := range stmts {
		w := &codegen.Rewriter{Table: f.b.Table, Fold: func(u *uop.UOp) *uop.UOp {
			if u.Op() != uop.Load || !f.chosen[u.At(0)] {
				return u
			}
			base, c := f.base(u.At(2))
			q := quad{u.At(0), base, c >> 2}
			regs, ok := f.names[q]
			if !ok {
				for i := range regs {
					regs[i] = f.b.reg(u.DType())
				}
				f.names[q] = regs
				f.order = append(f.order, q)
				out = append(out, &codegen.Four{Regs: regs, Buf: q.buf, Base: q.base, At: q.at})
			}
			return regs[c&3]
		}}
		c := codegen.MapExprs(s, w.Do)
		f.outdate(s)
		if inside := codegen.Body(s); inside != nil {
			c = codegen.WithBody(c, f.block(inside))
		}
		out = append(out, c)
	}
	for _, q := range f.order[known:] {
		delete(f.names, q)
	}
	f.order = f.order[:known]
	return out
}

// outdate forgets what was loaded of the memory of the workgroup that a statement, or one in it, stores to or sees new.
func (f *fourer) outdate(s codegen.Stmt) {
	if len(f.shared) == 0 {
		return
	}
	codegen.Visit([]codegen.Stmt{s}, func(s codegen.Stmt) {
		store, ok := s.(*codegen.Store)
		if _, sync := s.(*codegen.Sync); !sync && (!ok || f.shared[store.Buf] == 0) {
			return
		}
		for q := range f.names {
			if f.shared[q.buf] > 0 && (!ok || q.buf == store.Buf) {
				delete(f.names, q)
			}
		}
	})
}
