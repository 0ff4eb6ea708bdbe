package tensor

import (
	"context"
	"encoding/binary"
	"math"
	"reflect"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Element are the Go types that tensors can be made of and read as.
type Element interface {
	bool | int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | int | float32 | float64
}

// typeOf is the element type of a Go type; int is int64 where it matters and int32 where it fits
// (see From); here it is int64.
func typeOf[T Element]() dtype.DType {
	switch any(*new(T)).(type) {
	case bool:
		return dtype.Bool
	case int8:
		return dtype.I8
	case uint8:
		return dtype.U8
	case int16:
		return dtype.I16
	case uint16:
		return dtype.U16
	case int32:
		return dtype.I32
	case uint32:
		return dtype.U32
	case uint64:
		return dtype.U64
	case float32:
		return dtype.F32
	case float64:
		return dtype.F64
	}
	return dtype.I64
}

// Of makes a tensor of a shape from its elements in row-major order; without a shape it has one
// axis. The elements are copied to the default device. A Go int becomes int64.
func Of[T Element](data []T, shape ...int) *Tensor {
	s := uop.Shape(shape)
	if len(shape) == 0 {
		s = uop.Shape{len(data)}
	}
	checkSizes("Of", s)
	if s.Numel() != len(data) {
		fail("Of", shapes(s), "%d elements do not fill the shape", len(data))
	}
	d := typeOf[T]()
	raw := make([]byte, 0, len(data)*d.Size())
	for _, v := range data {
		raw = appendElement(raw, d, v)
	}
	return FromBytes(d, s, raw)
}

func appendElement[T Element](b []byte, d dtype.DType, v T) []byte {
	switch v := any(v).(type) {
	case float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	case float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	case uint8:
		return append(b, v)
	}
	return appendBits(b, d, uop.ToBits(d, toOperand("Of", v).bits))
}

func appendBits(b []byte, d dtype.DType, bits uint64) []byte {
	for range d.Size() {
		b = append(b, byte(bits))
		bits >>= 8
	}
	return b
}

// FromBytes makes a tensor from raw elements: row-major, little-endian, a bool one byte. It lies
// on the default device.
func FromBytes(d dtype.DType, shape []int, data []byte) *Tensor {
	checkStored("FromBytes", d)
	checkSizes("FromBytes", shape)
	return onDefault("FromBytes", func(e *engine.Engine) (*uop.UOp, error) { return e.FromBytes(d, shape, data) })
}

// Fill makes a tensor on the default device whose elements f puts into its memory, and waits for that; meanwhile others may use
// the device. It is for data that lie elsewhere, in memory of another library or in a file: they are copied once, into the device's
// memory, and tensors never hold on to what they came from. If that is lost, f is called again (see engine.Fill).
func Fill(ctx context.Context, d dtype.DType, shape []int, f engine.Fill) (*Tensor, error) {
	checkStored("Fill", d)
	checkSizes("Fill", shape)
	e, err := engine.Use("")
	if err != nil {
		return nil, err
	}
	u, err := e.Fill(ctx, d, shape, f)
	if err != nil {
		return nil, err
	}
	t := newTensor(u, e)
	t.born = nil
	t.owned.Store(true)
	return t, nil
}

func onDefault(op string, f func(e *engine.Engine) (*uop.UOp, error)) *Tensor {
	e, err := engine.Use("")
	if err != nil {
		failDevice(op, err)
	}
	return on(op, e, f)
}

func on(op string, e *engine.Engine, f func(e *engine.Engine) (*uop.UOp, error)) *Tensor {
	u, err := f(e)
	if err != nil {
		failDevice(op, err)
	}
	t := newTensor(u, e)
	t.owned.Store(t.born == nil) // data made inside a captured function is the same for each run
	return t
}

// Empty makes a tensor with undefined elements on the default device.
func Empty(d dtype.DType, shape ...int) *Tensor {
	checkStored("Empty", d)
	checkSizes("Empty", shape)
	return onDefault("Empty", func(e *engine.Engine) (*uop.UOp, error) { return e.Empty(d, shape) })
}

// EmptyLike is Empty with the shape and type of t, on its device.
func EmptyLike(t *Tensor) *Tensor {
	e := t.Engine()
	if e == nil {
		return Empty(t.DType(), t.Shape()...)
	}
	return on("EmptyLike", e, func(e *engine.Engine) (*uop.UOp, error) { return e.Empty(t.DType(), t.Shape()) })
}

// From makes a tensor from a scalar, a slice or nested slices (or arrays) of one Go element type.
// Go ints become int32 where all fit, else int64; floats float32 (see SetDefaultInt and SetDefaultFloat). Lists of different
// lengths at one depth are a *ShapeError.
func From(nested any) *Tensor {
	switch nested.(type) {
	case []any, [][]any:
	default:
		if k := reflect.TypeOf(nested); k != nil && k.Kind() != reflect.Slice && k.Kind() != reflect.Array {
			toOperand("From", nested) // what is wrong with it is From's to say
			return Scalar(nested)
		}
	}
	n := nest{}
	n.walk(reflect.ValueOf(nested), 0)
	d := n.dtype()
	raw := make([]byte, 0, len(n.items)*d.Size())
	for _, o := range n.items {
		raw = appendBits(raw, d, uop.ToBits(d, uop.Eval(uop.Cast, o.kind, d, o.bits)))
	}
	return FromBytes(d, n.shape, raw)
}

// nest collects nested lists.
type nest struct {
	shape  uop.Shape
	closed bool // the first innermost list is complete, so the rank is known
	items  []operand
	types  []dtype.DType
}

func (n *nest) walk(v reflect.Value, depth int) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		failType("From", nil, "a list holds nil")
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		if depth != len(n.shape) {
			fail("From", nil, "ragged lists: a number stands at depth %d, where lists of depth %d stand elsewhere", depth, len(n.shape))
		}
		n.closed = true
		n.add(v)
		return
	}
	if depth == len(n.shape) {
		if n.closed {
			fail("From", nil, "ragged lists: a list stands at depth %d, where a number stands elsewhere", depth)
		}
		n.shape = append(n.shape, v.Len())
	}
	if v.Len() != n.shape[depth] {
		fail("From", nil, "ragged lists: lengths %d and %d at depth %d", n.shape[depth], v.Len(), depth)
	}
	for i := range v.Len() {
		n.walk(v.Index(i), depth+1)
	}
	if v.Len() == 0 {
		n.closed = true
	}
}

