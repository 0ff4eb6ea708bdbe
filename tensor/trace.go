package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A Fn is a function of tensors. VJP, JVP and Vmap call it with stand-ins of the shapes and types of its arguments: no value that depends on
// them can be read in it, nor may a tensor be assigned that outlives it.
type Fn = func(in ...*Tensor) []*Tensor

// traced is the graph of a function of tensors on stand-ins.
type traced struct {
	op    string
	in    []*Tensor // the arguments
	stand []*uop.UOp
	outs  []*Tensor // on the stand-ins
}

// trace calls f with a stand-in for each argument, of the shape that shape gives it; where that is nil, with the argument itself. The same
// tensor given twice is two arguments.
func trace(op string, f Fn, in []*Tensor, shape func(i int) uop.Shape) *traced {
	t := &traced{op: op, in: in, stand: make([]*uop.UOp, len(in))}
	args := slices.Clone(in)
	for i, x := range in {
		if s := shape(i); s != nil {
			t.stand[i] = uop.NewStandIn(x.DType(), s...)
			args[i] = newTensor(t.stand[i], x.Engine())
		}
	}
	t.outs = f(args...)
	for i, o := range t.outs {
		if o == nil {
			failArg(op, "result %d of the function is nil", i)
		}
	}
	return t
}

// whole are the shapes of the arguments.
func whole(in []*Tensor) func(i int) uop.Shape {
	return func(i int) uop.Shape { return append(uop.Shape{}, in[i].shape()...) }
}

// fill puts the arguments in the place of the stand-ins.
func (t *traced) fill(us ...*uop.UOp) []*uop.UOp {
	values := map[int]*uop.UOp{}
	for i, s := range t.stand {
		if s != nil {
			values[s.Slot()] = t.in[i].node()
		}
	}
	return uop.Fill(values, us...)
}

// tensors are graphs with the arguments in their place, on the devices of like.
func (t *traced) tensors(us []*uop.UOp, like []*Tensor) []*Tensor {
	out := make([]*Tensor, len(us))
	for i, u := range t.fill(us...) {
		e := like[i].Engine()
		if e == nil && hasBuffer(u) {
			e = commonEngine(t.op, append(slices.Clone(t.in), t.outs...)...)
		}
		out[i] = newTensor(u, e)
	}
	return out
}

// results are what the function returned.
func (t *traced) results() []*Tensor { return t.tensors(nodes(t.outs), t.outs) }

// checkLike fails unless each tensor has the shape of its fellow and both hold floats; nil is allowed.
func checkLike(op, what string, ts, like []*Tensor) {
	if len(ts) != len(like) {
		failArg(op, "%d %ss for %d tensors", len(ts), what, len(like))
	}
	for i, x := range ts {
		switch {
		case x == nil:
		case !x.shape().Equal(like[i].shape()):
			fail(op, shapesOf(x, like[i]), "%s %d must have the shape of its tensor", what, i)
		case !like[i].IsFloat() || !x.IsFloat():
			failType(op, []dtype.DType{x.DType(), like[i].DType()}, "%s %d: only floats have derivatives", what, i)
		}
	}
}
