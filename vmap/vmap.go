// Package vmap makes of the graph of a function of arrays the graph of the same function of many arrays at once: each node that
// depends on an array that there are many of gets a new first axis, along which they lie.
//
// It knows one rule per op, in a table that a test checks for completeness. It refuses to know tensors, devices and anything about
// running.
//
//	ys := vmap.Batch(n, map[*uop.UOp]*uop.UOp{x: many}, y) // x [3], many [n 3]
package vmap

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// rule makes u for n arrays at once from its operands, of which those that there are many of have the new first axis.
type rule func(b *batch, u *uop.UOp) *uop.UOp

// rules is keyed by op; a test reports missing rows. What works on each element alone needs none of its own; an effect happens once, not n
// times.
var rules = [uop.NumOps]rule{
	uop.Const: alone, uop.Buffer: alone, uop.Param: alone, uop.Var: alone, uop.Range: alone, uop.Reg: refuse,
	uop.Reshape: shaped, uop.Expand: shaped, uop.Permute: permute, uop.Flip: flip, uop.Pad: pad, uop.Shrink: shrink, uop.Slide: slide,
	uop.Reduce: reduce, uop.Scan: scan, uop.Part: part, uop.ArgSort: elementwise,
	uop.Gather: gather, uop.Scatter: scatter, uop.Load: refuse, uop.Store: refuse, uop.After: refuse,
	uop.Contiguous: elementwise, uop.Copy: copied, uop.Check: check, uop.Extent: extent, uop.Detach: detach,
	uop.Foreign: foreign, uop.Call: call, uop.Loop: loop,
}

// ruleOf is found and not made when the program begins, so that programs that do not use this package do not link it.
func ruleOf(rules *[uop.NumOps]rule, o uop.Op) rule {
	if rules[o] == nil && o.Elementwise() {
		return elementwise
	}
	return rules[o]
}

// batch is a graph on its way.
type batch struct {
	n    int
	many map[*uop.UOp]*uop.UOp // nodes that there are many of, with them
	by   *[uop.NumOps]rule

	loops []madeLoop
}

// madeLoop is a loop that was made of one, with its results.
type madeLoop struct {
	of   *uop.UOp // a result of it
	outs []*uop.UOp
}

// Batch gives ys for n arrays at once: with says what some nodes are then, of a new first axis of n. A result is nil where y depends on none
// of them. An op that cannot be done for many at once panics with a *uop.ShapeError that names it.
func Batch(n int, with map[*uop.UOp]*uop.UOp, ys ...*uop.UOp) []*uop.UOp {
	b := &batch{n: n, many: map[*uop.UOp]*uop.UOp{}, by: &rules}
	for u, v := range with {
		b.many[u] = v
	}
	return b.run(uop.Topo(ys...), ys)
}

// run goes through nodes, operands first.
func (b *batch) run(order, ys []*uop.UOp) []*uop.UOp {
	for _, u := range order {
		if b.many[u] == nil && slices.ContainsFunc(u.Src(), func(s *uop.UOp) bool { return b.many[s] != nil }) {
			if v := ruleOf(b.by, u.Op())(b, u); v != nil {
				b.many[u] = v
			}
		}
	}
	out := make([]*uop.UOp, len(ys))
	for i, y := range ys {
		out[i] = b.many[y]
	}
	return out
}

// wide is u with the new axis, repeated where there is only one of it.
func (b *batch) wide(u *uop.UOp) *uop.UOp {
	if v := b.many[u]; v != nil {
		return v
	}
	return u.Reshape(append([]int{1}, u.Shape()...)...).Expand(append([]int{b.n}, u.Shape()...)...)
}

// to is u for use beside nodes of a shape, its own or, where u is a scalar, any.
func (b *batch) to(u *uop.UOp, shape uop.Shape) *uop.UOp {
	if len(u.Shape()) > 0 || len(shape) == 0 {
		return b.wide(u)
	}
	v := b.many[u]
	if v == nil {
		return u // scalars fit everywhere
	}
	ones := slices.Repeat([]int{1}, 1+len(shape))
	ones[0] = b.n
	return v.Reshape(ones...).Expand(append([]int{b.n}, shape...)...)
}

