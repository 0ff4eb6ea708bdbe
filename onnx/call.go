package onnx

import (
	"fmt"
	"math"
	"runtime"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// operator computes the outputs of a node.
type operator func(c *call) []*Value

// operators are all that is known, by name; those of other domains as domain:name.
var operators = map[string]operator{}

// register adds operators to the table.
func register(domain string, ops map[string]operator) {
	for name, f := range ops {
		if _, ok := operators[opName(domain, name)]; ok {
			panic("BUG: operator " + name + " is there twice")
		}
		operators[opName(domain, name)] = f
	}
}

// call is a node with the values of its inputs.
type call struct {
	r     *runner
	scope *scope
	node  *nodeProto
	in    []*Value
	attrs []*attrProto
	opset int
}

// opError is why a node cannot be computed; it is thrown by operators and caught in run.
type opError struct{ err error }

func (c *call) fail(format string, a ...any) { panic(&opError{fmt.Errorf(format, a...)}) }

func (c *call) run(f operator) (outs []*Value, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *opError:
			err = p.err
		case runtime.Error: // what a file asks for and no check has caught
			err = fmt.Errorf("the node is malformed: %v", p)
		default:
			panic(p)
		}
	}()
	err = tensor.Try(func() { outs = f(c) })
	return outs, err
}

// has says whether input i is given.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// value is input i, which must be given.
func (c *call) value(i int) *Value {
	if !c.has(i) {
		c.fail("its input %d is missing", i)
	}
	return c.in[i]
}

// array is input i, which must be an array of numbers.
func (c *call) array(i int) *Value {
	v := c.value(i)
	if v.kind != IsTensor || v.elem == String {
		c.fail("its input %d is a %v; it must be an array of numbers", i, v)
	}
	return v
}

// t is input i as a tensor.
func (c *call) t(i int) *tensor.Tensor { return c.r.tensor(c.array(i)) }

// tOr is input i as a tensor, or nil.
func (c *call) tOr(i int) *tensor.Tensor {
	if !c.has(i) {
		return nil
	}
	return c.t(i)
}

// strings are the elements of input i, an array of strings.
func (c *call) strings(i int) []string {
	v := c.value(i)
	if v.kind != IsTensor || v.elem != String {
		c.fail("its input %d is a %v; it must be an array of strings", i, v)
	}
	return v.strs
}

// ints are the elements of input i, which must be known when the graph is built.
func (c *call) ints(i int) []int {
	v := c.array(i)
	list, ok := integersOf(v.elem, c.r.deciding(v, mostSpecial))
	if !ok {
		c.fail("its input %d is %v; it must be integers", i, v)
	}
	out := make([]int, len(list))
	for j, n := range list {
		out[j] = clampInt(n)
	}
	return out
}

// clampInt keeps numbers that stand for "to the end" from running over when something is added.
func clampInt(n int64) int { return int(max(-math.MaxInt64/4, min(n, math.MaxInt64/4))) }

// int is the one element of input i.
func (c *call) int(i int) int {
	list := c.ints(i)
	if len(list) != 1 {
		c.fail("its input %d has %d elements; it must be one number", i, len(list))
	}
	return list[0]
}

// floats are the elements of input i as floats, which say how the node is to be understood.
func (c *call) floats(i int) []float64 {
	v := c.array(i)
	return numbersOf(v.elem, c.r.deciding(v, mostSpecial))
}

// data are floats that say nothing about the node.
func (c *call) data(i int) []float64 {
	v := c.array(i)
	return numbersOf(v.elem, c.r.host(v))
}

func (c *call) float(i int) float64 {
	list := c.floats(i)
	if len(list) != 1 {
		c.fail("its input %d has %d elements; it must be one number", i, len(list))
	}
	return list[0]
}

// bool is whether the one element of input i is true.
func (c *call) bool(i int) bool {
	v := c.array(i)
	if n := count(v.shape); n != 1 {
		c.fail("its input %d has %d elements; it must be one number", i, n)
	}
	return c.r.truth(v)
}

// truth is the value of a condition. Inputs that are a switch each may decide about plans for its sake; what is computed of many numbers is to be found out.
func (r *runner) truth(v *Value) bool { return numbersOf(v.elem, r.deciding(v, 1))[0] != 0 }

// attr is an attribute, or nil.
func (c *call) attr(name string) *attrProto {
	for _, a := range c.attrs {
		if a.name == name {
			return a
		}
	}
	return nil
}

func (c *call) typed(name string, kind attrType) *attrProto {
	a := c.attr(name)
	if a != nil && a.kind != kind {
		c.fail("attribute %q is of kind %d; it must be of kind %d", name, a.kind, kind)
	}
	return a
}

