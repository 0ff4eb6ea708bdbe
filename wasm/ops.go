package main

import (
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

type (
	one  = *tensor.Tensor
	some = []*tensor.Tensor
)

// operation is something that a page can do with tensors. Its parameters are names, each with what stands for it where it is not
// given (see call.otherwise); after "-" of the engine, else of a tensor, which is the first argument. f is a function of package
// tensor, whose type says how arguments are taken (run), or one that takes them itself.
type operation struct {
	name, params string
	f            any
}

// operations are those of the table, by their name in JavaScript.
var operations = map[string]*operation{}

func init() {
	for i := range table {
		operations[table[i].name] = &table[i]
	}
}

// do carries out an operation.
func (o *operation) do(c *call) some {
	c.takes(o.params)
	return run(c, o.f)
}

func two(a, b one) some      { return some{a, b} }
func three(a, b, d one) some { return some{a, b, d} }

// got is a tensor whose shape had to be read first.
func (c *call) got(x one, err error) one {
	if err != nil {
		panic(raised{err})
	}
	return x
}

// Functions that take arguments in another way than run does by their types.
type (
	reduction func(x one, axes ...int) one                     // axes, and whether they are kept
	spread    func(x one, correction float64, axes ...int) one // besides a correction, which comes last
	spreads   func(x one, correction float64, axes ...int) (one, one)
	arg       func(x one, axis ...int) one // an axis or none, and whether it is kept
	alongAxis func(x one, axis int) (values, indices one)
	drawn     func(shape ...int) one // converted to a type
	kaiming   func(slope float64, shape ...int) one
	joined    func(axis int, ts ...one) one
)

func (c *call) special(f any) some {
	switch f := f.(type) {
	case reduction:
		x, axes := c.tensor(), c.integers()
		return some{kept(c.truth(), x, f(x, axes...), axes)}
	case spread:
		x, axes, keep := c.tensor(), c.integers(), c.truth()
		return some{kept(keep, x, f(x, c.number(), axes...), axes)}
	case spreads:
		x, axes, keep := c.tensor(), c.integers(), c.truth()
		y, mean := f(x, c.number(), axes...)
		return two(kept(keep, x, y, axes), kept(keep, x, mean, axes))
	case arg:
		x, axis := c.tensor(), c.integers()
		return some{kept(c.truth(), x, f(x, axis...), axis)}
	case alongAxis:
		x, axis, keep := c.along()
		values, indices := f(x, axis)
		return two(kept(keep, x, values, []int{axis}), kept(keep, x, indices, []int{axis}))
	case drawn:
		return some{c.converted(f(c.integers()...))}
	case kaiming:
		shape := c.integers()
		return some{c.converted(f(c.number(), shape...))}
	case joined:
		ts := c.tensors()
		return some{f(c.integer(), ts...)}
	case func(*call) one:
		return some{f(c)}
	case func(*call) (one, one):
		return two(f(c))
	case func(*call) some:
		return f(c)
	}
	panic("BUG: an operation of a type that nobody knows")
}

// along takes a tensor, an axis, the last one unless given, and whether it is kept.
func (c *call) along() (x one, axis int, keep bool) {
	x = c.tensor()
	return x, c.integer(-1), c.truth()
}

// kept gives the result y of a reduction of x its axes back, with size 1, if keep is set.
func kept(keep bool, x, y one, axes []int) one {
	if !keep {
		return y
	}
	shape := x.Shape()
	for i := range shape {
		if len(axes) == 0 {
			shape[i] = 1
		}
	}
	for _, a := range axes {
		shape[(a+len(shape))%len(shape)] = 1 // the reduction has checked it
	}
	return y.Reshape(shape...)
}

// converted is x in the type that follows, if one does.
func (c *call) converted(x one) one {
	if d := c.dtype(); d != dtype.Void {
		return x.To(d)
	}
	return x
}

// of gives the parameter at a place of a list of them, without what stands for it: the name, and that.
func parameter(params string, i int) (name, otherwise string) {
	for ; i > 0; i-- {
		_, params, _ = strings.Cut(params, " ")
	}
	params, _, _ = strings.Cut(params, " ")
	end := strings.IndexAny(params, "=?")
	if end < 0 {
		return params, ""
	}
	return params[:end], params[end:]
}
