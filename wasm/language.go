//go:build !lean

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// The language of the page that looks inside: expressions like softmax(x[64, 64] @ w[64, 64], -1).
//
//	x[64, 64]       an input of this shape; x alone is the same input again; x[64]:f16 has another element type
//	randn(64, 64)   an input without a name
//	+ - * / % ** @  < <= > >= == !=  and brackets, as in most languages
//	f(x, …), x.f(…) any operation of the JavaScript API, in any case: relu, sum(x, 0), layernorm(x)
//	[1, 2]  true  f16  {keep: true}  "ij,jk->ik"  lists, truth values, element types, options and texts

// speaker evaluates an expression on one engine: text becomes a graph at once.
type speaker struct {
	engine *engine.Engine
	server *server // holds the tensors that operations take
	text   string
	tokens []token
	at     int
	inputs map[string]wire.Ref
	last   wire.Ref
	deep   int // brackets and signs that are open
}

// A browser's stack is small: what an expression may be.
const (
	mostDeep  = 100 // brackets and signs within each other
	mostParts = 500
)

// speak gives the tensors that an expression stands for.
func speak(e *engine.Engine, text string) (roots []*tensor.Tensor, err error) {
	s := &speaker{engine: e, server: newServer(), text: text, inputs: map[string]wire.Ref{}}
	err = attempt("", func() {
		s.scan()
		if n := len(s.tokens) - 1; n > mostParts {
			s.at = mostParts
			s.fail("an expression may have %d parts, and this one has %d; take a smaller one", mostParts, n)
		}
		v := s.comparison()
		if s.peek().kind != 0 {
			s.fail("%q is one too many", s.peek().text)
		}
		roots = s.results(v)
	})
	return roots, err
}

func (s *speaker) results(v any) (roots []*tensor.Tensor) {
	switch v := v.(type) {
	case wire.Ref:
		return []*tensor.Tensor{s.server.tensor(v)}
	case []any:
		for _, x := range v {
			roots = append(roots, s.results(x)...)
		}
		return roots
	}
	s.at = 0
	s.fail("this is %s; an expression with a tensor is wanted, such as relu(x[8, 8])", describe(v))
	return nil
}

func (s *speaker) fail(format string, a ...any) {
	panic(&mistake{s.text, s.peek().at, fmt.Sprintf(format, a...)})
}