func (n *nest) add(v reflect.Value) {
	if !v.CanInterface() {
		failType("From", nil, "a list holds a %v", v.Type())
	}
	o := toOperand("From", v.Interface())
	if o.t != nil {
		failType("From", nil, "a list holds a tensor; use Stack")
	}
	n.items = append(n.items, o)
	switch v.Kind() {
	case reflect.Float64:
		n.types = append(n.types, DefaultFloat()) // like a written constant
	case reflect.Int, reflect.Uint:
		n.types = append(n.types, o.natural())
	default:
		n.types = append(n.types, goType(v.Kind()))
	}
}

func goType(k reflect.Kind) dtype.DType {
	return map[reflect.Kind]dtype.DType{
		reflect.Bool: dtype.Bool, reflect.Int8: dtype.I8, reflect.Uint8: dtype.U8, reflect.Int16: dtype.I16,
		reflect.Uint16: dtype.U16, reflect.Int32: dtype.I32, reflect.Uint32: dtype.U32, reflect.Int64: dtype.I64,
		reflect.Uint64: dtype.U64, reflect.Float32: dtype.F32,
	}[k]
}

func (n *nest) dtype() dtype.DType {
	if len(n.types) == 0 {
		return DefaultFloat()
	}
	d := n.types[0]
	for _, t := range n.types[1:] {
		d = dtype.Promote(d, t)
	}
	return d
}

// Scalar makes a tensor without axes from a bool, an integer (int32 where it fits) or a float
// (float32). It is a constant and takes no memory.
func Scalar(v any) *Tensor {
	o := toOperand("Scalar", v)
	if o.t != nil {
		return o.t
	}
	return newTensor(own(o.as(o.natural())), nil)
}

// own is a constant as a variable of its own, if it can have a gradient: others of the same value are others.
func own(c *uop.UOp) *uop.UOp {
	if v, ok := c.ConstValue(); ok && c.DType().IsFloat() {
		return uop.NewOwnConst(c.DType(), v)
	}
	return c
}

// Full is a constant tensor. It takes no memory until it is realized.
func Full(v any, d dtype.DType, shape ...int) *Tensor {
	checkStored("Full", d)
	checkSizes("Full", shape)
	o := toOperand("Full", v)
	if o.t != nil {
		failType("Full", nil, "the value is a tensor; use Expand")
	}
	return newTensor(spread(own(o.as(d)), shape), nil)
}

// Zeros is a tensor of zeros, of the default float type, float32.
func Zeros(shape ...int) *Tensor { return Full(0, DefaultFloat(), shape...) }

// Ones is a tensor of ones, of the default float type, float32.
func Ones(shape ...int) *Tensor { return Full(1, DefaultFloat(), shape...) }

// FullLike is Full with the shape and type of t, on its device.
func FullLike(t *Tensor, v any) *Tensor { return t.like(Full(v, t.DType(), t.Shape()...).node()) }

// ZerosLike is zeros of the shape and type of t, on its device.
func ZerosLike(t *Tensor) *Tensor { return FullLike(t, 0) }

// OnesLike is ones of the shape and type of t, on its device.
func OnesLike(t *Tensor) *Tensor { return FullLike(t, 1) }

// iota is 0 … n−1 of type d.
func iota(n int, d dtype.DType) *uop.UOp { return uop.NewIota(n).Cast(d) }

