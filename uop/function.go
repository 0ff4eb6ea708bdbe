package uop

// FunctionArg makes of a Detach a function with a name. The derivatives that it states need not be elementwise: each is the gradient
// of its operand, a graph in which the stand-in Slot (see NewStandIn) stands for the gradient of the value. Slot 0 states none: the
// gradient goes through the value. Of what is Last no derivative is known: asking for one fails.
type FunctionArg struct {
	Name string
	Slot int
	Last bool
}

func (FunctionArg) arg() {}

// Stated is the argument of a Detach that gives the gradients of its operands itself, from the gradient g of u.
type Stated interface {
	Arg
	Gradients(u, g *UOp) []*UOp
}

// Refuse fails because a derivative of u is asked for.
func (f FunctionArg) Refuse(u *UOp) {
	fail(u, "derivatives of %s are not known to so high an order", f.Name)
}

// Fill puts g in the place of the stand-in in gradients that u states. The value and the operands were there before the stand-in was, so
// that what they are made of, which is all of a program in the end, is not walked again for each function in it.
func (f FunctionArg) Fill(u, g *UOp, gradients ...*UOp) []*UOp {
	without := []*UOp{u.src[0]}
	for i := 1; i < len(u.src); i += 2 {
		without = append(without, u.src[i])
	}
	return FillBeside(map[int]*UOp{f.Slot: g}, without, gradients...)
}

// Gradients puts g in the place of the stand-in.
func (f FunctionArg) Gradients(u, g *UOp) []*UOp {
	if f.Last {
		f.Refuse(u)
	}
	out := make([]*UOp, len(u.src))
	if f.Slot == 0 {
		out[0] = g
		return out
	}
	if len(g.shape) == 0 {
		ones := make([]int, len(u.shape))
		for i := range ones {
			ones[i] = 1
		}
		g = g.Reshape(ones...).Expand(u.shape...)
	}
	filled := f.Fill(u, g, u.src[1:]...)
	for i := 1; i+1 < len(out); i += 2 {
		out[i] = filled[i]
	}
	return out
}
