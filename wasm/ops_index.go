package main

import (
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// index takes all arguments left, each one axis: a number, [from, to] or [from, to, step] (null is the end), a
// tensor, null (all), "..." or "new".
func (c *call) index() []any {
	var out []any
	for c.taken < len(c.args) {
		switch v := c.next().(type) {
		case nil:
			out = append(out, nil)
		case bool:
			out = append(out, v)
		case wire.Ref:
			out = append(out, c.server.tensor(v))
		case float64:
			n, ok := whole(v)
			if !ok {
				c.fail("index %d is %v, not an integer", len(out), v)
			}
			out = append(out, n)
		case []any:
			if size, ok := isSize(v); ok {
				out = append(out, c.size(size))
			} else if part, ok := c.part(v); ok {
				out = append(out, part)
			} else {
				out = append(out, c.span(v))
			}
		case string:
			switch v {
			case "...":
				out = append(out, tensor.Ellipsis)
			case "new":
				out = append(out, tensor.NewAxis)
			default:
				c.fail("index %d is %q; words are \"...\" and \"new\"", len(out), v)
			}
		default:
			c.fail("index %d is %s; it may be a number, [from, to], a tensor, a bool, null, \"...\" or \"new\"", len(out), describe(v))
		}
	}
	return out
}

func (c *call) span(v []any) tensor.Range {
	if len(v) < 1 || len(v) > 3 {
		c.fail("a part of an axis is [from, to] or [from, to, step], not a list of %d; numbers to pick are a tensor", len(v))
	}
	sub := &call{server: c.server, name: c.name, args: v}
	r := tensor.Range{From: tensor.Begin, To: tensor.End, Step: 1}
	from, to := sub.end(), sub.end()
	r.Step = sub.integer(1)
	if r.Step < 0 {
		r.From, r.To = tensor.End, tensor.Begin
	}
	if from != nil {
		r.From = *from
	}
	if to != nil {
		r.To = *to
	}
	return r
}

// end takes an integer or null.
func (c *call) end() *int {
	if !c.given() {
		c.taken++
		return nil
	}
	n := c.integer(0)
	return &n
}
