package c

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

func maskElem(bits int) string { return fmt.Sprintf("i%d", bits) }

// vtype is the name of a vector type, defined once a module.
func (r *renderer) vtype(e string) string { return r.vtypeN(e, r.n) }

func (r *renderer) vtypeN(e string, n int) string {
	name := fmt.Sprintf("%sx%d", e, n)
	r.define(name, fmt.Sprintf("typedef %[1]s %[2]s __attribute__((vector_size(%[3]d)));\n"+
		"typedef %[1]s %[2]su __attribute__((vector_size(%[3]d), aligned(%[4]d), may_alias));\n",
		byElem[e], name, n*elemBits[e]/8, elemBits[e]/8))
	return name
}

// define adds a definition that other kernels of the module may have as well.
func (r *renderer) define(name, text string) {
	if !r.helpers[name] {
		r.helpers[name] = true
		fmt.Fprintf(&r.head2, "#ifndef WEFT_HAS_%[1]s\n#define WEFT_HAS_%[1]s\n%[2]s#endif\n", name, text)
	}
}

// each joins n instances of a pattern.
func each(n int, f func(i int) string) string {
	return join(n, ", ", f)
}

func join(n int, between string, f func(i int) string) string {
	s := make([]string, n)
	for i := range s {
		s[i] = f(i)
	}
	return strings.Join(s, between)
}

// numbered is a format with the number of a lane in it.
func numbered(format string) func(i int) string {
	return func(i int) string { return fmt.Sprintf(format, i) }
}

func (r *renderer) splat(e, x string) string { return r.helper("sp", e) + "(" + x + ")" }

// helper is the name of a function on vectors of elements e.
func (r *renderer) helper(what, e string) string {
	v, t, n := r.vtype(e), byElem[e], r.n
	name := what + "_" + v
	if r.helpers[name] {
		return name
	}
	f := func(result, args, body string) {
		r.define(name, fmt.Sprintf("static inline %s %s(%s) { %s }\n", result, name, args, body))
	}
	list := func(lane func(i int) string) string { return "return (" + v + "){" + each(n, lane) + "};" }
	switch what {
	case "sp":
		f(v, t+" x", list(func(int) string { return "x" }))
	case "gt", "gtm", "gi", "gim", "gw", "gwm":
		arg, by, at := "s", "int64_t s", numbered("p[%d * s]")
		if of := map[byte]string{'i': "i64", 'w': "i32"}[what[1]]; of != "" {
			arg, by, at = "x", r.vtype(of)+" x", numbered("p[x[%d]]")
		}
		lane := at
		if len(what) > 2 {
			by, lane = by+", "+r.vtype("i8")+" m", func(i int) string { return fmt.Sprintf("m[%d] ? %s : 0", i, at(i)) }
		}
		body := list(lane)
		if len(what) > 2 { // mostly no lane lies outside
			body = fmt.Sprintf("i8x%d all = ~(i8x%[1]d){0}; if (!__builtin_memcmp(&m, &all, sizeof m)) return %s(p, %s); %s", n, r.helper(what[:2], e), arg, body)
		}
		f(v, "const "+t+" *p, "+by, body)
	case "st":
		f("void", fmt.Sprintf("%s *p, int64_t s, %s v", t, v), each(n, numbered("p[%[1]d * s] = v[%[1]d]"))+";")
	case "sti":
		f("void", fmt.Sprintf("%s *p, %s x, %s v", t, r.vtype("i64"), v), each(n, numbered("p[x[%[1]d]] = v[%[1]d]"))+";")
	case "stc": // mostly all lanes take part
		f("void", fmt.Sprintf("%s *p, %s v, %s m", t, v, r.vtype("i8")),
			fmt.Sprintf("i8x%[1]d all = ~(i8x%[1]d){0}; if (!__builtin_memcmp(&m, &all, sizeof m)) *(%[2]su *)p = v; else { %[3]s; }",
				n, v, each(n, numbered("(m[%[1]d] ? (p[%[1]d] = v[%[1]d], 0) : 0)"))))
	case "stm":
		f("void", fmt.Sprintf("%s *p, %s x, %s v, %s m", t, r.vtype("i64"), v, r.vtype("i8")),
			each(n, numbered("(m[%[1]d] ? (p[x[%[1]d]] = v[%[1]d], 0) : 0)"))+";")
	case "iota":
		f(v, "void", list(numbered("%d")))
	case "sel":
		m := r.vtype(maskElem(elemBits[e]))
		f(v, fmt.Sprintf("%s m, %s a, %s b", m, v, v), fmt.Sprintf("return (%[2]s)(((%[1]s)a & m) | ((%[1]s)b & ~m));", m, v))
	case "fma", "sqrt", "trunc", "rint":
		r.mathHelper(what, name, v, e)
	case "dot2", "dot4", "dotbf16":
		r.dotHelper(what, name, v)
	case "all":
		r.define(name, fmt.Sprintf("#ifdef WEFT_SIGNS_%[1]s\n#define %[2]s(m) (WEFT_SIGNS_%[1]s(m) == (1 << %[3]d) - 1)\n#else\n"+
			"static inline int %[2]s(%[1]s m) { %[1]s all = ~(%[1]s){0}; return !__builtin_memcmp(&m, &all, sizeof m); }\n#endif\n", v, name, n))
	case "one": // element of all lanes, where it is read at all
		m := maskElem(elemBits[e])
		f(v, fmt.Sprintf("const %s *p, %s m", t, r.vtype(m)), fmt.Sprintf("return %s(~m) ? (%s){0} : (%[2]s)((%[3]s)%[4]s(*p) & m);", r.helper("all", m), v, r.vtype(m), r.helper("sp", e)))
	default:
		panic("BUG: no helper " + what)
	}
	return name
}

