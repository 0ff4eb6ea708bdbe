package c

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Lanes that lie apart are stored one by one. Where their neighbours are stored as well, as of a block of results whose lanes are channels,
// vectors are turned in registers and stored along the neighbours, of which there may be fewer than lanes; narrow ones are put into words of 32 bits
// before. Where they are all that lies between two lanes, as parts of complex numbers, vectors of all of them follow each other.

// leastTurned is how many neighbours are worth turning.
const leastTurned = 6

// turnStores stores the blocks that some statements, which follow each other and only store, begin with, and says of how many
// statements these are: 0 where lanes have to be stored one by one.
func (r *renderer) turnStores(stmts []codegen.Stmt, depth int) (done int) {
	if r.n < 4 || r.mask != "" {
		return 0
	}
	var list []*codegen.Store
	var places []int // of these among the statements
	var base *uop.UOp
	first, stride := 0, 0
	for i, s := range stmts {
		if l, ok := s.(*codegen.Let); ok && len(list) > 0 && !loads(l.Value) { // what is stored is computed in steps
			continue
		}
		st, ok := s.(*codegen.Store)
		if !ok || len(list) == r.n*inWord(elem(st.Buf.DType())) || st.Buf.DType() == dtype.Bool || !r.vec(st.Index[0]) || r.past(st.Buf) || slices.ContainsFunc(uop.Topo(st.Value), func(u *uop.UOp) bool { return r.changes(u) && !laid(u, st.Buf) }) {
			break
		}
		b, c, apart, ok := affine.StridedFrom(st.Index[0].Home(), st.Index[0], r.lane, r.vary)
		if !ok || apart <= len(list) || slices.ContainsFunc(uop.Topo(b), r.changes) {
			break
		}
		if len(list) == 0 {
			base, first, stride = b, c, apart
		} else if st.Buf != list[0].Buf || b != base || apart != stride || c != first+len(list) {
			break
		}
		list, places = append(list, st), append(places, i)
	}
	n := len(list)
	if n == 0 {
		return 0
	}
	e, to := elem(list[0].Buf.DType()), r.pointer(list[0].Buf)+" + "+r.expr(affine.Plus(base, first))
	zipped := n == stride && n >= 2 && n <= 4
	if !zipped {
		if n -= n % inWord(e); n < leastTurned || elemBits[e] > 32 || r.n*32 != 512 {
			return 0
		}
	}
	done = places[n-1] + 1
	for _, s := range stmts[:done] {
		if _, ok := s.(*codegen.Let); ok {
			r.stmt(s, depth)
		}
	}
	values := func() string {
		return join(n, ", ", func(i int) string { return r.vexpr(list[i].Value) })
	}
	switch {
	case zipped:
		r.line(depth, "%s(%s, %s);", r.zipper(e, n), to, values())
	default:
		if from, apart := r.laidDown(list[:n]); from != "" {
			if apart == 0 {
				r.line(depth, "%s(%s, %d, %s);", r.storer(e, n), to, stride, from)
			} else {
				r.line(depth, "%s(%s, %d, %s, %d);", r.mover(e, n), to, stride, from, apart)
			}
			break
		}
		r.line(depth, "{")
		r.line(depth+1, "const %s o[%d] = {%s};", r.vtype(e), n, values())
		r.line(depth+1, "%s(%s, %d, o);", r.storer(e, n), to, stride)
		r.line(depth, "}")
	}
	return done
}

// inWord is how many elements fill a word of 32 bits: one that is as wide or wider.
func inWord(e string) int { return max(1, 32/elemBits[e]) }

// laid says that u is loaded from scratch, which stores to other memory do not change.
func laid(u, stored *uop.UOp) bool {
	return u.At(0) != stored && u.At(0).Arg().(uop.ParamArg).Scratch
}

// laidDown spells where the values of stores lie in memory as vectors that are equally far apart, and how far; 0 where they are whole vectors in
// scratch that follow each other. It is "" if they do not lie so.
func (r *renderer) laidDown(list []*codegen.Store) (from string, apart int) {
	first := list[0].Value
	if first.Op() != uop.Load {
		return "", 0
	}
	base, c0, stride, ok := affine.StridedFrom(first.Home(), first.At(2), r.lane, r.vary)
	if !ok || stride != 1 {
		return "", 0
	}
	for i, s := range list {
		u := s.Value
		if u.Op() != uop.Load || u.At(0) != first.At(0) || !u.At(1).IsConst(1) || r.turned[u] != "" || r.looksUp(u) {
			return "", 0
		}
		b, c, stride, ok := affine.StridedFrom(u.Home(), u.At(2), r.lane, r.vary)
		if i == 1 {
			apart = c - c0
		}
		if !ok || stride != 1 || b != base || c != c0+i*apart {
			return "", 0
		}
	}
	if apart == 0 { // one vector for all
		return "", 0
	}
	if apart == r.n && first.At(0).Arg().(uop.ParamArg).Scratch && base.IsConst(0) && c0%r.n == 0 {
		return fmt.Sprintf("(const %s *)(%s + %d)", r.vtype(elem(first.DType())), r.pointer(first.At(0)), c0), 0
	}
	return r.pointer(first.At(0)) + " + " + r.expr(affine.Plus(base, c0)), apart
}

