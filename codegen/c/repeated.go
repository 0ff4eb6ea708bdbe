package c

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What stands in a kernel's text very often is long once C compilers have put it in its place: each of its copies is code for every lane,
// before anything sees that copies are equal. Kernels that join many arrays and compute where an element lies repeat thus. They are written
// twice: first to count, then with a name for quotients that are equal, and with functions that stay functions.

const (
	manyEqual = 16 // quotients of lanes with the same text
	manyCalls = 32 // places of a function: there are branches between them, and few are taken
)

// apartText is counted as the bytes of choices that stand there for vectors that choose alike and for others; nothing else is called so.
const apartText = "apart"

// repeated is how often what may be much code stands in a kernel.
type repeated struct {
	now, before map[string]int    // before: in the text that was written to count
	names       map[string]string // of quotients, in this block and around it
	given       int
	depth       int
	open        bool // a line can be written before the statement that is being written
}

// again says that a kernel has to be written with these counts.
func (r *repeated) again() bool {
	for text, n := range r.now {
		switch {
		case text == apartText:
			if n > mostApartText {
				return true
			}
		case n >= manyCalls || n >= manyEqual && text[0] == '(':
			return true
		}
	}
	return false
}

// quotient gives the text of a division of indices, or the name of one that is written often.
func (r *renderer) quotient(u *uop.UOp, text string) string {
	if u.Op() != uop.IDiv && u.Op() != uop.Mod || u.DType() != dtype.Index {
		return text
	}
	if r.now[text]++; r.before[text] < manyEqual || !r.open {
		return text
	}
	if name := r.names[text]; name != "" {
		return name
	}
	if slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return x.Op() == uop.Load || r.assigned[x] }) {
		return text // it may be another value the next time
	}
	name := fmt.Sprintf("d%d", r.given)
	r.given++
	r.line(r.depth, "%s %s = %s;", r.vtype(elem(u.DType())), name, text)
	r.names[text] = name
	return name
}

// block makes the names of a block end with it.
func (r *repeated) block(depth int) (end func()) {
	names, was := r.names, r.depth
	r.names, r.depth = map[string]string{}, depth
	for text, name := range names {
		r.names[text] = name
	}
	return func() { r.names, r.depth = names, was }
}

// statement says whether a line can be written before a statement while its values are written.
func (r *repeated) statement(s codegen.Stmt) {
	switch s.(type) {
	case *codegen.Let, *codegen.Store:
		r.open = true
	default:
		r.open = false
	}
}

// function gives the name of a function that loads lanes, or of one that is not written out at each of its places where these are many.
func (r *renderer) function(name, e, args, call string) string {
	if args != "" {
		args = ", " + args
	}
	if r.now[name]++; r.before[name] < manyCalls {
		return name
	}
	v := r.vtype(e)
	r.define(name+"_many", fmt.Sprintf("static __attribute__((noinline, pure)) %[1]s %[2]s_many(const %[3]s *p%[4]s) { return %[2]s(p%[5]s); }\n", v, name, byElem[e], args, call))
	return name + "_many"
}
