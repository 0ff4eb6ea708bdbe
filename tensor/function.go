package tensor

import (
	"github.com/weft-ml/weft/uop"
)

// FunctionOptions are the options of Function.
type FunctionOptions struct {
	// Gradient states the gradients of the arguments: given these, what the function returned and a gradient of each result, it gives
	// one of each argument, of its shape; nil stands for 0. It is linear in the gradients of the results, as every derivative is. What the
	// function uses besides its arguments has no gradient then. nil: gradients are found as ever.
	Gradient func(in, out, seeds []*Tensor) []*Tensor
}

// Function gives f a name, under which its results stand in the graph and in what is printed of it, and, where the options say so, a
// gradient of its own: one that is cheaper or more exact than the one that would be found, or another one on purpose, as of a
// rounding that lets gradients through. Tangents (JVP), Vmap and gradients of gradients follow from it.
//
//	ste := tensor.Function("round", func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Round()} },
//		tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor { return seeds }})
//
// Inlined, the function that it gives would pass for one of the caller's: errors name the first line outside of the library.
//
//go:noinline
func Function(name string, f Fn, o FunctionOptions) Fn {
	if name == "" {
		failArg("Function", "it has no name")
	}
	return func(in ...*Tensor) []*Tensor {
		outs := f(in...)
		for i, y := range outs {
			if y == nil {
				failArg(name, "result %d of the function is nil", i)
			}
		}
		all := make([]*Tensor, len(outs))
		for i, y := range outs {
			if o.Gradient == nil || !y.IsFloat() {
				all[i] = y.named(uop.FunctionArg{Name: name})
			} else {
				all[i] = y.stated(name, in, outs, i, o)
			}
		}
		return all
	}
}

// named is t under a name, with what is stated of its gradients.
func (t *Tensor) named(f uop.FunctionArg, pairs ...*uop.UOp) *Tensor {
	u := t.node()
	return t.like(u.Home().Make(uop.Detach, u.DType(), f, append([]*uop.UOp{u}, pairs...)...))
}

// stated is result i of a function with the gradients that are stated of it.
func (t *Tensor) stated(name string, in, outs []*Tensor, i int, o FunctionOptions) *Tensor {
	seed := uop.NewStandIn(t.DType(), t.shape()...)
	seeds := make([]*Tensor, len(outs))
	for k, y := range outs {
		if seeds[k] = y.like(spread(y.node().Int(0), y.shape())); k == i {
			seeds[k] = y.like(seed)
		}
	}
	ds := o.Gradient(in, outs, seeds)
	if len(ds) != len(in) {
		failArg(name, "%d gradients for %d arguments", len(ds), len(in))
	}
	var pairs []*uop.UOp
	for k, d := range ds {
		switch x := in[k]; {
		case d == nil || !x.IsFloat():
		case !d.shape().Equal(x.shape()):
			fail(name, shapesOf(d, x), "the gradient of argument %d must have its shape", k)
		default:
			pairs = append(pairs, x.node(), d.node().Cast(x.DType()))
		}
	}
	return t.named(uop.FunctionArg{Name: name, Slot: seed.Slot()}, pairs...)
}

// ContiguousBackward is t, whose gradient is computed and kept in memory before anything is done with it, as Contiguous does with a value.
func (t *Tensor) ContiguousBackward() *Tensor {
	if !t.IsFloat() {
		return t.same()
	}
	seed := uop.NewStandIn(t.DType(), t.shape()...)
	return t.named(uop.FunctionArg{Name: "contiguous backward", Slot: seed.Slot()}, t.node(), seed.Contiguous())
}