// zipper is the name of a function that stores the elements of two, three or four vectors in turns: first those of the first lanes.
func (r *renderer) zipper(e string, rows int) string {
	v, n := r.vtype(e), r.n
	name := fmt.Sprintf("zip%d_%s", rows, v)
	now := make([]string, rows)
	for i := range now {
		now[i] = fmt.Sprintf("a%d", i)
	}
	head := fmt.Sprintf("static inline void %s(%s *p, %s) {\n", name, byElem[e], join(rows, ", ", func(i int) string { return v + " " + now[i] }))
	text := ""
	// Each step joins vectors that are half of all rows apart: their elements become neighbours.
	for w, step := 1, 0; w < rows && rows != 3; w, step = 2*w, step+1 {
		next := make([]string, rows)
		half := rows / 2
		for i := range half {
			for high := range 2 {
				to := 2*i + high
				next[to] = fmt.Sprintf("%c%d", 'b'+step, to)
				text += fmt.Sprintf("\t%s %s = __builtin_shufflevector(%s, %s, %s);\n", v, next[to], now[i], now[i+half], each(n, func(k int) string {
					return fmt.Sprint(high*n/2 + k/2 + k%2*n)
				}))
			}
		}
		now = next
	}
	if rows == 3 { // each vector that is stored has elements of the first two, then those of the third between them
		for i := range now {
			from := func(row int) func(k int) string {
				return func(k int) string {
					switch at := i*n + k; {
					case at%3 == row:
						return fmt.Sprint(n + at/3)
					case row == 1:
						return fmt.Sprint(at / 3)
					}
					return fmt.Sprint(k)
				}
			}
			text += fmt.Sprintf("\t%[1]s b%[2]d = __builtin_shufflevector(a0, a1, %[3]s); b%[2]d = __builtin_shufflevector(b%[2]d, a2, %[4]s);\n", v, i, each(n, from(1)), each(n, from(2)))
			now[i] = fmt.Sprintf("b%d", i)
		}
	}
	for i, x := range now {
		text += fmt.Sprintf("\t*(%su *)(p + %d) = %s;\n", v, i*n, x)
	}
	r.define(name, head+text+"}\n")
	return name
}

// changes says that u loads from what the kernel stores to.
func (r *renderer) changes(u *uop.UOp) bool { return u.Op() == uop.Load && r.written(u.At(0)) }

// storer is the name of a function that turns rows vectors and stores as many elements of each of their places.
func (r *renderer) storer(e string, rows int) string {
	name := fmt.Sprintf("turned%d_%s", rows, r.vtype(e))
	r.turnedStore(e, rows, name, fmt.Sprintf("const %s *o", r.vtype(e)), func(i int) string { return fmt.Sprintf("o[%d]", i) })
	return name
}

// mover is storer of vectors that lie in memory, equally far apart: spelled at each place they would be most of what a kernel says.
func (r *renderer) mover(e string, rows int) string {
	v := r.vtype(e)
	name := fmt.Sprintf("turned%d_%s_apart", rows, v)
	r.turnedStore(e, rows, name, fmt.Sprintf("const %s *o, int64_t d", byElem[e]), func(i int) string { return fmt.Sprintf("*(const %su *)(o + %d * d)", v, i) })
	return name
}

// turnedStore defines a function that turns vectors and stores as many elements of each of their places as there are vectors.
func (r *renderer) turnedStore(e string, rows int, name, from string, vector func(i int) string) {
	v, n := r.vtype(e), r.n
	text := fmt.Sprintf("static __attribute__((noinline)) void %s(%s *p, int64_t s, %s) {\n", name, byElem[e], from)
	now := make([]string, n)
	words, whole := rows/inWord(e), v
	if inWord(e) > 1 {
		whole = r.vtype("u32")
	}
	for i := range now {
		now[i] = fmt.Sprintf("a%d", min(i, words-1))
		if i < words {
			text += fmt.Sprintf("\t%s a%d = %s;\n", whole, i, r.joined(e, i, vector))
		}
	}
	network, now := turning(whole, now)
	text += network
	for i, x := range now {
		if r.n*elemBits[e]*inWord(e) == 512 {
			text += fmt.Sprintf("\tWEFT_STORE_%[1]s(p + %[2]d * s, (%[1]s)%[3]s, %[4]d);\n", r.vtypeN("f32", 16), i, x, rows*elemBits[e]/32)
		} else {
			text += fmt.Sprintf("\t__builtin_memcpy(p + %d * s, &%s, %d);\n", i, x, rows*elemBits[e]/8)
		}
	}
	r.define(name, text+"}\n")
}

// joined spells the i-th vector of words of what a storer is given: the elements of as many vectors side by side, the first one's in the lowest bits.
func (r *renderer) joined(e string, i int, vector func(i int) string) string {
	n := inWord(e)
	return join(n, " | ", func(k int) string {
		x := vector(n*i + k)
		if n == 1 {
			return x
		}
		narrow := fmt.Sprintf("u%d", elemBits[e])
		return fmt.Sprintf("(%s << %d)", r.convert(fmt.Sprintf("((%s)%s)", r.vtype(narrow), x), narrow, "u32"), k*elemBits[e])
	})
}