// mathHelper uses the machine's instruction where the prelude names it.
// called is a helper that is one function for all its places where these do not take the time: lane by lane its code is long, and C
// compilers take as long for each copy.
func (r *renderer) called(what, e string) string {
	name := r.helper(what, e)
	if !r.calls {
		return name
	}
	v, t := r.vtype(e), byElem[e]
	one := name + "_called"
	if what == "st" {
		r.define(one, fmt.Sprintf("static __attribute__((noinline)) void %s(%s *p, int64_t s, %s v) { %s(p, s, v); }\n", one, t, v, name))
	} else {
		r.define(one, fmt.Sprintf("static __attribute__((noinline)) %s %s(const %s *p, int64_t s) { return %s(p, s); }\n", v, one, t, name))
	}
	return one
}

func (r *renderer) mathHelper(what, name, v, e string) {
	args, params, call := "a, b, c", fmt.Sprintf("%[1]s a, %[1]s b, %[1]s c", v), "weft_fma_"+e+"(a[%[1]d], b[%[1]d], c[%[1]d])"
	if what != "fma" {
		args, params, call = "a", v+" a", fmt.Sprintf("__builtin_%s%s(a[%%d])", what, map[string]string{"f32": "f"}[e])
	}
	lanes := each(r.n, numbered(call))
	r.define(name, fmt.Sprintf("#ifdef WEFT_%[1]s_%[2]s\n#define %[3]s(%[4]s) ((%[2]s)WEFT_%[1]s_%[2]s(%[4]s))\n#else\n"+
		"static inline %[2]s %[3]s(%[5]s) { return (%[2]s){%[6]s}; }\n#endif\n",
		strings.ToUpper(what), v, name, args, params, lanes))
}

// builtin is what C calls an op.
func builtin(o uop.Op) string {
	if o == uop.RoundEven {
		return "rint"
	}
	return o.String()
}