// alone are leaves: they are as they are unless the caller says otherwise.
func alone(*batch, *uop.UOp) *uop.UOp { return nil }

func refuse(_ *batch, u *uop.UOp) *uop.UOp {
	panic(&uop.ShapeError{Op: "Vmap", Shapes: []uop.Shape{u.Shape()}, Reason: fmt.Sprintf(
		"%v cannot be done for many arrays at once; an assignment belongs outside of the function", u.Op())})
}

func remade(u *uop.UOp, arg uop.Arg, src ...*uop.UOp) *uop.UOp {
	return u.Home().Make(u.Op(), u.DType(), arg, src...)
}

func elementwise(b *batch, u *uop.UOp) *uop.UOp {
	src := make([]*uop.UOp, len(u.Src()))
	for i, s := range u.Src() {
		src[i] = b.to(s, u.Shape())
	}
	return remade(u, u.Arg(), src...)
}

// copied is on several devices cut along the axis that it was cut along.
func copied(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.DeviceArg)
	if a.Cut > 0 {
		a.Cut++
	}
	return remade(u, a, b.to(u.At(0), u.Shape()))
}

func first(n int, rest []int) []int { return append([]int{n}, rest...) }

func ints(u *uop.UOp) []int { return u.Arg().(uop.Ints).Slice() }

// later are axes behind the new one.
func later(axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = a + 1
	}
	return out
}

func shaped(b *batch, u *uop.UOp) *uop.UOp {
	return remade(u, uop.MakeInts(first(b.n, u.Shape())...), b.wide(u.At(0)))
}

func permute(b *batch, u *uop.UOp) *uop.UOp {
	return b.wide(u.At(0)).Permute(first(0, later(ints(u)))...)
}

func flip(b *batch, u *uop.UOp) *uop.UOp { return b.wide(u.At(0)).Flip(later(ints(u))...) }

func pad(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.PadArg)
	return b.wide(u.At(0)).Pad(first(0, a.Lo.Slice()), first(0, a.Hi.Slice()))
}

func shrink(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.PadArg)
	return b.wide(u.At(0)).Shrink(first(0, a.Lo.Slice()), first(b.n, a.Hi.Slice()))
}

func slide(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.SlideArg)
	return b.wide(u.At(0)).Slide(a.Axis+1, a.By+1, a.Step, a.Lo, a.N)
}

func extent(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ExtentArg)
	a.Axis++
	return remade(u, a, b.wide(u.At(0)))
}

// parts are the operands of a reduction or scan; the first of them has its shape.
func (b *batch) parts(u *uop.UOp) []*uop.UOp {
	out := make([]*uop.UOp, len(u.Src()))
	for i, s := range u.Src() {
		out[i] = b.to(s, u.At(0).Shape())
	}
	return out
}

func reduce(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ReduceArg)
	a.Axes = uop.MakeInts(later(a.Axes.Slice())...)
	return remade(u, a, b.parts(u)...)
}

func scan(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ScanArg)
	a.Axis++
	return remade(u, a, b.parts(u)...)
}

func part(b *batch, u *uop.UOp) *uop.UOp { return b.many[u.At(0)].Part(u.Arg().(uop.PartArg).I) }

func gather(b *batch, u *uop.UOp) *uop.UOp {
	return b.wide(u.At(0)).Gather(b.wide(u.At(1)), u.Arg().(uop.AxisArg).Axis+1)
}

func scatter(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ScatterArg)
	return b.wide(u.At(0)).Scatter(b.wide(u.At(1)), b.wide(u.At(2)), a.Axis+1, a.Monoid)
}

func check(b *batch, u *uop.UOp) *uop.UOp {
	return remade(u, u.Arg(), b.wide(u.At(0)), b.wide(u.At(1)))
}

