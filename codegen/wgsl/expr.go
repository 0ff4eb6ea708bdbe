package wgsl

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

var binary = map[uop.Op]string{
	uop.Add: "+", uop.Mul: "*", uop.Div: "/", uop.IDiv: "/", uop.Mod: "%", uop.And: "&", uop.Or: "|", uop.Xor: "^",
	uop.Less: "<", uop.Equal: "==",
}

// expr spells a value.
func (r *renderer) expr(u *uop.UOp) string {
	d := u.DType()
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return r.constant(d, v)
	case uop.Range:
		return rangeName(u)
	case uop.Reg:
		return r.register(u)
	case uop.Var:
		return r.variable(u)
	case uop.Load:
		if name, ok := r.early[u]; ok {
			return name
		}
		return r.load(u)
	}
	if v, ok := r.known(u); ok { // the language refuses constants that overflow
		return r.constant(d, v)
	}
	if wide(d) || u.Op() != uop.Where && wide(u.At(0).DType()) {
		if s := r.wideExpr(u); s != "" {
			return s
		}
	}
	switch u.Op() {
	case uop.Neg:
		if value(d) == "u32" {
			return narrow(d, "(0u - "+r.expr(u.At(0))+")")
		}
		return narrow(d, "(-"+r.expr(u.At(0))+")")
	case uop.Sqrt:
		return r.use("root") + "(" + r.expr(u.At(0)) + ")"
	case uop.Trunc:
		return "trunc(" + r.expr(u.At(0)) + ")"
	case uop.RoundEven:
		return "round(" + r.expr(u.At(0)) + ")"
	case uop.Cast:
		return r.cast(u)
	case uop.Bitcast:
		return r.bitcast(u.At(0).DType(), d, r.expr(u.At(0)))
	case uop.Where:
		return fmt.Sprintf("select(%s, %s, %s)", r.expr(u.At(2)), r.expr(u.At(1)), r.expr(u.At(0)))
	case uop.Max:
		if d == dtype.F32 {
			return fmt.Sprintf("%s(%s, %s)", r.use("maximum"), r.expr(u.At(0)), r.expr(u.At(1)))
		}
		return fmt.Sprintf("max(%s, %s)", r.expr(u.At(0)), r.expr(u.At(1)))
	case uop.MulAdd:
		a, b, c := r.expr(u.At(0)), r.expr(u.At(1)), r.expr(u.At(2))
		if d == dtype.F32 && r.roundsTwice(u) {
			return fmt.Sprintf("fma(%s, %s, %s)", a, b, c)
		}
		if d == dtype.F32 && r.isRest(u) {
			return fmt.Sprintf("%s(%s, %s, %s)", r.use("rest"), a, b, c)
		}
		if d == dtype.F32 {
			return fmt.Sprintf("%s(%s, %s, %s)", r.use("fused"), a, b, c)
		}
		return narrow(d, fmt.Sprintf("(%s * %s + %s)", a, b, c))
	case uop.Shl, uop.Shr:
		return r.shift(u)
	case uop.Less, uop.Equal:
		return r.compare(u)
	}
	if d == dtype.F32 {
		if s := r.strict(u); s != "" {
			return s
		}
	}
	op, ok := binary[u.Op()]
	if !ok {
		panic(fmt.Sprintf("BUG: WGSL cannot spell %s of %s", u.Op(), d))
	}
	if d == dtype.Bool && u.Op() == uop.Xor {
		op = "!="
	}
	if u.Op() == uop.Add && u.At(1).Op() == uop.Neg {
		return narrow(d, "("+r.expr(u.At(0))+" - "+r.expr(u.At(1).At(0))+")")
	}
	return narrow(d, "("+r.expr(u.At(0))+" "+op+" "+r.expr(u.At(1))+")")
}

// known is the value of an expression of constants.
func (r *renderer) known(u *uop.UOp) (uop.Value, bool) {
	if c, ok := u.ConstValue(); ok {
		return c, true
	}
	if k, ok := r.knowns[u]; ok {
		return k.v, k.ok
	}
	for _, w := range uop.Topo(u) { // operands first
		if _, ok := r.knowns[w]; ok || w.Op() == uop.Const {
			continue
		}
		r.knowns[w] = r.knownStep(w)
	}
	return r.knowns[u].v, r.knowns[u].ok
}

type known struct {
	v  uop.Value
	ok bool
}

