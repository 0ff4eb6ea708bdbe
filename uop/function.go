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

// fill puts g in the place of the stand-in in gradients that u states. The value and the operands were there before the stand-in was, so
// that what they are made of, which is all of a program in the end, is not walked again for each function in it.
func (f FunctionArg) fill(u, g *UOp, gradients ...*UOp) []*UOp {
	without := []*UOp{u.src[0]}
	for i := 1; i < len(u.src); i += 2 {
		without = append(without, u.src[i])
	}
	return FillBeside(map[int]*UOp{f.Slot: g}, without, gradients...)
}

// Gradients puts g in the place of the stand-in.
func (f FunctionArg) Gradients(u, g *UOp) []*UOp {
	out := make([]*UOp, len(u.src))
	if f.Slot == 0 {
		out[0] = g
		return out
	}
	g = spread(g, u.shape)
	filled := f.fill(u, g, u.src[1:]...)
	for i := 1; i+1 < len(out); i += 2 {
		out[i] = filled[i]
	}
	return out
}

// spread is g, which may be one number for all elements, of a shape.
func spread(g *UOp, shape Shape) *UOp {
	if len(g.shape) > 0 {
		return g
	}
	ones := make([]int, len(shape))
	for i := range ones {
		ones[i] = 1
	}
	return g.Reshape(ones...).Expand(shape...)
}

// Law says how the values of a function change with its arguments, as a formula that is written out where a derivative is asked for.
type Law struct {
	Name string
	// Gradients are those of the arguments from g, the gradient of value i: graphs of g, the values and the arguments, or nil for 0. The
	// values come with this law, so that it holds for derivatives of all orders.
	Gradients func(i int, values, args []*UOp, g *UOp) []*UOp
}

// LawArg makes of a Detach value I of a function. Operands behind the value itself are in turn an argument and a value, the last of which
// are repeated, so that as in each Detach what it depends on stands at odd places.
type LawArg struct {
	*Law
	I, Args, Values int
}

func (LawArg) arg() {}

// State gives values the derivatives of the law.
func (l *Law) State(values, args []*UOp) []*UOp {
	out := make([]*UOp, len(values))
	for i, v := range values {
		src := []*UOp{v}
		for k := range max(len(values), len(args)) {
			src = append(src, args[min(k, len(args)-1)], values[min(k, len(values)-1)])
		}
		out[i] = v.home.Make(Detach, v.dtype, LawArg{l, i, len(args), len(values)}, src...)
	}
	return out
}

// Gradients asks the law.
func (a LawArg) Gradients(u, g *UOp) []*UOp {
	args, values := make([]*UOp, a.Args), make([]*UOp, a.Values)
	for k := range args {
		args[k] = u.src[1+2*k]
	}
	for k := range values {
		values[k] = u.src[2+2*k]
	}
	out := make([]*UOp, len(u.src))
	for k, d := range a.Law.Gradients(a.I, a.State(values, args), args, spread(g, u.shape)) {
		out[1+2*k] = d
	}
	return out
}
