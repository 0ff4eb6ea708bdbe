package wgsl

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// renderer spells one kernel, bound in one way.
type renderer struct {
	*draft
	ways    []binding
	arrays  []array // the kernel's buffers
	out     strings.Builder
	scratch []string              // declarations of thread-local arrays
	shared  []string              // of arrays of the workgroup
	local   map[*uop.UOp]string   // names of both
	fours   map[*uop.UOp]bool     // of those of the workgroup, what is read by four
	words   map[*uop.UOp]bool     // and truth values, which are kept as words
	mutable map[*uop.UOp]bool     // registers that are assigned
	scope   symbolic.Scope        // what is known of registers
	named   map[*uop.UOp]*uop.UOp // what a register that is not assigned stands for
	knowns  map[*uop.UOp]known
	hoisted map[*uop.UOp]string // conditions of the statement being written that have a name
	gates   int
	early   map[*uop.UOp]string // loads that have been made ahead of the statement being written
	loaded  int                 // such loads so far
	depth   int
	uses    map[string]bool // helpers
	order   []string
	inside  int // Thread or Grid loops that are open
	stride  int // invocations or workgroups of one iteration of the next of them
	open    int // Lane loops that are open

	parts map[*uop.UOp]string // registers that are parts of four
	quads int
}

func newRenderer(d *draft, ways []binding) *renderer {
	r := &renderer{draft: d, ways: ways, local: map[*uop.UOp]string{}, fours: map[*uop.UOp]bool{}, words: map[*uop.UOp]bool{}, mutable: map[*uop.UOp]bool{}, named: map[*uop.UOp]*uop.UOp{}, knowns: map[*uop.UOp]known{}, hoisted: map[*uop.UOp]string{}, early: map[*uop.UOp]string{},
		uses: map[string]bool{}, parts: map[*uop.UOp]string{}, stride: d.shares}
	r.newArrays(ways)
	codegen.Visit(d.p.Body, func(s codegen.Stmt) {
		switch s := s.(type) {
		case *codegen.Set:
			for _, g := range s.Regs {
				r.mutable[g] = true
			}
		case *codegen.SubgroupReduce:
			r.mutable[s.Reg] = true
		case *codegen.Four:
			if a := r.array(s.Buf); a != nil {
				a.four = true
			} else {
				r.fours[s.Buf] = true
			}
		case *codegen.HorizontalReduce, *codegen.Loop:
			if l, ok := s.(*codegen.Loop); ok && l.Kind < codegen.Tile {
				return
			}
			panic(fmt.Sprintf("BUG: WGSL cannot spell this:\n%s", codegen.Dump(d.p)))
		}
	})
	return r
}

// subgroupOps spell what reduces registers over a subgroup.
var subgroupOps = map[uop.Op]string{uop.Add: "subgroupAdd", uop.Mul: "subgroupMul", uop.Max: "subgroupMax"}

func (r *renderer) line(depth int, format string, a ...any) {
	r.out.WriteString(strings.Repeat("\t", depth))
	fmt.Fprintf(&r.out, format, a...)
	r.out.WriteByte('\n')
}

func (r *renderer) block(stmts []codegen.Stmt, depth int) {
	for i := 0; i < len(stmts); i++ {
		r.depth = depth
		clear(r.hoisted)
		if s, ok := stmts[i].(*codegen.Store); ok {
			if r.storeFour(stmts[i:], depth) {
				i += 3
				continue
			}
			if n := r.packed(stmts[i:], depth); n > 0 {
				i += n - 1
				continue
			}
			r.store(s, depth)
			continue
		}
		r.stmt(stmts[i], depth)
	}
}