func (c *call) attrInt(name string, none int) int {
	if a := c.typed(name, attrInt); a != nil {
		return clampInt(a.i)
	}
	return none
}

func (c *call) attrBool(name string, none bool) bool {
	if a := c.typed(name, attrInt); a != nil {
		return a.i != 0
	}
	return none
}

func (c *call) attrFloat(name string, none float64) float64 {
	if a := c.typed(name, attrFloat); a != nil {
		return float64(a.f)
	}
	return none
}

func (c *call) attrString(name, none string) string {
	if a := c.typed(name, attrString); a != nil {
		return string(a.s)
	}
	return none
}

// attrInts is a list of integers; ok says whether it is there.
func (c *call) attrInts(name string) (list []int, ok bool) {
	a := c.typed(name, attrInts)
	if a == nil {
		return nil, false
	}
	list = make([]int, len(a.ints))
	for i, n := range a.ints {
		list[i] = clampInt(n)
	}
	return list, true
}

func (c *call) attrFloats(name string) []float64 {
	a := c.typed(name, attrFloats)
	if a == nil {
		return nil
	}
	return numbersOf(Float32, a.floats)
}

func (c *call) attrStrings(name string) []string {
	a := c.typed(name, attrStrings)
	if a == nil {
		return nil
	}
	list := make([]string, len(a.strings))
	for i, s := range a.strings {
		list[i] = string(s)
	}
	return list
}

func (c *call) attrTensor(name string) *Value {
	a := c.typed(name, attrTensor)
	if a == nil {
		return nil
	}
	return c.r.constant(a.t, a.t.is)
}

func (c *call) attrGraph(name string) *graphProto {
	a := c.typed(name, attrGraph)
	if a == nil {
		c.fail("it has no graph %q", name)
	}
	return a.g
}

// mostListed is how many elements a list in the program may have that a file asks for.
const mostListed = 1 << 26

// listed checks the length of a list, which is a product of n.
func (c *call) listed(n ...int) int {
	p := 1
	for _, k := range n {
		if k < 0 || k > 0 && p > mostListed/k {
			c.fail("a list of %v elements; at most %d are written out", n, mostListed)
		}
		p *= k
	}
	return p
}

// mostText is how many bytes of strings one run makes, the ends of a string counted as headText.
const (
	mostText = 1 << 28
	headText = 16
)

// texts counts strings before they are made: so many, of so many bytes together.
func (c *call) texts(n, bytes int) {
	if n < 0 || n > mostText/headText || bytes < 0 || bytes > mostText-n*headText-c.r.text {
		c.fail("its strings have %d bytes more than there may be: a run makes %d at most", max(0, bytes+n*headText+c.r.text-mostText), mostText)
	}
	c.r.text += n*headText + bytes
}

// ticks counts the steps that an operator is made of.
func (c *call) ticks(n int) {
	if err := c.r.step(n); err != nil {
		panic(&opError{err})
	}
}

// axis checks an axis and makes it positive.
func (c *call) axis(axis, rank int) int {
	if axis < -rank || axis >= rank {
		c.fail("axis %d is outside of %d axes", axis, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis
}

// out is a tensor as an output with elements of type e.
func (c *call) out(t *tensor.Tensor, e Elem) *Value {
	if t.DType() != e.DType() {
		t = t.To(e.DType())
	}
	known := true
	for _, v := range c.in {
		known = known && (v == nil || v.isKnown())
	}
	if t.Engine() == nil {
		t = tensor.FromNode(t.Node(), c.r.eng)
	}
	v := &Value{elem: e, shape: t.Shape(), t: t, known: known}
	if known && count(v.shape) == 1 && !e.DType().IsFloat() {
		c.r.settle(v)
	}
	return v
}

func (v *Value) isKnown() bool {
	for _, item := range v.items {
		if !item.isKnown() {
			return false
		}
	}
	return v.known || v.raw != nil
}

// one is a single output.
func (c *call) one(t *tensor.Tensor, e Elem) []*Value { return []*Value{c.out(t, e)} }

// elem is the type of the elements of input i.
func (c *call) elem(i int) Elem { return c.array(i).elem }

// wide is a tensor as floats of at least 32 bits.
func wide(t *tensor.Tensor) *tensor.Tensor {
	switch {
	case t.DType() == dtype.F64 || t.DType() == dtype.F32:
		return t
	case t.DType().IsFloat():
		return t.To(dtype.F32)
	case t.DType().Size() == 8:
		return t.To(dtype.F64)
	}
	return t.To(dtype.F32)
}
