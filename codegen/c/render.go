package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// renderer writes one kernel.
type renderer struct {
	p       *codegen.Program
	out     strings.Builder
	head2   strings.Builder // helpers, once a module
	helpers map[string]bool
	params  map[*uop.UOp]string
	scratch int64
	allocs  int

	// Inside a Vector loop:
	n        int                   // lanes; 0 outside
	lane     *uop.UOp              // its range
	vary     func(*uop.UOp) bool   // differs between lanes
	mask     string                // lanes that take part; "" for all
	bits     int                   // of that mask
	class    map[*uop.UOp]int      // bits of mask registers
	lanesOf  map[*uop.UOp]bool     // registers declared as vectors
	turned   map[*uop.UOp]string   // loads that are turned already, in this block or around it
	blocks   int                   // blocks of them so far
	reads    map[*uop.UOp]bool     // buffers that are read
	assigned map[*uop.UOp]bool     // registers that are set after they were declared
	masks    map[*uop.UOp]*uop.UOp // values of the masks among the others
	past512  bool                  // lines were written past the caches
	agree    bool                  // loads have a branch without a mask, for where all lanes pass their gate
	mixed    bool                  // what is written is for lanes that choose differently: choices are selects
	tiles    bool                  // it multiplies matrices, for which the machine is set up
	calls    bool                  // what is written runs seldom beside a loop in the same block, or has no registers to lose: see called

	repeated

	later map[*codegen.Store]string // where stores of a loop leave what is turned and stored behind it
}

func (r *renderer) line(depth int, format string, a ...any) {
	r.out.WriteString(indent(depth))
	fmt.Fprintf(&r.out, format, a...)
	r.out.WriteByte('\n')
}

func (r *renderer) head() {
	for i, q := range r.p.Params {
		c := "const "
		if q.Write {
			c = ""
		}
		t := stored(q.DType)
		r.line(1, "%s%s *restrict p%d = (%s%s *)buf[%d];", c, t, i, c, t, i)
	}
}

func (r *renderer) block(stmts []codegen.Stmt, depth int) {
	was := r.calls
	r.calls = slices.ContainsFunc(stmts, loops) || sets(stmts) == 0 && r.spread(stmts) >= manySpread
	defer func() { r.calls = was }()
	defer r.repeated.block(depth)()
	stmts = r.neighboursTogether(stmts)
	turns := r.turns(stmts)
	inRegister := r.inRegister(stmts)
	next := 0 // the statement after those that are done
	for i, s := range stmts {
		for _, t := range turns[i] {
			r.turn(t, depth)
		}
		if i < next {
			continue
		}
		if next = i + r.turnStores(stmts[i:], depth); i < next {
			continue
		}
		r.stmt(s, depth)
		if l, ok := s.(*codegen.Let); ok && inRegister[l.Reg] {
			r.line(depth, "WEFT_IN_REGISTER%d(%s);", r.p.VectorBytes, regName(l.Reg))
		}
	}
	for _, list := range turns {
		for _, t := range list {
			for _, u := range t.loads {
				delete(r.turned, u)
			}
		}
	}
}

// manyTimes is from how many iterations of a loop on what lies beside it is not what takes the time.
const manyTimes = 16

// loops says that a statement is a loop of many iterations, those of loops in it counted.
func loops(s codegen.Stmt) bool { return iterations(s) >= manyTimes }

// manySpread is from how many vectors on, whose lanes are loaded or stored one by one, calling a function for each takes little beside them.
const manySpread = 4

// spread counts the vectors of a block, apart from those of loops in it, whose lanes lie apart in memory.
func (r *renderer) spread(stmts []codegen.Stmt) (n int) {
	if r.n == 0 || r.mask != "" {
		return 0
	}
	apart := func(index *uop.UOp) {
		if _, stride, ok := affine.Strided(index.Home(), index, r.lane, r.vary); ok && stride != 1 && r.vary(index) {
			n++
		}
	}
	for _, s := range stmts {
		if _, ok := s.(*codegen.Loop); ok {
			continue
		}
		for _, x := range codegen.Exprs(s) {
			for _, u := range uop.Topo(x) {
				if u.Op() == uop.Load {
					apart(u.At(1))
				}
			}
		}
		if s, ok := s.(*codegen.Store); ok {
			apart(s.Index[0])
		}
	}
	return n
}

func iterations(s codegen.Stmt) int {
	l, ok := s.(*codegen.Loop)
	if !ok {
		return 1
	}
	most := 1
	for _, x := range l.Body {
		most = max(most, iterations(x))
	}
	if l.Kind == codegen.Vector {
		return most
	}
	return min(l.Range.Arg().(uop.RangeArg).N, manyTimes) * most
}

