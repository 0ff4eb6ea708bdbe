package tensor

import (
	"context"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Assign gives t new elements, in its own memory if it has some, and returns t. Like everything it is
// lazy: realize t (or something built on it) to carry it out. v is broadcast; a tensor must have t's
// type. Expressions built on t before must be realized before or together with it, and keep their elements then; later they are an
// *engine.StaleError. What is assigned again and again and never realized is carried out every few times by itself, and leaves nothing stale.
func (t *Tensor) Assign(v any) *Tensor {
	o := toOperand("Assign", v)
	if o.t == t {
		return t
	}
	if o.t != nil && o.t.DType() != t.DType() {
		failType("Assign", []dtype.DType{t.DType(), o.t.DType()}, "the types differ; use To")
	}
	if s := broadcastShape("Assign", t.shape(), o.shape()); !s.Equal(t.shape()) {
		fail("Assign", shapes(t.shape(), o.shape()), "the value does not broadcast to the target")
	}
	e := commonEngine("Assign", t, o.t)
	value := spread(o.as(t.DType()), t.shape())
	if o.t != nil && o.t.node() == t.node() {
		return t
	}
	return t.store("Assign", e, value)
}

// store makes value the content of t's own buffer, or of a new one where something else was realized as a view of it.
func (t *Tensor) store(op string, e *engine.Engine, value *uop.UOp) *Tensor {
	if s := t.sink; s != nil {
		s.all(op, t, value)
		return t
	}
	noteAssign(op, t)
	if recorder() == nil {
		t.pends()
	}
	shape, b := t.shape(), (*uop.UOp)(nil)
	if t.owned.Load() && (recorder() != nil || !engine.Shared(bufferOf(t.node()))) {
		b = bufferOf(t.node())
	} else {
		if e == nil {
			var err error
			if e, err = engine.Use(""); err != nil {
				failDevice(op, err)
			}
		}
		u, err := e.Empty(t.DType(), shape)
		if err != nil {
			failDevice(op, err)
		}
		t.eng.Store(e) // before the graph, which needs it
		b = bufferOf(u)
	}
	after := b.After(b.Store(value.Reshape(b.Shape()...)))
	if recorder() == nil {
		engine.Assigns(after)
	}
	t.graph.Store(after.Reshape(shape...))
	t.owned.Store(true)
	if t.pending >= lateAssign {
		t.pending = 0
		_ = computeLate(context.Background(), nil, t) // what is wrong is told to whoever reads it
	}
	return t
}

// placing is held while a constant gets its place.
var placing sync.Mutex

// place gives a constant memory of its own, on e if it is on no device yet. Its node may be shared with tensors of other devices,
// so that it must not be realized itself. This changes no element, so several goroutines may do it at once.
func (t *Tensor) place(op string, e *engine.Engine) {
	if !t.constant() {
		return
	}
	placing.Lock()
	defer placing.Unlock()
	if !t.constant() {
		return
	}
	if on := t.Engine(); on != nil {
		e = on
	}
	if u := t.node(); u.Sizes() != nil {
		all := newTensor(unlimited(u), e)
		all.store(op, e, all.node())
		t.eng.Store(e)
		t.graph.Store(limited(all.node(), u.Sizes()))
		return
	}
	t.store(op, e, t.node())
}

// constant reports whether t is computed from no array.
func (t *Tensor) constant() bool {
	u := t.node()
	return t.Engine() == nil || !t.owned.Load() && !inMemory(u) && !hasBuffer(u)
}

// bufferOf is the Buffer that an owned tensor is kept in, or will be.
func bufferOf(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape || u.Op() == uop.After {
		u = u.At(0)
	}
	if u.Op() != uop.Buffer {
		panic("BUG: an owned tensor is " + u.String())
	}
	return u
}

// Own gives t memory of its own without changing its elements, lazily, so that assignments change it in
// place; it returns t. Parameters and other states need it before they are used in a captured function.
func (t *Tensor) Own() *Tensor {
	if t.owned.Load() {
		return t
	}
	return t.store("Own", t.Engine(), t.node())
}

// AssignBytes is Assign of elements given as FromBytes takes them. The device gets them as data, so that
// other elements need no other kernel.
func (t *Tensor) AssignBytes(raw []byte) *Tensor {
	e := t.Own().Engine()
	u, err := e.FromBytes(t.DType(), t.Shape(), raw)
	if err != nil {
		failArg("AssignBytes", "%v", err)
	}
	return t.store("AssignBytes", e, u)
}

// Clone is a copy of t with memory of its own.
func (t *Tensor) Clone() *Tensor {
	c := newTensor(t.node(), t.Engine())
	return c.store("Clone", t.Engine(), t.node())
}

// AddAssign adds v to the elements, as Assign: v is broadcast, and the sum must have t's type.
func (t *Tensor) AddAssign(v any) *Tensor { return t.update("AddAssign", t.Add(v)) }

// SubAssign subtracts v from the elements, as Assign: v is broadcast, and the difference must have t's type.
func (t *Tensor) SubAssign(v any) *Tensor { return t.update("SubAssign", t.Sub(v)) }

// MulAssign multiplies the elements by v, as Assign: v is broadcast, and the product must have t's type.
func (t *Tensor) MulAssign(v any) *Tensor { return t.update("MulAssign", t.Mul(v)) }

// DivAssign divides the elements by v, as Assign: v is broadcast, and the quotient must have t's type, so t holds floats.
func (t *Tensor) DivAssign(v any) *Tensor { return t.update("DivAssign", t.Div(v)) }

func (t *Tensor) update(op string, v *Tensor) *Tensor {
	if v.DType() != t.DType() {
		failType(op, []dtype.DType{t.DType(), v.DType()}, "the result has another type than the tensor; use Assign and To")
	}
	if !v.shape().Equal(t.shape()) {
		fail(op, shapes(t.shape(), v.shape()), "the value does not broadcast to the target")
	}
	return t.Assign(v)
}

// Replace has t stand for what o stands for, which has the same shape and type, and returns t. Nothing is computed or written:
// tensors that were built on t before keep its old elements.
func (t *Tensor) Replace(o *Tensor) *Tensor {
	if !o.shape().Equal(t.shape()) {
		fail("Replace", shapes(t.shape(), o.shape()), "the shapes differ")
	}
	if o.DType() != t.DType() {
		failType("Replace", []dtype.DType{t.DType(), o.DType()}, "the types differ; use To")
	}
	if rec := recorder(); rec != nil && t.born != rec {
		failArg("Replace", "a tensor from outside of a captured function is replaced in it, and no run would do that; use Assign")
	}
	if u := o.node(); u != t.node() {
		t.eng.Store(o.Engine()) // before the graph, which needs it
		t.graph.Store(u)
		t.owned.Store(false)
		t.sink = nil
	}
	return t
}

// MoveTo moves t to the device of this name, and returns t: Replace by On.
func (t *Tensor) MoveTo(device string) *Tensor { return t.Replace(t.On(device)) }

// SetAt assigns v to the elements that At(index...) names, and returns t. See WithAt for the indices. Where they are a part of the axes
// (ints, ranges, Variables, S), that part is written and nothing else, whatever t's size is.
func (t *Tensor) SetAt(v any, index ...any) *Tensor {
	if s := t.sink; s != nil {
		s.part(t, v, index)
		return t
	}
	return t.Assign(t.WithAt(v, index...))
}
