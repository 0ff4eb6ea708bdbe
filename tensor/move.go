package tensor

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Reshape gives the elements another shape; one size may be −1 and is found. An axis whose size varies is a −1, or is named by
// ReshapeTo.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	s := slices.Clone(shape)
	have := t.room()
	hole, n := -1, 1
	for i, d := range s {
		switch {
		case d == -1 && hole < 0:
			hole = i
		case d < 0:
			fail("Reshape", shapes(have, shape), "size %d of axis %d", d, i)
		default:
			n = uop.Times(n, d)
		}
	}
	if hole >= 0 {
		if n == 0 || have.Numel()%n != 0 {
			fail("Reshape", shapes(have, shape), "%d elements do not divide into %d", have.Numel(), n)
		}
		s[hole] = have.Numel() / n
		n *= s[hole]
	}
	if n != have.Numel() {
		t.failReshape("Reshape", s, n)
	}
	u := t.node().Reshape(s...)
	for i := range s {
		if i != hole && u.Varies(i) {
			failArg("Reshape", "axis %d gets %v elements, not %d; say −1 for it", i, u.Sizes()[i], s[i])
		}
	}
	return t.like(u)
}

func (t *Tensor) failReshape(op string, s uop.Shape, n int) {
	if t.given().Sizes() != nil {
		failArg(op, "elements of the sizes %v do not become %v", t.Sizes(), []int(s))
	}
	fail(op, shapes(t.room(), s), "%d elements do not become %d", t.Numel(), n)
}

// ReshapeTo is Reshape to sizes that are integers, Variables or Sizes; one may be −1. Of axes that become others together only the
// first may vary.
func (t *Tensor) ReshapeTo(sizes ...any) *Tensor {
	s := make([]int, len(sizes))
	want := make([]uop.Size, len(sizes))
	for i, v := range sizes {
		want[i] = toSize("ReshapeTo", v)
		if s[i] = want[i].C; want[i].Varies() {
			_, s[i] = want[i].Bounds()
		}
	}
	have, hole, n := t.room(), slices.Index(s, -1), 1
	for i, d := range s {
		if i != hole {
			n = uop.Times(n, d)
		}
	}
	if hole >= 0 && n > 0 {
		s[hole] = have.Numel() / n
		n *= s[hole]
	}
	if n != have.Numel() {
		t.failReshape("ReshapeTo", s, n)
	}
	out := t.like(t.node().Reshape(s...))
	for i := range s {
		if i != hole && out.sizeAt(i).is != want[i] {
			failArg("ReshapeTo", "axis %d gets %v elements, not %v", i, out.sizeAt(i), want[i])
		}
	}
	return out
}

// Permute reorders the axes: axis i of the result is axis order[i] of t.
func (t *Tensor) Permute(order ...int) *Tensor {
	if len(order) != t.Rank() {
		fail("Permute", shapes(t.shape()), "order %v does not name each axis once", order)
	}
	p := make([]int, len(order))
	for i, a := range order {
		p[i] = t.axis("Permute", a)
		if slices.Contains(p[:i], p[i]) {
			fail("Permute", shapes(t.shape()), "order %v does not name each axis once", order)
		}
	}
	return t.like(t.node().Permute(p...))
}

// Transpose exchanges two axes.
func (t *Tensor) Transpose(a, b int) *Tensor {
	a, b = t.axis("Transpose", a), t.axis("Transpose", b)
	order := identity(t.Rank())
	order[a], order[b] = b, a
	return t.like(t.node().Permute(order...))
}

// T exchanges the last two axes.
func (t *Tensor) T() *Tensor {
	if t.Rank() < 2 {
		fail("T", shapes(t.shape()), "needs two axes")
	}
	return t.Transpose(-2, -1)
}

// MoveAxis moves an axis to another place; the others keep their order.
func (t *Tensor) MoveAxis(from, to int) *Tensor {
	from, to = t.axis("MoveAxis", from), t.axis("MoveAxis", to)
	order := slices.Delete(identity(t.Rank()), from, from+1)
	return t.like(t.node().Permute(slices.Insert(order, to, from)...))
}