func (r *renderer) stmt(s codegen.Stmt, depth int) {
	r.statement(s)
	defer func() { r.open = false }()
	switch s := s.(type) {
	case *codegen.Loop:
		r.loop(s, depth)
	case *codegen.If:
		r.cond(s, depth)
	case *codegen.Let:
		r.let(s, depth)
	case *codegen.Set:
		r.set(s, depth)
	case *codegen.HorizontalReduce:
		r.fold(s, depth)
	case *codegen.Store:
		r.store(s, depth)
	case *codegen.Prefetch:
		r.line(depth, "__builtin_prefetch(%s + %s%s);", r.pointer(s.Buf), r.expr(s.Index), map[bool]string{true: ", 1"}[s.Write])
	case *codegen.MatrixProduct:
		r.matrix(s, depth)
	case *codegen.Alloc:
		t := stored(s.Buf.DType())
		r.params[s.Buf] = fmt.Sprintf("s%d", r.allocs)
		r.line(depth, "%s *restrict s%d = (%s *)(scratch + %d);", t, r.allocs, t, r.scratch)
		r.allocs++
		r.scratch += codegen.ScratchBytes(s)
	default:
		panic(fmt.Sprintf("BUG: cannot spell %T", s))
	}
}

// crowded is from how many registers that each iteration sets on a loop is not to be unrolled. So many multiply-adds keep the processor busy; clang would
// unroll it all the same, hold what iterations share in more registers than there are, and spill accumulators.
const crowded = 8

// sets counts the registers that statements set, of loops only those of lanes.
func sets(stmts []codegen.Stmt) (n int) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Set:
			n += len(s.Regs)
		case *codegen.If:
			n += sets(s.Body)
		case *codegen.Loop:
			if s.Kind == codegen.Vector {
				n += sets(s.Body)
			}
		}
	}
	return n
}

func (r *renderer) loop(l *codegen.Loop, depth int) {
	v := rangeName(l.Range)
	switch l.Kind {
	case codegen.Vector:
		r.n, r.lane, r.vary = l.Range.Arg().(uop.RangeArg).N, l.Range, codegen.Varying(l)
		r.line(depth, "{")
		r.block(l.Body, depth+1)
		r.line(depth, "}")
		r.n, r.lane, r.vary = 0, nil, nil
		return
	case codegen.Thread:
		r.line(depth, "for (int64_t %s = lo; %s < hi; %s++) {", v, v, v)
	case codegen.Serial:
		if r.n > 0 {
			defer r.turnLoop(l, depth)()
		}
		if n := l.Range.Arg().(uop.RangeArg).N; l.Copies == n && n > 0 && r.n > 0 { // compilers see what iterations of lanes share
			shared := r.sharedPlaces(l)
			for i := range n {
				r.line(depth, "{")
				r.line(depth+1, "const int64_t %s = %d;", v, i)
				for _, u := range shared {
					r.line(depth+1, "WEFT_UNKNOWN(%s);", regName(u))
				}
				r.block(l.Body, depth+1)
				r.line(depth, "}")
			}
			return
		}
		if sets(l.Body) >= crowded {
			r.out.WriteString("#pragma clang loop unroll(disable)\n")
		}
		r.line(depth, "for (int64_t %s = 0; %s < %d; %s++) {", v, v, l.Range.Arg().(uop.RangeArg).N, v)
	default:
		panic(fmt.Sprintf("BUG: C has no loop of kind %c", l.Kind.Letter()))
	}
	r.block(l.Body, depth+1)
	r.line(depth, "}")
}

func (r *renderer) cond(s *codegen.If, depth int) {
	if !r.vec(s.Cond) {
		r.line(depth, "if (%s) {", r.expr(s.Cond))
		r.block(s.Body, depth+1)
		r.line(depth, "}")
		return
	}
	old, oldBits := r.mask, r.bits
	m := fmt.Sprintf("m%d", depth)
	r.line(depth, "{")
	bits := r.classOf(s.Cond)
	cond := r.maskOf(s.Cond, bits)
	if old != "" {
		cond = "(" + cond + ") & " + r.around(bits)
	}
	r.line(depth+1, "%s %s = %s;", r.vtype(maskElem(bits)), m, cond)
	r.mask, r.bits = m, bits
	if codegen.Pure(s.Body) {
		r.line(depth+1, "if (!%s(~%s)) {", r.helper("all", maskElem(bits)), m)
		r.block(s.Body, depth+2)
		r.line(depth+1, "}")
	} else {
		r.block(s.Body, depth+1)
	}
	r.mask, r.bits = old, oldBits
	r.line(depth, "}")
}

