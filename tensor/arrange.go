package tensor

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Unbind gives the parts of an axis, each without it.
func (t *Tensor) Unbind(axis int) []*Tensor {
	axis = t.axis("Unbind", axis)
	checkParts("Unbind", t.shape(), t.Dim(axis))
	out := make([]*Tensor, t.Dim(axis))
	for i := range out {
		out[i] = t.Select(axis, i)
	}
	return out
}

// Select takes one index of an axis, which goes; a negative one counts from the end.
func (t *Tensor) Select(axis, index int) *Tensor {
	axis = t.axis("Select", axis)
	n := t.Dim(axis)
	if index < -n || index >= n {
		fail("Select", shapes(t.room()), "index %d of axis %d", index, axis)
	}
	if index < 0 {
		index += n
	}
	return t.like(cut(t.node(), axis, index, index+1).Reshape(without(t.room(), axis)...))
}

// without is a shape less one axis.
func without(s uop.Shape, axis int) []int { return slices.Delete(slices.Clone(s), axis, axis+1) }

// with is a shape in which one axis has another size.
func with(s uop.Shape, axis, n int) []int {
	out := slices.Clone(s)
	out[axis] = n
	return out
}

// SplitEvenly cuts an axis into n parts, the first ones longer by one where it does not divide.
func (t *Tensor) SplitEvenly(axis, n int) []*Tensor {
	axis = t.axis("SplitEvenly", axis)
	if n <= 0 {
		fail("SplitEvenly", shapes(t.shape()), "%d parts", n)
	}
	checkParts("SplitEvenly", t.shape(), n)
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = t.Dim(axis) / n
		if i < t.Dim(axis)%n {
			sizes[i]++
		}
	}
	return t.Split(axis, sizes...)
}

// SplitAt cuts an axis before the given indices. Negative ones count from the end; parts may be empty.
func (t *Tensor) SplitAt(axis int, indices ...int) []*Tensor {
	axis = t.axis("SplitAt", axis)
	n, from := t.Dim(axis), 0
	var out []*Tensor
	for _, to := range append(slices.Clone(indices), n) {
		if to < 0 {
			to += n
		}
		to = min(max(to, 0), n)
		out = append(out, t.Narrow(axis, from, max(to-from, 0)))
		from = to
	}
	return out
}

// AtLeast gives t at least so many axes (at most 3): of size 1, in front, but behind the second axis.
func (t *Tensor) AtLeast(rank int) *Tensor {
	if rank > 3 {
		fail("AtLeast", shapes(t.shape()), "%d axes, more than 3", rank)
	}
	switch r := t.Rank(); {
	case r >= rank:
		return t.same()
	case r == 2:
		return t.Unsqueeze(2)
	case r == 1 && rank == 3:
		return t.Reshape(1, t.Numel(), 1)
	case r == 1:
		return t.Unsqueeze(0)
	}
	return t.Reshape(slices.Repeat([]int{1}, rank)...)
}

// VStack joins along the first axis; tensors of one axis are rows.
func VStack(ts ...*Tensor) *Tensor { return Cat(0, all(ts, 2)...) }

// HStack joins along the second axis, or the only one.
func HStack(ts ...*Tensor) *Tensor {
	ts = all(ts, 1)
	if len(ts) > 0 && ts[0].Rank() > 1 {
		return Cat(1, ts...)
	}
	return Cat(0, ts...)
}

// DStack joins along the third axis.
func DStack(ts ...*Tensor) *Tensor { return Cat(2, all(ts, 3)...) }

// all gives each tensor at least so many axes.
func all(ts []*Tensor, rank int) []*Tensor {
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.AtLeast(rank)
	}
	return out
}

// CartesianProduct of tensors of one axis is a row for each choice of one element of each; of a single tensor it is
// the tensor.
func CartesianProduct(ts ...*Tensor) *Tensor {
	for _, t := range ts {
		if t.Rank() != 1 {
			fail("CartesianProduct", shapesOf(ts...), "needs tensors of one axis")
		}
	}
	if len(ts) == 1 {
		return ts[0].same()
	}
	grid := Meshgrid(ts...)
	for i := range grid {
		grid[i] = grid[i].Flatten()
	}
	return Stack(1, grid...)
}

// BlockDiag puts matrices along the diagonal of a larger one; a tensor of one axis is a row.
func BlockDiag(ts ...*Tensor) *Tensor {
	ts = all(ts, 2)
	width, at := 0, 0
	for _, t := range ts {
		if t.Rank() != 2 {
			fail("BlockDiag", shapesOf(ts...), "needs matrices")
		}
		width += t.Dim(1)
	}
	rows := make([]*Tensor, len(ts))
	for i, t := range ts {
		rows[i] = t.like(extend(t.node(), 1, at, width-at-t.Dim(1)))
		at += t.Dim(1)
	}
	return Cat(0, rows...)
}

