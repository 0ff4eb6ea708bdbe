package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// call is a request being carried out. Its methods take one argument after the other; a wrong one panics with a
// *tensor.ArgumentError that names the operation.
type call struct {
	server *server
	ctx    context.Context
	name   string
	answer int // the number to answer under
	outs   []wire.Ref
	args   []any
	taken  int
	params string      // of an operation, see there
	before int         // arguments before those that params names: the tensor that a method is of
	named  wire.Record // arguments from the last of args on, by their names
}

func (c *call) fail(format string, a ...any) {
	panic(&tensor.ArgumentError{Op: c.name, Reason: fmt.Sprintf(format, a...)})
}

// takes tells what an operation's parameters are. An object at the end stands for those from there on.
func (c *call) takes(params string) {
	rest, engines := strings.CutPrefix(params, "-")
	if c.params = strings.TrimPrefix(rest, " "); !engines {
		c.before = 1
	}
	last := len(c.args) - 1
	for last >= 0 && c.args[last] == nil { // what is undefined in a page
		last--
	}
	if last < 0 {
		return
	}
	r, ok := c.args[last].(wire.Record)
	if !ok {
		return
	}
	c.args, c.named = c.args[:last], r
	known := " " + c.params
	for _, f := range r {
		i := strings.Index(known, " "+f.Name)
		if i >= 0 && f.Name != "" && !strings.Contains(f.Name, " ") {
			if end := i + 1 + len(f.Name); end == len(known) || strings.IndexByte(" =?", known[end]) >= 0 {
				continue
			}
		}
		c.fail("there is no option %q; there are %v", f.Name, c.names(last-c.before))
	}
}

// names are those of the parameters from a place on.
func (c *call) names(from int) (out []string) {
	for i := max(from, 0); ; i++ {
		name, _ := parameter(c.params, i)
		if name == "" {
			return out
		}
		out = append(out, name)
	}
}

// next takes an argument; nil where there is none.
func (c *call) next() any {
	c.taken++
	if c.taken <= len(c.args) {
		return c.args[c.taken-1]
	}
	if c.named != nil {
		name, _ := parameter(c.params, c.taken-1-c.before)
		return c.named.Get(name)
	}
	return nil
}

// otherwise is what stands for the argument that was taken last where it is missing: "=" and a number, a truth value, an element
// type or "index:word:word…"; "?" where it may be missing; nothing where it may not.
func (c *call) otherwise() string {
	if c.params == "" || c.taken <= c.before {
		return ""
	}
	_, v := parameter(c.params, c.taken-1-c.before)
	return v
}

// what names the argument that was taken last.
func (c *call) what() string {
	if c.params != "" && c.taken > c.before {
		if name, _ := parameter(c.params, c.taken-1-c.before); name != "" {
			return name
		}
	}
	return fmt.Sprintf("argument %d", c.taken)
}

// given says whether another argument follows that is not null.
func (c *call) given() bool { return c.taken < len(c.args) && c.args[c.taken] != nil }

// tensor takes a tensor.
func (c *call) tensor() *tensor.Tensor {
	v := c.next()
	if v == nil && c.otherwise() != "" {
		return nil
	}
	ref, ok := v.(wire.Ref)
	if !ok {
		c.fail("%s is %s, not a tensor", c.what(), describe(v))
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

// listed finds tensors.
func (s *server) listed(refs []wire.Ref) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(refs))
	for i, ref := range refs {
		out[i] = s.tensor(ref)
	}
	return out
}

// tensors takes a list of tensors.
func (c *call) tensors() []*tensor.Tensor {
	v := c.next()
	list, ok := v.([]any)
	if !ok {
		c.fail("%s is %s, not a list of tensors", c.what(), describe(v))
	}
	sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: list}
	out := make([]*tensor.Tensor, len(list))
	for i := range out {
		out[i] = sub.tensor()
	}
	return out
}

// operands takes a list of tensors, numbers and truth values.
func (c *call) operands() []any {
	v := c.next()
	list, ok := v.([]any)
	if !ok {
		c.fail("%s is %s, not a list of tensors and numbers", c.what(), describe(v))
	}
	sub := &call{server: c.server, ctx: c.ctx, name: c.name, args: list}
	out := make([]any, len(list))
	for i := range out {
		out[i] = sub.operand()
	}
	return out
}

