package main

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// call is a request being carried out. Its methods take one argument after the other; a wrong one panics with a
// *tensor.ArgumentError that names the operation.
type call struct {
	server *server
	name   string
	answer int // the number to answer under
	outs   []wire.Ref
	args   []any
	taken  int
}

func (c *call) fail(format string, a ...any) {
	panic(&tensor.ArgumentError{Op: c.name, Reason: fmt.Sprintf(format, a...)})
}

// next takes an argument; nil where there is none.
func (c *call) next() any {
	c.taken++
	if c.taken > len(c.args) {
		return nil
	}
	return c.args[c.taken-1]
}

// given says whether another argument follows that is not null.
func (c *call) given() bool { return c.taken < len(c.args) && c.args[c.taken] != nil }

// tensor takes a tensor.
func (c *call) tensor() *tensor.Tensor {
	v := c.next()
	ref, ok := v.(wire.Ref)
	if !ok {
		c.fail("argument %d is %s, not a tensor", c.taken, describe(v))
	}
	return c.server.tensor(ref)
}

// look takes a tensor of which nothing will be made.
func (c *call) look() *tensor.Tensor {
	ref, _ := c.next().(wire.Ref)
	c.taken--
	sole := c.server.sole[ref]
	t := c.tensor()
	if sole {
		c.server.sole[ref] = true
	}
	return t
}

// tensor finds a tensor, or panics with its failure.
func (s *server) tensor(ref wire.Ref) *tensor.Tensor {
	switch t := s.tensors[ref].(type) {
	case *tensor.Tensor:
		delete(s.sole, ref)
		return t
	case *failure:
		panic(t)
	}
	panic(&tensor.ArgumentError{Reason: "a tensor was disposed of"})
}

// maybe takes a tensor or null.
func (c *call) maybe() *tensor.Tensor {
	if !c.given() {
		c.taken++
		return nil
	}
	return c.tensor()
}

// tensors takes a list of tensors.
func (c *call) tensors() []*tensor.Tensor {
	v := c.next()
	list, ok := v.([]any)
	if !ok {
		c.fail("argument %d is %s, not a list of tensors", c.taken, describe(v))
	}
	sub := &call{server: c.server, name: c.name, args: list}
	out := make([]*tensor.Tensor, len(list))
	for i := range out {
		out[i] = sub.tensor()
	}
	return out
}

// operand takes a tensor, a number or a truth value. Whole numbers are integers, so that they do not widen
// tensors of integers.
func (c *call) operand() any {
	v := c.next()
	switch v := v.(type) {
	case wire.Ref:
		return c.server.tensor(v)
	case bool:
		return v
	case float64:
		if n, ok := whole(v); ok {
			return n
		}
		return v
	}
	c.fail("argument %d is %s, neither a tensor nor a number", c.taken, describe(v))
	return nil
}

// optional is operand, or nil where nothing is given.
func (c *call) optional() any {
	if !c.given() {
		c.taken++
		return nil
	}
	return c.operand()
}

func whole(v float64) (int, bool) {
	return int(v), v == math.Trunc(v) && math.Abs(v) <= 1<<53 && !(v == 0 && math.Signbit(v))
}

func (c *call) number(otherwise float64) float64 {
	if !c.given() {
		c.taken++
		return otherwise
	}
	v := c.next()
	n, ok := v.(float64)
	if !ok {
		c.fail("argument %d is %s, not a number", c.taken, describe(v))
	}
	return n
}

// integer takes an integer; without one it is otherwise.
func (c *call) integer(otherwise int) int {
	n, ok := whole(c.number(float64(otherwise)))
	if !ok {
		c.fail("argument %d is not an integer", c.taken)
	}
	return n
}

func (c *call) truth(otherwise bool) bool {
	if !c.given() {
		c.taken++
		return otherwise
	}
	v := c.next()
	b, ok := v.(bool)
	if !ok {
		c.fail("argument %d is %s, not true or false", c.taken, describe(v))
	}
	return b
}

func (c *call) text() string {
	v := c.next()
	s, ok := v.(string)
	if !ok {
		c.fail("argument %d is %s, not a string", c.taken, describe(v))
	}
	return s
}

// integers takes a list of integers, or a single one; nothing is an empty list.
func (c *call) integers() []int {
	switch v := c.next().(type) {
	case nil:
		return nil
	case float64:
		return c.listOf([]any{v})
	case []any:
		return c.listOf(v)
	default:
		c.fail("argument %d is %s, not a list of integers", c.taken, describe(v))
		return nil
	}
}

func (c *call) listOf(list []any) []int {
	out := make([]int, len(list))
	for i, v := range list {
		f, ok := v.(float64)
		n, fits := whole(f)
		if !ok || !fits {
			c.fail("argument %d holds %s at %d, not an integer", c.taken, describe(v), i)
		}
		out[i] = n
	}
	return out
}

// options takes an object; nothing is an empty one. The fields are taken from what it gives, each by its name.
func (c *call) options() options {
	v := c.next()
	if v == nil {
		return options{c: c}
	}
	r, ok := v.(wire.Record)
	if !ok {
		c.fail("argument %d is %s, not an object of options", c.taken, describe(v))
	}
	return options{c, r}
}

// options are named arguments.
type options struct {
	c *call
	r wire.Record
}

// at is a call whose next argument is the option of this name.
func (o options) at(name string) *call {
	return &call{server: o.c.server, name: o.c.name + " " + name, args: []any{o.r.Get(name)}}
}

// only refuses options that nobody asks for: a misspelt one should not be silent.
func (o options) only(names ...string) options {
	for _, f := range o.r {
		known := false
		for _, n := range names {
			known = known || n == f.Name
		}
		if !known {
			o.c.fail("there is no option %q; there are %v", f.Name, names)
		}
	}
	return o
}

func (c *call) dtype(otherwise dtype.DType) dtype.DType {
	if !c.given() {
		c.taken++
		return otherwise
	}
	name := c.text()
	d, ok := dtype.Parse(name)
	if !ok {
		c.fail("there is no element type %q; there are bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32 and f64", name)
	}
	return d
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("%v", v)
	case string:
		return fmt.Sprintf("the string %q", v)
	case []any:
		return "a list"
	case wire.Record:
		return "an object"
	case wire.Array:
		return "a typed array"
	case wire.Ref:
		return "a tensor"
	}
	return fmt.Sprintf("a %T", v)
}
