package browser_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// maker makes a program from a seed, and builds at once what package tensor makes of it.
type maker struct {
	*rand.Rand
	program
	values []*tensor.Tensor
	traits []trait
	types  []dtype.DType // that the device has
	finite bool          // only finite elements are compared
	whole  bool          // the page opened the whole engine
}

// trait is how well a value is known.
type trait struct {
	rough  bool // its elements are rounded, perhaps in another way elsewhere
	kinked bool // it was made of rough ones by what has a jump in its gradient
	dead   bool // an assignment to it failed: the page holds its error
	of     []int
}

const (
	largest = 600 // elements of a value
	deepest = 5   // axes
)

// makeProgram makes a program of so many calls, among them wrong ones.
func makeProgram(seed uint64, calls int, types []dtype.DType, whole bool) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7)), program: program{Seed: seed}, types: types, whole: whole}
	for range 3 {
		m.call(-1, methods[len(methods)-len(making)], false)
	}
	for len(m.Steps) < calls {
		f := methods[m.IntN(len(methods))]
		on := -1
		if m.IntN(100) < 12 || len(m.values) == 0 {
			f = making[m.IntN(len(making))]
		} else if made := len(methods) - len(making); m.IntN(made) < made {
			f = methods[m.IntN(made)]
			if whole && m.odds(3) {
				f = functional[m.IntN(len(functional))]
			}
			if !whole && slices.Contains(ofTheWhole, f.name) {
				continue
			}
			on = m.receiver(f.name)
		}
		m.call(on, f, m.odds(6) && !isWay(f.name))
	}
	return m
}

// receiver is a value to call a method on: a scalar for gradients.
func (m *maker) receiver(name string) int {
	if isWay(name) { // which computes with floats of some axes
		v := m.find(func(y one) bool {
			return y.DType().IsFloat() && !y.DType().IsNarrow() && y.Rank() >= leastAxes && y.Numel() > 0
		})
		return v.(value).N
	}
	on := m.pickAny()
	for range 20 {
		x := m.values[on]
		if !m.traits[on].dead && (name != "grad" || x.Numel() == 1 && x.IsFloat()) && (name != "where" && name != "not" || x.DType() == dtype.Bool) &&
			(name != "conv2d" && name != "maxPool2d" && name != "avgPool2d" || x.Rank() >= 2) {
			return on
		}
		on = m.pickAny()
	}
	return on
}

// call adds a call, if it is worth it: most are right, some are as good as right, and those that shall be wrong mostly are.
func (m *maker) call(on int, f method, spoil bool) {
	var x one
	if on >= 0 {
		x = m.values[on]
	}
	s := step{On: on, Name: f.name, first: len(m.values)}
	func() {
		defer func() {
			if p := recover(); p != nil { // there is no such argument here, such as an axis of a scalar
				s.Args = nil
			}
		}()
		s.Args = f.args(m, x)
	}()
	if spoil {
		s.Args = m.spoiled(s.Args)
	}
	s.Args = append([]any{}, s.Args...)
	used := m.used(s.Args)
	t := trait{of: used}
	if on >= 0 {
		t.of = append(t.of, on)
	}
	for _, v := range t.of {
		if m.traits[v].dead {
			return
		}
		t.rough = t.rough || m.traits[v].rough
		t.kinked = t.kinked || m.traits[v].kinked
	}
	if t.rough && (f.class == touchy || f.class == step0) && f.name != "grad" || t.kinked && f.name == "grad" {
		return
	}
	changes := f.name == "assign" || f.name == "setAt" || f.name == "own" || slices.Contains(inPlace, f.name)
	if changes && x != nil { // first on a copy
		x = x.Clone()
	}
	out, why := m.carryOut(f, x, s.Args)
	if why == "" && changes {
		out, why = m.carryOut(f, m.values[on], s.Args)
	}
	if s.wrong, s.why = why != "", why; s.wrong {
		if !spoil && !m.odds(4) || isWay(f.name) {
			return
		}
		if changes {
			m.traits[on].dead = true
		}
		m.Steps = append(m.Steps, s)
		return
	}
	for _, y := range out {
		if y.Numel() > largest || y.Rank() > deepest {
			return
		}
	}
	t.kinked = t.kinked || t.rough && f.class == kink
	for _, y := range out {
		mine := t
		mine.rough = y.IsFloat() && (t.rough || f.class == smooth || f.class == touchy || f.name == "to" && y.DType().Size() < 4)
		if changes {
			m.traits[on].rough, m.traits[on].of = m.traits[on].rough || mine.rough, append(m.traits[on].of, used...)
			break
		}
		m.values, m.traits = append(m.values, y), append(m.traits, mine)
	}
	if !changes {
		s.Gives = len(out)
	}
	m.Steps = append(m.Steps, s)
}

