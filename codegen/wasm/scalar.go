package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// kindOf is the stack type of a scalar.
func (r *renderer) kindOf(u *uop.UOp) kind {
	if u.DType() == dtype.Index {
		if u.Op() == uop.Reg {
			return r.regs[u].kind
		}
		if r.wide(u) {
			return i64
		}
		return i32
	}
	return kindOfType(u.DType())
}

func kindOfType(d dtype.DType) kind {
	switch d {
	case dtype.I64, dtype.U64:
		return i64
	case dtype.F32:
		return f32
	case dtype.F64:
		return f64
	}
	return i32
}

// scalar computes u onto the stack, in its own kind.
func (r *renderer) scalar(u *uop.UOp) {
	if u.DType() == dtype.Index {
		r.index(u, r.kindOf(u))
		return
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		r.constant(u.DType(), v)
	case uop.Reg:
		reg := r.regs[u]
		r.get(reg.local)
		if reg.kind == v128 { // repeated in all lanes
			r.extract(kindOfType(u.DType()), 0)
		}
	case uop.Var:
		r.variable(u)
	case uop.Load:
		r.load(u)
	case uop.Where:
		r.scalar(u.At(1))
		r.scalar(u.At(2))
		r.scalar(u.At(0))
		r.op("select")
	case uop.Add:
		if u.At(1).Op() == uop.Neg {
			r.scalar(u.At(0))
			r.scalar(u.At(1).At(0))
			r.op(kindOfType(u.DType()).String() + ".sub")
			r.wrap(u.DType())
			return
		}
		fallthrough
	default:
		if !u.Op().Elementwise() {
			panic(fmt.Sprintf("BUG: WebAssembly cannot spell %s of %s", u.Op(), u.DType()))
		}
		k := r.operandKind(u)
		r.before(u, k)
		for _, s := range u.Src() {
			r.scalarAs(s, k)
		}
		r.apply(u, k)
	}
}

// operandKind is the kind in which the operands of an elementwise op are computed.
func (r *renderer) operandKind(u *uop.UOp) kind {
	k := r.kindOf(u.At(0))
	if u.At(0).DType() == dtype.Index {
		for _, s := range u.Src() {
			if r.kindOf(s) == i64 {
				k = i64
			}
		}
	}
	return k
}

func (r *renderer) scalarAs(u *uop.UOp, k kind) {
	if u.DType() == dtype.Index {
		r.index(u, k)
	} else {
		r.scalar(u)
	}
}

// index computes an index onto the stack, in 32 bits (modulo 2³²) or in 64.
func (r *renderer) index(u *uop.UOp, k kind) {
	own := r.kindOf(u)
	if k == i64 && own == i32 {
		r.index(u, i32)
		r.op("i64.extend_i32_s")
		return
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		if k == i32 {
			r.i32(int32(v.Int()))
		} else {
			r.i64(v.Int())
		}
		return
	case uop.Range:
		r.rangeValue(u)
		return
	case uop.Add, uop.Mul, uop.MulAdd, uop.Neg, uop.And, uop.Or, uop.Xor, uop.Shl: // low bits depend on low bits only
		if u.Op() == uop.Add && u.At(1).Op() == uop.Neg {
			r.index(u.At(0), k)
			r.index(u.At(1).At(0), k)
			r.op(k.String() + ".sub")
			return
		}
		r.before(u, k)
		for _, s := range u.Src() {
			r.index(s, k)
		}
		r.apply(u, k)
		return
	case uop.Where:
		r.index(u.At(1), k)
		r.index(u.At(2), k)
		r.scalar(u.At(0))
		r.op("select")
		return
	case uop.Reg:
		r.get(r.regs[u].local)
	case uop.Var:
		r.variable(u)
		if own == i64 {
			r.op("i64.extend_i32_s")
		}
	case uop.Cast:
		r.scalar(u.At(0))
		r.convert(u.At(0).DType(), r.kindOf(u.At(0)), dtype.Index, k)
		return
	case uop.IDiv, uop.Mod, uop.Shr, uop.Max:
		own = r.operandKind(u)
		for _, s := range u.Src() {
			r.index(s, own)
		}
		r.apply(u, own)
	default:
		panic(fmt.Sprintf("BUG: WebAssembly cannot spell %s of index", u.Op()))
	}
	if own == i64 && k == i32 {
		r.op("i32.wrap_i64")
	} else if own == i32 && k == i64 {
		r.op("i64.extend_i32_s")
	}
}

// before puts what an op needs below its operands.
func (r *renderer) before(u *uop.UOp, k kind) {
	if u.Op() == uop.Neg && !u.DType().IsFloat() {
		if k == i64 {
			r.i64(0)
		} else {
			r.i32(0)
		}
	}
}

func signs(d dtype.DType) string {
	if d.IsUnsigned() {
		return "_u"
	}
	return "_s"
}

var arithmetic = map[uop.Op]string{
	uop.Add: "add", uop.Mul: "mul", uop.Div: "div", uop.IDiv: "div", uop.Mod: "rem", uop.And: "and", uop.Or: "or", uop.Xor: "xor",
	uop.Shl: "shl", uop.Shr: "shr", uop.Less: "lt", uop.Equal: "eq", uop.Sqrt: "sqrt", uop.Trunc: "trunc", uop.RoundEven: "nearest",
}

// dot2 multiplies the low and the high halves of two words on the stack, and adds.
func (r *renderer) dot2() {
	a, b := r.local(i32), r.local(i32)
	r.set(b)
	r.set(a)
	for _, l := range []uint32{a, b} {
		r.get(l)
		r.op("i32.extend16_s")
	}
	r.op("i32.mul")
	for _, l := range []uint32{a, b} {
		r.get(l)
		r.i32(16)
		r.op("i32.shr_s")
	}
	r.op("i32.mul", "i32.add")
}

