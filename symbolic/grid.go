package symbolic

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// grid computes integers that come from indices as indices, where bounds prove that nothing wraps: casts move
// outwards, so that arange(n)·2 + 1 < m is a guard. What does not fit into 32 bits stays as it is: there are targets
// whose indices have no more.
func grid(m *rewrite.Match) *uop.UOp {
	u := m.Root
	x := state(m)
	if u.Op() == uop.Cast {
		return gridCast(x, u)
	}
	first := 0
	if u.Op() == uop.Where {
		first = 1
	}
	d := u.At(first).DType()
	if !d.IsInt() || d == dtype.Index {
		return nil
	}
	if u.Op() == uop.Xor && (d.IsUnsigned() || !u.At(1).IsConst(-1)) {
		return nil
	}
	casts := 0
	var operands [3]*uop.UOp
	for i, s := range u.Src() {
		operands[i] = s
		if i < first {
			continue
		}
		if operands[i] = x.lifted(s); operands[i] == nil {
			return nil
		}
		if s.Op() == uop.Cast {
			casts++
		}
	}
	if casts == 0 {
		return nil
	}
	src := operands[:len(u.Src()):len(u.Src())]
	if u.DType() == dtype.Bool {
		return m.Table.Make(u.Op(), dtype.Bool, nil, src...)
	}
	v := m.Table.Make(u.Op(), dtype.Index, nil, src...)
	if s := x.span(v); !s.within(typeSpan(d)) || !s.within(typeSpan(dtype.I32)) {
		return nil
	}
	return v.Cast(d)
}

// gridCast skips an integer type on the way from an index: nothing is lost where bounds prove it.
func gridCast(x *index, u *uop.UOp) *uop.UOp {
	inner := u.At(0)
	if inner.Op() != uop.Cast || inner.At(0).DType() != dtype.Index {
		return nil
	}
	e := x.lifted(inner)
	if e == nil || u.DType() == dtype.Bool {
		return nil
	}
	return e.Cast(u.DType())
}

// lifted is an integer as an Index expression of the same value, or nil.
func (x *index) lifted(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Const {
		v, _ := u.ConstValue()
		if int64(int32(v.Int())) != v.Int() || v.Int() < 0 && u.DType().IsUnsigned() {
			return nil
		}
		return x.t.Index(int(v.Int()))
	}
	if u.Op() != uop.Cast || u.At(0).DType() != dtype.Index || !u.DType().IsInt() {
		return nil
	}
	s := x.span(u.At(0))
	if !s.finite() || !s.within(typeSpan(u.DType())) {
		return nil
	}
	return u.At(0)
}