// carryOut gives what Go makes of a call, or why it makes nothing.
func (m *maker) carryOut(f method, x one, args []any) (out some, why string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refused:
			out, why = nil, "refused: "+p.why
		default:
			panic(fmt.Sprintf("program %d: %s%v: %v", m.Seed, f.name, args, p))
		}
	}()
	if err := tensor.Try(func() { out = f.apply(x, &arguments{list: args, values: m.values}) }); err != nil {
		var shape *tensor.ShapeError
		if errors.As(err, &shape) && shape.Reason == "" {
			return nil, "no reason"
		}
		return nil, err.Error()
	}
	return out, ""
}

// used are the values among arguments.
func (m *maker) used(args []any) (out []int) {
	for _, v := range args {
		switch v := v.(type) {
		case value:
			out = append(out, v.N)
		case []any:
			out = append(out, m.used(v)...)
		case object:
			for _, f := range v {
				out = append(out, m.used([]any{f.Value})...)
			}
		}
	}
	return out
}

func (m *maker) odds(n int) bool { return m.IntN(n) == 0 }

// spoiled is arguments of which one is mostly wrong.
func (m *maker) spoiled(args []any) []any {
	out := append([]any{}, args...)
	junk := []any{
		odd{"NaN"}, odd{"inf"}, odd{"undefined"}, odd{"bigint"}, odd{"function"}, odd{"hole"}, odd{"other"}, odd{"gone"}, odd{"promise"}, odd{"date"}, nil, true, "", "f32", "axis",
		0.5, -1., 7., 1e9, 1e18, []any{}, []any{0.5}, []any{1., "2"}, []any{[]any{1.}}, object{{"axes", 0.}}, object{{"axis", 0.5}}, typed{dtype.I32, []float64{1, 2}}, value{m.pickAny()},
	}
	bad := junk[m.IntN(len(junk))]
	at := m.IntN(len(out) + 1)
	switch {
	case m.odds(6) && len(out) > 0:
		return out[:len(out)-1]
	case at == len(out):
		return append(out, bad)
	case m.odds(3):
		out[at] = bad
		return out
	}
	if list, ok := out[at].([]any); ok && m.odds(3) { // reshape(4, 1)
		return append(out[:at], append(list, out[at+1:]...)...)
	}
	out[at] = m.nearly(out[at])
	return out
}

// nearly is an argument that is almost right.
func (m *maker) nearly(v any) any {
	switch v := v.(type) {
	case value:
		return []any{odd{"other"}, odd{"other"}, odd{"gone"}, []any{v}, 1., m.any()}[m.IntN(6)]
	case float64:
		return []any{v + 0.5, v + 9, v - 9, odd{"NaN"}, fmt.Sprint(v), []any{v}, v == 0}[m.IntN(7)]
	case object:
		return append(append(object{}, v...), field{"axes", 0.})
	case []any:
		if len(v) == 0 || m.odds(4) {
			return append(append([]any{}, v...), 1.)
		}
		list := append([]any{}, v...)
		i := m.IntN(len(list))
		list[i] = m.nearly(list[i])
		return list
	case bool:
		return []any{0., "true", nil}[m.IntN(3)]
	}
	return []any{nil, 0.5, odd{"undefined"}}[m.IntN(3)]
}

func (m *maker) pickAny() int { return m.IntN(len(m.values)) }

func (m *maker) any() any { return value{m.pickAny()} }

// find is a value of which something is true, or any.
func (m *maker) find(f func(one) bool) any {
	for range 12 {
		if i := m.pickAny(); f(m.values[i]) {
			return value{i}
		}
	}
	return m.any()
}

func (m *maker) like(x one) any {
	return m.find(func(y one) bool { return fmt.Sprint(x.Shape()) == fmt.Sprint(y.Shape()) })
}
func (m *maker) mask() any  { return m.find(func(y one) bool { return y.DType() == dtype.Bool }) }
func (m *maker) float() any { return m.find(func(y one) bool { return y.IsFloat() }) }
func (m *maker) ids(x one) any {
	return m.find(func(y one) bool { return y.DType().IsInt() && y.Rank() == x.Rank() })
}
func (m *maker) inner(x one) any {
	return m.find(func(y one) bool {
		return x.Rank() > 0 && (y.Rank() == 1 && y.Dim(0) == x.Dim(-1) || y.Rank() > 1 && y.Dim(-2) == x.Dim(-1))
	})
}

func (m *maker) number() any {
	return []any{0., 1., -1., 2., 0.5, -1.5, 3., true, false, 100., -0.25, 7.}[m.IntN(12)]
}