func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// Expand repeats axes of size 1 to the given sizes, which are aligned at the right; −1 keeps a size.
func (t *Tensor) Expand(shape ...int) *Tensor {
	have := t.room()
	if len(shape) < len(have) {
		fail("Expand", shapes(have, shape), "the result has fewer axes")
	}
	s := slices.Clone(shape)
	for i := range s {
		k := i - (len(s) - len(have))
		switch {
		case s[i] == -1 && k >= 0:
			s[i] = have[k]
		case s[i] < 0:
			fail("Expand", shapes(have, shape), "size %d of axis %d", s[i], i)
		case k >= 0 && t.given().Varies(k):
			failArg("Expand", "axis %d has %v elements, not %d; −1 keeps them", k, t.sizeAt(k), s[i])
		case k >= 0 && have[k] != 1 && have[k] != s[i]:
			fail("Expand", shapes(have, shape), "size %d does not become %d", have[k], s[i])
		}
	}
	return t.like(spread(t.node(), s))
}

// ExpandTo is Expand to sizes that are integers, Variables or Sizes; −1 keeps one.
func (t *Tensor) ExpandTo(sizes ...any) *Tensor {
	s := make([]int, len(sizes))
	want := make([]uop.Size, len(sizes))
	for i, v := range sizes {
		want[i] = toSize("ExpandTo", v)
		k := i - (len(s) - t.Rank())
		switch {
		case !want[i].Varies():
			s[i] = want[i].C
		case k >= 0 && t.sizeAt(k).is == want[i]:
			s[i] = -1
		default:
			_, s[i] = want[i].Bounds()
		}
	}
	out := t.Expand(s...).node()
	for i, n := range want {
		if n.Varies() && !out.Varies(i) {
			out = out.Limit(i, n)
		}
	}
	return t.like(out)
}

// ExpandAs is Expand to the shape of o.
func (t *Tensor) ExpandAs(o *Tensor) *Tensor { return t.Expand(o.Shape()...) }

// Broadcast gives tensors their common shape.
func Broadcast(ts ...*Tensor) []*Tensor {
	agree("Broadcast", ts...)
	s := broadcastShape("Broadcast", rooms(ts)...)
	sizes := make([]uop.Size, len(s))
	for _, t := range ts {
		for i, n := range t.given().Sizes() {
			if n.Varies() {
				sizes[len(s)-t.Rank()+i] = n
			}
		}
	}
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.like(limited(spread(t.node(), s), sizes))
	}
	return out
}

// Flip reverses axes.
func (t *Tensor) Flip(axes ...int) *Tensor {
	if len(axes) == 0 {
		return t.same()
	}
	return t.like(t.node().Flip(t.axes("Flip", axes)...))
}

// Shrink keeps the indices lo[i] … hi[i]−1 of each axis.
func (t *Tensor) Shrink(lo, hi []int) *Tensor {
	s := t.room()
	if len(lo) != len(s) || len(hi) != len(s) {
		fail("Shrink", shapes(s), "needs two bounds an axis")
	}
	for i := range s {
		if lo[i] < 0 || hi[i] < lo[i] || hi[i] > s[i] {
			fail("Shrink", shapes(s), "bounds %d and %d of axis %d", lo[i], hi[i], i)
		}
	}
	return t.like(t.node().Shrink(lo, hi))
}

// ShrinkTo keeps as many indices of each axis, from 0 on; −1 keeps all.
func (t *Tensor) ShrinkTo(sizes ...int) *Tensor {
	hi := t.sizesTo("ShrinkTo", sizes)
	for i, n := range t.shape() {
		if hi[i] > n {
			fail("ShrinkTo", shapes(t.shape(), sizes), "axis %d has %d elements, fewer than %d", i, n, hi[i])
		}
	}
	return t.like(t.node().Shrink(make([]int, len(hi)), hi))
}

// PadTo puts zeros after each axis, so that it has the given size; −1 leaves it.
func (t *Tensor) PadTo(sizes ...int) *Tensor {
	out := t.sizesTo("PadTo", sizes)
	checkSizes("PadTo", out)
	for i, n := range t.shape() {
		if out[i] < n {
			fail("PadTo", shapes(t.shape(), sizes), "axis %d has %d elements, more than %d", i, n, out[i])
		}
		out[i] -= n
	}
	return t.Pad(make([]int, len(out)), out)
}

// sizesTo is a size for each axis, −1 standing for that which it has.
func (t *Tensor) sizesTo(op string, sizes []int) []int {
	s := t.Shape()
	if len(sizes) != len(s) {
		fail(op, shapes(s, sizes), "%d sizes for %d axes", len(sizes), len(s))
	}
	for i, n := range sizes {
		if n < -1 {
			fail(op, shapes(s, sizes), "size %d of axis %d", n, i)
		}
		if n >= 0 {
			s[i] = n
		}
	}
	return s
}

