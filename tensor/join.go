package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Cat joins tensors along an axis. Their types are promoted; an empty tensor of one axis is left out.
func Cat(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		failArg("Cat", "nothing to join")
	}
	e := commonEngine("Cat", ts...)
	d := ts[0].DType()
	for _, t := range ts {
		d = dtype.Promote(d, t.DType())
	}
	all := ts
	ts = slices.DeleteFunc(slices.Clone(ts), func(t *Tensor) bool { return t.Rank() == 1 && t.room().Numel() == 0 })
	if len(ts) == 0 {
		return newTensor(all[0].node().Cast(d), e)
	}
	axis = checkAxis("Cat", ts[0].room(), axis)
	us := make([]*uop.UOp, len(ts))
	total := 0
	for i, t := range ts {
		s := t.room()
		if len(s) != ts[0].Rank() {
			fail("Cat", rooms(all), "the ranks differ")
		}
		for k := range s {
			if k != axis && t.sizeAt(k) != ts[0].sizeAt(k) {
				fail("Cat", rooms(all), "sizes of axis %d differ: %v and %v", k, ts[0].sizeAt(k), t.sizeAt(k))
			}
		}
		if n := t.sizeAt(axis); n.is.Varies() {
			failArg("Cat", "axis %d has %v elements, and this needs a size that does not vary", axis, n)
		}
		us[i] = t.node().Cast(d)
		total = uop.Plus(total, s[axis])
	}
	return newTensor(join(us, axis, total), e)
}

// join joins parts along an axis of so many elements.
func join(us []*uop.UOp, axis, total int) *uop.UOp {
	us = slices.DeleteFunc(us, func(u *uop.UOp) bool { return total > 0 && u.Shape()[axis] == 0 })
	starts := make([]int, len(us))
	for i, u := range us[:len(us)-1] {
		starts[i+1] = starts[i] + u.Shape()[axis]
	}
	return uop.Join(axis, total, starts, us)
}

// alongAxis spreads a node of one axis over a shape, on the given axis.
func alongAxis(u *uop.UOp, axis int, shape uop.Shape) *uop.UOp {
	s := make([]int, len(shape))
	for i := range s {
		s[i] = 1
	}
	s[axis] = u.Shape()[0]
	return spread(u.Reshape(s...), shape)
}

// Stack joins tensors of one shape along a new axis.
func Stack(axis int, ts ...*Tensor) *Tensor {
	if len(ts) == 0 {
		failArg("Stack", "nothing to join")
	}
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		if !slices.Equal(t.Sizes(), ts[0].Sizes()) {
			fail("Stack", rooms(ts), "the shapes differ")
		}
		out[i] = t.Unsqueeze(axis)
	}
	if axis < 0 {
		axis += ts[0].Rank() + 1
	}
	return Cat(axis, out...)
}

// Split cuts an axis into parts of the given sizes, which must add up.
func (t *Tensor) Split(axis int, sizes ...int) []*Tensor {
	axis = t.axis("Split", axis)
	var out []*Tensor
	at := 0
	for _, n := range sizes {
		if n < 0 || at+n > t.Dim(axis) {
			fail("Split", shapes(t.shape()), "sizes %v do not add up to %d", sizes, t.Dim(axis))
		}
		out = append(out, t.Narrow(axis, at, n))
		at += n
	}
	if at != t.Dim(axis) {
		fail("Split", shapes(t.shape()), "sizes %v do not add up to %d", sizes, t.Dim(axis))
	}
	return out
}

// SplitEvery cuts an axis into parts of n; the last may be smaller.
func (t *Tensor) SplitEvery(axis, n int) []*Tensor {
	axis = t.axis("SplitEvery", axis)
	if n <= 0 {
		fail("SplitEvery", shapes(t.shape()), "parts of %d", n)
	}
	checkParts("SplitEvery", t.shape(), t.Dim(axis)/n)
	var sizes []int
	for at := 0; at < t.Dim(axis); at += n {
		sizes = append(sizes, min(n, t.Dim(axis)-at))
	}
	if len(sizes) == 0 {
		return []*Tensor{t.same()}
	}
	return t.Split(axis, sizes...)
}

// Chunk cuts an axis into at most n parts of one size; the last may be smaller.
func (t *Tensor) Chunk(axis, n int) []*Tensor {
	axis = t.axis("Chunk", axis)
	if n <= 0 {
		fail("Chunk", shapes(t.shape()), "%d parts", n)
	}
	if t.Dim(axis) == 0 {
		checkParts("Chunk", t.shape(), n)
		return t.Split(axis, make([]int, n)...)
	}
	return t.SplitEvery(axis, max(1, uop.Plus(t.Dim(axis), n-1)/n))
}

// Repeat lays copies of t side by side, so many per axis; further counts make new axes in front.
func (t *Tensor) Repeat(counts ...int) *Tensor {
	s := t.shape()
	if len(counts) < len(s) {
		fail("Repeat", shapes(s), "%d counts for %d axes", len(counts), len(s))
	}
	checkSizes("Repeat", counts)
	wide := make([]int, 0, 2*len(counts)) // count, size, count, size, …
	in := make([]int, 0, 2*len(counts))
	out := make([]int, len(counts))
	for i, c := range counts {
		n := 1
		if k := i - (len(counts) - len(s)); k >= 0 {
			n = s[k]
		}
		in, wide, out[i] = append(in, 1, n), append(wide, c, n), uop.Times(c, n)
	}
	return t.like(t.node().Reshape(in...).Expand(wide...).Reshape(out...))
}

// RepeatInterleave repeats each element n times along an axis.
func (t *Tensor) RepeatInterleave(n, axis int) *Tensor {
	axis = t.axis("RepeatInterleave", axis)
	if n < 0 {
		fail("RepeatInterleave", shapes(t.shape()), "%d times", n)
	}
	s := t.Shape()
	in := slices.Insert(slices.Clone(s), axis+1, 1)
	wide := slices.Clone(in)
	wide[axis+1] = n
	s[axis] = uop.Times(s[axis], n)
	return t.like(t.node().Reshape(in...).Expand(wide...).Reshape(s...))
}

// Meshgrid spreads tensors of one axis over a grid; the i-th varies along axis i ("ij" order).
func Meshgrid(ts ...*Tensor) []*Tensor {
	var s []int
	for _, t := range ts {
		if t.Rank() > 1 {
			fail("Meshgrid", shapesOf(ts...), "needs tensors of one axis")
		}
		s = append(s, t.Numel())
	}
	out := make([]*Tensor, len(ts))
	for i, t := range ts {
		out[i] = t.like(alongAxis(t.node().Reshape(t.Numel()), i, s))
	}
	return out
}

// MeshgridXY is Meshgrid with the first two axes exchanged, as for points of a picture: the first list runs along axis 1, the second
// along axis 0, further ones along their own.
func MeshgridXY(ts ...*Tensor) []*Tensor {
	out := Meshgrid(ts...)
	if len(ts) < 2 {
		return out
	}
	for i, t := range out {
		out[i] = t.Transpose(0, 1)
	}
	return out
}

// Unfold cuts an axis into windows of size elements, step apart; a new last axis holds them.
func (t *Tensor) Unfold(axis, size, step int) *Tensor {
	axis = t.axis("Unfold", axis)
	n := t.Dim(axis)
	if size < 0 || size > n || step <= 0 {
		fail("Unfold", shapes(t.shape()), "windows of %d every %d on axis %d", size, step, axis)
	}
	step = min(step, n+1) // what is larger leads to no other window either
	return t.like(slide(t.node(), axis, window{size, step, 1, 0, (n-size)/step + 1}))
}