// low spells the low 32 bits of an index with one element per lane. Sums, products and choices of the low bits are those of the index.
func (r *renderer) low(u *uop.UOp) string {
	e := elem(dtype.I32)
	switch {
	case !r.vary(u):
		return r.splat(e, "(int32_t)"+r.expr(u))
	case u.Op() == uop.Range:
		return r.helper("iota", e) + "()"
	case u.Op() == uop.Neg:
		return "(-" + r.low(u.At(0)) + ")"
	case u.Op() == uop.Add:
		return "(" + r.low(u.At(0)) + " + " + r.low(u.At(1)) + ")"
	case u.Op() == uop.Mul:
		return "(" + r.low(u.At(0)) + " * " + r.low(u.At(1)) + ")"
	case u.Op() == uop.Where && !loads(u.At(1)) && !loads(u.At(2)): // what stands in the condition is read either way
		return r.selectLanes(e, r.maskOf(u.At(0), elemBits[e]), r.low(u.At(1)), r.low(u.At(2)))
	case u.Op() == uop.Cast && u.At(0).DType() == dtype.I32:
		return r.vexpr(u.At(0))
	}
	return r.convert(r.vexpr(u), elem(dtype.Index), e)
}

func (r *renderer) selectLanes(e, mask, a, b string) string {
	return fmt.Sprintf("%s(%s, %s, %s)", r.helper("sel", e), mask, a, b)
}

// rotate moves lane i+by to lane i.
func (r *renderer) rotate(e, x string, by int) string {
	n := r.n
	name := fmt.Sprintf("rot%d_%s", by, r.vtype(e))
	r.define(name, fmt.Sprintf("static inline %[1]s %[2]s(%[1]s x) { return __builtin_shufflevector(x, x, %[3]s); }\n", r.vtype(e), name,
		each(n, func(i int) string { return fmt.Sprint((i + by) % n) })))
	return name + "(" + x + ")"
}

// vexpr spells a value with one element per lane; a scalar is repeated. Not for bool.
func (r *renderer) vexpr(u *uop.UOp) string {
	d := u.DType()
	e := elem(d)
	if d == dtype.Bool {
		panic("BUG: a mask is no vector of values")
	}
	if !r.vary(u) {
		return r.splat(e, r.expr(u))
	}
	switch u.Op() {
	case uop.Reg:
		return regName(u)
	case uop.Range:
		return r.helper("iota", e) + "()"
	case uop.Load:
		return r.vload(u)
	case uop.Neg:
		return "(-" + r.vexpr(u.At(0)) + ")"
	case uop.Sqrt, uop.Trunc, uop.RoundEven:
		return fmt.Sprintf("%s(%s)", r.helper(builtin(u.Op()), e), r.vexpr(u.At(0)))
	case uop.Exp2:
		return fmt.Sprintf("%s(%s)", r.exp2(e), r.vexpr(u.At(0)))
	case uop.Sin:
		return fmt.Sprintf("%s(%s)", r.sin(d), r.vexpr(u.At(0)))
	case uop.Cast:
		if text, ok := r.halfCast(u); ok {
			return text
		}
		if d == dtype.I32 && u.At(0).DType() == dtype.Index {
			return r.low(u.At(0))
		}
		if r.looksUp(u.At(0)) {
			placed, _ := r.placed()
			return r.convert(r.lookedUp(u.At(0)), placed, e)
		}
		return r.convert(r.vexpr(u.At(0)), elem(u.At(0).DType()), e)
	case uop.Bitcast:
		return fmt.Sprintf("((%s)%s)", r.vtype(e), r.vexpr(u.At(0)))
	case uop.Max:
		return fmt.Sprintf("%s(%s, %s)", r.maximum(e, d.IsFloat()), r.vexpr(u.At(0)), r.vexpr(u.At(1)))
	case uop.Where:
		return r.where(u, e)
	case uop.MulAdd:
		a, b, c := r.vexpr(u.At(0)), r.vexpr(u.At(1)), r.vexpr(u.At(2))
		if d.IsFloat() {
			return fmt.Sprintf("%s(%s, %s, %s)", r.helper("fma", e), a, b, c)
		}
		return fmt.Sprintf("(%s * %s + %s)", a, b, c)
	}
	if text := r.dots(u); text != "" {
		return text
	}
	if u.Op() == uop.Or {
		if text, ok := r.words(u); ok {
			return text
		}
	}
	op, ok := binary[u.Op()]
	if !ok {
		panic(fmt.Sprintf("BUG: C cannot spell %s of %s", u.Op(), d))
	}
	if u.Op() == uop.Add && u.At(1).Op() == uop.Neg {
		return "(" + r.vexpr(u.At(0)) + " - " + r.vexpr(u.At(1).At(0)) + ")"
	}
	return r.quotient(u, "("+r.vexpr(u.At(0))+" "+op+" "+r.vexpr(u.At(1))+")")
}