// operand is a number, or a value that mostly meets x.
func (m *maker) operand(x one) any {
	if x == nil || m.odds(3) {
		return m.number()
	}
	return m.find(func(y one) bool {
		s, t := x.Shape(), y.Shape()
		for i := 1; i <= min(len(s), len(t)); i++ {
			if a, b := s[len(s)-i], t[len(t)-i]; a != b && a != 1 && b != 1 {
				return false
			}
		}
		return true
	})
}

// perhaps is some of the arguments from the left.
func (m *maker) perhaps(args ...any) []any { return args[:m.IntN(len(args)+1)] }

func (m *maker) axis(x one) float64 {
	r := 1
	if x != nil {
		r = max(x.Rank(), 1)
	}
	return float64(m.IntN(2*r) - r)
}

func (m *maker) axes(x one) any {
	if m.odds(2) {
		return m.axis(x)
	}
	list := []any{}
	for _, a := range m.Perm(x.Rank()) {
		if m.odds(2) {
			list = append(list, float64(a))
		}
	}
	return list
}

func (m *maker) over(x one) []any {
	if m.odds(3) {
		return []any{object{{"axis", m.axes(x)}, {"keep", m.odds(2)}}}
	}
	return m.perhaps(m.axes(x))
}

func (m *maker) dtype() any { return jsName(m.types[m.IntN(len(m.types))]) }

func (m *maker) shape() []any {
	out := []any{}
	for range m.IntN(4) {
		out = append(out, []any{1., 2., 3., 4., 2., 3., 5., 0.}[m.IntN(8)])
	}
	return out
}

// elements are a typed array and its shape.
func (m *maker) elements() []any {
	shape := m.shape()
	n := 1
	for _, s := range shape {
		n *= int(s.(float64))
	}
	types := []dtype.DType{dtype.F32, dtype.F32, dtype.F32, dtype.I32, dtype.U8, dtype.I8, dtype.F64, dtype.I64, dtype.U32, dtype.Bool}
	e := typed{types[m.IntN(len(types))], make([]float64, n)}
	if !slices.Contains(m.types, e.Type) {
		e.Type = dtype.F32
	}
	if n == 0 && e.Type == dtype.Bool { // a page tells truth values from numbers by the first
		e.Type = dtype.U8
	}
	for i := range e.Values {
		switch v := float64(m.IntN(17) - 6); {
		case e.Type == dtype.Bool:
			e.Values[i] = float64(m.IntN(2))
		case e.Type == dtype.U8 || e.Type == dtype.U32:
			e.Values[i] = math.Abs(v)
		case e.Type.IsFloat():
			e.Values[i] = v / 4
		default:
			e.Values[i] = v
		}
	}
	return []any{e, shape}
}

// factors is another shape of as many elements.
func (m *maker) factors(x one) []any {
	n := x.Numel()
	if n == 0 {
		return []any{0., 2.}
	}
	out := []any{}
	for _, k := range []int{2, 3, 5} {
		if n%k == 0 && m.odds(2) {
			out, n = append(out, float64(k)), n/k
		}
	}
	if m.odds(3) {
		return append(out, -1.)
	}
	return append(out, float64(n))
}

// wider is a shape that x expands to.
func (m *maker) wider(x one) []any {
	out := []any{}
	if m.odds(2) {
		out = append(out, 2.)
	}
	for _, n := range x.Shape() {
		switch {
		case n == 1:
			out = append(out, float64(1+m.IntN(3)))
		case m.odds(3):
			out = append(out, -1.)
		default:
			out = append(out, float64(n))
		}
	}
	return out
}

func (m *maker) order(x one) []any {
	out := []any{}
	for _, a := range m.Perm(x.Rank()) {
		out = append(out, float64(a))
	}
	return out
}

func (m *maker) index(x one) []any {
	out := []any{}
	for _, n := range x.Shape() {
		switch m.IntN(8) {
		case 0:
			out = append(out, nil)
		case 1:
			out = append(out, []any{float64(m.IntN(n + 1)), nil})
		case 2:
			out = append(out, []any{nil, nil, -1.})
		case 3:
			out = append(out, []any{-2., nil})
		case 4:
			return append(out, "...")
		case 5:
			out = append(out, "new", nil)
		default:
			out = append(out, float64(m.IntN(n+1)-1))
		}
	}
	return out
}

func (m *maker) window() []any {
	return append([]any{[]any{2., []any{1., 2.}}[m.IntN(2)]}, m.perhaps(object{{"stride", 1.}})...)
}

func (m *maker) lastSize(x one) any { return float64(x.Dim(-1)) }
