package main

import (
	"github.com/weft-ml/weft/tensor"
)

// A size that varies crosses as a list: "size", a number, and for each variable its name, its bounds, its value (null: none) and how
// many times it counts.

// isSize says whether a value that crossed is such a list.
func isSize(v any) ([]any, bool) {
	list, ok := v.([]any)
	return list, ok && len(list) > 0 && list[0] == any("size")
}

// position takes an integer or a size that varies.
func (c *call) position() any {
	if list, ok := isSize(c.next()); ok {
		return c.size(list)
	}
	c.taken--
	return c.integer()
}

// size is the one that a list describes.
func (c *call) size(list []any) tensor.Size {
	sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: list, taken: 1}
	var total tensor.Size
	total = total.Plus(sub.integer())
	for sub.taken < len(list) {
		v := tensor.NewVariable(sub.text(), sub.integer(), sub.integer())
		if sub.given() {
			v = v.Bind(sub.integer())
		} else {
			sub.taken++
		}
		total = total.Plus(v.Times(sub.integer()))
	}
	return total
}

// values takes a list of variables with their values.
func (c *call) values() tensor.Values {
	list, _ := c.next().([]any)
	out := tensor.Values{}
	for _, v := range list {
		one, ok := isSize(v)
		if !ok || len(one) != 7 {
			c.fail("a value is %s, not a variable with a value", describe(v))
		}
		sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: one, taken: 2}
		name, lo, hi := sub.text(), sub.integer(), sub.integer()
		out[tensor.NewVariable(name, lo, hi)] = sub.integer()
	}
	return out
}

// sizes takes a shape, as integers if none of its sizes varies, else as what ReshapeTo and its like take.
func (c *call) varying() (fixed []int, sizes []any) {
	list, ok := c.next().([]any)
	for _, v := range list {
		if _, varies := isSize(v); varies {
			sizes = make([]any, len(list))
			sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: list}
			for i := range sizes {
				sizes[i] = sub.position()
			}
			return nil, sizes
		}
	}
	if c.taken--; !ok { // in the words of any other list
		return c.integers(), nil
	}
	return c.integers(), nil
}

// shaped are methods that give another shape, whose sizes may vary.
type shaped struct {
	fixed func(x one, shape ...int) one
	to    func(x one, sizes ...any) one
}

func (s shaped) op(c *call) one {
	x := c.tensor()
	fixed, sizes := c.varying()
	if sizes != nil {
		return s.to(x, sizes...)
	}
	return s.fixed(x, fixed...)
}

func opReshape(c *call) one { return shaped{one.Reshape, one.ReshapeTo}.op(c) }
func opExpand(c *call) one  { return shaped{one.Expand, one.ExpandTo}.op(c) }

// opScalar takes a number, or a size that varies as a number to compute with.
func opScalar(c *call) one {
	if list, ok := isSize(c.next()); ok {
		return c.size(list).Tensor()
	}
	c.taken--
	return tensor.Scalar(c.operand())
}

// part is a part of an axis of which an end varies; ok is false where none does.
func (c *call) part(v []any) (s tensor.Span, ok bool) {
	for _, end := range v {
		if _, varies := isSize(end); varies {
			ok = true
		}
	}
	if !ok {
		return s, false
	}
	if len(v) != 2 || v[0] == nil || v[1] == nil {
		c.fail("a part of an axis whose ends vary is [from, to], with both ends")
	}
	sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: v}
	from, to := tensor.Size{}.Plus(sub.position()), tensor.Size{}.Plus(sub.position())
	return tensor.S(from, to.Minus(from)), true
}
