package c

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// Lanes that lie apart are loaded one by one. Where their neighbours are loaded as well, as in a transpose, whole vectors are
// loaded along the neighbours instead, each element once, and turned in registers: lane l of result j is element j of row l.

// turned is a block of loads: as many neighbours as there are lanes.
type turned struct {
	elem, p, base string
	stride        int
	gate          *uop.UOp   // under which all are loaded
	loads         []*uop.UOp // by neighbour
	first         int        // the statement before which they are loaded
}

// apart is what loads of a block have in common.
type apartKey struct {
	buf, base, gate *uop.UOp
	stride          int
}

// turns finds the blocks among the loads of statements that follow each other; each is listed at the statement that uses it first.
func (r *renderer) turns(stmts []codegen.Stmt) map[int][]turned {
	if r.n < 4 || r.mask != "" {
		return nil
	}
	type found struct {
		at    map[int]*uop.UOp // by distance from the base
		first map[int]int
	}
	all := map[apartKey]*found{}
	var order []apartKey
	for i, s := range stmts {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() != uop.Load || !r.vec(u) || r.turned[u] != "" || r.written(u.At(0)) {
				continue
			}
			base, c, stride, ok := affine.StridedFrom(u.At(2).Home(), u.At(2), r.lane, r.vary)
			if !ok || codegen.Abs(stride) < r.n || slices.ContainsFunc(uop.Topo(base, u.At(1)), func(x *uop.UOp) bool { return x.Op() == uop.Load }) {
				continue
			}
			k := apartKey{u.At(0), base, u.At(1), stride}
			f := all[k]
			if f == nil {
				f = &found{map[int]*uop.UOp{}, map[int]int{}}
				all[k] = f
				order = append(order, k)
			}
			if f.at[c] == nil {
				f.at[c], f.first[c] = u, i
			}
		}
	}
	out := map[int][]turned{}
	for _, k := range order {
		f := all[k]
		var at []int
		for c := range f.at {
			at = append(at, c)
		}
		slices.Sort(at)
		for i := 0; i+r.n <= len(at); {
			if at[i+r.n-1] != at[i]+r.n-1 {
				i++
				continue
			}
			t := turned{elem: elem(k.buf.DType()), p: r.pointer(k.buf), base: r.expr(affine.Plus(k.base, at[i])), stride: k.stride, gate: k.gate, first: len(stmts)}
			for _, c := range at[i : i+r.n] {
				t.loads = append(t.loads, f.at[c])
				t.first = min(t.first, f.first[c])
			}
			out[t.first] = append(out[t.first], t)
			i += r.n
		}
	}
	return out
}

// written says that the kernel stores to a buffer: its elements may change between two loads.
func (r *renderer) written(buf *uop.UOp) bool {
	a := buf.Arg().(uop.ParamArg)
	return a.Scratch || r.p.Params[a.Slot].Write
}

// turn loads a block and says where each load is to be found.
func (r *renderer) turn(t turned, depth int) {
	name := fmt.Sprintf("q%d", r.blocks)
	r.blocks++
	r.line(depth, "%s %s[%d];", r.vtype(t.elem), name, r.n)
	switch {
	case t.gate.IsConst(1):
		r.line(depth, "%s(%s + %s, %d, %s);", r.turner(t.elem, r.n, t.stride), t.p, t.base, t.stride, name)
	case r.vec(t.gate):
		r.line(depth, "%s(%s + %s, %d, %s, %s);", r.someTurner(t.elem, t.stride), t.p, t.base, t.stride, r.maskOf(t.gate, 8), name)
	default:
		r.line(depth, "if (%s) %s(%s + %s, %d, %s); else __builtin_memset(%[6]s, 0, sizeof %[6]s);", r.expr(t.gate), r.turner(t.elem, r.n, t.stride), t.p, t.base, t.stride, name)
	}
	for i, u := range t.loads {
		r.turned[u] = fmt.Sprintf("%s[%d]", name, i)
	}
}

// turner is the name of a function that loads rows and turns as many of their elements. Rows that are shorter than vectors are loaded with what
// lies behind them, the last ones with what lies before: nothing behind the last of all elements is touched.
func (r *renderer) turner(e string, columns, stride int) string {
	v, n := r.vtype(e), r.n
	name := "turn_" + v
	if columns < n {
		name = fmt.Sprintf("turn%dby%d_%s", columns, stride, v)
	}
	text := fmt.Sprintf("static inline void %s(const %s *p, int64_t s, %s *o) {\n", name, byElem[e], v)
	now := make([]string, n)
	for i := range now {
		now[i] = fmt.Sprintf("a%d", i)
		if past := i*stride + n - ((n-1)*stride + columns); past > 0 && columns < n {
			text += fmt.Sprintf("\t%[1]s w%[2]d = *(const %[1]su *)(p + %[2]d * s - %[3]d), a%[2]d = __builtin_shufflevector(w%[2]d, w%[2]d, %[4]s);\n", v, i, past,
				each(n, func(k int) string { return fmt.Sprint((k + past) % n) }))
		} else {
			text += fmt.Sprintf("\t%s a%d = *(const %su *)(p + %d * s);\n", v, i, v, i)
		}
	}
	network, now := turning(v, now)
	text += network
	text += "\t" + join(columns, " ", func(i int) string { return fmt.Sprintf("o[%d] = %s;", i, now[i]) }) + "\n}\n"
	r.define(name, text)
	return name
}

// someTurner is the name of a function that turns those rows of as many elements as there are lanes that a mask says; the others are 0, and untouched.
func (r *renderer) someTurner(e string, stride int) string {
	all, v, n, m := r.turner(e, r.n, stride), r.vtype(e), r.n, r.vtype("i8")
	name := "turnm_" + v
	now := make([]string, n)
	text := fmt.Sprintf("static inline void %s(const %s *p, int64_t s, %s m, %s *o) {\n\t%[3]s all = ~(%[3]s){0};\n\tif (!__builtin_memcmp(&m, &all, sizeof m)) { %[5]s(p, s, o); return; }\n",
		name, byElem[e], m, v, all)
	for i := range now {
		now[i] = fmt.Sprintf("a%d", i)
		text += fmt.Sprintf("\t%[1]s a%[2]d = {0};\n\tif (m[%[2]d]) a%[2]d = *(const %[1]su *)(p + %[2]d * s);\n", v, i)
	}
	network, now := turning(v, now)
	r.define(name, text+network+"\t"+join(n, " ", func(i int) string { return fmt.Sprintf("o[%d] = %s;", i, now[i]) })+"\n}\n")
	return name
}

// turning spells how as many vectors as they have elements are turned, and names the results: each step puts the elements at even places
// of two vectors into one and those at odd places into another, so that after as many steps as a place has bits a vector holds one place.
func turning(v string, now []string) (text string, turned []string) {
	n := len(now)
	for step, w := 0, 1; w < n; step, w = step+1, 2*w {
		next := make([]string, n)
		group := n / w // vectors that hold the same places
		for g := range w {
			for i := range group / 2 {
				x, y := now[g*group+2*i], now[g*group+2*i+1]
				for odd := range 2 {
					to := (g+odd*w)*(group/2) + i
					next[to] = fmt.Sprintf("%c%d", 'b'+step, to)
					text += fmt.Sprintf("\t%s %s = __builtin_shufflevector(%s, %s, %s);\n", v, next[to], x, y, each(n, func(k int) string { return fmt.Sprint(2*k + odd) }))
				}
			}
		}
		now = next
	}
	return text, now
}