// detach goes on with what it states, also where nothing but that depends on the arrays. The stand-in that a function's gradients are stated with gets
// the new axis too, wherever the value has it.
func detach(b *batch, u *uop.UOp) *uop.UOp {
	f, named := u.Arg().(uop.FunctionArg)
	src := make([]*uop.UOp, len(u.Src()))
	if a, law := u.Arg().(uop.LawArg); law {
		for i, s := range u.Src() {
			src[i] = b.wide(s)
		}
		return remade(u, a, src...)
	}
	if !named || f.Slot == 0 {
		return elementwise(b, u)
	}
	seed := uop.NewStandIn(u.DType(), first(b.n, u.Shape())...)
	inside := b.below(u, f.Slot, seed)
	for i, s := range u.Src() {
		if i > 0 && i%2 == 0 {
			src[i] = inside.wide(s)
		} else {
			src[i] = b.wide(s)
		}
	}
	return remade(u, uop.FunctionArg{Name: f.Name, Slot: seed.Slot()}, src...)
}

// below is b with a wide stand-in in the graphs of what u states; what does not depend on it is as in b.
func (b *batch) below(u *uop.UOp, slot int, seed *uop.UOp) *batch {
	in := &batch{n: b.n, many: map[*uop.UOp]*uop.UOp{}, by: b.by}
	depends := map[*uop.UOp]bool{}
	var order []*uop.UOp
	for _, s := range uop.Topo(u.Src()...) {
		switch {
		case s.Op() == uop.Param && s.Slot() == slot:
			depends[s] = true
			in.many[s] = seed.Reshape(b.n, s.Shape()[0])
		case slices.ContainsFunc(s.Src(), func(x *uop.UOp) bool { return depends[x] }):
			depends[s] = true
			order = append(order, s)
		default:
			if v := b.many[s]; v != nil {
				in.many[s] = v
			}
		}
	}
	in.run(order, nil)
	return in
}

// foreign is the graph that says the same, for many: the text is for one.
func foreign(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ForeignArg)
	if len(u.Src()) == a.Args {
		panic(&uop.ShapeError{Op: "Vmap", Shapes: []uop.Shape{u.Shape()}, Reason: "the kernel " + a.Name +
			" is text for one array; state what is the same in operations of tensors"})
	}
	return b.wide(u.At(a.Args))
}

// loop carries those that there are many of side by side, and goes along the axis behind theirs.
func loop(b *batch, u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.LoopArg)
	for _, l := range b.loops {
		if l.of.SameLoop(u) {
			return swapped(l.outs[a.Out])
		}
	}
	body, with := uop.LoopBody{Carried: a.Carried, Along: a.Along}, map[*uop.UOp]*uop.UOp{}
	args := make([]*uop.UOp, len(u.Src()))
	for i, p := range a.Params {
		if i >= a.Carried && b.many[u.At(i)] == nil {
			body.Params, args[i] = append(body.Params, p), u.At(i)
			continue
		}
		wide := uop.NewStandIn(p.DType(), first(b.n, p.Shape())...)
		body.Params, with[p], args[i] = append(body.Params, wide), wide, b.wide(u.At(i))
		if i >= a.Carried && i < a.Carried+a.Along {
			args[i] = swapped(args[i])
		}
	}
	inside := &batch{n: b.n, many: with, by: b.by}
	inside.run(uop.Topo(a.Outs...), nil)
	for _, o := range a.Outs {
		body.Outs = append(body.Outs, inside.wide(o))
	}
	outs := uop.NewLoop(body, a.Steps, a.Back, args...)
	b.loops = append(b.loops, madeLoop{u, outs})
	return swapped(outs[a.Out])
}

// swapped is u with its first two axes in the other order.
func swapped(u *uop.UOp) *uop.UOp {
	order := make([]int, len(u.Shape()))
	for i := range order {
		order[i] = i
	}
	order[0], order[1] = 1, 0
	return u.Permute(order...)
}

// call goes on with the graph that a call stands for.
func call(b *batch, u *uop.UOp) *uop.UOp {
	v := u.Inlined()
	return b.run(uop.Topo(v), []*uop.UOp{v})[0]
}