func (r *renderer) let(s *codegen.Let, depth int) {
	d := s.Reg.DType()
	if r.n > 0 && (r.vary(s.Reg) || r.vary(s.Value)) {
		r.lanesOf[s.Reg] = true
		if d == dtype.Bool {
			bits := r.classOf(s.Value)
			r.class[s.Reg] = bits
			if !slices.ContainsFunc(append(uop.Topo(s.Value), s.Reg), func(u *uop.UOp) bool { return r.assigned[u] }) {
				r.masks[s.Reg] = s.Value
			}
			r.line(depth, "%s %s = %s;", r.vtype(maskElem(bits)), regName(s.Reg), r.maskOf(s.Value, bits))
			return
		}
		r.line(depth, "%s %s = %s;", r.vtype(elem(d)), regName(s.Reg), r.vexpr(s.Value))
		return
	}
	r.line(depth, "%s %s = %s;", scalar(d), regName(s.Reg), r.expr(s.Value))
}

func (r *renderer) set(s *codegen.Set, depth int) {
	value := func(i int) string {
		reg := s.Regs[i]
		if !r.vec(reg) {
			return r.expr(s.Values[i])
		}
		if reg.DType() == dtype.Bool {
			v := r.maskOf(s.Values[i], r.class[reg])
			if r.mask != "" {
				m := r.around(r.class[reg])
				return fmt.Sprintf("(%s & %s) | (%s & ~%s)", v, m, regName(reg), m)
			}
			return v
		}
		v := r.vexpr(s.Values[i])
		if r.mask != "" {
			e := elem(reg.DType())
			return r.selectLanes(e, r.around(elemBits[e]), v, regName(reg))
		}
		return v
	}
	if len(s.Regs) == 1 {
		r.line(depth, "%s = %s;", regName(s.Regs[0]), value(0))
		return
	}
	r.line(depth, "{")
	for i, reg := range s.Regs {
		t := scalar(reg.DType())
		if r.vec(reg) {
			t = r.vtype(elem(reg.DType()))
			if reg.DType() == dtype.Bool {
				t = r.vtype(maskElem(r.class[reg]))
			}
		}
		r.line(depth+1, "%s t%d = %s;", t, i, value(i))
	}
	for i, reg := range s.Regs {
		r.line(depth+1, "%s = t%d;", regName(reg), i)
	}
	r.line(depth, "}")
}

// pointer is the buffer's name.
func (r *renderer) pointer(buf *uop.UOp) string {
	if a := buf.Arg().(uop.ParamArg); !a.Scratch {
		return fmt.Sprintf("p%d", a.Slot)
	}
	return r.params[buf]
}

func (r *renderer) store(s *codegen.Store, depth int) {
	p, index := r.pointer(s.Buf), s.Index[0]
	d := s.Buf.DType()
	if !r.vec(index) && !r.vec(s.Value) && r.mask == "" {
		r.line(depth, "%s[%s] = %s;", p, r.expr(index), r.expr(s.Value))
		return
	}
	var v string
	if d == dtype.Bool {
		v = fmt.Sprintf("((%s)%s & %s)", r.vtype("u8"), r.maskOf(s.Value, 8), r.splat("u8", "1"))
	} else {
		v = r.vexpr(s.Value)
	}
	if name := r.later[s]; name != "" {
		r.line(depth, "%s = %s;", name, v)
		return
	}
	e := elem(d)
	base, stride, ok := affine.Strided(index.Home(), index, r.lane, r.vary)
	switch {
	case ok && stride == 1 && r.mask == "" && r.n*elemBits[e] == 512 && r.past(s.Buf):
		r.past512 = true
		r.line(depth, "WEFT_PAST(%s + %s, %s);", p, r.expr(base), v)
	case ok && stride == 1 && r.mask == "":
		r.line(depth, "*(%su *)(%s + %s) = %s;", r.vtype(e), p, r.expr(base), v)
	case ok && r.mask == "":
		r.line(depth, "%s(%s + %s, %d, %s);", r.called("st", e), p, r.expr(base), stride, v)
	case r.mask == "":
		r.line(depth, "%s(%s, %s, %s);", r.helper("sti", e), p, r.vexpr(index), v)
	case ok && stride == 1:
		r.vtype("i8")
		r.line(depth, "%s(%s + %s, %s, %s);", r.helper("stc", e), p, r.expr(base), v, r.around(8))
	default:
		r.vtype("i8")
		r.line(depth, "%s(%s, %s, %s, %s);", r.helper("stm", e), p, r.vexpr(index), v, r.around(8))
	}
}