func (r *renderer) stmt(s codegen.Stmt, depth int) {
	switch s := s.(type) {
	case *codegen.Loop:
		r.loop(s, depth)
	case *codegen.If:
		r.line(depth, "if (%s) {", r.expr(s.Cond))
		r.block(s.Body, depth+1)
		r.line(depth, "}")
	case *codegen.Let:
		word := "let"
		if r.mutable[s.Reg] {
			word = "var"
		} else {
			if r.named[s.Reg] = s.Value; s.Reg.DType() == dtype.Index {
				r.scope.Define(s.Reg, s.Value)
			}
		}
		r.line(depth, "%s %s: %s = %s;", word, regName(s.Reg), value(s.Reg.DType()), r.expr(s.Value))
	case *codegen.Set:
		r.set(s, depth)
	case *codegen.Alloc:
		name := fmt.Sprintf("s%d", len(r.local))
		r.local[s.Buf] = name
		r.words[s.Buf] = s.Shared && s.Buf.DType() == dtype.Bool
		if r.fours[s.Buf] {
			r.shared = append(r.shared, fmt.Sprintf("var<workgroup> %s: array<vec4<%s>, %d>;\n", name, value(s.Buf.DType()), s.N/4))
			return
		}
		if s.Shared {
			r.shared = append(r.shared, fmt.Sprintf("var<workgroup> %s: array<%s, %d>;\n", name, kept(s.Buf.DType()), s.N))
			return
		}
		r.scratch = append(r.scratch, fmt.Sprintf("var %s: array<%s, %d>;", name, value(s.Buf.DType()), s.N))
	case *codegen.Four:
		r.four(s, depth)
	case *codegen.Sync:
		r.line(depth, "workgroupBarrier();")
	case *codegen.Team:
		r.line(depth, "let %s = i32(si); let %s = i32(sg); let %s = i32(sn);", regName(s.Lane), regName(s.ID), regName(s.Count))
	case *codegen.SubgroupReduce:
		g, f := regName(s.Reg), subgroupOps[s.Op]
		if s.Op == uop.Max && s.Reg.DType() == dtype.F32 {
			f = r.use("subgroup_maximum")
		}
		r.line(depth, "%s = %s(%s);", g, f, g)
	default:
		panic(fmt.Sprintf("BUG: cannot spell %T", s))
	}
}

// loop: the iterations of nested Thread loops are the invocations, the innermost running fastest; so with Grid loops
// and workgroups.
func (r *renderer) loop(l *codegen.Loop, depth int) {
	v, n := rangeName(l.Range), extent(l.Range)
	switch l.Kind {
	case codegen.Lane:
		r.lane(l, depth)
		return
	case codegen.Serial:
		end := fmt.Sprint(n)
		if l.Count != nil {
			end = regName(l.Count)
		}
		if l.Copies > 1 && l.Count == nil {
			r.copies(l, depth)
			return
		}
		r.line(depth, "for (var %s: i32 = 0; %s < %s; %s++) {", v, v, end, v)
		r.block(l.Body, depth+1)
		r.line(depth, "}")
		return
	}
	old := r.stride
	r.stride = countThreads(l.Body)
	at := "at"
	if r.stride > 1 {
		at = fmt.Sprintf("at / %d", r.stride)
	}
	if r.inside > 0 {
		at = fmt.Sprintf("(%s) %% %d", at, n)
	}
	r.line(depth, "let %s = %s;", v, at)
	r.inside++
	r.block(l.Body, depth)
	r.inside--
	r.stride = old
}

// lane: the iterations of nested Lane loops are the invocations of a workgroup. Those that are too many wait.
func (r *renderer) lane(l *codegen.Loop, depth int) {
	n, inner := extent(l.Range), codegen.GroupSize(l.Body)
	open := "{"
	if r.open == 0 && n*inner < r.lanes {
		open = fmt.Sprintf("if (lane < %d) {", n*inner)
	}
	at := "lane"
	if inner > 1 {
		at = fmt.Sprintf("lane / %d", inner)
	}
	if r.open > 0 {
		at = fmt.Sprintf("(%s) %% %d", at, n)
	}
	r.line(depth, "%s", open)
	r.line(depth+1, "let %s = %s;", rangeName(l.Range), at)
	r.open++
	r.block(l.Body, depth+1)
	r.open--
	r.line(depth, "}")
}