// maximum is the name of a function that gives the greater one of each lane; NaN wins. The machine's instruction gives its second operand
// where either is NaN.
func (r *renderer) maximum(e string, float bool) string {
	v, sel := r.vtype(e), r.helper("sel", e)
	name, cond := "max_"+v, "b > a"
	if float {
		cond = "(b > a) | (b != b)"
	}
	r.define(name, fmt.Sprintf("#ifdef WEFT_MAX_%[1]s\n#define %[2]s(a, b) WEFT_MAX_%[1]s(a, b)\n#else\n"+
		"static inline %[1]s %[2]s(%[1]s a, %[1]s b) { return %[3]s((%[4]s)(%[5]s), b, a); }\n#endif\n",
		v, name, sel, r.vtype(maskElem(elemBits[e])), cond))
	return name
}

// mostApart is of how many nodes a choice is that is written for vectors that choose alike and for others: all of it stands there twice, and
// what is within it once more for each choice around it.
const mostApart = 256

// mostApartText is how many bytes the choices that are written so may take in a kernel; if they would take more, all are written for any vectors alone.
// Of a detector's heads, which are joined and make boxes, all of eight results read thrice as many arrays; gcc takes most of its time for such branches.
const mostApartText = 60_000

// where spells a choice. Where all lanes agree about some of its conditions, what they do not choose is not read.
func (r *renderer) where(u *uop.UOp, e string) string {
	cond, yes, no := u.At(0), u.At(1), u.At(2)
	op := cond.Op()
	var all, own *uop.UOp
	var visit func(c *uop.UOp)
	visit = func(c *uop.UOp) {
		part := &all
		switch {
		case r.vary(c) && c.Op() == op && (op == uop.And || op == uop.Or):
			visit(c.At(0))
			visit(c.At(1))
			return
		case r.vary(c):
			part = &own
		}
		if *part == nil {
			*part = c
		} else {
			*part = c.Home().Make(op, dtype.Bool, nil, *part, c)
		}
	}
	visit(cond)
	switch {
	case own == nil && loads(u):
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(cond), r.vexpr(yes), r.vexpr(no))
	case all != nil && own != nil && op == uop.Or && loads(no):
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(all), r.vexpr(yes), r.selectLanes(e, r.maskOf(own, elemBits[e]), r.vexpr(yes), r.vexpr(no)))
	case all != nil && own != nil && op == uop.And && loads(yes):
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(all), r.selectLanes(e, r.maskOf(own, elemBits[e]), r.vexpr(yes), r.vexpr(no)), r.vexpr(no))
	}
	if cond.Op() == uop.Less && cond.At(0).DType() != dtype.Bool && cond.At(0).DType() != dtype.Index {
		if from := elem(cond.At(0).DType()); elemBits[from] == elemBits[e] {
			return r.lesser(e, from, u)
		}
	}
	mixed, agree := r.mixed, r.agree
	none, whole := r.together(cond, false), r.together(cond, true)
	apart := none != "" && whole != "" && !mixed && r.mask == "" && r.lanesRead(yes) && r.lanesRead(no) && len(uop.Topo(u)) <= mostApart &&
		r.before[apartText] <= mostApartText
	r.mixed = mixed || apart
	s := r.selectLanes(e, r.maskOf(cond, elemBits[e]), r.vexpr(yes), r.vexpr(no))
	r.mixed, r.agree = mixed, agree || apart
	switch {
	case apart: // few vectors of joined arrays have elements of two
		s = fmt.Sprintf("(%s ? %s : %s ? %s : %s)", whole, r.vexpr(yes), none, r.vexpr(no), s)
		if !agree { // it is within no other
			r.now[apartText] += len(s)
		}
	case none != "" && no.Op() == uop.Load:
		s = fmt.Sprintf("(%s ? %s : %s)", none, r.vexpr(no), s)
	}
	r.agree = agree
	return s
}