// apply does an elementwise op on operands that lie on the stack, in kind k.
func (r *renderer) apply(u *uop.UOp, k kind) {
	d := u.At(0).DType()
	p := k.String() + "."
	switch u.Op() {
	case uop.Neg:
		if d.IsFloat() {
			r.op(p + "neg")
		} else {
			r.op(p + "sub") // from the zero below
		}
		r.wrap(d)
	case uop.Cast:
		r.convert(d, k, u.DType(), kindOfType(u.DType()))
	case uop.Bitcast:
		r.bitcast(d, u.DType())
	case uop.Max:
		r.maximum(d, k)
	case uop.MulAdd:
		if r.machine.Fused && d.IsFloat() { // of lanes that are all the same
			b, c := r.local(v128), r.local(v128)
			r.op(shape[k] + "splat")
			r.set(c)
			r.op(shape[k] + "splat")
			r.set(b)
			r.op(shape[k] + "splat")
			r.get(b)
			r.get(c)
			r.op(shape[k] + "relaxed_madd")
			r.extract(k, 0)
			return
		}
		c := r.local(k)
		r.set(c)
		r.op(p + "mul")
		r.get(c)
		r.op(p + "add")
		r.wrap(d)
	case uop.Dot2:
		r.dot2()
	case uop.IDiv, uop.Mod, uop.Shr:
		r.op(p + arithmetic[u.Op()] + signs(d))
	case uop.Less:
		if d.IsFloat() {
			r.op(p + "lt")
		} else {
			r.op(p + "lt" + signs(d))
		}
	default:
		name, ok := arithmetic[u.Op()]
		if !ok {
			panic(fmt.Sprintf("BUG: WebAssembly cannot spell %s of %s", u.Op(), d))
		}
		r.op(p + name)
		switch u.Op() {
		case uop.Add, uop.Mul, uop.Shl:
			r.wrap(d)
		}
	}
}

// wrap brings the result of 32-bit arithmetic back to a narrow type.
func (r *renderer) wrap(d dtype.DType) {
	switch d.Word() {
	case dtype.I8:
		r.op("i32.extend8_s")
	case dtype.I16:
		r.op("i32.extend16_s")
	case dtype.U8:
		r.i32(0xFF)
		r.op("i32.and")
	case dtype.U16:
		r.i32(0xFFFF)
		r.op("i32.and")
	case dtype.Bool:
		r.i32(1)
		r.op("i32.and")
	}
}

func (r *renderer) maximum(d dtype.DType, k kind) {
	if d.IsFloat() { // NaN wins, and +0 over −0
		r.op(k.String() + ".max")
		return
	}
	a, b := r.local(k), r.local(k)
	r.set(b)
	r.tee(a)
	r.get(b)
	r.get(a)
	r.get(b)
	r.op(k.String()+".gt"+signs(d), "select")
}

// convert is the cast of a number on the stack. Floats that become integers lie within the limits.
func (r *renderer) convert(from dtype.DType, have kind, to dtype.DType, want kind) {
	switch {
	case have == want && (have == f32 || have == f64):
	case have == f32 && want == f64:
		r.op("f64.promote_f32")
	case have == f64 && want == f32:
		r.op("f32.demote_f64")
	case have == f32 || have == f64:
		s := "_s"
		if to == dtype.U32 || to == dtype.U64 {
			s = "_u"
		}
		r.op(want.String() + ".trunc_sat_" + have.String() + s)
	case want == f32 || want == f64:
		r.op(want.String() + ".convert_" + have.String() + signs(from))
	default:
		if have == i32 && want == i64 {
			r.op("i64.extend_i32" + signs(from))
		} else if have == i64 && want == i32 {
			r.op("i32.wrap_i64")
		}
		r.wrap(to)
	}
}

func (r *renderer) bitcast(from, to dtype.DType) {
	a, b := kindOfType(from), kindOfType(to)
	switch {
	case a != b:
		r.op(b.String() + ".reinterpret_" + a.String())
	case to == dtype.Bool && from != dtype.Bool:
		r.i32(0)
		r.op("i32.ne")
	case b == i32:
		r.wrap(to)
	}
}

func (r *renderer) constant(d dtype.DType, v uop.Value) {
	switch bits := uop.ToBits(d, v); kindOfType(d) {
	case f32:
		r.f32(uint32(bits))
	case f64:
		r.f64(bits)
	case i64:
		r.i64(int64(bits))
	default:
		if d.IsNarrow() {
			r.i32(int32(bits))
		} else {
			r.i32(int32(uint32(v)))
		}
	}
}

// variable reads the uniform block of 32-bit words. An Index comes in 32 bits.
func (r *renderer) variable(u *uop.UOp) {
	for i, v := range r.p.Vars {
		if v != u {
			continue
		}
		r.get(paramVar)
		switch d := u.DType(); d {
		case dtype.F32, dtype.F64:
			r.mem("f32.load", uint32(4*i))
			if d == dtype.F64 {
				r.op("f64.promote_f32")
			}
		case dtype.I64, dtype.U64:
			r.mem("i64.load32_s", uint32(4*i))
		default:
			r.mem("i32.load", uint32(4*i))
			r.wrap(d)
		}
		return
	}
	panic(fmt.Sprintf("BUG: variable %s is not among the kernel's", u.Arg().(uop.VarArg).Name))
}