func (r *renderer) set(s *codegen.Set, depth int) {
	if len(s.Regs) == 1 {
		r.line(depth, "%s = %s;", regName(s.Regs[0]), r.expr(s.Values[0]))
		return
	}
	values := make([]string, len(s.Values))
	for i, v := range s.Values {
		values[i] = r.expr(v)
	}
	r.line(depth, "{")
	for i, v := range values {
		r.line(depth+1, "let t%d = %s;", i, v)
	}
	for i, g := range s.Regs {
		r.line(depth+1, "%s = t%d;", regName(g), i)
	}
	r.line(depth, "}")
}

// array is a buffer; for thread-local memory and that of a workgroup it is nil.
func (r *renderer) array(buf *uop.UOp) *array {
	if a := buf.Arg().(uop.ParamArg); !a.Scratch {
		return &r.arrays[a.Slot]
	}
	return nil
}

// element spells an element of an array, as it lies there.
func (r *renderer) element(buf *uop.UOp, index string) string {
	name := r.local[buf]
	if a := r.array(buf); a != nil {
		name = a.name
	} else if r.fours[buf] {
		return fmt.Sprintf("%s[%s >> 2u][%s & 3]", name, index, index)
	}
	return name + "[" + index + "]"
}

func (r *renderer) store(s *codegen.Store, depth int) {
	a := r.array(s.Buf)
	index, v := r.expr(s.Index[0]), r.expr(s.Value)
	switch d := s.Buf.DType(); {
	case a == nil && r.words[s.Buf]:
		v = "select(0u, 1u, " + v + ")"
	case a == nil:
	case a.parts > 1:
		a.store = true
		r.line(depth, "store_%s(%s, %s);", a.name, index, r.word(d, v))
		return
	case d == dtype.F16:
		v = "f16(" + v + ")"
	}
	r.line(depth, "%s = %s;", r.element(s.Buf, index), v)
}

// packed puts stores of all parts of one word together, and gives how many statements that are: loads by four may stand
// between them.
func (r *renderer) packed(stmts []codegen.Stmt, depth int) int {
	first := stmts[0].(*codegen.Store)
	a := r.array(first.Buf)
	if a == nil {
		return 0
	}
	base, c := offset(first.Index[0])
	if a.parts == 1 || r.multiple(base, c) < a.parts {
		return 0
	}
	var stores []*codegen.Store
	var fours []*codegen.Four
	n := 0
	for ; n < len(stmts) && len(stores) < a.parts; n++ {
		switch s := stmts[n].(type) {
		case *codegen.Four:
			fours = append(fours, s)
		case *codegen.Store:
			if b, k := offset(s.Index[0]); s.Buf != first.Buf || b != base || k != c+len(stores) {
				return 0
			}
			stores = append(stores, s)
		default:
			return 0
		}
	}
	if len(stores) < a.parts {
		return 0
	}
	for _, s := range fours {
		r.four(s, depth)
	}
	var words []string
	for i, s := range stores {
		w := r.word(s.Buf.DType(), r.expr(s.Value))
		if i > 0 {
			w = fmt.Sprintf("(%s << %du)", w, i*32/a.parts)
		}
		words = append(words, w)
	}
	r.line(depth, "%s[%s >> %du] = %s;", a.name, r.expr(first.Index[0]), map[int]int{2: 1, 4: 2}[a.parts], strings.Join(words, " | "))
	return n
}

// use notes a helper and what it needs.
func (r *renderer) use(name string) string {
	if !r.uses[name] {
		for _, n := range needs()[name] {
			r.use(n)
		}
		r.uses[name] = true
		r.order = append(r.order, name)
	}
	return name
}

func extent(u *uop.UOp) int       { return u.Arg().(uop.RangeArg).N }
func rangeName(u *uop.UOp) string { return fmt.Sprintf("j%d", u.Arg().(uop.RangeArg).ID) }
func regName(u *uop.UOp) string   { return fmt.Sprintf("v%d", u.Arg().(uop.RegArg).ID) }
