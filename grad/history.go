package grad

import "github.com/weft-ml/weft/uop"

// Dependent lists the nodes that a gradient of roots goes through, roots among them, operands first: those of which the
// gradient may be asked for without it being 0 by the way roots are built.
func Dependent(roots ...*uop.UOp) (out []*uop.UOp) {
	integer := func(u *uop.UOp) bool { return !u.DType().IsFloat() }
	out = make([]*uop.UOp, 0, 32)
	uop.WalkBy(roots, differentiable, integer, func(u *uop.UOp) { out = append(out, u) })
	return out
}

// differentiable are the operands that may get a gradient.
func differentiable(u *uop.UOp) []*uop.UOp {
	switch u.Op() {
	case uop.Detach: // what derivatives are stated for
		if f, named := u.Arg().(uop.FunctionArg); named && f.Slot == 0 {
			return u.Src()
		}
		var out []*uop.UOp
		for i := 1; i < len(u.Src()); i += 2 {
			out = append(out, u.At(i))
		}
		return out
	case uop.Trunc, uop.RoundEven, uop.Bitcast:
		return nil
	}
	return operands(u)
}