// operand takes a tensor, a number or a truth value. Whole numbers are integers, so that they do not widen
// tensors of integers.
func (c *call) operand() any {
	v := c.next()
	if v == nil {
		v = c.instead()
		if v == nil && c.otherwise() != "" {
			return nil
		}
	}
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
	c.fail("%s is %s, neither a tensor nor a number", c.what(), describe(v))
	return nil
}

// instead is the number that stands for the argument taken last, or nil.
func (c *call) instead() any {
	text, ok := strings.CutPrefix(c.otherwise(), "=")
	if !ok {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return n
}

func whole(v float64) (int, bool) {
	return int(v), v == math.Trunc(v) && math.Abs(v) <= 1<<53 && !(v == 0 && math.Signbit(v))
}

// number takes a number; without one it is otherwise, or what the parameters say.
func (c *call) number(otherwise ...float64) float64 {
	v := c.next()
	if v == nil {
		if len(otherwise) > 0 {
			return otherwise[0]
		}
		v = c.instead()
	}
	n, ok := v.(float64)
	if !ok {
		c.fail("%s is %s, not a number", c.what(), describe(v))
	}
	return n
}

// integer takes an integer; without one it is otherwise, or what the parameters say.
func (c *call) integer(otherwise ...int) int {
	v := c.next()
	if v == nil {
		if len(otherwise) > 0 {
			return otherwise[0]
		}
		v = c.instead()
	}
	f, ok := v.(float64)
	n, fits := whole(f)
	if !ok || !fits {
		c.fail("%s is %s, not an integer", c.what(), describe(v))
	}
	return n
}

// truth takes a truth value; without one it is otherwise, or what the parameters say.
func (c *call) truth(otherwise ...bool) bool {
	v := c.next()
	if v == nil {
		if len(otherwise) > 0 {
			return otherwise[0]
		}
		return c.otherwise() == "=true"
	}
	b, ok := v.(bool)
	if !ok {
		c.fail("%s is %s, not true or false", c.what(), describe(v))
	}
	return b
}

// word takes one of a few words, and gives its place among them.
func (c *call) word() int {
	v := c.next()
	instead, list, _ := strings.Cut(strings.TrimPrefix(c.otherwise(), "="), ":")
	words := strings.Split(list, ":")
	if v == nil {
		n, _ := strconv.Atoi(instead)
		return n
	}
	for i, w := range words {
		if v == any(w) {
			return i
		}
	}
	c.fail("there is no %s %s; there are %s", c.what(), describe(v), strings.Join(words, ", "))
	return 0
}

func (c *call) text() string {
	v := c.next()
	s, ok := v.(string)
	if !ok {
		c.fail("%s is %s, not a string", c.what(), describe(v))
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
		c.fail("%s is %s, not a list of integers", c.what(), describe(v))
		return nil
	}
}

func (c *call) listOf(list []any) []int {
	out := make([]int, len(list))
	for i, v := range list {
		f, ok := v.(float64)
		n, fits := whole(f)
		if !ok || !fits {
			c.fail("%s holds %s at %d, not an integer", c.what(), describe(v), i)
		}
		out[i] = n
	}
	return out
}

// numbers takes a list of numbers, or a single one; nothing is an empty list.
func (c *call) numbers() (out []float64) {
	v := c.next()
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	for _, v := range list {
		f, ok := v.(float64)
		if !ok {
			c.fail("%s holds %s, not a number", c.what(), describe(v))
		}
		out = append(out, f)
	}
	return out
}

// dtype takes an element type; without one it is otherwise, what the parameters say, or none.
func (c *call) dtype(otherwise ...dtype.DType) dtype.DType {
	v := c.next()
	if v == nil {
		if len(otherwise) > 0 {
			return otherwise[0]
		}
		d, _ := dtype.Parse(strings.TrimPrefix(c.otherwise(), "="))
		return d
	}
	name, ok := v.(string)
	if !ok {
		c.fail("%s is %s, not an element type", c.what(), describe(v))
	}
	d, ok := dtype.Parse(name)
	if !ok {
		var all []string
		for _, d := range dtype.All {
			all = append(all, d.Short())
		}
		c.fail("there is no element type %q; there are %s", name, strings.Join(all, ", "))
	}
	return d
}
