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
			if k == i32 && !d.IsNarrow() {
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
		if r.lesser(u, k) {
			return
		}
		for i, and := range []string{"v128.andnot", "v128.and"} {
			if isZeros(u.At(i + 1)) {
				r.vectorAs(u.At(2-i), bits)
				r.maskOf(u.At(0), bits)
				r.op(and)
				return
			}
		}
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

// isZeros says that a value is a constant without any bit.
func isZeros(u *uop.UOp) bool {
	v, ok := u.ConstValue()
	return ok && (u.DType() == dtype.Index && v == 0 || u.DType() != dtype.Index && uop.ToBits(u.DType(), v) == 0)
}

// lesser writes a choice of the smaller or greater of two floats as the one instruction that is defined as just that
// choice, NaN and zeros included.
func (r *renderer) lesser(u *uop.UOp, k kind) bool {
	c := u.At(0)
	if c.Op() != uop.Less || k != f32 && k != f64 || !r.vec(c) {
		return false
	}
	switch a, b := c.At(0), c.At(1); {
	case u.At(1) == a && u.At(2) == b:
		r.vector(b)
		r.vector(a)
		r.op(shape[k] + "pmin") // of x and y: y < x ? y : x
	case u.At(1) == b && u.At(2) == a:
		r.vector(a)
		r.vector(b)
		r.op(shape[k] + "pmax") // x < y ? y : x
	default:
		return false
	}
	return true
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
		if r.machine.Relaxed && d.IsFloat() {
			for _, s := range u.Src() {
				r.vectorAs(s, bits)
			}
			r.op(p + "relaxed_madd")
			return
		}
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
	case uop.Dot2:
		r.op("i32x4.dot_i16x8_s")
	case uop.And, uop.Or, uop.Xor:
		r.op("v128." + arithmetic[u.Op()])
	case uop.Neg:
		r.op(p + "neg")
		r.vwrap(d)
	case uop.Add, uop.Mul, uop.Div, uop.Sqrt, uop.Trunc, uop.RoundEven:
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
