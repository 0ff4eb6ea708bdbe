package torchops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// param is one parameter of a signature; "input|values" has a second name.
type param struct {
	name     string
	also     string
	rest     bool // takes all further positional arguments
	optional bool
	def      any
}

// signature is how torch names and orders the parameters of an op, written as its documentation
// writes it: "input, dim=None, keepdim=False", "self, *size".
type signature []param

func parseSignature(s string) signature {
	var sig signature
	for _, field := range splitTop(s) {
		name, def, has := strings.Cut(strings.TrimSpace(field), "=")
		switch {
		case name == "" || name == "*":
			continue
		case strings.HasPrefix(name, "*"):
			sig = append(sig, param{name: name[1:], rest: true, optional: true, def: []any{}})
		default:
			name, also, _ := strings.Cut(name, "|")
			p := param{name: name, also: also, optional: has}
			if has {
				p.def = parseDefault(def)
			}
			sig = append(sig, p)
		}
	}
	return sig
}

// splitTop splits at commas outside parentheses.
func splitTop(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

func parseDefault(s string) any {
	switch s {
	case "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	}
	if n := len(s); n > 1 && s[0] == '\'' {
		return s[1 : n-1]
	} else if n > 1 && s[0] == '(' {
		list := []any{}
		for _, f := range splitTop(s[1 : n-1]) {
			list = append(list, parseDefault(strings.TrimSpace(f)))
		}
		return list
	}
	if i, err := strconv.Atoi(s); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("BUG: default " + s)
	}
	return f
}

// operand is a tensor among the arguments.
type operand struct {
	*tensor.Tensor
	complex bool
}

// bindError says that the tables do not fit a case; it never counts as the error that a case wants.
type bindError struct{ msg string }

func (e *bindError) Error() string { return "adapter: " + e.msg }

func misfit(format string, a ...any) { panic(&bindError{fmt.Sprintf(format, a...)}) }

// call is the arguments of one case by name. Tensors are operands.
type call struct {
	op    string
	given map[string]bool
	vals  map[string]any
	dev   *device
	after map[string]*tensor.Tensor // what the call leaves in its arguments, by position
}

// refuse is the error of an argument that torch does not take and Weft's methods, which are called otherwise, never see.
func (c *call) refuse(format string, a ...any) {
	panic(&tensor.ArgumentError{Op: c.op, Reason: fmt.Sprintf(format, a...)})
}

// fails passes on an error of the world, such as a read that did not work, as the call's error.
func (c *call) fails(err error) {
	if err != nil {
		panic(&callError{err})
	}
}

// callError is an error that a method returned.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }

// Unwrap gives the method's error.
func (e *callError) Unwrap() error { return e.err }

// bind gives each argument its name.
func bind(op string, sig signature, args []any, kwargs map[string]any) *call {
	c := &call{op: op, given: map[string]bool{}, vals: map[string]any{}, after: map[string]*tensor.Tensor{}}
	for _, p := range sig {
		if p.optional {
			c.vals[p.name] = p.def
		}
	}
	for i, v := range args {
		if n := len(sig); i >= n-1 && n > 0 && sig[n-1].rest || i < n && sig[i].rest {
			c.vals[sig[min(i, n-1)].name] = rest(args[i:])
			c.given[sig[min(i, n-1)].name] = true
			break
		}
		if i >= len(sig) {
			misfit("%s has %d parameters, not %d", op, len(sig), len(args))
		}
		c.vals[sig[i].name] = v
		c.given[sig[i].name] = true
	}
	for name, v := range kwargs {
		i := slices.IndexFunc(sig, func(p param) bool { return p.name == name || p.also == name })
		if i < 0 {
			misfit("%s has no parameter %s", op, name)
		}
		name = sig[i].name
		if c.given[name] {
			misfit("%s: %s given twice", op, name)
		}
		c.vals[name] = v
		c.given[name] = true
	}
	for _, p := range sig {
		if _, ok := c.vals[p.name]; !ok {
			misfit("%s: %s is missing", op, p.name)
		}
	}
	return c
}

// rest is the list of varargs; a single list stands for its elements.
func rest(args []any) []any {
	if len(args) == 1 {
		if list, ok := args[0].([]any); ok {
			return list
		}
	}
	return args
}

func (c *call) value(name string) any {
	v, ok := c.vals[name]
	if !ok {
		misfit("%s: the table asks for %s", c.op, name)
	}
	return v
}

func (c *call) wrong(name, want string) {
	misfit("%s: %s is %T, not %s", c.op, name, c.vals[name], want)
}

// None says that the argument is none.
func (c *call) None(name string) bool { return c.value(name) == nil }

// T is a tensor.
func (c *call) T(name string) *tensor.Tensor {
	o, ok := c.value(name).(operand)
	if !ok {
		c.wrong(name, "a tensor")
	}
	return o.Tensor
}

// OptT is a tensor or nil.
func (c *call) OptT(name string) *tensor.Tensor {
	if c.None(name) {
		return nil
	}
	return c.T(name)
}

// IsTensor says that the argument is a tensor.
func (c *call) IsTensor(name string) bool {
	_, ok := c.value(name).(operand)
	return ok
}

// Complex says that the argument is a complex tensor.
func (c *call) Complex(name string) bool {
	o, ok := c.value(name).(operand)
	return ok && o.complex
}

// Ts is a list of tensors.
func (c *call) Ts(name string) []*tensor.Tensor {
	list, ok := c.value(name).([]any)
	if !ok {
		if o, ok := c.value(name).(operand); ok {
			return []*tensor.Tensor{o.Tensor}
		}
		c.wrong(name, "a list of tensors")
	}
	out := make([]*tensor.Tensor, len(list))
	for i, v := range list {
		o, ok := v.(operand)
		if !ok {
			c.wrong(name, "a list of tensors")
		}
		out[i] = o.Tensor
	}
	return out
}

// Operand is a tensor or a host number, as the tensor methods take them.
func (c *call) Operand(name string) any {
	switch v := c.value(name).(type) {
	case operand:
		return v.Tensor
	case int, float64, bool:
		return v
	}
	c.wrong(name, "a tensor or a number")
	return nil
}

// OptOperand is nil, a tensor or a host number.
func (c *call) OptOperand(name string) any {
	if c.None(name) {
		return nil
	}
	return c.Operand(name)
}

// Int is a host integer.
func (c *call) Int(name string) int {
	i, ok := c.value(name).(int)
	if !ok {
		c.wrong(name, "an integer")
	}
	return i
}

// Float is a host number as a float.
func (c *call) Float(name string) float64 {
	switch v := c.value(name).(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	}
	c.wrong(name, "a number")
	return 0
}

// OptFloat is a host number or absent.
func (c *call) OptFloat(name string) (float64, bool) {
	if c.None(name) {
		return 0, false
	}
	return c.Float(name), true
}

// Bool is a host bool.
func (c *call) Bool(name string) bool {
	b, ok := c.value(name).(bool)
	if !ok {
		c.wrong(name, "a bool")
	}
	return b
}

// Str is a string.
func (c *call) Str(name string) string {
	s, ok := c.value(name).(string)
	if !ok {
		c.wrong(name, "a string")
	}
	return s
}

// choice is what a string stands for; torch refuses others.
func choice[V any](c *call, name string, list map[string]V) V {
	v, ok := list[c.Str(name)]
	if !ok {
		c.refuse("no %s %s", name, c.Str(name))
	}
	return v
}

// Ints is a list of integers, or one.
func (c *call) Ints(name string) []int {
	out, ok := ints(c.value(name))
	if !ok {
		c.wrong(name, "a list of integers")
	}
	return out
}

func ints(v any) ([]int, bool) {
	switch v := v.(type) {
	case int:
		return []int{v}, true
	case []any:
		out := make([]int, len(v))
		for i, x := range v {
			n, ok := x.(int)
			if !ok {
				return nil, false
			}
			out[i] = n
		}
		return out, true
	}
	return nil, false
}

// Floats is a list of numbers, or one.
func (c *call) Floats(name string) []float64 {
	list, ok := c.value(name).([]any)
	if !ok {
		return []float64{c.Float(name)}
	}
	out := make([]float64, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int:
			out[i] = float64(x)
		case float64:
			out[i] = x
		default:
			c.wrong(name, "a list of numbers")
		}
	}
	return out
}

// Tuple is a list of n integers; one integer stands for n times itself.
func (c *call) Tuple(name string, n int) []int {
	v := c.Ints(name)
	if len(v) == 1 {
		return slices.Repeat(v, n)
	}
	if len(v) != n {
		panic(&tensor.ArgumentError{Op: c.op, Reason: fmt.Sprintf("%s has %d entries, not %d", name, len(v), n)})
	}
	return v
}

// DType is an element type; ok is false for none.
func (c *call) DType(name string) (d dtype.DType, ok bool) {
	if c.None(name) {
		return dtype.Void, false
	}
	s, is := c.value(name).(DTypeName)
	if !is {
		c.wrong(name, "a dtype")
	}
	d, known := dtype.Parse(string(s))
	if !known {
		panic(&missingType{string(s)})
	}
	return d, true
}

// missingType says that Weft does not have an element type.
type missingType struct{ name string }

func (e *missingType) Error() string { return "no dtype " + e.name }
