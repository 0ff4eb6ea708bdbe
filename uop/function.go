package uop

// FunctionArg makes of a Detach a function with a name. The derivatives that it states need not be elementwise: each is the gradient
// of its operand, a graph in which the stand-in Slot (see NewStandIn) stands for the gradient of the value. Slot 0 states none: the
// gradient goes through the value.
type FunctionArg struct {
	Name string
	Slot int
}

func (FunctionArg) arg() {}

// Stated is the argument of a Detach that gives the gradients of its operands itself, from the gradient g of u.
type Stated interface {
	Arg
	Gradients(u, g *UOp) []*UOp
}

// Gradients puts g in the place of the stand-in.
func (f FunctionArg) Gradients(u, g *UOp) []*UOp {
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
	filled := Fill(map[int]*UOp{f.Slot: g}, u.src[1:]...)
	for i := 1; i+1 < len(out); i += 2 {
		out[i] = filled[i]
	}
	return out
}
