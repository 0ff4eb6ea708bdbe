package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// vec says whether a value has one element per lane here.
func (r *renderer) vec(u *uop.UOp) bool { return r.n > 0 && r.vary(u) }

// bitsOfType is the width of a lane: 32, or 64 for 64-bit types.
func (r *renderer) bitsOfType(d dtype.DType) int {
	if d.Size() == 8 {
		return 64
	}
	return 32
}

// laneBits is the width of a lane of a value. Indices have 64 bits only where two lanes leave room and the bounds
// ask for it.
func (r *renderer) laneBits(u *uop.UOp) int {
	switch {
	case u.DType() == dtype.Bool && r.vec(u):
		return r.maskBits(u)
	case u.DType() != dtype.Index:
		return r.bitsOfType(u.DType())
	case u.Op() == uop.Reg && r.regs[u].kind == v128:
		return r.regs[u].bits
	case r.n == 2 && r.wide(u):
		return 64
	}
	return 32
}

// laneKind is the kind of one lane of a value when it is taken out.
func (r *renderer) laneKind(u *uop.UOp) kind {
	if d := u.DType(); d == dtype.F32 || d == dtype.F64 {
		return kindOfType(d)
	}
	if r.laneBits(u) == 64 {
		return i64
	}
	return i32
}

var shape = map[kind]string{i32: "i32x4.", i64: "i64x2.", f32: "f32x4.", f64: "f64x2."}

func (r *renderer) extract(k kind, i int) { r.lanes("extract_lane", k, i) }
func (r *renderer) replace(k kind, i int) { r.lanes("replace_lane", k, i) }

func (r *renderer) lanes(name string, k kind, i int) {
	r.opcode(shape[k] + name)
	r.bytes = append(r.bytes, byte(i))
	r.line("%s%s %d", shape[k], name, i)
}

// rotate moves lane i+by to lane i.
func (r *renderer) rotate(bits, by int) {
	var s [16]byte
	size := bits / 8
	for i := range s {
		s[i] = byte(i)
		if i < r.n*size {
			s[i] = byte((i + by*size) % (r.n * size))
		}
	}
	r.shuffle(s)
}

// getMask puts a mask on the stack in lanes of so many bits.
func (r *renderer) getMask(m *mask, bits int) {
	r.get(m.local)
	r.maskWidth(m.bits, bits)
}

// maskWidth changes the width of the mask on the stack; only two lanes can have 64 bits.
func (r *renderer) maskWidth(have, want int) {
	switch {
	case have == want:
	case want == 64:
		r.op("i64x2.extend_low_i32x4_s")
	default:
		r.shuffle([16]byte{0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11})
	}
}

// maskBits is the natural width of a mask: that of what was compared.
func (r *renderer) maskBits(u *uop.UOp) int {
	for {
		switch u.Op() {
		case uop.Less, uop.Equal:
			return max(r.laneBits(u.At(0)), r.laneBits(u.At(1)))
		case uop.Reg:
			if b := r.regs[u].bits; b > 0 {
				return b
			}
			return 32
		case uop.And, uop.Or, uop.Xor:
			if r.vec(u.At(0)) {
				u = u.At(0)
			} else {
				u = u.At(1)
			}
		default:
			return 32
		}
	}
}

// maskOf computes a truth value per lane, as lanes of ones or zeros of so many bits.
func (r *renderer) maskOf(u *uop.UOp, bits int) {
	if !r.vec(u) {
		r.i32(0)
		r.scalar(u)
		r.op("i32.sub", "i32x4.splat")
		return
	}
	switch u.Op() {
	case uop.Reg:
		r.get(r.regs[u].local)
		r.maskWidth(r.regs[u].bits, bits)
	case uop.Less, uop.Equal:
		have := r.maskBits(u)
		r.compare(u, have)
		r.maskWidth(have, bits)
	case uop.And, uop.Or, uop.Xor:
		r.maskOf(u.At(0), bits)
		r.maskOf(u.At(1), bits)
		r.op("v128." + arithmetic[u.Op()])
	case uop.Load, uop.Bitcast:
		if u.Op() == uop.Load {
			r.vload(u)
		} else {
			r.vector(u.At(0))
		}
		r.v128([4]uint32{})
		r.op("i32x4.ne")
		r.maskWidth(32, bits)
	default:
		panic(fmt.Sprintf("BUG: WebAssembly cannot spell %s of bool", u.Op()))
	}
}

