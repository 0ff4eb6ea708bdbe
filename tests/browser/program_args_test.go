package browser_test

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A program is calls of the face as plain data, which a page and this test both carry out: the page with weft.js, the test with
// package tensor. What a page would have to refuse this side refuses too, by reading weft.d.ts on its own.

// program is what is made at first, and the calls that follow. Each gives values, which are numbered as they come.
type program struct {
	Seed  uint64
	Steps []step
}

// step is a call: of the engine where On is −1, else of a value. Gives is how many values it makes, 0 if it is wrong.
type step struct {
	On    int
	Name  string
	Args  []any
	Gives int
	first int  // its first value
	wrong bool // what Go says
	why   string
}

// Arguments are nil (null), bool, float64, string, []any, object, and these, which JSON writes as objects with one field.
type (
	object []field
	field  struct {
		Name  string
		Value any
	}
	value struct{ N int }       // what an earlier step made
	odd   struct{ Kind string } // what has no place in JSON, or belongs in no call: see odds
	typed struct {              // a typed array
		Type   dtype.DType
		Values []float64
	}
)

// odds are what a program may hold that is no value of JSON, as JavaScript.
var odds = map[string]string{
	"NaN": "NaN", "inf": "Infinity", "-inf": "-Infinity", "undefined": "undefined", "bigint": "1n", "function": "() => 0", "hole": "[, 1]",
	"other": "another engine's tensor", "gone": "a tensor that was disposed of", "promise": "Promise.resolve([1])", "date": "new Date(0)",
}

// refused is what a call is refused for before it means anything.
type refused struct{ why string }

// arguments are those of a call, taken one after the other.
type arguments struct {
	list   []any
	taken  int
	values []*tensor.Tensor
}

func refuse(format string, a ...any) { panic(refused{fmt.Sprintf(format, a...)}) }

func (a *arguments) next() any {
	a.taken++
	if a.taken > len(a.list) {
		return odd{"undefined"}
	}
	return a.list[a.taken-1]
}

// given says whether another argument follows that is not undefined.
func (a *arguments) given() bool {
	return a.taken < len(a.list) && a.list[a.taken] != odd{"undefined"}
}

// end refuses arguments that nobody took.
func (a *arguments) end() {
	for ; a.taken < len(a.list); a.taken++ {
		if a.given() {
			refuse("one argument too many")
		}
	}
}

func (a *arguments) asTensor(v any) *tensor.Tensor {
	if v, ok := v.(value); ok {
		return a.values[v.N]
	}
	refuse("%v is no tensor", v)
	return nil
}

func (a *arguments) tensor() *tensor.Tensor { return a.asTensor(a.next()) }

// maybe takes a tensor that may be left out or null.
func (a *arguments) maybe() *tensor.Tensor {
	v := a.next()
	if v == nil || v == (odd{"undefined"}) {
		return nil
	}
	return a.asTensor(v)
}

func asNumber(v any) (float64, bool) {
	switch v {
	case odd{"NaN"}:
		return math.NaN(), true
	case odd{"inf"}:
		return math.Inf(1), true
	case odd{"-inf"}:
		return math.Inf(-1), true
	}
	f, ok := v.(float64)
	return f, ok
}

// scalar is a number or a truth value as Go's callers write it: whole numbers are integers.
func asScalar(v any) (any, bool) {
	if b, ok := v.(bool); ok {
		return b, true
	}
	f, ok := asNumber(v)
	if ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 && (f != 0 || !math.Signbit(f)) {
		return int(f), true
	}
	return f, ok
}

func (a *arguments) operand() any {
	v := a.next()
	if v, ok := v.(value); ok {
		return a.values[v.N]
	}
	s, ok := asScalar(v)
	if !ok {
		refuse("%v is no operand", v)
	}
	return s
}

// limit is operand, or nil for what is left out or null.
func (a *arguments) limit() any {
	if !a.given() || a.list[a.taken] == nil {
		a.taken++
		return nil
	}
	return a.operand()
}

func (a *arguments) number(otherwise float64) float64 {
	if !a.given() && !math.IsNaN(otherwise) {
		a.taken++
		return otherwise
	}
	v := a.next()
	f, ok := asNumber(v)
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		refuse("%v is no finite number", v)
	}
	return f
}

func asInteger(v any) int {
	f, ok := v.(float64)
	if !ok || f != math.Trunc(f) || f < math.MinInt32 || f > math.MaxInt32 {
		refuse("%v is no integer of 32 bits", v)
	}
	return int(f)
}