// Narrow keeps n indices of an axis, from start on; a negative start counts from the end. Both are integers, Variables or Sizes. The indices
// must be there whatever values variables have: a position or size that could lie outside is an error here, with its bounds.
func (t *Tensor) Narrow(axis int, start, n any) *Tensor {
	axis = t.axis("Narrow", axis)
	from, count, size := toSize("Narrow", start), toSize("Narrow", n), t.sizeAt(axis).is
	if !from.Varies() && from.C < 0 {
		from = size.Plus(from.C)
	}
	if from.Varies() || count.Varies() || size.Varies() {
		return t.slice("Narrow", axis, from, count)
	}
	if from.C < 0 || count.C < 0 || uop.Plus(from.C, count.C) > size.C {
		fail("Narrow", shapes(t.room()), "%d elements from %d of axis %d", count.C, from.C, axis)
	}
	return t.like(cut(t.node(), axis, from.C, from.C+count.C))
}

// cut keeps lo … hi−1 of one axis.
func cut(u *uop.UOp, axis, lo, hi int) *uop.UOp {
	l, h := make([]int, len(u.Shape())), slices.Clone(u.Shape())
	l[axis], h[axis] = lo, hi
	return u.Shrink(l, h)
}

// extend puts lo zeros before and hi after one axis.
func extend(u *uop.UOp, axis, lo, hi int) *uop.UOp {
	l, h := make([]int, len(u.Shape())), make([]int, len(u.Shape()))
	l[axis], h[axis] = lo, hi
	return u.Pad(l, h)
}

// Squeeze drops the named axes of size 1, or all of size 1; a named axis of another size stays.
func (t *Tensor) Squeeze(axes ...int) *Tensor {
	named := t.axes("Squeeze", axes)
	var s []int
	for i, d := range t.room() {
		if d != 1 || !slices.Contains(named, i) || t.given().Varies(i) {
			s = append(s, d)
		}
	}
	return t.like(t.node().Reshape(s...))
}

// Unsqueeze inserts an axis of size 1; −1 appends one.
func (t *Tensor) Unsqueeze(axis int) *Tensor {
	r := t.Rank() + 1
	if axis < -r || axis >= r {
		fail("Unsqueeze", shapes(t.room()), "axis %d is outside rank %d", axis, r)
	}
	if axis < 0 {
		axis += r
	}
	return t.like(t.node().Reshape(slices.Insert(slices.Clone(t.room()), axis, 1)...))
}

// Flatten merges the axes from…to into one; without arguments all, with one from that on.
func (t *Tensor) Flatten(span ...int) *Tensor {
	from, to := 0, -1
	if len(span) > 0 {
		from = span[0]
	}
	if len(span) > 1 {
		to = span[1]
	}
	if t.Rank() == 0 {
		return t.like(t.node().Reshape(1))
	}
	from, to = t.axis("Flatten", from), t.axis("Flatten", to)
	s := t.room()
	if to < from {
		fail("Flatten", shapes(s), "axis %d comes after %d", from, to)
	}
	out := append(slices.Clone(s[:from]), s[from:to+1].Numel())
	return t.like(t.node().Reshape(append(out, s[to+1:]...)...))
}

// Unflatten splits an axis into several; one size may be −1.
func (t *Tensor) Unflatten(axis int, sizes ...int) *Tensor {
	axis = t.axis("Unflatten", axis)
	s := t.room()
	inner := slices.Clone(sizes)
	n, hole := 1, -1
	for i, d := range inner {
		if d < 0 {
			hole = i
		} else {
			n = uop.Times(n, d)
		}
	}
	if hole >= 0 && n > 0 {
		inner[hole] = s[axis] / n
		n *= inner[hole]
	}
	if n != s[axis] {
		fail("Unflatten", shapes(s), "axis %d does not split into %v", axis, sizes)
	}
	return t.like(t.node().Reshape(slices.Concat(s[:axis], inner, s[axis+1:])...))
}

// Diagonal takes the diagonal of the last two axes; an offset above zero lies to the right.
func (t *Tensor) Diagonal(offset int) *Tensor {
	if t.Rank() < 2 {
		fail("Diagonal", shapes(t.shape()), "needs two axes")
	}
	return t.like(diagonal(t.node(), offset))
}