// compare leaves the mask of Less or Equal in the width of its operands.
func (r *renderer) compare(u *uop.UOp, bits int) {
	d := u.At(0).DType()
	k := r.laneKindOf(d, bits)
	flip := u.Op() == uop.Less && d == dtype.U64
	for _, s := range u.Src() {
		if d == dtype.Bool {
			r.maskOf(s, bits)
		} else {
			r.vectorAs(s, bits)
		}
		if flip { // there is no unsigned comparison
			r.v128([4]uint32{0, 1 << 31, 0, 1 << 31})
			r.op("v128.xor")
		}
	}
	switch {
	case u.Op() == uop.Equal:
		r.op(shape[k] + "eq")
	case d.IsFloat() && (k == f32 || k == f64):
		r.op(shape[k] + "lt")
	case k == i32:
		r.op(shape[k] + "lt" + signs(d))
	default:
		r.op(shape[k] + "lt_s")
	}
}

func (r *renderer) laneKindOf(d dtype.DType, bits int) kind {
	if d == dtype.F32 || d == dtype.F64 {
		return kindOfType(d)
	}
	if bits == 64 {
		return i64
	}
	return i32
}

// vector computes a value per lane in its own width; a scalar is repeated. Not for truth values.
func (r *renderer) vector(u *uop.UOp) { r.vectorAs(u, r.laneBits(u)) }

// vectorAs is vector with indices in lanes of so many bits.
func (r *renderer) vectorAs(u *uop.UOp, bits int) {
	d := u.DType()
	if d == dtype.Bool {
		panic("BUG: a mask is no vector of values")
	}
	if have := r.laneBits(u); d == dtype.Index && have != bits && r.vec(u) {
		r.vectorAs(u, have)
		if bits == 64 {
			r.op("i64x2.extend_low_i32x4_s")
		} else {
			r.maskWidth(64, 32)
		}
		return
	}
	k := r.laneKindOf(d, bits)
	if !r.vec(u) {
		if v, ok := u.ConstValue(); ok && d != dtype.Index && k != i64 && k != f64 {
			w := uint32(uop.ToBits(d, v))
			if k == i32 && d != dtype.F16 && d != dtype.BF16 {
				w = uint32(v)
			}
			r.v128([4]uint32{w, w, w, w})
			return
		}
		if d == dtype.Index {
			r.index(u, k)
			r.spread(k)
		} else {
			r.splat(u)
		}
		return
	}
	switch u.Op() {
	case uop.Reg:
		r.get(r.regs[u].local)
	case uop.Range:
		if bits == 64 {
			r.v128([4]uint32{0, 0, 1, 0})
		} else {
			r.v128([4]uint32{0, 1, 2, 3})
		}
	case uop.Load:
		r.vload(u)
	case uop.Where:
		r.vectorAs(u.At(1), bits)
		r.vectorAs(u.At(2), bits)
		r.maskOf(u.At(0), bits)
		r.op("v128.bitselect")
	case uop.Cast:
		r.vcast(u, bits)
	case uop.Bitcast:
		r.vbitcast(u)
	default:
		r.velementwise(u, k, bits)
	}
}

func (r *renderer) velementwise(u *uop.UOp, k kind, bits int) {
	d := u.DType()
	p := shape[k]
	switch u.Op() {
	case uop.Add:
		if u.At(1).Op() == uop.Neg && r.vec(u.At(1)) {
			r.vectorAs(u.At(0), bits)
			r.vectorAs(u.At(1).At(0), bits)
			r.op(p + "sub")
			r.vwrap(d)
			return
		}
		if p := u.At(1); r.machine.Relaxed && d.IsFloat() && u.At(0) == r.sum && p.Op() == uop.Mul {
			r.vector(p.At(0))
			r.vector(p.At(1))
			r.vector(u.At(0))
			r.op(shape[k] + "relaxed_madd")
			return
		}
	case uop.Max:
		r.vectorAs(u.At(0), bits)
		r.vectorAs(u.At(1), bits)
		r.vmaximum(d, k)
		return
	case uop.MulAdd:
		r.vectorAs(u.At(2), bits)
		r.vectorAs(u.At(0), bits)
		r.vectorAs(u.At(1), bits)
		r.op(p+"mul", p+"add")
		r.vwrap(d)
		return
	case uop.Shl, uop.Shr:
		if r.vec(u.At(1)) {
			r.each(u, k, bits)
			return
		}
		r.vectorAs(u.At(0), bits)
		r.scalarAs(u.At(1), k)
		if k == i64 {
			r.op("i32.wrap_i64")
		}
		if u.Op() == uop.Shl {
			r.op(p + "shl")
			r.vwrap(d)
		} else {
			r.op(p + "shr" + signs(d))
		}
		return
	case uop.IDiv, uop.Mod:
		r.each(u, k, bits)
		return
	}
	for _, s := range u.Src() {
		r.vectorAs(s, bits)
	}
	switch u.Op() {
	case uop.And, uop.Or, uop.Xor:
		r.op("v128." + arithmetic[u.Op()])
	case uop.Neg:
		r.op(p + "neg")
		r.vwrap(d)
	case uop.Add, uop.Mul, uop.Div, uop.Sqrt, uop.Trunc:
		r.op(p + arithmetic[u.Op()])
		r.vwrap(d)
	default:
		panic(fmt.Sprintf("BUG: WebAssembly cannot spell %s of %s", u.Op(), d))
	}
}