// levels are the operators of two operands, those that bind least first.
var levels = [][]string{{"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "/", "%", "@"}}

var methods = map[string]string{
	"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "@": "matmul", "**": "pow",
}

func (s *speaker) comparison() any { return s.level(0) }

func (s *speaker) level(n int) any {
	if n == len(levels) {
		return s.negation()
	}
	x := s.level(n + 1)
	for {
		op, ok := s.accept(levels[n]...)
		if !ok {
			return x
		}
		x = s.operate(methods[op], x, s.level(n+1))
	}
}

func (s *speaker) negation() any {
	if s.deep++; s.deep > mostDeep {
		s.fail("more than %d brackets and signs within each other; take fewer", mostDeep)
	}
	defer func() { s.deep-- }()
	if _, ok := s.accept("-"); ok {
		x := s.negation()
		if f, ok := x.(float64); ok {
			return -f
		}
		return s.operate("neg", x)
	}
	x := s.postfix()
	if _, ok := s.accept("**"); ok {
		return s.operate("pow", x, s.negation())
	}
	return x
}

func (s *speaker) postfix() any {
	x := s.atom()
	for {
		if _, ok := s.accept("."); !ok {
			return x
		}
		t := s.peek()
		if t.kind != 'a' {
			s.fail("the name of an operation belongs after a point")
		}
		s.at++
		args := []any{x}
		if _, ok := s.accept("("); ok {
			args = append(args, s.list(")")...)
		}
		x = s.apply(t, args)
	}
}

func (s *speaker) list(end string) []any {
	out := []any{}
	if _, ok := s.accept(end); ok {
		return out
	}
	for {
		out = append(out, s.comparison())
		if _, ok := s.accept(end); ok {
			return out
		}
		s.want(",")
	}
}

func (s *speaker) atom() any {
	t := s.peek()
	if _, ok := s.accept("("); ok {
		x := s.comparison()
		s.want(")")
		return x
	}
	if _, ok := s.accept("["); ok {
		return s.list("]")
	}
	if _, ok := s.accept("{"); ok {
		return s.record()
	}
	switch t.kind {
	case 'n':
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			s.fail("%q is no number", t.text)
		}
		s.at++
		return v
	case 'a':
		s.at++
		return s.name(t)
	case 's':
		s.at++
		return t.text
	case 0:
		s.fail("the end comes where a tensor, a number or a name belongs")
	}
	s.fail("%q stands where a tensor, a number or a name belongs", t.text)
	return nil
}

func (s *speaker) record() any {
	r := wire.Record{}
	for {
		if _, ok := s.accept("}"); ok {
			return r
		}
		t := s.peek()
		if t.kind != 'a' {
			s.fail("the name of an option belongs here")
		}
		s.at++
		s.want(":")
		r = append(r, wire.Field{Name: t.text, Value: s.comparison()})
		if _, ok := s.accept(","); !ok {
			s.want("}")
			return r
		}
	}
}

// name is a call, an input, or a word.
func (s *speaker) name(t token) any {
	if _, ok := s.accept("("); ok {
		return s.apply(t, s.list(")"))
	}
	if _, ok := s.accept("["); ok {
		return s.input(t, s.list("]"))
	}
	switch t.text {
	case "true", "false":
		return t.text == "true"
	case "null", "none", "None":
		return nil
	}
	if ref, ok := s.inputs[t.text]; ok {
		return ref
	}
	if _, ok := dtype.Parse(t.text); ok {
		return t.text
	}
	s.at--
	s.fail("%s has no shape yet; write %s[64, 64], say", t.text, t.text)
	return nil
}

// input is a name with its shape: new, or the same again.
func (s *speaker) input(t token, shape []any) any {
	d := dtype.F32
	if _, ok := s.accept(":"); ok {
		name := s.peek()
		var known bool
		if d, known = dtype.Parse(name.text); !known {
			s.fail("there is no element type %q", name.text)
		}
		s.at++
	}
	c := &call{server: s.server, name: t.text, args: []any{shape}}
	ref, ok := s.inputs[t.text]
	if !ok {
		ref = s.hold(s.fresh(d, c.integers()))
		s.inputs[t.text] = ref
		return ref
	}
	x := s.server.tensor(ref)
	if fmt.Sprint(x.Shape()) != fmt.Sprint(c.integers()) {
		s.fail("%s has the shape %s; write %s alone for the same tensor, or at(%s, …) for a part", t.text, written(x.Shape()), t.text, t.text)
	}
	return ref
}

// fresh is memory of the engine, of undefined contents: nothing is computed with it.
func (s *speaker) fresh(d dtype.DType, shape []int) *tensor.Tensor {
	n := 1
	for _, size := range shape {
		if size < 0 {
			s.fail("the shape %s has a negative size", written(shape))
		}
		if size > 1<<30 || n > 1<<30 {
			s.fail("the shape %s is too large to look at", written(shape))
		}
		n *= size
	}
	u, err := s.engine.Empty(d, shape)
	if err != nil {
		panic(raised{err})
	}
	return tensor.FromNode(u, s.engine)
}

func (s *speaker) hold(x *tensor.Tensor) wire.Ref {
	s.last++
	s.server.tensors[s.last] = x
	return s.last
}

// apply calls an operation by its name in any case.
func (s *speaker) apply(t token, args []any) any {
	name := strings.ToLower(t.text)
	switch name {
	case "randn", "rand", "input", "uniform":
		c := &call{server: s.server, name: t.text, args: []any{flat(args)}}
		return s.hold(s.fresh(dtype.F32, c.integers()))
	case "zeros", "ones":
		v := 0.
		if name == "ones" {
			v = 1
		}
		return s.operate("full", flat(args), v)
	case "arange":
		if len(args) == 1 {
			args = []any{0., args[0]}
		}
		if len(args) == 2 {
			args = append(args, 1.)
		}
	case "reshape", "permute", "expand", "flip":
		if len(args) > 1 {
			args = []any{args[0], flat(args[1:])}
		}
	case "grad", "einsum":
		if len(args) > 1 {
			args = []any{args[0], flat(args[1:])}
		}
	}
	known := ""
	for o := range operations {
		if strings.ToLower(o) == name && changes[o] == 0 {
			known = o
		}
	}
	if known == "" {
		s.at--
		s.fail("there is no operation %s", t.text)
	}
	return s.operate(known, args...)
}

// changes are the operations that have no place in an expression.
var changes = map[string]int{"assign": 1, "setAt": 1, "own": 1, "tensor": 1, "randint": 1, "kaimingUniform": 1}

// counted are the operations that begin with a number.
var counted = map[string]bool{"arange": true, "linspace": true, "eye": true}

// flat is arguments that may stand in a list or not.
func flat(args []any) []any {
	if len(args) == 1 {
		if list, ok := args[0].([]any); ok {
			return list
		}
	}
	return args
}

// operate carries out an operation; numbers become tensors where one must come first.
func (s *speaker) operate(name string, args ...any) any {
	if len(args) == 0 {
		s.fail("%s of what?", name)
	}
	if f, ok := args[0].(float64); ok && !counted[name] {
		if len(args) == 2 {
			if g, ok := args[1].(float64); ok {
				return s.fold(name, f, g)
			}
		}
		args[0] = s.hold(tensor.Scalar(operandOf(f)))
	}
	var made some
	if err := attempt(name, func() {
		made = operations[name].do(&call{server: s.server, ctx: context.Background(), name: name, args: args})
	}); err != nil {
		panic(raised{err})
	}
	if len(made) == 1 {
		return s.hold(made[0])
	}
	out := make([]any, len(made))
	for i, x := range made {
		out[i] = s.hold(x)
	}
	return out
}

func operandOf(f float64) any {
	if n, ok := whole(f); ok {
		return n
	}
	return f
}

// fold is arithmetic of two numbers.
func (s *speaker) fold(name string, x, y float64) any {
	switch name {
	case "add":
		return x + y
	case "sub":
		return x - y
	case "mul":
		return x * y
	case "div":
		return x / y
	case "matmul":
		s.fail("@ multiplies tensors, not numbers")
	}
	return s.operate(name, s.hold(tensor.Scalar(x)), y)
}
