package torchops

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Ref is a tensor of a folder: Bytes are raw, little-endian, row-major. A complex one has a last
// axis of 2 in Shape.
type Ref struct {
	DType   string
	Shape   []int
	Complex bool
	Bytes   []byte
}

// DTypeName is an element type given as an argument.
type DTypeName string

// Slice is start:stop:step of an index; nil is "not given".
type Slice struct{ Start, Stop, Step *int }

// Ellipsis and NewAxis are the entries … and None of an index.
type (
	Ellipsis struct{}
	NewAxis  struct{}
)

// decodeValue turns JSON (decoded with UseNumber) into a value: nil, bool, string, int, float64,
// *Ref, DTypeName, Slice, Ellipsis, NewAxis, []any or map[string]any.
func decodeValue(v any, data []byte) (any, error) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case json.Number:
		return decodeNumber(v)
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			var err error
			if out[i], err = decodeValue(x, data); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return decodeObject(v, data)
	}
	return nil, fmt.Errorf("unknown JSON value %T", v)
}

// decodeNumber keeps the difference between 2 and 2.0.
func decodeNumber(n json.Number) (any, error) {
	if i, err := strconv.Atoi(string(n)); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	return f, err
}

func decodeObject(m map[string]any, data []byte) (any, error) {
	if len(m) == 1 {
		for key, x := range m {
			switch key {
			case "t", "c":
				return decodeRef(x, key == "c", data)
			case "f":
				return decodeSpecial(x)
			case "dtype":
				if s, ok := x.(string); ok {
					return DTypeName(s), nil
				}
			case "slice":
				return decodeSlice(x)
			case "ellipsis":
				return Ellipsis{}, nil
			case "newaxis":
				return NewAxis{}, nil
			}
		}
	}
	out := make(map[string]any, len(m))
	for key, x := range m {
		v, err := decodeValue(x, data)
		if err != nil {
			return nil, err
		}
		out[key] = v
	}
	return out, nil
}

func decodeSpecial(x any) (any, error) {
	switch x {
	case "inf":
		return math.Inf(1), nil
	case "-inf":
		return math.Inf(-1), nil
	case "nan":
		return math.NaN(), nil
	}
	return nil, fmt.Errorf("unknown float %v", x)
}

func decodeSlice(x any) (any, error) {
	list, ok := x.([]any)
	if !ok || len(list) != 3 {
		return nil, fmt.Errorf("a slice needs three entries, not %v", x)
	}
	var p [3]*int
	for i, e := range list {
		if e == nil {
			continue
		}
		n, ok := e.(json.Number)
		if !ok {
			return nil, fmt.Errorf("slice entry %v", e)
		}
		k, err := strconv.Atoi(string(n))
		if err != nil {
			return nil, err
		}
		p[i] = &k
	}
	return Slice{p[0], p[1], p[2]}, nil
}

// sizes of the element types of the format, Weft's or not.
var sizes = map[string]int{
	"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
	"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1,
}

func decodeRef(x any, complex bool, data []byte) (*Ref, error) {
	raw, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	var r struct {
		DType  string
		Shape  []int
		Off, N int
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("tensor %s: %w", raw, err)
	}
	n := 1
	for _, d := range r.Shape {
		if d < 0 {
			return nil, fmt.Errorf("tensor %s: negative size", raw)
		}
		n *= d
	}
	size, ok := sizes[r.DType]
	switch {
	case !ok:
		return nil, fmt.Errorf("tensor %s: unknown type", raw)
	case n*size != r.N || r.Off < 0 || r.N < 0 || r.Off+r.N > len(data):
		return nil, fmt.Errorf("tensor %s: %d bytes wanted, the file has %d", raw, n*size, len(data))
	case complex && (len(r.Shape) == 0 || r.Shape[len(r.Shape)-1] != 2):
		return nil, fmt.Errorf("tensor %s: complex without a last axis of 2", raw)
	}
	if r.Shape == nil {
		r.Shape = []int{}
	}
	return &Ref{r.DType, r.Shape, complex, data[r.Off : r.Off+r.N]}, nil
}
