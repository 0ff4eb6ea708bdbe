package symbolic

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// elementwise lists the ops with a meaning on single elements; foldable are those that every device computes to the
// same bits. Exp2, log2 and sin are polynomials of the target: folding them here could differ in the last bit.
var elementwise, foldable = func() (all, fold []uop.Op) {
	for o := range uop.NumOps {
		if !o.Elementwise() {
			continue
		}
		all = append(all, o)
		if uop.Info(o).Trait != uop.Function {
			fold = append(fold, o)
		}
	}
	return all, fold
}()

// fold evaluates an op on constants.
func fold(m *rewrite.Match) *uop.UOp {
	u := m.Root
	var v [3]uop.Value
	from := u.At(0).DType()
	for i, s := range u.Src() {
		k, ok := s.ConstValue()
		if !ok {
			return nil
		}
		v[i] = k
	}
	return m.Table.ConstOf(u.DType(), uop.Eval(u.Op(), from, u.DType(), v[:len(u.Src())]...))
}

func constantRight(m *rewrite.Match) *uop.UOp {
	u := m.Root
	if u.At(0).Op() != uop.Const || u.At(1).Op() == uop.Const {
		return nil
	}
	return m.Table.Make(u.Op(), u.DType(), nil, u.At(1), u.At(0))
}

// divideByPower multiplies by the reciprocal where that is exact.
func divideByPower(m *rewrite.Match) *uop.UOp {
	v, _ := m.Get(c).ConstValue()
	d := m.Root.DType()
	f := v.Float()
	if frac, _ := math.Frexp(f); math.Abs(frac) != 0.5 || math.IsInf(f, 0) {
		return nil
	}
	r := uop.FloatValue(d, 1/f)
	if limits, _ := dtype.Finfo(d); 1/r.Float() != f || math.Abs(r.Float()) < limits.Normal || math.IsInf(r.Float(), 0) {
		return nil
	}
	return m.Get(x).Mul(m.Table.ConstOf(d, r))
}
