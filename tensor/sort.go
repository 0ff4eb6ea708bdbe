package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sorting. Within a block each element's rank is counted; sorted runs are merged pairwise, block by block of the result: which
// elements of the two runs make a block is found first, then the block is ordered by counting. Orders are stable, NaN is the
// greatest value, and only integers are compared.

// sortBlock is the longest axis that is sorted by counting, n² comparisons; mergeBlock of longer ones.
const (
	sortBlock  = 512
	mergeBlock = 32
)

// Sort orders an axis, and says where each value came from (int32).
func (t *Tensor) Sort(axis int, descending bool) (values, indices *Tensor) {
	if t.Rank() == 0 {
		return t, t.like(uop.NewInt(dtype.I32, 0))
	}
	axis = t.axis("Sort", axis)
	order := argSort(t.node(), axis, descending)
	return t.like(t.node().Gather(order, axis)), t.like(order)
}

// ArgSort gives the indices (int32) that order an axis.
func (t *Tensor) ArgSort(axis int, descending bool) *Tensor {
	_, indices := t.Sort(axis, descending)
	return indices
}

// alongSome checks that the axis has elements; a scalar has one axis here.
func (t *Tensor) alongSome(op string, axis *int) *Tensor {
	s := t
	if t.Rank() == 0 {
		s = t.Reshape(1)
	}
	*axis = s.axis(op, *axis)
	if s.Dim(*axis) == 0 {
		fail(op, shapes(t.shape()), "axis %d is empty", *axis)
	}
	return s
}

// Mode gives the most frequent value of an axis (of several the smallest) and the index of its last occurrence;
// the axis goes.
func (t *Tensor) Mode(axis int) (value, index *Tensor) {
	s := t.alongSome("Mode", &axis)
	n := s.Dim(axis)
	key := sortKey(s.node().Detach(), false)
	wide := slices.Insert(slices.Clone(s.shape()), axis, n)
	i := spread(key.Reshape(slices.Insert(slices.Clone(s.shape()), axis+1, 1)...), wide)
	j := spread(key.Reshape(slices.Insert(slices.Clone(s.shape()), axis, 1)...), wide)
	keep := func(u *uop.UOp, m uop.Monoid) *uop.UOp {
		return spread(u.Reduce(m, axis).Reshape(with(s.shape(), axis, 1)...), s.shape())
	}
	count := i.Equal(j).Cast(dtype.I32).Reduce(uop.Sum, axis+1)
	most := count.Equal(keep(count, uop.MaxOf))
	least := keep(most.Where(key.Not(), key.Const(uop.Least(key.DType()))), uop.MaxOf).Not()
	at := alongAxis(iota(n, dtype.I32), axis, s.shape())
	at = most.And(key.Equal(least)).Where(at, at.Int(-1)).Reduce(uop.MaxOf, axis)
	at = at.Reshape(with(s.shape(), axis, 1)...)
	out := without(s.shape(), axis)
	return s.like(s.node().Gather(at, axis)).Reshape(out...), s.like(at).Reshape(out...)
}