// past says that a buffer is written past the caches: it is larger than what they keep of it until it is read, and a line that is written
// whole need not be fetched before.
func (r *renderer) past(buf *uop.UOp) bool {
	a := buf.Arg().(uop.ParamArg)
	return !a.Scratch && a.N*buf.DType().Size() >= codegen.PastCaches && !r.reads[buf]
}

// fold merges lanes by halves, then into the scalars.
func (r *renderer) fold(s *codegen.HorizontalReduce, depth int) {
	r.line(depth, "{")
	x := make([]*uop.UOp, len(s.Values))
	y := make([]*uop.UOp, len(s.Values))
	t := s.Regs[0].Home()
	for i, v := range s.Values {
		x[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<20 + 2*i})
		y[i] = t.Make(uop.Reg, v.DType(), uop.RegArg{ID: 1<<20 + 2*i + 1})
		if v.DType() == dtype.Bool {
			r.class[x[i]], r.class[y[i]] = 8, 8
		}
		r.line(depth+1, "%s %s = %s, %s;", r.vtype(r.regElem(x[i])), regName(x[i]), r.asElem(v, r.regElem(x[i])), regName(y[i]))
	}
	merged := legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(x, y)...)
	old := r.vary
	inFold := map[*uop.UOp]bool{}
	for i := range x {
		inFold[x[i]], inFold[y[i]] = true, true
	}
	r.vary = dependsOn(inFold)
	for half := r.n / 2; half > 0; half /= 2 {
		for i := range x {
			r.line(depth+1, "%s = %s;", regName(y[i]), r.rotate(r.regElem(x[i]), regName(x[i]), half))
		}
		r.assign(x, merged, depth+1, true)
	}
	r.vary = func(*uop.UOp) bool { return false }
	for i := range x {
		cast := ""
		if x[i].DType() == dtype.Bool {
			cast = "1 & "
		}
		r.line(depth+1, "%s %sl = %s%s[0];", scalar(x[i].DType()), regName(x[i]), cast, regName(x[i]))
		y[i] = t.Make(uop.Reg, x[i].DType(), uop.RegArg{ID: 1<<21 + i})
		r.line(depth+1, "%s %s = %sl;", scalar(x[i].DType()), regName(y[i]), regName(x[i]))
	}
	r.assign(s.Regs, legal.Legalize(t, anyMachine, s.Monoid.Info().Merge(s.Regs, y)...), depth+1, false)
	r.vary = old
	r.line(depth, "}")
}

// anyMachine is asked which ops a HorizontalReduce may use: widths do not matter.
var anyMachine = Target(Machine{})

func dependsOn(set map[*uop.UOp]bool) func(u *uop.UOp) bool {
	memo := map[*uop.UOp]bool{}
	return func(u *uop.UOp) bool {
		for _, v := range uop.Topo(u) {
			if _, ok := memo[v]; ok {
				continue
			}
			d := set[v]
			for _, s := range v.Src() {
				d = d || memo[s]
			}
			memo[v] = d
		}
		return memo[u]
	}
}

// assign sets registers at once.
func (r *renderer) assign(regs, values []*uop.UOp, depth int, lanes bool) {
	r.line(depth, "{")
	for i, reg := range regs {
		if lanes {
			r.line(depth+1, "%s t%d = %s;", r.vtype(r.regElem(reg)), i, r.asElem(values[i], r.regElem(reg)))
		} else {
			r.line(depth+1, "%s t%d = %s;", scalar(reg.DType()), i, r.expr(values[i]))
		}
	}
	for i, reg := range regs {
		r.line(depth+1, "%s = t%d;", regName(reg), i)
	}
	r.line(depth, "}")
}

func (r *renderer) regElem(reg *uop.UOp) string {
	if reg.DType() == dtype.Bool {
		return maskElem(r.class[reg])
	}
	return elem(reg.DType())
}

// asElem spells a vector value, masks in the width of e.
func (r *renderer) asElem(u *uop.UOp, e string) string {
	if u.DType() == dtype.Bool {
		return r.maskOf(u, elemBits[e])
	}
	return r.vexpr(u)
}

func rangeName(u *uop.UOp) string { return fmt.Sprintf("i%d", u.Arg().(uop.RangeArg).ID) }
func regName(u *uop.UOp) string   { return fmt.Sprintf("v%d", u.Arg().(uop.RegArg).ID) }