func (r *renderer) knownStep(u *uop.UOp) known {
	if u.Op() == uop.Reg && r.named[u] != nil {
		v, ok := r.known(r.named[u])
		return known{v, ok}
	}
	if !u.Op().Elementwise() {
		return known{}
	}
	from := u.At(0).DType()
	if u.Op() == uop.Where {
		from = u.DType()
	}
	v := make([]uop.Value, len(u.Src()))
	for i, s := range u.Src() {
		if c, ok := s.ConstValue(); ok {
			v[i] = c
		} else if k := r.knowns[s]; k.ok {
			v[i] = k.v
		} else {
			return known{}
		}
	}
	return known{uop.Eval(u.Op(), from, u.DType(), v...), true}
}

func (r *renderer) shift(u *uop.UOp) string {
	op := "<<"
	if u.Op() == uop.Shr {
		op = ">>"
	}
	n := ""
	if c, ok := u.At(1).ConstInt(); ok {
		n = fmt.Sprintf("%du", c)
	} else if n = r.expr(u.At(1)); value(u.At(1).DType()) == "i32" {
		n = "u32(" + n + ")"
	}
	return narrow(u.DType(), fmt.Sprintf("(%s %s %s)", r.expr(u.At(0)), op, n))
}

// compare: shader compilers may turn the negation of a comparison around, which is wrong for NaN, or drop it
// where both sides are the same. So NaN is looked for in the bits.
func (r *renderer) compare(u *uop.UOp) string {
	x, y := u.At(0), u.At(1)
	a, b := r.expr(x), r.expr(y)
	if x.DType() != dtype.F32 {
		return fmt.Sprintf("(%s %s %s)", a, binary[u.Op()], b)
	}
	switch {
	case x == y && u.Op() == uop.Equal:
		return r.use("number") + "(" + a + ")"
	case x == y:
		return "false"
	case u.Op() == uop.Equal:
		return fmt.Sprintf("%s(%s, %s)", r.use("equal"), a, b)
	}
	return fmt.Sprintf("%s(%s, %s)", r.use("less"), a, b)
}

// load: where a gate is false the first element is read, and not used.
func (r *renderer) load(u *uop.UOp) string {
	a := r.array(u.At(0))
	d := u.DType()
	index := r.expr(u.At(2))
	c, known := u.At(1).ConstValue()
	gate := ""
	if !known {
		gate = r.hoist(u.At(1))
		index = fmt.Sprintf("select(0, %s, %s)", index, gate)
	} else if !c.Bool() {
		return r.constant(d, 0)
	}
	s := r.element(u.At(0), index)
	switch {
	case a == nil && r.words[u.At(0)]:
		s = "(" + s + " != 0u)"
	case a == nil:
	case a.parts > 1:
		a.load = true
		s = r.fromWord(d, fmt.Sprintf("load_%s(%s)", a.name, index))
	case d == dtype.F16:
		s = "f32(" + s + ")"
	}
	if gate != "" {
		return fmt.Sprintf("select(%s, %s, %s)", r.constant(d, 0), s, gate)
	}
	return s
}

// hoist names a condition that is spelled twice, before the statement that needs it.
func (r *renderer) hoist(u *uop.UOp) string {
	if len(u.Src()) == 0 {
		return r.expr(u)
	}
	if name, ok := r.hoisted[u]; ok {
		return name
	}
	text := r.expr(u)
	name := fmt.Sprintf("g%d", r.gates)
	r.gates++
	r.line(r.depth, "let %s = %s;", name, text)
	r.hoisted[u] = name
	return name
}

// fromWord makes a value of the bits of a stored narrow element.
func (r *renderer) fromWord(d dtype.DType, s string) string {
	switch d {
	case dtype.Bool:
		return "(" + s + " != 0u)"
	case dtype.I8, dtype.I16:
		return narrow(d, "bitcast<i32>("+s+")")
	}
	return s
}

// word is the bits of a value as they are stored.
func (r *renderer) word(d dtype.DType, s string) string {
	switch d {
	case dtype.Bool:
		return "select(0u, 1u, " + s + ")"
	case dtype.I8, dtype.I16:
		return fmt.Sprintf("(bitcast<u32>(%s) & 0x%xu)", s, 1<<d.Bits()-1)
	case dtype.F16:
		return r.use("half_bits") + "(" + s + ")"
	}
	return s
}

// roundsTwice says that fma will do for a multiply-add, which may round its product: in a polynomial, in an accumulator,
// where a factor is such a sum itself and has no exact last digit, and where the product is exact.
func (r *renderer) roundsTwice(u *uop.UOp) bool {
	if u.At(2).Op() == uop.Const || r.mutable[u.At(2)] || r.writes(r.stands(u.At(2))) {
		return true
	}
	for _, x := range u.Src()[:2] {
		if c, ok := r.known(x); ok && powerOfTwo(c.Float()) {
			return true
		}
		if v := r.stands(x); v.Op() == uop.MulAdd && r.roundsTwice(v) {
			return true
		}
	}
	return false
}

