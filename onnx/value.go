package onnx

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Value is what models take and give: an array of numbers, which is a tensor or lies in the program's memory, an array of strings, a sequence
// of values, or an optional one. Values are not changed.
type Value struct {
	kind  Kind
	elem  Elem
	shape []int
	strs  []string
	raw   []byte // the elements, as their carrier has them, once somebody knows them
	t     *tensor.Tensor
	known bool        // the elements do not depend on what a plan takes as arguments
	fixed int         // the number of the constant of the model that it is; 0: it is none
	items []*Value    // of a sequence; of an optional, none or one
	conv  *convSource // how it was made, where that may be made otherwise
	quant *quantities // the narrow integers that it stands for, which products take

	unsigned *Value // of signed bytes, 128 more than they are
}

// Of is a tensor as a value.
func Of(t *tensor.Tensor) *Value {
	return &Value{elem: elemOf(t.DType()), shape: t.Shape(), t: t, known: true}
}

// Strings is an array of strings.
func Strings(shape []int, list []string) *Value {
	return &Value{elem: String, shape: slices.Clone(shape), strs: slices.Clone(list), known: true}
}

// Sequence is a list of values.
func Sequence(items ...*Value) *Value {
	return &Value{kind: IsSequence, items: slices.Clone(items), known: true}
}

// Optional is a value that may be missing: nil is none.
func Optional(v *Value) *Value {
	o := &Value{kind: IsOptional, known: true}
	if v != nil {
		o.items = []*Value{v}
	}
	return o
}

// Kind says what the value is.
func (v *Value) Kind() Kind { return v.kind }

// Elem is the type of the elements.
func (v *Value) Elem() Elem { return v.elem }

// Shape is the sizes of the axes of an array.
func (v *Value) Shape() []int { return slices.Clone(v.shape) }

// Text are the elements of an array of strings.
func (v *Value) Text() []string { return v.strs }

// Items are the values of a sequence or, one or none, of an optional.
func (v *Value) Items() []*Value { return v.items }

// Tensor is an array of numbers, of the type that carries its elements (Elem.DType); nil for other values. Elements that lie in the program's
// memory go to the default device.
func (v *Value) Tensor() *tensor.Tensor {
	if v.kind != IsTensor || v.elem == String {
		return nil
	}
	if v.t == nil {
		return tensor.FromBytes(v.elem.DType(), v.shape, v.raw)
	}
	return v.t
}

// Bytes are the elements, of the type Elem.DType, row-major and little-endian.
func (v *Value) Bytes(ctx context.Context) ([]byte, error) {
	switch {
	case v.raw != nil:
		return v.raw, nil
	case v.t != nil:
		return v.t.Bytes(ctx)
	}
	return nil, fmt.Errorf("onnx: the value has no elements that are numbers")
}

// String says what the value is.
func (v *Value) String() string {
	switch v.kind {
	case IsSequence:
		return fmt.Sprintf("sequence of %d", len(v.items))
	case IsOptional:
		if len(v.items) == 0 {
			return "no value"
		}
		return "optional " + v.items[0].String()
	}
	return fmt.Sprint(v.elem, v.shape)
}

// scalarOf makes a value of one integer.
func intsValue(shape []int, list ...int64) *Value {
	return &Value{elem: Int64, shape: shape, raw: little(list, 8), known: true}
}

func boolValue(b bool) *Value {
	raw := []byte{0}
	if b {
		raw[0] = 1
	}
	return &Value{elem: Bool, shape: []int{}, raw: raw, known: true}
}

func floatsValue(shape []int, list ...float32) *Value {
	raw := make([]byte, 0, 4*len(list))
	for _, f := range list {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	return &Value{elem: Float32, shape: shape, raw: raw, known: true}
}

// elementsOf are raw elements one by one.
func elementsOf(d dtype.DType, raw []byte) []uop.Value {
	width := d.Size()
	out := make([]uop.Value, len(raw)/max(1, width))
	for i := range out {
		var b [8]byte
		copy(b[:], raw[i*width:(i+1)*width])
		out[i] = uop.FromBits(d, binary.LittleEndian.Uint64(b[:]))
	}
	return out
}

// integersOf are elements as integers.
func integersOf(e Elem, raw []byte) ([]int64, bool) {
	d := e.DType()
	if d.IsFloat() || d == dtype.Void {
		return nil, false
	}
	vs := elementsOf(d, raw)
	out := make([]int64, len(vs))
	for i, v := range vs {
		out[i] = v.Int()
		if d == dtype.Bool && v.Bool() {
			out[i] = 1
		}
	}
	return out, true
}

// numbersOf are elements as floats.
func numbersOf(e Elem, raw []byte) []float64 {
	d := e.DType()
	vs := elementsOf(d, raw)
	out := make([]float64, len(vs))
	for i, v := range vs {
		switch {
		case d.IsFloat():
			out[i] = v.Float()
		case d == dtype.Bool:
			if v.Bool() {
				out[i] = 1
			}
		case d.IsUnsigned():
			out[i] = float64(uint64(v))
		default:
			out[i] = float64(v.Int())
		}
	}
	return out
}

// rawOf are elements of type d made of floats, rounded.
func rawOf(d dtype.DType, list []float64) []byte {
	out := make([]byte, 0, len(list)*d.Size())
	for _, f := range list {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uop.ToBits(d, uop.ValueOf(d, f)))
		out = append(out, b[:d.Size()]...)
	}
	return out
}
