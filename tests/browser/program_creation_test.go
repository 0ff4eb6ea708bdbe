package browser_test

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// making is what the engine makes.
var making = []method{
	{"tensor", exact, func(m *maker, _ one) []any { return m.elements() }, made},
	{"full", exact, func(m *maker, _ one) []any {
		return append([]any{m.shape(), m.number()}, m.perhaps(object{{"dtype", m.dtype()}})...)
	}, func(_ one, a *arguments) some {
		shape := a.shape(0)
		v, ok := asScalar(a.next())
		if !ok {
			refuse("no scalar")
		}
		d := ofType(a, dtype.F32)
		return some{tensor.Full(v, d, shape...)}
	}},
	{"zeros", exact, func(m *maker, _ one) []any {
		return append([]any{m.shape()}, m.perhaps(object{{"dtype", m.dtype()}})...)
	}, func(_ one, a *arguments) some {
		shape := a.shape(0)
		return some{tensor.Full(0, ofType(a, dtype.F32), shape...)}
	}},
	{"eye", exact, func(m *maker, _ one) []any {
		return append([]any{float64(m.IntN(4))}, m.perhaps(float64(m.IntN(4)))...)
	}, func(_ one, a *arguments) some {
		n := a.integer()
		k := a.integer(n)
		o := a.options("dtype")("dtype")
		y := func() one { return tensor.Eye(n, k) }
		if a.end(); n < 0 || k < 0 {
			refuse("negative sizes")
		}
		if o.given() {
			d := o.dtype()
			return some{y().To(d)}
		}
		return some{y()}
	}},
	{"arange", exact, func(m *maker, _ one) []any {
		return [][]any{{float64(m.IntN(6))}, {1., 5.}, {0., 2., 0.5}, {5., 1., -2.}}[m.IntN(4)]
	}, func(_ one, a *arguments) some {
		start := a.number(math.NaN())
		stop, step := start, 1.
		if a.given() {
			stop = a.number(math.NaN())
		} else {
			a.taken++
			start, stop = 0, start
		}
		step = a.number(1)
		d := dtype.I32
		if start != math.Trunc(start) || stop != math.Trunc(stop) || step != math.Trunc(step) {
			d = dtype.F32
		}
		d = ofType(a, d)
		if step == 0 {
			refuse("a step of 0")
		}
		lo, _ := asScalar(start)
		hi, _ := asScalar(stop)
		by, _ := asScalar(step)
		return some{tensor.ArangeOf(d, lo, hi, by)}
	}},
	{"cat", exact, func(m *maker, _ one) []any {
		x := m.pickAny()
		return append([]any{[]any{value{x}, m.like(m.values[x])}}, m.perhaps(m.axis(m.values[x]))...)
	}, func(_ one, a *arguments) some {
		ts := a.tensors()
		axis := a.integer(0)
		a.end()
		return some{tensor.Cat(axis, ts...)}
	}},
	{"stack", exact, func(m *maker, _ one) []any {
		x := m.pickAny()
		return append([]any{[]any{value{x}, m.like(m.values[x])}}, m.perhaps(m.axis(m.values[x]))...)
	}, func(_ one, a *arguments) some {
		ts := a.tensors()
		axis := a.integer(0)
		a.end()
		return some{tensor.Stack(axis, ts...)}
	}},
	{"einsum", smooth, func(m *maker, _ one) []any {
		return []any{[]any{"ij->ji", "i->", "ij,jk->ik", "ii->i"}[m.IntN(4)], m.any()}
	}, func(_ one, a *arguments) some {
		f, ok := a.next().(string)
		if !ok {
			refuse("no formula")
		}
		ts := some{}
		for a.taken < len(a.list) {
			ts = append(ts, a.tensor())
		}
		return some{tensor.Einsum(f, ts...)}
	}},
}

func ofType(a *arguments, otherwise dtype.DType) dtype.DType {
	o := a.options("dtype")
	a.end()
	if d := o("dtype"); d.given() {
		return d.dtype()
	}
	return otherwise
}

// made takes elements, perhaps a shape, and perhaps a type, in its place too.
func made(_ one, a *arguments) some {
	e, natural := given(a.next())
	shape := natural
	if a.given() {
		if _, ok := a.list[a.taken].(object); !ok {
			shape = a.shape(0)
		}
	} else {
		a.taken++
	}
	d := ofType(a, e.Type)
	n := 1
	for _, s := range shape {
		n *= s
	}
	if n != len(e.Values) {
		refuse("%d elements for %v", len(e.Values), shape)
	}
	x := tensor.FromBytes(e.Type, shape, e.bytes())
	if d != e.Type {
		x = x.To(d)
	}
	return some{x}
}

// given is what a page may make a tensor of: a typed array, a number, or nested arrays of them.
func given(v any) (e typed, shape []int) {
	switch v := v.(type) {
	case typed:
		return v, []int{len(v.Values)}
	case bool:
		e = typed{dtype.Bool, []float64{0}}
		if v {
			e.Values[0] = 1
		}
		return e, nil
	case []any:
		for i, x := range v {
			part, s := given(x)
			if i > 0 && (fmt.Sprint(s) != fmt.Sprint(shape[1:])) {
				refuse("ragged lists")
			}
			if i == 0 {
				shape = append([]int{len(v)}, s...)
				e.Type = part.Type
			} else if part.Type != e.Type {
				e.Type = dtype.F32
			}
			if _, ok := x.(typed); ok {
				refuse("a typed array in a list")
			}
			e.Values = append(e.Values, part.Values...)
		}
		if len(v) == 0 {
			return typed{Type: dtype.F32}, []int{0}
		}
		return e, shape
	}
	f, ok := asNumber(v)
	if !ok {
		refuse("%v are no elements", v)
	}
	return typed{dtype.F32, []float64{f}}, nil
}

// bytes are the elements as memory has them.
func (e typed) bytes() (b []byte) {
	for _, v := range e.Values {
		switch e.Type {
		case dtype.F32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case dtype.F64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		default:
			b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(int64(v)))[:e.Type.Size()]...)
		}
	}
	return b
}