// diagonal drops what lies before it, makes the matrix n×n and reads each (n+1)-th element.
func diagonal(u *uop.UOp, offset int) *uop.UOp {
	r := len(u.Shape())
	rows, cols := u.Shape()[r-2], u.Shape()[r-1]
	if offset >= 0 {
		u = cut(u, r-1, min(offset, cols), cols)
	} else {
		u = cut(u, r-2, min(-offset, rows), rows)
	}
	rows, cols = u.Shape()[r-2], u.Shape()[r-1]
	n := min(rows, cols)
	u = cut(cut(u, r-2, 0, n), r-1, 0, n)
	lead := slices.Clone(u.Shape()[:r-2])
	u = extend(u.Reshape(append(slices.Clone(lead), n*n)...), r-2, 0, n)
	u = cut(u.Reshape(append(slices.Clone(lead), n, n+1)...), r-1, 0, 1)
	return u.Reshape(append(lead, n)...)
}

// Diag makes a matrix with t, which has one axis, on its diagonal; of a matrix it takes the diagonal.
func (t *Tensor) Diag() *Tensor {
	switch t.Rank() {
	case 1:
		return t.DiagEmbed()
	case 2:
		return t.Diagonal(0)
	}
	fail("Diag", shapes(t.shape()), "needs one or two axes")
	return nil
}

// DiagEmbed makes matrices with the last axis of t on their diagonals.
func (t *Tensor) DiagEmbed() *Tensor {
	if t.Rank() < 1 {
		fail("DiagEmbed", shapes(t.shape()), "needs an axis")
	}
	r, n := t.Rank(), t.Dim(-1)
	lead := slices.Clone(t.shape()[:r-1])
	u := extend(t.node().Reshape(append(t.Shape(), 1)...), r, 0, n)
	u = u.Reshape(append(slices.Clone(lead), n*(n+1))...)
	return t.like(cut(u, r-1, 0, n*n).Reshape(append(lead, n, n)...))
}

// Tril keeps the lower triangle of the last two axes, up to the given diagonal; the rest is 0.
func (t *Tensor) Tril(diagonal int) *Tensor { return t.triangle("Tril", diagonal, true) }

// Triu keeps the upper triangle of the last two axes, from the given diagonal on; the rest is 0.
func (t *Tensor) Triu(diagonal int) *Tensor { return t.triangle("Triu", diagonal, false) }

func (t *Tensor) triangle(op string, diagonal int, lower bool) *Tensor {
	if t.Rank() < 2 {
		fail(op, shapes(t.shape()), "needs two axes")
	}
	u := t.node()
	diagonal = max(-t.Dim(-2), min(diagonal, t.Dim(-1))) // beyond the corners all or nothing is kept
	keep := above(t.Dim(-2), t.Dim(-1), diagonal)
	if !lower {
		keep = above(t.Dim(-2), t.Dim(-1), diagonal-1).Not()
	}
	return t.like(spread(keep, t.shape()).Where(u, u.Int(0)))
}

// above is true for column ≤ row + diagonal.
func above(rows, cols, diagonal int) *uop.UOp {
	s := uop.Shape{rows, cols}
	row := spread(uop.NewIota(rows).Reshape(rows, 1), s)
	col := spread(uop.NewIota(cols).Reshape(1, cols), s)
	return col.Less(row.Add(row.Int(diagonal + 1)))
}

// Roll shifts the elements along axes, those that fall off come in at the other end. Without axes
// the flattened elements are shifted.
func (t *Tensor) Roll(shifts []int, axes []int) *Tensor {
	if len(axes) == 0 && len(shifts) == 1 {
		return t.Flatten().Roll(shifts, []int{0}).Reshape(t.Shape()...)
	}
	if len(shifts) != len(axes) {
		fail("Roll", shapes(t.shape()), "%d shifts for %d axes", len(shifts), len(axes))
	}
	t = t.same()
	for i, a := range axes {
		a = t.axis("Roll", a)
		n := t.Dim(a)
		if n == 0 {
			continue
		}
		if k := ((shifts[i] % n) + n) % n; k > 0 {
			t = Cat(a, t, t).Narrow(a, n-k, n) // shapes do not depend on k
		}
	}
	return t
}
