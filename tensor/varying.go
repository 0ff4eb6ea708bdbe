package tensor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Tensors with an axis whose size varies. Their node has room for the most elements, and says how many count (uop.Sizes). What asks
// for the shape of such a tensor to compute with it fails, unless it was written for that: it asks for room then, and sees to elements that
// do not count. Package uop refuses nodes that would let them matter, so what is forgotten here is an error and never a wrong value.

// room is the shape with the most that each axis can be.
func (t *Tensor) room() uop.Shape { return t.given().Shape() }

// failVaries says that the operation that the user called needs to know the size of an axis.
func (t *Tensor) failVaries() {
	for axis, n := range t.given().Sizes() {
		if n.Varies() {
			failArg(operation(cmp.Or(asCalled(""), "Tensor")), "axis %d has %v elements, and this needs a size that does not vary", axis, n)
		}
	}
}

// Sizes are the sizes of the axes, expressions of variables among them.
func (t *Tensor) Sizes() []Size {
	out := make([]Size, t.Rank())
	for i := range out {
		out[i] = t.sizeAt(i)
	}
	return out
}

func (t *Tensor) sizeAt(axis int) Size {
	u := t.given()
	if u.Varies(axis) {
		return Size{u.Sizes()[axis]}
	}
	return Size{uop.Fixed(u.Shape()[axis])}
}

// now is the shape with the values that variables have; ok is false where one has none.
func (t *Tensor) now() (shape uop.Shape, ok bool) {
	u := t.given()
	if u.Sizes() == nil {
		return u.Shape(), true
	}
	shape = slices.Clone(u.Shape())
	for i := range shape {
		if shape[i], ok = t.sizeAt(i).Value(); !ok {
			return nil, false
		}
	}
	return shape, true
}

// agree fails where operands that broadcast together have other sizes on an axis, of which one varies.
func agree(op string, ts ...*Tensor) {
	if !slices.ContainsFunc(ts, func(t *Tensor) bool { return t != nil && t.given().Sizes() != nil }) {
		return
	}
	rank := 0
	for _, t := range ts {
		if t != nil {
			rank = max(rank, t.Rank())
		}
	}
	for i := range rank { // from the right
		var first *Size
		for _, t := range ts {
			if t == nil || i >= t.Rank() {
				continue
			}
			n := t.sizeAt(t.Rank() - 1 - i)
			switch {
			case n == Size{uop.Fixed(1)}:
			case first == nil:
				first = &n
			case *first != n && (first.is.Varies() || n.is.Varies()):
				failArg(op, "axis −%d has %v elements here and %v there", i+1, *first, n)
			}
		}
	}
}

// only is u with the neutral element of a reduction in place of elements along axes that do not count.
func only(u *uop.UOp, m uop.Monoid, axes ...int) *uop.UOp {
	return u.Only(m.Info().Identity(u.DType(), 0), axes...)
}

// counting is how many elements merge into one, as a scalar of type d.
func (t *Tensor) counting(d dtype.DType, axes []int) *uop.UOp {
	n, product := 1, (*uop.UOp)(nil)
	for _, a := range axes {
		size := t.sizeAt(a).is
		if !size.Varies() {
			n *= size.C
			continue
		}
		x := size.Node().Cast(d)
		if product == nil {
			product = x
		} else {
			product = product.Mul(x)
		}
	}
	switch {
	case product == nil:
		return uop.NewFloat(d, float64(n))
	case n == 1:
		return product
	}
	return product.Mul(product.Float(float64(n)))
}

// freedom is how many elements merge into one, less a correction, and not below 0.
func (t *Tensor) freedom(d dtype.DType, correction float64, axes []int) *uop.UOp {
	n := 1.
	for _, a := range axes {
		if t.given().Varies(a) {
			n := t.counting(d, axes)
			return n.Sub(n.Float(correction)).Max(n.Int(0))
		}
		n *= float64(t.room()[a])
	}
	return uop.NewFloat(d, math.Max(0, n-correction))
}

// slice is n elements of an axis from start on, either of which may vary.
func (t *Tensor) slice(op string, axis int, start, n uop.Size) *Tensor {
	u, have := t.node(), t.sizeAt(axis).is
	end, ok := start.Add(n, 1)
	rest, ok2 := have.Add(end, -1)
	if !ok || !ok2 {
		failArg(op, "a size of more than %d variables", uop.MaxVars)
	}
	lo, _ := start.Bounds()
	least, most := n.Bounds()
	if left, _ := rest.Bounds(); lo < 0 || least < 0 || left < 0 {
		failArg(op, "%v elements from %v on, of axis %d with %v: they need not all be there", n, start, axis, have)
	}
	return t.like(sliced(u, axis, start, n, most))
}

// sliced is slice where that is known to be right; most is the greatest that n can be.
func sliced(u *uop.UOp, axis int, start, n uop.Size, most int) *uop.UOp {
	room := u.Shape()[axis]
	if u.Varies(axis) { // of elements that count only those are taken that do
		u = u.Limit(axis, uop.Fixed(room))
	}
	switch lo, hi := start.Bounds(); {
	case start.Varies() && lo < hi:
		u = taken(u, axis, start, most)
	case lo+most <= room:
		u = cut(u, axis, lo, lo+most)
	}
	if n.Varies() {
		u = u.Limit(axis, n)
	}
	return u
}

// taken is n elements of an axis from a position on that varies: zeros where the axis has ended.
func taken(u *uop.UOp, axis int, start uop.Size, n int) *uop.UOp {
	shape := slices.Clone(u.Shape())
	shape[axis] = n
	return u.Gather(alongAxis(uop.NewIota(n).Add(start.Node()), axis, shape), axis)
}

// limited is u with sizes that vary.
func limited(u *uop.UOp, sizes []uop.Size) *uop.UOp {
	for axis, n := range sizes {
		if n.Varies() {
			u = u.Limit(axis, n)
		}
	}
	return u
}

// unlimited is u with all elements that there is room for.
func unlimited(u *uop.UOp) *uop.UOp {
	for axis, n := range u.Shape() {
		if u.Varies(axis) {
			u = u.Limit(axis, uop.Fixed(n))
		}
	}
	return u
}

// unbound says which variable has no value.
func (t *Tensor) unbound(op string) error {
	for _, n := range t.given().Sizes() {
		if _, ok, v := n.Value(); !ok {
			return &ArgumentError{Op: op, Reason: fmt.Sprintf("variable %v has no value: bind it, or capture and give runs a value", v), At: caller()}
		}
	}
	return nil
}

// countedBytes are the elements, of size bytes each, that count of an array with room for more.
func countedBytes(raw []byte, room, shape uop.Shape, size int) []byte {
	if shape.Equal(room) {
		return raw
	}
	out := make([]byte, 0, shape.Numel()*size)
	var rows func(from, axis int)
	rows = func(from, axis int) { // from: elements before
		inner := room[axis+1:].Numel()
		if shape[axis+1:].Equal(room[axis+1:]) {
			out = append(out, raw[from*size:(from+shape[axis]*inner)*size]...)
			return
		}
		for i := range shape[axis] {
			rows(from+i*inner, axis+1)
		}
	}
	rows(0, 0)
	return out
}
