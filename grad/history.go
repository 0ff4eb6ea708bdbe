package grad

import "github.com/weft-ml/weft/uop"

// Dependent lists the nodes that a gradient of roots goes through, roots among them, operands first: those of which the
// gradient may be asked for without it being 0 by the way roots are built.
func Dependent(roots ...*uop.UOp) []*uop.UOp {
	type frame struct {
		u    *uop.UOp
		srcs []*uop.UOp
	}
	var out []*uop.UOp
	var seen uop.Map[bool]
	var stack []frame
	enter := func(u *uop.UOp) {
		if done, _ := seen.Get(u); done || !u.DType().IsFloat() {
			return
		}
		seen.Set(u, true)
		stack = append(stack, frame{u, differentiable(u)})
	}
	for _, root := range roots {
		enter(root)
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.srcs) == 0 {
				out = append(out, f.u)
				stack = stack[:len(stack)-1]
				continue
			}
			s := f.srcs[0]
			f.srcs = f.srcs[1:]
			enter(s)
		}
	}
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
	case uop.Trunc, uop.Bitcast:
		return nil
	}
	return operands(u)
}
