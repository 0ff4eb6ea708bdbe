package tensor

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Assign gives t new elements, in its own memory if it has some, and returns t. Like everything it is
// lazy: realize t (or something built on it) to carry it out. v is broadcast; a tensor must have t's
// type. Expressions built on t before must be realized before or together with it; later they are an
// *engine.StaleError.
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

// store makes value the content of t's own buffer.
func (t *Tensor) store(op string, e *engine.Engine, value *uop.UOp) *Tensor {
	noteAssign(op, t)
	shape := t.shape()
	if !t.owned {
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
		t.owned, t.eng = true, e
		t.graph.Store(u)
	}
	b := bufferOf(t.node())
	t.graph.Store(b.After(b.Store(value.Reshape(b.Shape()...))).Reshape(shape...))
	return t
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
	if t.owned {
		return t
	}
	return t.store("Own", t.eng, t.node())
}

// AssignBytes is Assign of elements given as FromBytes takes them. The device gets them as data, so that
// other elements need no other kernel.
func (t *Tensor) AssignBytes(raw []byte) *Tensor {
	e := t.Own().eng
	u, err := e.FromBytes(t.DType(), t.Shape(), raw)
	if err != nil {
		failArg("AssignBytes", "%v", err)
	}
	return t.store("AssignBytes", e, u)
}

// Clone is a copy of t with memory of its own.
func (t *Tensor) Clone() *Tensor {
	c := newTensor(t.node(), t.eng)
	return c.store("Clone", t.eng, t.node())
}

// SetAt assigns v to the elements that At(index...) names, and returns t. See WithAt for the indices.
func (t *Tensor) SetAt(v any, index ...any) *Tensor { return t.Assign(t.WithAt(v, index...)) }