// summed says that an index is made of numbers of 32 bits by sums and products alone, so that its low bits are made of theirs.
func (r *renderer) summed(u *uop.UOp) bool {
	switch u.Op() {
	case uop.Range, uop.Const:
		return true
	case uop.Cast:
		return u.At(0).DType() == dtype.I32
	case uop.Add, uop.Mul, uop.Neg:
		return !slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return !r.summed(x) })
	}
	return !r.vary(u)
}

// loads says that an expression reads memory where it stands.
func loads(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load })
}

// lanesRead says that lanes read elements of their own in an expression: of single elements that are joined, no vector has one alone.
func (r *renderer) lanesRead(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load && r.vary(u.At(2)) })
}

// contiguous reads neighbours.
func (r *renderer) contiguous(e, p string, base *uop.UOp) string {
	return fmt.Sprintf("((%[1]s)*(const %[1]su *)(%[2]s + %[3]s))", r.vtype(e), p, r.expr(base))
}

// vload reads one element per lane: at once, with a stride, or one by one.
func (r *renderer) vload(u *uop.UOp) string {
	if name := r.turned[u]; name != "" {
		return name
	}
	e := elem(u.DType())
	if r.looksUp(u) {
		placed, _ := r.placed()
		return r.convert(r.lookedUp(u), placed, e)
	}
	p, index := r.pointer(u.At(0)), u.At(2)
	base, stride, ok := affine.Strided(index.Home(), index, r.lane, r.vary)
	uniform, gate := r.shares(u.At(1))
	mask := r.own(gate, 8)
	some := func(stride int) string {
		name, least, reach := r.spacedMask(e, stride)
		room := 0 // places at which whole vectors lie within an array that nothing writes meanwhile
		if a := u.At(0).Arg().(uop.ParamArg); a.Scratch || !r.p.Params[a.Slot].Write {
			room = max(0, a.N-least-reach+1)
		}
		own := r.own(gate, elemBits[e])
		if stride != 1 { // which is one instruction where the machine has it
			name = r.function(name, e, "int64_t i, uint64_t room, "+r.vtype(maskElem(elemBits[e]))+" m", ", i, room, m")
		}
		return fmt.Sprintf("%s(%s, %s, %d, %s)", name, p, r.expr(base), room, own)
	}
	var s string
	switch {
	case ok && stride == 0 && mask == "":
		s = r.splat(e, p+"["+r.expr(base)+"]")
	case ok && stride == 1 && mask == "":
		s = r.contiguous(e, p, base)
	case ok && mask == "" && r.near(stride):
		s = fmt.Sprintf("%s(%s + %s)", r.function(r.spaced(e, stride), e, "", ""), p, r.expr(base))
	case ok && (stride == 1 || r.near(stride)):
		s = some(stride)
		if gate != nil && (stride != 1 || r.agree) && r.mask == "" {
			if all := r.together(gate, true); all != "" {
				whole := ""
				if stride == 1 {
					whole = r.contiguous(e, p, base)
				} else {
					whole = fmt.Sprintf("%s(%s + %s)", r.function(r.spaced(e, stride), e, "", ""), p, r.expr(base))
				}
				s = fmt.Sprintf("(%s ? %s : %s)", all, whole, s)
			}
		}
	case ok && stride == 0:
		s = fmt.Sprintf("%s(%s + %s, %s)", r.helper("one", e), p, r.expr(base), r.own(gate, elemBits[e]))
	case !ok && mask == "" && r.pattern(e, p, index, &s):
	case ok && mask == "":
		s = fmt.Sprintf("%s(%s + %s, %d)", r.called("gt", e), p, r.expr(base), stride)
	case ok:
		s = fmt.Sprintf("%s(%s + %s, %d, %s)", r.helper("gtm", e), p, r.expr(base), stride, mask)
	default:
		// What lanes share goes to the pointer: other loads through the same indices differ in that only. What else is computed has the low
		// bits of a place within the array, or of one that is not read.
		shared, own := r.apart(index)
		how, place := "gi", ""
		switch x := fromWord(own); {
		case x != nil:
			how, place = "gw", r.vexpr(x)
		case u.At(0).Arg().(uop.ParamArg).N <= math.MaxInt32 && r.summed(index):
			how, place, shared = "gw", r.low(index), nil
		default:
			place = r.vexpr(own)
		}
		if shared != nil {
			p += " + " + r.expr(shared)
		}
		if mask == "" {
			s = fmt.Sprintf("%s(%s, %s)", r.helper(how, e), p, place)
		} else {
			name := r.function(r.helper(how+"m", e), e, r.vtype(map[string]string{"gi": "i64", "gw": "i32"}[how])+" x, "+r.vtype("i8")+" m", ", x, m")
			s = fmt.Sprintf("%s(%s, %s, %s)", name, p, place, mask)
		}
	}
	if uniform != nil {
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(uniform), s, r.splat(e, "0"))
	}
	return s
}

