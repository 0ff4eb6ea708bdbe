package wasm

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

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
	case from == dtype.U32 && to == dtype.Index && want == i32: // what does not fit stays far outside of every array
		r.v128([4]uint32{1<<31 - 1, 1<<31 - 1, 1<<31 - 1, 1<<31 - 1})
		r.op("i32x4.min_u")
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
	if to.IsNarrow() || from.IsNarrow() || !from.IsFloat() {
		r.vwrap(to.Word())
	}
}
