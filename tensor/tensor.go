// Package tensor is what programs use: arrays whose operations build a graph and compute nothing
// until a value is asked for.
//
// It knows shapes, broadcasting, promotion and how each operation is composed of nodes. It refuses
// to know how graphs become kernels: that is package engine's. Wrong shapes, types and arguments
// panic with a typed error that names the caller's line (see Try); whatever waits for a device
// takes a context and returns an error. A context that ends stops waiting and compiling; what a device has begun to compute it finishes, so
// that no state is left half assigned.
//
//	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
//	y := x.MatMul(x).Add(1).ReLU()
//	v, err := tensor.Data[float32](ctx, y)
package tensor

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Tensor is an array of one element type. It is lazy: it holds a graph until it is realized.
// Operations never change their operands; only Assign and its like (AssignBytes, SetAt, Own), RequireGrad, Freeze, Backward and ClearGradient
// change a Tensor.
//
// Any number of goroutines may use a Tensor at once, to build on it, to realize and to read it, as long as none of them changes
// it. Captured functions (see Capture) may change it meanwhile: whoever reads it finds it as it was between two runs. An
// expression that was built on it before and is computed after such a run is an *engine.StaleError.
type Tensor struct {
	graph atomic.Pointer[uop.UOp]
	eng   atomic.Pointer[engine.Engine] // nil for constants, which fit any device
	owned atomic.Bool                   // its buffer belongs to this tensor alone, so Assign may write in place
	born  *capture                      // the recording in which it was made, if any
	wants atomic.Bool                   // a gradient: Backward finds it
	grad  *Tensor

	pending int // assignments that were built on each other and not carried out, see pends

	sink *sink // a file that assignments go to; nil: memory. Set before others know the tensor, and by Replace
}

// sink is where the elements of a tensor lie that is no memory: what it is assigned is written there.
type sink struct {
	all  func(op string, t *Tensor, value *uop.UOp)
	part func(t *Tensor, v any, index []any)
}

func newTensor(u *uop.UOp, e *engine.Engine) *Tensor {
	t := &Tensor{born: recorder()}
	if u.Origin() == nil && (engine.Origins() || e != nil && e.Several()) { // what several devices cannot compute is told by its method
		if o := origin(); o.Method != "" || engine.Origins() { // small engines of pages know no names of functions
			u.Mark(o)
		}
	}
	t.graph.Store(u)
	t.eng.Store(e)
	return t
}

// like is a tensor of node u on t's device.
func (t *Tensor) like(u *uop.UOp) *Tensor { return newTensor(u, t.Engine()) }

// same is what an operation gives that has nothing to do: another tensor of t's elements, so that an assignment to one leaves the other.
func (t *Tensor) same() *Tensor { return t.like(t.node()) }

// node is the graph of t. The buffer of an assigned tensor is the newest, whoever ran the captured function that assigned it.
func (t *Tensor) node() *uop.UOp {
	for {
		u := t.given()
		if !t.owned.Load() || !inMemory(u) {
			return u
		}
		if now := engine.Current(u); now == u || t.graph.CompareAndSwap(u, now) {
			return now
		}
	}
}

// given is the graph of t, which is to be a tensor: nil and the zero value are refused.
func (t *Tensor) given() *uop.UOp {
	if t != nil {
		if u := t.graph.Load(); u != nil {
			return u
		}
	}
	failType(operation(cmp.Or(asCalled(""), "Tensor")), nil, "an operand is nil")
	return nil
}

// Node is the graph of t, for packages that look at or extend graphs.
func (t *Tensor) Node() *uop.UOp { return t.node() }

// FromNode makes a tensor of a graph whose buffers lie on e (nil: there are none). Shapes are
// checked by package uop only.
func FromNode(u *uop.UOp, e *engine.Engine) *Tensor { return newTensor(u, e) }

// Engine is the device that t lies on, nil for constants.
func (t *Tensor) Engine() *engine.Engine {
	if t == nil {
		t.given()
	}
	return t.eng.Load()
}

// Device is the name of the device that t lies on, "" for constants, which fit any.
func (t *Tensor) Device() string {
	if t.Engine() == nil {
		return ""
	}
	return t.Engine().Name()
}

// Shape is the sizes of the axes; a copy. A size that depends on a variable without a value is an error: see Sizes.
func (t *Tensor) Shape() []int {
	s, ok := t.now()
	if !ok {
		t.failVaries()
	}
	return slices.Clone([]int(s))
}

// shape is the shape of a tensor none of whose sizes varies.
func (t *Tensor) shape() uop.Shape {
	u := t.given()
	if u.Sizes() != nil {
		t.failVaries()
	}
	return u.Shape()
}

// Dim is the size of an axis; negative axes count from the end.
func (t *Tensor) Dim(axis int) int {
	n, ok := t.sizeAt(t.axis("Dim", axis)).Value()
	if !ok {
		t.failVaries()
	}
	return n
}

// Rank is the number of axes.
func (t *Tensor) Rank() int { return len(t.room()) }

// Numel is the number of elements.
func (t *Tensor) Numel() int { return uop.Shape(t.Shape()).Numel() }

// DType is the type of the elements.
func (t *Tensor) DType() dtype.DType { return t.given().DType() }

// Nbytes is the size of the elements in memory.
func (t *Tensor) Nbytes() int { return t.Numel() * t.DType().Size() }

// IsFloat reports whether the elements are floating-point numbers.
func (t *Tensor) IsFloat() bool { return t.DType().IsFloat() }

// IsRealized reports whether the elements have been computed.
func (t *Tensor) IsRealized() bool {
	u := t.node()
	return u.Realized() != nil || base(u).Op() == uop.Buffer
}

// String says what the tensor is without computing it.
func (t *Tensor) String() string {
	dev := t.Device()
	if dev == "" {
		dev = "any device"
	}
	grad := "none"
	if t.grad != nil {
		grad = fmt.Sprint(t.grad.Shape())
	}
	u := t.node()
	return fmt.Sprintf("<Tensor %v %v (%v) on %s, grad %s>", t.Sizes(), t.DType(), base(u).Op(), dev, grad)
}

// base looks through the shape of a buffer, which is its own affair.
func base(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Reshape && u.At(0).Op() == uop.Buffer {
		return u.At(0)
	}
	return u
}

// axis checks an axis and makes it positive.
func (t *Tensor) axis(op string, axis int) int { return checkAxis(op, t.room(), axis) }

func checkAxis(op string, shape uop.Shape, axis int) int {
	if axis < -len(shape) || axis >= len(shape) {
		fail(op, shapes(shape), "axis %d is outside rank %d", axis, len(shape))
	}
	if axis < 0 {
		axis += len(shape)
	}
	return axis
}

// axes checks a list of axes and sorts it; an empty list means all.
func (t *Tensor) axes(op string, list []int) []int {
	if len(list) == 0 {
		all := make([]int, t.Rank())
		for i := range all {
			all[i] = i
		}
		return all
	}
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = t.axis(op, a)
		if slices.Contains(out[:i], out[i]) {
			fail(op, shapes(t.room()), "axis %d is named twice", a)
		}
	}
	slices.SortStableFunc(out, cmp.Compare[int])
	return out
}