// shares divides a gate into the conditions that all lanes share and those in which they differ; nil: none. A mask that has a name is divided
// too: rows of a tile differ in what lanes share, and have the rest in common.
func (r *renderer) shares(gate *uop.UOp) (all, own *uop.UOp) {
	and := func(g **uop.UOp, c *uop.UOp) {
		if *g == nil {
			*g = c
		} else {
			*g = (*g).And(c)
		}
	}
	var divide func(gate *uop.UOp)
	divide = func(gate *uop.UOp) {
		for _, c := range symbolic.Conjuncts(gate) {
			switch v, known := c.ConstValue(); {
			case known && v.Bool():
			case r.vec(c) && r.masks[c] != nil && r.masks[c].Op() == uop.And:
				divide(r.masks[c])
			case r.vec(c):
				and(&own, c)
			default:
				and(&all, c)
			}
		}
	}
	divide(gate)
	return all, own
}

// apart divides the sum that an index is into what all lanes share, or nil, and what differs.
func (r *renderer) apart(index *uop.UOp) (shared, own *uop.UOp) {
	plus := func(sum **uop.UOp, x *uop.UOp) {
		if *sum == nil {
			*sum = x
		} else {
			*sum = (*sum).Add(x)
		}
	}
	var visit func(u *uop.UOp)
	visit = func(u *uop.UOp) {
		switch {
		case !r.vec(u):
			plus(&shared, u)
		case u.Op() == uop.Add:
			visit(u.At(0))
			visit(u.At(1))
		default:
			plus(&own, u)
		}
	}
	visit(index)
	return shared, own
}

// pattern loads lanes at distances known now: one load of the vector that they fill, spread over the lanes.
func (r *renderer) pattern(e, p string, index *uop.UOp, s *string) bool {
	base, offsets, ok := affine.Pattern(index.Home(), index, r.lane, r.vary)
	if !ok {
		return false
	}
	seen := map[int]bool{}
	most := 0
	for _, o := range offsets {
		if o < 0 {
			return false
		}
		seen[o] = true
		most = max(most, o)
	}
	if len(seen) != most+1 || most+1 < 2 || most&(most+1) != 0 { // all of a smaller vector, of a power of two
		*s = fmt.Sprintf("((%s){%s})", r.vtype(e), each(r.n, func(i int) string { return fmt.Sprintf("%s[%s + %d]", p, r.expr(base), offsets[i]) }))
		return true
	}
	v, small := r.vtype(e), r.vtypeN(e, most+1)
	at := func(i int) string { return fmt.Sprint(offsets[i]) }
	name := fmt.Sprintf("spread_%s_%s", v, join(r.n, "_", at))
	r.define(name, fmt.Sprintf("static inline %[1]s %[2]s(const %[3]s *p) { %[4]s x = *(const %[4]su *)p; return __builtin_shufflevector(x, x, %[5]s); }\n",
		v, name, byElem[e], small, each(r.n, at)))
	*s = fmt.Sprintf("%s(%s + %s)", name, p, r.expr(base))
	return true
}
