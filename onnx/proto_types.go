package onnx

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a value is.
type Kind uint8

// The kinds of values.
const (
	IsTensor Kind = iota
	IsSequence
	IsOptional
	IsMap
	IsSparse
)

// Dim is the size of one axis as a file states it: a number, a name, or nothing known (−1 without a name).
type Dim struct {
	Size int
	Name string
}

func (d Dim) String() string {
	switch {
	case d.Name != "":
		return d.Name
	case d.Size < 0:
		return "?"
	}
	return strconv.Itoa(d.Size)
}

// Type is what a file says of an input or an output.
type Type struct {
	Kind   Kind
	Elem   Elem  // of a tensor
	Dims   []Dim // of a tensor
	Ranked bool  // whether Dims is known
	Of     *Type // what a sequence or an optional holds
}

// String is the type as text: float32[N 3 224 224], seq(int64[?]).
func (t *Type) String() string {
	if t == nil {
		return "?"
	}
	switch t.Kind {
	case IsSequence:
		return "seq(" + t.Of.String() + ")"
	case IsOptional:
		return "opt(" + t.Of.String() + ")"
	case IsMap:
		return "map"
	}
	if !t.Ranked {
		return t.Elem.String()
	}
	var dims []string
	for _, d := range t.Dims {
		dims = append(dims, d.String())
	}
	return t.Elem.String() + "[" + strings.Join(dims, " ") + "]"
}

func info(b []byte) (v *valueInfo, err error) {
	v = &valueInfo{}
	err = walk(b, func(f field) error {
		switch f.number {
		case 1:
			return f.text(&v.name)
		case 2:
			return within("type", f, typeOf, &v.typ)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", v.name, err)
	}
	return v, nil
}

func typeOf(b []byte) (*Type, error) { return typeWithin(b, 0) }

func typeWithin(b []byte, depth int) (t *Type, err error) {
	if depth > maxTypeNest {
		return nil, fmt.Errorf("types lie in each other more than %d deep", maxTypeNest)
	}
	t = &Type{}
	inner := func(b []byte) (of *Type, err error) {
		of = &Type{}
		return of, walk(b, func(f field) error {
			if f.number != 1 {
				return nil
			}
			return within("element", f, func(b []byte) (*Type, error) { return typeWithin(b, depth+1) }, &of)
		})
	}
	return t, walk(b, func(f field) error {
		switch f.number {
		case 1, 8:
			if f.number == 8 {
				t.Kind = IsSparse
			}
			b, err := f.bytes()
			if err == nil {
				err = t.tensor(b)
			}
			return err
		case 4:
			t.Kind = IsSequence
			return within("sequence", f, inner, &t.Of)
		case 5:
			t.Kind = IsMap
		case 9:
			t.Kind = IsOptional
			return within("optional", f, inner, &t.Of)
		}
		return nil
	})
}

func (t *Type) tensor(b []byte) error {
	return walk(b, func(f field) error {
		switch f.number {
		case 1:
			var n int64
			err := f.int(&n)
			t.Elem = Elem(n)
			return err
		case 2:
			t.Ranked = true
			b, err := f.bytes()
			if err != nil {
				return err
			}
			return walk(b, func(f field) error {
				if f.number != 1 {
					return nil
				}
				if len(t.Dims) == maxRank {
					return fmt.Errorf("a type has more than %d axes", maxRank)
				}
				return appended("axis", f, dim, &t.Dims)
			})
		}
		return nil
	})
}

func dim(b []byte) (d Dim, err error) {
	d.Size = -1
	err = walk(b, func(f field) error {
		switch f.number {
		case 1:
			var n int64
			if err := f.int(&n); err != nil {
				return err
			}
			if n >= 0 && n < 1<<40 {
				d.Size = int(n)
			}
		case 2:
			return f.text(&d.Name)
		}
		return nil
	})
	return d, err
}

func (d *decoder) function(b []byte) (fn *functionProto, err error) {
	fn = &functionProto{}
	node := func(b []byte) (*nodeProto, error) { return d.node(b, 0) }
	attr := func(b []byte) (*attrProto, error) { return d.attr(b, 0) }
	err = walk(b, func(f field) error {
		list := map[int]*[]string{4: &fn.in, 5: &fn.out, 6: &fn.attrs}[f.number]
		switch {
		case list != nil:
			var s string
			err := f.text(&s)
			*list = append(*list, s)
			return err
		case f.number == 1:
			return f.text(&fn.name)
		case f.number == 7:
			return appended("node", f, node, &fn.nodes)
		case f.number == 9:
			return appended("operator set", f, opset, &fn.opsets)
		case f.number == 10:
			return f.text(&fn.domain)
		case f.number == 11:
			return appended("default attribute", f, attr, &fn.defaults)
		case f.number == 13:
			return f.text(&fn.overload)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", fn.name, err)
	}
	if fn.domain == "ai.onnx" {
		fn.domain = ""
	}
	return fn, nil
}
