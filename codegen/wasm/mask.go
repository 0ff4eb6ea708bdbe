package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

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