func (r *renderer) vmaximum(d dtype.DType, k kind) {
	switch {
	case d.IsFloat(): // NaN wins, and +0 over −0
		r.op(shape[k] + "max")
	case k == i32:
		r.op(shape[k] + "max" + signs(d))
	default:
		a, b := r.local(v128), r.local(v128)
		r.set(b)
		r.tee(a)
		r.get(b)
		for _, l := range []uint32{a, b} {
			r.get(l)
			if d == dtype.U64 {
				r.v128([4]uint32{0, 1 << 31, 0, 1 << 31})
				r.op("v128.xor")
			}
		}
		r.op("i64x2.gt_s", "v128.bitselect")
	}
}

// vwrap brings lanes back to a narrow type.
func (r *renderer) vwrap(d dtype.DType) {
	switch d {
	case dtype.I8, dtype.I16:
		n := int32(32 - d.Bits())
		r.i32(n)
		r.op("i32x4.shl")
		r.i32(n)
		r.op("i32x4.shr_s")
	case dtype.U8, dtype.U16:
		w := uint32(1)<<d.Bits() - 1
		r.v128([4]uint32{w, w, w, w})
		r.op("v128.and")
	}
}

// each does an op lane by lane.
func (r *renderer) each(u *uop.UOp, k kind, bits int) {
	type operand struct {
		local uint32
		kind  kind
		lanes bool
	}
	var list []operand
	for _, s := range u.Src() {
		o := operand{kind: r.laneKindOf(s.DType(), bits)}
		if s.DType() != dtype.Index {
			o.kind = kindOfType(s.DType())
		}
		if o.lanes = r.vec(s); o.lanes {
			if s.DType() == dtype.Index {
				r.vectorAs(s, bits)
			} else {
				r.vector(s)
			}
			o.local = r.local(v128)
		} else {
			r.scalarAs(s, o.kind)
			o.local = r.local(o.kind)
		}
		r.set(o.local)
		list = append(list, o)
	}
	r.v128([4]uint32{})
	for i := range r.n {
		for _, o := range list {
			r.get(o.local)
			if o.lanes {
				r.extract(o.kind, i)
			}
		}
		if u.Op() == uop.Cast {
			r.convert(u.At(0).DType(), list[0].kind, u.DType(), k)
		} else {
			r.apply(u, list[0].kind)
		}
		r.replace(k, i)
	}
}

// vcast converts lanes.
func (r *renderer) vcast(u *uop.UOp, bits int) {
	x := u.At(0)
	from, to := x.DType(), u.DType()
	have, want := r.laneKind(x), r.laneKindOf(to, bits)
	switch {
	case have == i64 && (want == f32 || want == f64), want == i64 && (have == f32 || have == f64):
		r.each(u, want, bits)
		return
	}
	r.vector(x)
	switch {
	case have == want && have != i32:
	case have == f32 && want == f64:
		r.op("f64x2.promote_low_f32x4")
	case have == f64 && want == f32:
		r.op("f32x4.demote_f64x2_zero")
	case have == f32:
		r.op("i32x4.trunc_sat_f32x4" + u32s(to))
	case have == f64:
		r.op("i32x4.trunc_sat_f64x2" + u32s(to) + "_zero")
	case want == f32:
		r.op("f32x4.convert_i32x4" + signs(from))
	case want == f64:
		r.op("f64x2.convert_low_i32x4" + signs(from))
	case have == i32 && want == i64:
		r.op("i64x2.extend_low_i32x4" + signs(from))
	default:
		r.maskWidth(int(map[kind]int{i32: 32, i64: 64}[have]), 32)
		r.vwrap(to)
	}
}

func u32s(d dtype.DType) string {
	if d == dtype.U32 {
		return "_u"
	}
	return "_s"
}

func (r *renderer) vbitcast(u *uop.UOp) {
	from, to := u.At(0).DType(), u.DType()
	if from == dtype.Bool {
		r.maskOf(u.At(0), 32)
		r.v128([4]uint32{1, 1, 1, 1})
		r.op("v128.and")
		return
	}
	r.vector(u.At(0))
	switch to {
	case dtype.F16, dtype.BF16:
		r.vwrap(dtype.U16)
	default:
		if !from.IsFloat() || from.Size() == 2 {
			r.vwrap(to)
		}
	}
}
