package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sorting. Orders are stable, NaN is the greatest value, and only integers are put into order.

// Sort orders an axis, and says where each value came from (int32).
func (t *Tensor) Sort(axis int, descending bool) (values, indices *Tensor) {
	if t.Rank() == 0 {
		return t.same(), t.like(uop.NewInt(dtype.I32, 0))
	}
	axis = t.axis("Sort", axis)
	t.indices("Sort", axis)
	order := t.argSort(axis, descending)
	return t.like(t.node().Gather(order, axis)), t.like(order)
}

// ArgSort gives the indices (int32) that order an axis.
func (t *Tensor) ArgSort(axis int, descending bool) *Tensor {
	_, indices := t.Sort(axis, descending)
	return indices
}

// alongSome checks that the axis has elements, and no more than have an index; a scalar has one axis here.
func (t *Tensor) alongSome(op string, axis *int) *Tensor {
	s := t
	if t.Rank() == 0 {
		s = t.Reshape(1)
	}
	*axis = s.axis(op, *axis)
	if s.Dim(*axis) == 0 {
		fail(op, shapes(t.shape()), "axis %d is empty", *axis)
	}
	s.indices(op, *axis)
	return s
}

// Mode gives the most frequent value of an axis (of several the smallest) and the index of its last occurrence;
// the axis goes.
func (t *Tensor) Mode(axis int) (value, index *Tensor) {
	s := t.alongSome("Mode", &axis)
	mode := modeInOrder
	if s.Dim(axis) <= countAcross {
		mode = modeByPairs
	}
	at := mode(s, axis).Reshape(with(s.shape(), axis, 1)...)
	out := without(s.shape(), axis)
	return s.like(s.node().Gather(at, axis)).Reshape(out...), s.like(at).Reshape(out...)
}

// modeInOrder finds where the most frequent value was last as the longest run in the order of the elements.
func modeInOrder(t *Tensor, axis int) *uop.UOp {
	order := t.argSort(axis, false)
	key := sortKey(t.node().Detach(), false).Gather(order, axis).Contiguous()
	i := alongAxis(iota(t.Dim(axis), dtype.I32), axis, t.shape())
	before := key.Gather(i.Max(i.Int(1)).Add(i.Int(-1)), axis)
	begin := key.Equal(before).And(i.Equal(i.Int(0)).Not()).Where(i.Int(0), i).Scan(uop.MaxOf, axis)
	last := largest(i.Sub(begin), axis).Part(1)
	return order.Gather(last.Reshape(with(t.shape(), axis, 1)...), axis)
}

// modeByPairs finds it by comparing all elements with each other.
func modeByPairs(t *Tensor, axis int) *uop.UOp {
	shape, n := t.shape(), t.Dim(axis)
	key := sortKey(t.node().Detach(), false)
	wide := slices.Insert(slices.Clone(shape), axis, n)
	i := spread(key.Reshape(slices.Insert(slices.Clone(shape), axis+1, 1)...), wide)
	j := spread(key.Reshape(slices.Insert(slices.Clone(shape), axis, 1)...), wide)
	keep := func(u *uop.UOp, m uop.Monoid) *uop.UOp {
		return spread(u.Reduce(m, axis).Reshape(with(shape, axis, 1)...), shape)
	}
	count := i.Equal(j).Cast(dtype.I32).Reduce(uop.Sum, axis+1)
	most := count.Equal(keep(count, uop.MaxOf))
	least := keep(most.Where(key.Not(), key.Const(uop.Least(key.DType()))), uop.MaxOf).Not()
	at := alongAxis(iota(n, dtype.I32), axis, shape)
	return most.And(key.Equal(least)).Where(at, at.Int(-1)).Reduce(uop.MaxOf, axis)
}

// sortKey maps values to integers in the same order (reversed when descending): equal values have equal keys, so
// 0 and −0 are one, and all NaN are one, the greatest.
func sortKey(u *uop.UOp, descending bool) *uop.UOp {
	switch d := u.DType(); {
	case d == dtype.Bool && descending:
		return u.Not().Cast(dtype.U8)
	case d == dtype.Bool:
		return u.Cast(dtype.U8)
	case d.IsFloat():
		u = floatKey(u)
	}
	if descending {
		return u.Not()
	}
	return u
}

// floatKey reads the bits of floats as integers. Those of negative numbers fall where the values rise, so all but
// their sign is turned around.
func floatKey(u *uop.UOp) *uop.UOp {
	b := u.Bitcast(map[int]dtype.DType{1: dtype.I8, 2: dtype.I16, 4: dtype.I32, 8: dtype.I64}[u.DType().Size()])
	key := b.Less(b.Int(0)).Where(b.Xor(greatest(b)), b)
	key = u.Equal(u.Int(0)).Where(b.Int(0), key)
	return u.Equal(u).Where(key, greatest(b))
}

// greatest is the largest integer of u's type.
func greatest(u *uop.UOp) *uop.UOp {
	_, hi := uop.IntLimits(u.DType())
	return u.Const(hi)
}

// countAcross is the longest axis, not the last, the order of which is found by counting: what rows beside each other share is then
// worth more than writing each index once.
const countAcross = 32

// argSort gives the stable order of an axis.
func (t *Tensor) argSort(axis int, descending bool) *uop.UOp {
	return t.firstAlong(axis, t.Dim(axis), descending)
}

// firstAlong gives the indices of the first k elements of the stable order of an axis.
func (t *Tensor) firstAlong(axis, k int, descending bool) *uop.UOp {
	key := sortKey(t.node().Detach(), descending)
	s := key.Shape()
	if axis < len(s)-1 && s[axis] <= countAcross && !t.mayBeCut() {
		return ordinalFew(key, alongAxis(iota(k, dtype.I32), axis, with(s, axis, k)), axis)
	}
	return alongLast(key, axis, func(key *uop.UOp) *uop.UOp { return firstOf(key, k) })
}

// alongLast applies what works along the last axis to another.
func alongLast(u *uop.UOp, axis int, f func(u *uop.UOp) *uop.UOp) *uop.UOp {
	swap := exchange(len(u.Shape()), axis)
	return f(u.Permute(swap...)).Permute(swap...)
}

// exchange is the permutation of an axis with the last one.
func exchange(rank, axis int) []int {
	swap := identity(rank)
	swap[axis], swap[rank-1] = rank-1, axis
	return swap
}