// writes says that u loads from an array that the kernel writes: an accumulator that lies there.
func (r *renderer) writes(u *uop.UOp) bool {
	if u.Op() != uop.Load {
		return false
	}
	a, ok := u.At(0).Arg().(uop.ParamArg)
	return ok && !a.Scratch && r.p.Params[a.Slot].Write
}

// isRest says that a multiply-add is a·b − (a·b, rounded): the digits that a product lost.
func (r *renderer) isRest(u *uop.UOp) bool {
	c, minus := r.unsigned(u.At(2))
	if c.Op() != uop.Mul {
		return false
	}
	same := func(x, y *uop.UOp) bool {
		k, ok := x.ConstValue()
		l, also := y.ConstValue()
		return x == y || ok && also && math.Abs(k.Float()) == math.Abs(l.Float())
	}
	var factors [4]*uop.UOp
	for i, x := range []*uop.UOp{u.At(0), u.At(1), c.At(0), c.At(1)} {
		f, negative := r.unsigned(x)
		factors[i], minus = f, minus != negative
	}
	return minus && (same(factors[0], factors[2]) && same(factors[1], factors[3]) || same(factors[0], factors[3]) && same(factors[1], factors[2]))
}

// unsigned is what u stands for without its sign.
func (r *renderer) unsigned(u *uop.UOp) (v *uop.UOp, negative bool) {
	v = r.stands(u)
	for v.Op() == uop.Neg {
		v, negative = r.stands(v.At(0)), !negative
	}
	k, ok := v.ConstValue()
	return v, negative != (ok && k.Float() < 0)
}

func powerOfTwo(f float64) bool {
	m, _ := math.Frexp(f)
	return math.Abs(m) == 0.5
}

// cast converts; a float that becomes an integer is within its limits.
func (r *renderer) cast(u *uop.UOp) string {
	from, to := u.At(0).DType(), u.DType()
	x := r.expr(u.At(0))
	switch {
	case from == dtype.F16:
		return x
	case to == dtype.F16:
		return r.use("to_half") + "(" + x + ")"
	case to == dtype.F32 && from == dtype.U32:
		return r.use("u32_to_f32") + "(" + x + ")"
	case to == dtype.F32:
		return "f32(" + x + ")"
	case from == dtype.F32:
		return fmt.Sprintf("%s(%s)", value(to), x)
	case from == dtype.U32 && to == dtype.Index: // what does not fit is far outside of every array
		return "i32(min(" + x + ", 0x7fffffffu))"
	}
	if value(from) != value(to) {
		x = fmt.Sprintf("bitcast<%s>(%s)", value(to), x)
	}
	if to.Size() < from.Size() && from != dtype.Index || from == dtype.Index || to.IsUnsigned() && !from.IsUnsigned() || to.Size() == from.Size() {
		return narrow(to, x)
	}
	return x
}

func (r *renderer) bitcast(from, to dtype.DType, x string) string {
	switch {
	case from == dtype.Bool && to != dtype.Bool:
		return r.bitcast(dtype.U8, to, "select(0u, 1u, "+x+")")
	case to == dtype.Bool:
		return "(" + x + " != " + r.constant(from, 0) + ")"
	case from == dtype.F16:
		return r.bitcast(dtype.U16, to, r.use("half_bits")+"("+x+")")
	case to == dtype.F16:
		return "unpack2x16float(" + r.bitcast(from, dtype.U16, x) + ").x"
	}
	if value(from) != value(to) {
		x = fmt.Sprintf("bitcast<%s>(%s)", value(to), x)
	}
	if !to.IsInt() && from.IsInt() && !from.IsUnsigned() && to.Size() < 4 { // a signed word as bits of a narrow float
		if to.Size() == 1 {
			return "(" + x + " & 0xffu)"
		}
		return "(" + x + " & 0xffffu)"
	}
	return narrow(to, x)
}

// variable reads the uniform block.
func (r *renderer) variable(u *uop.UOp) string {
	for i, v := range r.p.Vars {
		if v == u {
			s := fmt.Sprintf("u[%d].%c", 1+i/4, "xyzw"[i%4])
			switch {
			case u.DType() == dtype.F16:
				return "unpack2x16float(" + s + ").x"
			case value(u.DType()) == "u32":
				return s
			}
			return fmt.Sprintf("bitcast<%s>(%s)", value(u.DType()), s)
		}
	}
	panic(fmt.Sprintf("BUG: variable %s is not among the kernel's", u.Arg().(uop.VarArg).Name))
}