// integer takes an integer; without one it is otherwise.
func (a *arguments) integer(otherwise ...int) int {
	if !a.given() && len(otherwise) > 0 {
		a.taken++
		return otherwise[0]
	}
	return asInteger(a.next())
}

func (a *arguments) flag(otherwise bool) bool {
	if !a.given() {
		a.taken++
		return otherwise
	}
	v := a.next()
	b, ok := v.(bool)
	if !ok {
		refuse("%v is no truth value", v)
	}
	return b
}

func asList(v any, least int) []int {
	list, ok := v.([]any)
	if !ok {
		refuse("%v is no list", v)
	}
	out := []int{}
	for _, x := range list {
		if n := asInteger(x); n < least {
			refuse("%d is less than %d", n, least)
		}
		out = append(out, asInteger(x))
	}
	return out
}

// list takes a list of integers of at least so much.
func (a *arguments) list32(least int) []int { return asList(a.next(), least) }

// shape is list of sizes, of a tensor that a page can have.
func (a *arguments) shape(least int) []int {
	s := a.list32(least)
	n := 1.
	for _, size := range s {
		n *= math.Abs(float64(size))
	}
	if n > math.MaxInt32 {
		refuse("%v is too large", s)
	}
	return s
}

func asIntegers(v any) []int {
	if _, ok := v.(float64); ok {
		return []int{asInteger(v)}
	}
	return asList(v, math.MinInt32)
}

// integers takes an integer or several; nothing is none.
func (a *arguments) integers() []int {
	if !a.given() {
		a.taken++
		return nil
	}
	return asIntegers(a.next())
}

func (a *arguments) dtype() dtype.DType {
	v := a.next()
	name, _ := v.(string)
	for _, d := range dtype.All {
		if name == jsName(d) {
			return d
		}
	}
	refuse("%v is no element type", v)
	return 0
}

// jsName is a page's name of an element type.
func jsName(d dtype.DType) string {
	if d == dtype.Bool {
		return "bool"
	}
	return d.Short()
}

func (a *arguments) tensors() (out []*tensor.Tensor) {
	list, ok := a.next().([]any)
	if !ok {
		refuse("no list of tensors")
	}
	for _, v := range list {
		out = append(out, a.asTensor(v))
	}
	return out
}

// options takes an object with some of these fields; each is then at.
func (a *arguments) options(names ...string) func(name string) *arguments {
	o := object{}
	if a.given() {
		v := a.next()
		var ok bool
		if o, ok = v.(object); !ok {
			refuse("%v is no object of options", v)
		}
	}
	for _, f := range o {
		if !slices.Contains(names, f.Name) {
			refuse("no option %s", f.Name)
		}
	}
	return func(name string) *arguments {
		for _, f := range o {
			if f.Name == name {
				return &arguments{list: []any{f.Value}, values: a.values}
			}
		}
		return &arguments{}
	}
}

// over takes what a reduction goes over.
func (a *arguments) over(more ...string) (axes []int, keep bool, correction float64) {
	if a.given() {
		if _, ok := a.list[a.taken].(object); ok {
			o := a.options(append(more, "axis", "keep")...)
			return o("axis").integers(), o("keep").flag(false), o("correction").number(1)
		}
	}
	return a.integers(), false, 1
}

// index takes all that is left as indices.
func (a *arguments) index() (out []any) {
	for a.taken < len(a.list) {
		switch v := a.next().(type) {
		case nil:
			out = append(out, nil)
		case string:
			switch v {
			case "...":
				out = append(out, tensor.Ellipsis)
			case "new":
				out = append(out, tensor.NewAxis)
			default:
				refuse("%q is no index", v)
			}
		case float64:
			out = append(out, asInteger(v))
		case value:
			out = append(out, a.values[v.N])
		case []any:
			out = append(out, asSpan(v))
		default:
			refuse("%v is no index", v)
		}
	}
	return out
}

func asSpan(v []any) tensor.Range {
	if len(v) < 1 || len(v) > 3 {
		refuse("%v is no part of an axis", v)
	}
	r := tensor.Range{From: tensor.Begin, To: tensor.End, Step: 1}
	if len(v) == 3 && v[2] != (odd{"undefined"}) {
		if r.Step = asInteger(v[2]); r.Step == 0 {
			refuse("a step of 0")
		}
	}
	if r.Step < 0 {
		r.From, r.To = tensor.End, tensor.Begin
	}
	none := func(i int) bool { return i >= len(v) || v[i] == nil || i > 0 && v[i] == odd{"undefined"} }
	if !none(0) {
		r.From = asInteger(v[0])
	}
	if !none(1) {
		r.To = asInteger(v[1])
	}
	return r
}