// Rot90 turns the plane of two axes by k quarters, from the first towards the second.
func (t *Tensor) Rot90(k, first, second int) *Tensor {
	a, b := t.axis("Rot90", first), t.axis("Rot90", second)
	if a == b {
		fail("Rot90", shapes(t.shape()), "axis %d is named twice", first)
	}
	switch (k%4 + 4) % 4 {
	case 1:
		return t.Flip(b).Transpose(a, b)
	case 2:
		return t.Flip(a, b)
	case 3:
		return t.Flip(a).Transpose(a, b)
	}
	return t.same()
}

// Diff is the difference of neighbours along an axis, n times over; bools differ by exclusive or.
func (t *Tensor) Diff(n, axis int) *Tensor {
	axis = t.axis("Diff", axis)
	if n < 0 {
		failArg("Diff", "order %d", n)
	}
	n = min(n, t.Dim(axis)) // then nothing is left
	checkParts("Diff", t.shape(), n)
	t = t.same()
	for range n {
		k := max(t.Dim(axis)-1, 0)
		hi, lo := t.Narrow(axis, t.Dim(axis)-k, k), t.Narrow(axis, 0, k)
		if t.DType() == dtype.Bool {
			t = hi.Xor(lo)
		} else {
			t = hi.Sub(lo)
		}
	}
	return t
}

// DiagonalOf takes the diagonal of two axes as the last axis of the result.
func (t *Tensor) DiagonalOf(offset, first, second int) *Tensor {
	a, b := t.axis("DiagonalOf", first), t.axis("DiagonalOf", second)
	if a == b {
		fail("DiagonalOf", shapes(t.shape()), "axis %d is named twice", first)
	}
	order := slices.DeleteFunc(identity(t.Rank()), func(i int) bool { return i == a || i == b })
	return t.Permute(append(order, a, b)...).Diagonal(offset)
}

// DiagMatrix makes matrices in two new axes with the last axis of t on their diagonals, offset columns to the
// right (or below, when negative).
func (t *Tensor) DiagMatrix(offset, first, second int) *Tensor {
	if t.Rank() < 1 {
		fail("DiagMatrix", shapes(t.shape()), "needs an axis")
	}
	r := t.Rank() + 1
	m := t.DiagEmbed().node()
	if offset >= 0 {
		m = extend(extend(m, r-1, offset, 0), r-2, 0, offset)
	} else {
		m = extend(extend(m, r-2, -offset, 0), r-1, 0, -offset)
	}
	out := t.like(m)
	a, b := out.axis("DiagMatrix", first), out.axis("DiagMatrix", second)
	if a == b {
		fail("DiagMatrix", shapes(t.shape()), "axis %d is named twice", first)
	}
	order := identity(r)[:r-2]
	for _, p := range []int{min(a, b), max(a, b)} {
		which := r - 2
		if p == b {
			which = r - 1
		}
		order = slices.Insert(order, p, which)
	}
	return out.Permute(order...)
}

// Trace is the sum of a matrix' diagonal.
func (t *Tensor) Trace() *Tensor {
	if t.Rank() != 2 {
		fail("Trace", shapes(t.shape()), "needs a matrix")
	}
	return t.Diagonal(0).Sum()
}

// Take picks elements by their position in the flattened tensor, negative ones from its end; the result has the shape of index.
// A position outside is a *ValueError when the result is read.
func (t *Tensor) Take(index *Tensor) *Tensor {
	checkIndex("Take", index)
	n := index.Numel()
	flat := t.node().Reshape(t.Numel())
	list := within("Take", "index", index.node().Reshape(n), -t.Numel(), t.Numel(), fmt.Sprintf("%d elements", t.Numel()))
	out := flat.Gather(wrapped(list, t.Numel()), 0)
	return newTensor(out.Reshape(index.Shape()...), commonEngine("Take", t, index))
}

func checkIndex(op string, index *Tensor) {
	if !index.DType().IsInt() {
		failType(op, []dtype.DType{index.DType()}, "an index must be of an integer type")
	}
}

// wideIndex is an index in a type that any number of classes or rows fits into: constants beside it take its type.
func wideIndex(op string, index *Tensor) *Tensor {
	checkIndex(op, index)
	return index.To(indexType(index.DType()))
}

// wrapped counts negative indices from the end of an axis of n.
func wrapped(index *uop.UOp, n int) *uop.UOp {
	if index.DType().IsUnsigned() {
		return index
	}
	if d := index.DType(); d.Bits() < 32 { // n may not fit
		index = index.Cast(dtype.I32)
	}
	return index.Less(index.Int(0)).Where(index.Add(index.Int(n)), index)
}