// sortKey maps values to integers in the same order (reversed when descending): equal values have equal keys, so
// 0 and −0 are one, and all NaN are one, the greatest.
func sortKey(u *uop.UOp, descending bool) *uop.UOp {
	switch d := u.DType(); {
	case d == dtype.Bool:
		u = u.Cast(dtype.U8)
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

// argSort gives the stable order of an axis.
func argSort(u *uop.UOp, axis int, descending bool) *uop.UOp {
	return alongLast(sortKey(u.Detach(), descending), axis, argSortLast)
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

// argSortLast sorts integers along the last axis: runs of mergeBlock elements or fewer by counting, then merges of two
// neighbouring runs until one is left. Fillers equal the greatest key but come after them, so they are never among the first n.
func argSortLast(key *uop.UOp) *uop.UOp {
	last := len(key.Shape()) - 1
	n := key.Shape()[last]
	if n <= sortBlock {
		return invert(countRank(key))
	}
	runs := 1
	for n > runs*mergeBlock {
		runs *= 2
	}
	size := (n + runs - 1) / runs
	size = (size + 7) / 8 * 8
	_, hi := uop.IntLimits(key.DType())
	key = fill(key, last, 0, runs*size-n, hi).Contiguous()
	shape := func(s ...int) []int { return append(slices.Clone(key.Shape()[:last]), s...) }
	flat, blocks := shape(runs*size), shape(runs, size)
	order := alongAxis(iota(runs*size, dtype.I32), last, flat).Reshape(blocks...)
	key = key.Reshape(blocks...)
	for run := size; ; run *= 2 { // each block of elements is where it belongs, and is ordered by counting
		inner := invert(countRank(key)).Contiguous()
		order = order.Gather(inner, last+1).Contiguous().Reshape(flat...)
		if run == runs*size {
			return cut(order, last, 0, n)
		}
		key = key.Gather(inner, last+1).Contiguous().Reshape(flat...)
		from := mergeBlocks(key, run, size)
		key = key.Gather(from, last).Reshape(blocks...).Contiguous()
		order = order.Gather(from, last).Reshape(blocks...).Contiguous()
	}
}

// countRank is the place of each element in the stable order of the last axis.
func countRank(key *uop.UOp) *uop.UOp {
	s := key.Shape()
	last := len(s) - 1
	n := s[last]
	wide := append(slices.Clone(s), n)
	i := spread(key.Reshape(append(slices.Clone(s), 1)...), wide)
	j := spread(key.Reshape(slices.Insert(slices.Clone(s), last, 1)...), wide)
	earlier := alongAxis(uop.NewIota(n), last+1, wide).Less(alongAxis(uop.NewIota(n), last, wide))
	return j.Less(i).Or(j.Equal(i).And(earlier)).Cast(dtype.I32).Reduce(uop.Sum, last+1)
}

// invert turns the place of each element of the last axis into the element at each place.
func invert(place *uop.UOp) *uop.UOp {
	last := len(place.Shape()) - 1
	self := alongAxis(iota(place.Shape()[last], dtype.I32), last, place.Shape())
	return spread(place.Int(0), place.Shape()).Scatter(place, self, last, uop.Last)
}

// mergeBlocks cuts the merge of each two neighbouring sorted runs into blocks, and gives the elements of each
// in their places of the axis: those of the first run, then those of the second, each in their order. How many of the first
// run come before a block's end is found by binary search.
// Source: Odeh, Green, Mwassi, Shmueli, Birk: Merge Path – Parallel Merging Made Simple (2012).
func mergeBlocks(key *uop.UOp, run, size int) *uop.UOp {
	last := len(key.Shape()) - 1
	n := key.Shape()[last]
	pairs, blocks := n/(2*run), 2*run/size
	shape := func(s ...int) []int { return append(slices.Clone(key.Shape()[:last]), s...) }
	ends := shape(pairs, blocks)
	key = key.Reshape(shape(pairs, 2*run)...)
	end := alongAxis(iota(blocks, dtype.I32), last+1, ends)
	end = end.Add(end.Int(1)).Mul(end.Int(size))
	atLeast := end.Sub(end.Int(run))
	count := atLeast.Max(end.Int(0))
	step := 1
	for 2*step <= run {
		step *= 2
	}
	for ; step > 0; step /= 2 { // the largest count, by powers of two
		probe := count.Add(count.Int(step))
		a := key.Gather(probe.Sub(probe.Int(1)), last+1)
		b := key.Gather(end.Sub(probe).Add(probe.Int(run)), last+1)
		before := atMost(probe, probe.Int(run)).And(atMost(probe, end)).And(b.Less(a).Not())
		count = before.Where(probe, count)
	}
	count = count.Contiguous()
	each := shape(pairs, blocks, size)
	wide := func(u *uop.UOp) *uop.UOp { return spread(u.Reshape(shape(pairs, blocks, 1)...), each) }
	first := fill(cut(count, last+1, 0, blocks-1), last+1, 1, 0, 0)
	i := alongAxis(iota(size, dtype.I32), last+2, each)
	from := i.Less(wide(count.Sub(first))).Where(wide(first).Add(i), wide(end.Add(end.Int(run-size)).Sub(count)).Add(i))
	pair := alongAxis(iota(pairs, dtype.I32), last, each)
	return from.Add(pair.Mul(pair.Int(2 * run))).Reshape(shape(n)...)
}
