package tensor

import (
	"slices"

	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

// VJP calls f and gives its results, and a function that takes a gradient of each result (of its shape; nil: 0) and gives those of the
// arguments: the product of a vector with the Jacobian. Arguments that hold no floats have the gradient nil. The same tensor given
// twice is two arguments, and what f uses besides its arguments counts as constant. Gradients are graphs as any other, and may be
// differentiated again.
func VJP(f Fn, in ...*Tensor) (out []*Tensor, pullback func(seeds ...*Tensor) []*Tensor) {
	t := trace("VJP", f, in, whole(in))
	return t.results(), func(seeds ...*Tensor) []*Tensor { return t.pull(seeds) }
}

// pull gives the gradients of the arguments.
func (t *traced) pull(seeds []*Tensor) []*Tensor {
	checkLike(t.op, "seed", seeds, t.outs)
	var ys, gs []*uop.UOp
	for i, s := range seeds {
		if s != nil {
			ys, gs = append(ys, t.outs[i].node()), append(gs, s.node().Cast(t.outs[i].DType()))
		}
	}
	var wrt []*uop.UOp
	var floats []*Tensor
	for i, x := range t.in {
		if x.IsFloat() {
			wrt, floats = append(wrt, t.stand[i]), append(floats, x)
		}
	}
	found, _ := grad.FindAll(ys, gs, wrt...)
	given := t.tensors(found, floats)
	out := make([]*Tensor, len(t.in))
	for i, x := range t.in {
		if x.IsFloat() {
			out[i], given = given[0], given[1:]
		}
	}
	return out
}

// JVP calls f and gives its results and, for each, its tangent: how it changes while the arguments change along tangents, each of the
// shape of its argument (nil: it stays). That is the product of the Jacobian with a vector, computed forward beside the results, at
// about the cost of one more call, and no intermediate result is kept for it. A result that holds no floats has the tangent nil. JVP of a
// gradient is the product of the Hessian with a vector:
//
//	_, hv := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor { return loss(in[0]).Grad(in[0]) }, []*tensor.Tensor{x}, []*tensor.Tensor{v})
func JVP(f Fn, in, tangents []*Tensor) (out, outTangents []*Tensor) {
	const op = "JVP"
	checkLike(op, "tangent", tangents, in)
	t := trace(op, f, in, whole(in))
	along := map[*uop.UOp]*uop.UOp{}
	for i, v := range tangents {
		if v != nil {
			along[t.stand[i]] = v.node().Cast(in[i].DType())
		}
	}
	ts := grad.Forward(along, nodes(t.outs)...)
	outTangents = make([]*Tensor, len(ts))
	var us []*uop.UOp
	var like []*Tensor
	for i, o := range t.outs {
		if !o.IsFloat() {
			continue
		}
		if ts[i] == nil {
			ts[i] = spread(o.node().Int(0), o.shape())
		}
		us, like = append(us, ts[i]), append(like, o)
	}
	given := t.tensors(us, like)
	for i, o := range t.outs {
		if o.IsFloat() {
			outTangents[i], given = given[0], given[1:]
		}
	}
	return t.results(), outTangents
}

// Same says in Vmap's options that an argument is the same for all calls.
const Same = -1 << 31

// VmapOptions are the options of Vmap. Axes count from the end where they are negative; nil means 0 for all.
type VmapOptions struct {
	In  []int // the axis of each argument along which its calls lie, or Same
	Out []int // the axis of each result along which they are to lie
}

// Vmap gives the function that calls f for each element of an axis of its arguments, and stacks the results: one graph for all calls,
// with no loop. The axes must have one size. f is called once, with arguments that do not have the axis; the functions that it calls are
// those of any tensors, gradients among them:
//
//	perExample := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return loss(w, in[0]).Grad(w) }, tensor.VmapOptions{})
//
// Numbers drawn at random in f are the same for all calls. Assignments in f to what depends on the arguments are an error.
//
// Inlined, the function that it gives would pass for one of the caller's: errors name the first line outside of the library.
//
//go:noinline
func Vmap(f Fn, o VmapOptions) Fn {
	const op = "Vmap"
	return func(in ...*Tensor) []*Tensor {
		axes := axesOf(op, "argument", o.In, len(in))
		var size *Size // of the axis
		n := 0         // the most that it can be
		for i, x := range in {
			if axes[i] == Same {
				continue
			}
			axes[i] = x.axis(op, axes[i])
			if have := x.sizeAt(axes[i]); size == nil {
				size, n = &have, x.room()[axes[i]]
			} else if *size != have {
				fail(op, rooms(in), "argument %d has %v elements on axis %d, the one before %v", i, have, axes[i], *size)
			}
		}
		if size == nil {
			failArg(op, "all arguments are the same for all calls")
		}
		list := slices.Clone(in)
		for i, x := range in {
			if axes[i] != Same && x.given().Varies(axes[i]) {
				list[i] = x.like(firstBeyond(x.node(), axes[i]))
			}
		}
		t := trace(op, f, list, func(i int) uop.Shape {
			if axes[i] == Same {
				return nil
			}
			return without(list[i].shape(), axes[i])
		})
		with := map[*uop.UOp]*uop.UOp{}
		for i, s := range t.stand {
			if s != nil {
				with[s] = moved(list[i].node(), axes[i], 0)
			}
		}
		outs := axesOf(op, "result", o.Out, len(t.outs))
		many := vmap.Batch(n, with, nodes(t.outs)...)
		for i, u := range many {
			if u == nil { // it does not depend on the arguments
				y := t.outs[i].node()
				u = y.Reshape(append([]int{1}, y.Shape()...)...).Expand(append([]int{n}, y.Shape()...)...)
			}
			if many[i] = moved(u, 0, checkAxis(op, u.Shape(), outs[i])); size.is.Varies() {
				many[i] = many[i].Limit(checkAxis(op, u.Shape(), outs[i]), size.is)
			}
		}
		return t.tensors(many, t.outs)
	}
}

// rooms are the shapes with the most that each axis can be.
func rooms(ts []*Tensor) (list []uop.Shape) {
	for _, t := range ts {
		list = append(list, t.room())
	}
	return list
}

// firstBeyond is u with the first element of an axis in place of those that do not count: a function of each has no trouble with them.
func firstBeyond(u *uop.UOp, axis int) *uop.UOp {
	size := u.Sizes()[axis]
	u = only(u, uop.Sum, axis)
	shape := u.Shape()
	at := uop.NewIota(shape[axis])
	return u.Gather(alongAxis(at.Less(size.Node()).Where(at, at.Int(0)), axis, shape), axis)
}

// axesOf are the axes given, or zeros.
func axesOf(op, what string, list []int, n int) []int {
	if list != nil && len(list) != n {
		failArg(op, "%d axes for %d %ss", len(list), n, what)
	}
	out := make([]int, n)
	copy(out, list)
	return out
}