// PixelShuffle makes patches of r×r pixels of groups of r² channels: […, c·r², h, w] becomes […, c, h·r, w·r].
func (t *Tensor) PixelShuffle(r int) *Tensor {
	k := t.Rank()
	if k < 3 || r < 1 || r > t.Dim(-3) || t.Dim(-3)%(r*r) != 0 {
		fail("PixelShuffle", shapes(t.shape()), "the channels, third from the end, do not divide by %d·%d", r, r)
	}
	s := t.Shape()
	c, h, w := s[k-3]/(r*r), s[k-2], s[k-1]
	u := t.node().Reshape(prod(s[:k-3]), c, r, r, h, w).Permute(0, 1, 4, 2, 5, 3)
	return t.like(u.Reshape(append(s[:k-3:k-3], c, h*r, w*r)...))
}

// PixelUnshuffle is the inverse of PixelShuffle: […, c, h·r, w·r] becomes […, c·r², h, w].
func (t *Tensor) PixelUnshuffle(r int) *Tensor {
	k := t.Rank()
	if k < 3 || r < 1 || t.Dim(-1)%r != 0 || t.Dim(-2)%r != 0 {
		fail("PixelUnshuffle", shapes(t.shape()), "the last two axes do not divide by %d", r)
	}
	s := t.Shape()
	c, h, w := s[k-3], s[k-2]/r, s[k-1]/r
	u := t.node().Reshape(prod(s[:k-3]), c, h, r, w, r).Permute(0, 1, 3, 5, 2, 4)
	return t.like(u.Reshape(append(s[:k-3:k-3], c*r*r, h, w)...))
}

// ChannelShuffle deals the channels (axis 1) out: channel i of group g becomes channel g of group i.
func (t *Tensor) ChannelShuffle(groups int) *Tensor {
	if t.Rank() < 2 || groups < 1 || t.Dim(1)%groups != 0 {
		fail("ChannelShuffle", shapes(t.shape()), "the channels, axis 1, do not divide by %d", groups)
	}
	s := t.Shape()
	u := t.node().Reshape(s[0], groups, s[1]/groups, prod(s[2:])).Permute(0, 2, 1, 3)
	return t.like(u.Reshape(s...))
}

func prod(s []int) int { return uop.Shape(s).Numel() }

// RepeatEach repeats the i-th part of an axis counts[i] times. The counts are read, because the result's shape depends
// on them.
func (t *Tensor) RepeatEach(ctx context.Context, counts *Tensor, axis int) (*Tensor, error) {
	axis = t.axis("RepeatEach", axis)
	checkIndex("RepeatEach", counts)
	if counts.Rank() > 1 || counts.Numel() != t.Dim(axis) && counts.Numel() != 1 {
		fail("RepeatEach", shapesOf(t, counts), "needs a count for each part of axis %d", axis)
	}
	n, err := Data[int64](ctx, counts.To(dtype.I64))
	if err != nil {
		return nil, err
	}
	var from []int32
	for i := range t.Dim(axis) {
		k := n[min(i, len(n)-1)]
		if k < 0 {
			failArg("RepeatEach", "count %d", k)
		}
		from = append(from, slices.Repeat([]int32{int32(i)}, int(k))...)
	}
	return t.gather(axis, from), nil
}

// Vander gives the powers 0 … n−1 of the elements of a list as rows, rising or falling.
func (t *Tensor) Vander(n int, rising bool) *Tensor {
	if t.Rank() != 1 || n < 0 {
		fail("Vander", shapes(t.shape()), "needs a list and a number of powers, not %d", n)
	}
	checkParts("Vander", t.shape(), n)
	one := OnesLike(t)
	powers := make([]*Tensor, n)
	for k := range n {
		powers[k] = one
		one = one.Mul(t)
	}
	if n == 0 {
		return Full(0, t.DType(), t.Numel(), 0)
	}
	if !rising {
		slices.Reverse(powers)
	}
	return Stack(1, powers...)
}

// TensorDot sums the products of t and o over pairs of axes; the other axes of t come first in the result.
func (t *Tensor) TensorDot(o *Tensor, axes, others []int) *Tensor {
	if len(axes) != len(others) {
		fail("TensorDot", shapesOf(t, o), "%d axes and %d", len(axes), len(others))
	}
	free := func(x *Tensor, list []int) (order, sizes, summed []int) {
		for _, a := range list {
			summed = append(summed, x.axis("TensorDot", a))
		}
		for i := range x.Rank() {
			if !slices.Contains(summed, i) {
				order, sizes = append(order, i), append(sizes, x.Dim(i))
			}
		}
		return order, sizes, summed
	}
	f, fs, a := free(t, axes)
	g, gs, b := free(o, others)
	n := 1
	for i := range a {
		if t.Dim(a[i]) != o.Dim(b[i]) {
			fail("TensorDot", shapesOf(t, o), "axes %d and %d have sizes %d and %d", a[i], b[i], t.Dim(a[i]), o.Dim(b[i]))
		}
		n *= t.Dim(a[i])
	}
	x := t.Permute(append(f, a...)...).Reshape(prod(fs), n)
	y := o.Permute(append(b, g...)...).Reshape(n, prod(gs))
	return x.MatMul(y).Reshape(append(fs, gs...)...)
}
