package grad

import "github.com/weft-ml/weft/uop"

// A kernel that the program wrote as text has the derivatives of the graph that says the same.

func foreign(u, g *uop.UOp) grads {
	out := make(grads, len(u.Src()))
	out[same(u)] = g
	return out
}

func pushForeign(u *uop.UOp, t []*uop.UOp) *uop.UOp { return t[same(u)] }

// same is the operand that is u as a graph.
func same(u *uop.UOp) int {
	a := u.Arg().(uop.ForeignArg)
	if len(u.Src()) == a.Args {
		panic(&uop.ShapeError{Op: "Grad", Shapes: []uop.Shape{u.Shape()},
			Reason: "nothing is known of the derivatives of the kernel " + a.Name + "; state them, or what it computes (UnsafeOptions)"})
	}
	return a.Args
}