// Arange is 0, 1, …, n−1 of the default integer type, int32; n is an integer, a Variable or a Size.
func Arange(n any) *Tensor {
	size := toSize("Arange", n)
	if !size.Varies() {
		return ArangeOf(DefaultInt(), 0, size.C, 1)
	}
	lo, hi := size.Bounds()
	if lo < 0 || hi > math.MaxInt32 {
		failArg("Arange", "%v elements", size)
	}
	return newTensor(iota(hi, DefaultInt()).Limit(0, size), nil)
}

// arange is Arange for indices, int32 in any case.
func arange(n int) *Tensor { return ArangeOf(dtype.I32, 0, n, 1) }

// ArangeOf is start, start+step, … before stop. Each element is start + i·step, rounded once more.
func ArangeOf(d dtype.DType, start, stop, step any) *Tensor {
	checkStored("ArangeOf", d)
	const op = "ArangeOf"
	a, b, s := toOperand(op, start), toOperand(op, stop), toOperand(op, step)
	if a.t != nil || b.t != nil || s.t != nil {
		failType(op, nil, "bounds must be numbers")
	}
	lo, hi, by := a.as(dtype.F64), b.as(dtype.F64), s.as(dtype.F64)
	f := func(u *uop.UOp) float64 { v, _ := u.ConstValue(); return v.Float() }
	if f(by) == 0 || f(by) != f(by) {
		failArg(op, "step %v", step)
	}
	n := math.Ceil((f(hi) - f(lo)) / f(by))
	if math.IsInf(n, 0) || n != n {
		failArg(op, "from %v to %v by %v has no end", start, stop, step)
	}
	if n > uop.MaxElements {
		failArg(op, "from %v to %v by %v there are %.3g elements, an array larger than any memory", start, stop, step, n)
	}
	if n < 0 {
		fail(op, nil, "from %v to %v the step %v leads away", start, stop, step)
	}
	if d.IsInt() && d.Bits() < 64 && n > 0 {
		least, most := typeInterval(d)
		if last := math.Trunc(f(lo)) + (n-1)*math.Trunc(f(by)); last < float64(least) || last > float64(most) {
			failArg(op, "from %v to %v by %v the last number is %.0f, which is no %v", start, stop, step, last, d)
		}
	}
	if d.IsFloat() {
		wide := dtype.Accumulator(d)
		i := iota(int(n), wide)
		if wide == dtype.F32 && (f(lo) != math.Trunc(f(lo)) || f(by) != math.Trunc(f(by))) {
			return newTensor(steps(i, f(lo), f(by)).Cast(d), nil)
		}
		return newTensor(i.Mul(s.as(wide)).Add(a.as(wide)).Cast(d), nil)
	}
	return newTensor(iota(int(n), d).Mul(s.as(d)).Add(a.as(d)), nil)
}

// steps is start + i·step in float32 as if in float64: what rounding takes from both comes apart, and the sum is rounded
// once where it meets 0.
func steps(i *uop.UOp, start, step float64) *uop.UOp {
	s, a := float64(float32(step)), float64(float32(start))
	rest := i.Mul(i.Float(step - s)).Add(i.Float(start - a))
	return i.MulAdd(i.Float(s), i.Float(a)).Add(rest)
}

// Linspace is n numbers from start to stop, both included, evenly spaced.
func Linspace(start, stop float64, n int) *Tensor {
	return LinspaceOf(DefaultFloat(), start, stop, n)
}

// LinspaceOf is Linspace of type d. The second half is counted down from stop, so that it is met.
func LinspaceOf(d dtype.DType, start, stop float64, n int) *Tensor {
	checkStored("Linspace", d)
	if n < 0 {
		fail("Linspace", nil, "%d steps", n)
	}
	c := dtype.Accumulator(floating(d))
	if d.IsInt() || d == dtype.F64 {
		c = dtype.F64
	}
	step := 0.
	if n > 1 {
		step = (stop - start) / float64(n-1)
	}
	i := iota(n, c)
	up := i.Mul(i.Float(step)).Add(i.Float(start))
	down := i.Float(stop).Sub(i.Float(float64(n - 1)).Sub(i).Mul(i.Float(step)))
	if n == 1 {
		down = up
	}
	return newTensor(i.Less(i.Float(float64(n)/2)).Where(up, down).Cast(d), nil)
}

// Eye is the n×n identity matrix, or n×m with ones on the main diagonal.
func Eye(n int, m ...int) *Tensor {
	cols := n
	if len(m) > 0 {
		cols = m[0]
	}
	checkSizes("Eye", []int{n, cols})
	shape := uop.Shape{n, cols}
	eq := spread(uop.NewIota(n).Reshape(n, 1), shape).Equal(spread(uop.NewIota(cols).Reshape(1, cols), shape))
	return newTensor(eq.Cast(DefaultFloat()), nil)
}
