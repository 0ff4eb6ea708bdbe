package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Taking elements by their place in the order of an axis, without sorting all of it. The order is that of Sort: stable, NaN is
// the greatest value.

// TopK gives the k largest (or smallest) values of an axis, the best first, and their indices.
func (t *Tensor) TopK(k, axis int, largest bool) (values, indices *Tensor) {
	if t.Rank() == 0 {
		t = t.Reshape(1)
		values, indices = t.TopK(k, axis, largest)
		return values.Reshape(), indices.Reshape()
	}
	axis = t.axis("TopK", axis)
	if k < 0 || k > t.Dim(axis) {
		fail("TopK", shapes(t.shape()), "k = %d of %d elements", k, t.Dim(axis))
	}
	t.indices("TopK", axis)
	order := t.firstAlong(axis, k, largest)
	return t.like(t.node().Gather(order, axis)), t.like(order)
}

// KthValue gives the k-th smallest value of an axis (k from 1) and its index; the axis goes.
func (t *Tensor) KthValue(k, axis int) (value, index *Tensor) {
	return t.ordinal("KthValue", axis, func(n int) int {
		if k < 1 || k > n {
			fail("KthValue", shapes(t.shape()), "k = %d of %d elements", k, n)
		}
		return k - 1
	}, false)
}

// Median gives the middle value of an axis (of two the lower; NaN if there is one) and its index; the axis
// goes.
func (t *Tensor) Median(axis int) (value, index *Tensor) {
	return t.ordinal("Median", axis, func(n int) int { return (n - 1) / 2 }, true)
}

// ordinal takes the element at a place of the order; with nan set, the first NaN if there is one.
func (t *Tensor) ordinal(op string, axis int, place func(n int) int, nan bool) (value, index *Tensor) {
	s := t.alongSome(op, &axis)
	u := s.node()
	at := uop.NewInt(dtype.I32, place(s.Dim(axis)))
	if nan && u.DType().IsFloat() {
		nans := countNaN(u, axis)
		at = nans.Int(0).Less(nans).Where(nans.Int(s.Dim(axis)).Sub(nans), at)
	}
	return t.take(s, at, axis)
}

// NanMedian is Median over the values that are not NaN; NaN if there is none.
func (t *Tensor) NanMedian(axis int) (value, index *Tensor) {
	if !t.IsFloat() {
		return t.Median(axis)
	}
	s := t.alongSome("NanMedian", &axis)
	u := s.node()
	nans := countNaN(u, axis)
	top := nans.Int(s.Dim(axis) - 1).Sub(nans).Max(nans.Int(0))
	return t.take(s, top.Shr(top.Int(1)), axis)
}

// countNaN keeps the axis, with size 1.
func countNaN(u *uop.UOp, axis int) *uop.UOp {
	n := u.Equal(u).Not().Cast(dtype.I32).Reduce(uop.Sum, axis)
	return n.Reshape(with(u.Shape(), axis, 1)...)
}

// take picks the element at a place of the order (a constant, or an array with the axis of size 1).
func (t *Tensor) take(s *Tensor, at *uop.UOp, axis int) (value, index *Tensor) {
	index = s.like(s.ordinalOf(spread(at, with(s.shape(), axis, 1)), axis))
	value = s.like(s.node().Gather(index.node(), axis))
	out := without(s.shape(), axis)
	return value.Reshape(out...), index.Reshape(out...)
}

// Numbers of firstOf.
const (
	sortWhole = 512 // the longest axis that is sorted for its first elements
	sortMost  = 3   // and the part of an axis, one third, from which on it is
)

// firstOf gives the indices of the first k integers of the last axis, in their stable order. Where that is less work, the k are found in
// the order of their places, and they alone are sorted.
func firstOf(key *uop.UOp, k int) *uop.UOp {
	last := len(key.Shape()) - 1
	n := key.Shape()[last]
	if isFew(n, k) {
		return firstFew(key, k)
	}
	if k == 0 || n <= sortWhole {
		return cut(key.ArgSort(), last, 0, k)
	}
	if key, at := narrowed(key, k); at != nil {
		return at.Gather(firstOf(key, k), last)
	}
	if sortMost*k > n {
		return cut(key.ArgSort(), last, 0, k)
	}
	found := leastCounted(key.Contiguous(), k)
	return found.Gather(key.Gather(found, last).Contiguous().ArgSort(), last)
}

// leastOf gives the indices of the first k integers of the last axis in their stable order, but in the order of their places.
func leastOf(key *uop.UOp, k int) *uop.UOp {
	last := len(key.Shape()) - 1
	if isFew(key.Shape()[last], k) {
		first := firstFew(key, k)
		return first.Gather(first.ArgSort(), last).Contiguous()
	}
	if key, at := narrowed(key, k); at != nil {
		return at.Gather(leastOf(key, k), last).Contiguous()
	}
	return leastCounted(key.Contiguous(), k)
}

// narrowed gives integers of the last axis among which the first k are, in their order, and their indices; or nil, nil where looking
// for these is no less work. The axis is cut into blocks, of which those k are taken whose least elements come first: an element of
// another block has at least k before it, one in each of these.
func narrowed(key *uop.UOp, k int) (some, at *uop.UOp) {
	last := len(key.Shape()) - 1
	n, batch := key.Shape()[last], key.Shape()[:last:last]
	size := 1 << int(math.Log2(math.Sqrt(float64(n)/float64(k)))+.5)
	blocks := (n + size - 1) / size
	if n <= sortWhole || 2*(blocks+k*size) > n {
		return nil, nil
	}
	shape := func(s ...int) []int { return append(slices.Clone(batch), s...) }
	_, hi := uop.IntLimits(key.DType())
	key = fill(key, last, 0, blocks*size-n, hi)
	from := leastOf(key.Reshape(shape(blocks, size)...).Not().Reduce(uop.MaxOf, last+1).Not().Contiguous(), k)
	at = spread(from.Mul(from.Int(size)).Reshape(shape(k, 1)...), shape(k, size))
	at = at.Add(alongAxis(iota(size, dtype.I32), last+1, at.Shape())).Reshape(shape(k * size)...)
	return key.Gather(at, last).Contiguous(), at
}

// leastCounted finds the k-th integer, and then those before it, which are numbered as they come.
func leastCounted(key *uop.UOp, k int) *uop.UOp {
	s := key.Shape()
	last := len(s) - 1
	place := spread(uop.NewInt(dtype.I32, k-1), with(s, last, 1))
	value := spread(ordinalValue(key, place), s)
	less := key.Less(value)
	room := less.Cast(dtype.I32).Reduce(uop.Sum, last).Reshape(with(s, last, 1)...).Neg().Contiguous() // once for all blocks of a row
	equal := key.Equal(value)
	nth := equal.Cast(dtype.I32).Scan(uop.Sum, last)
	found := less.Or(equal.And(spread(room.Add(room.Int(k)), s).Less(nth).Not()))
	if float64(k)*math.Log2(float64(s[last])) > float64(s[last]) {
		return cut(found.Not().Cast(dtype.U8).ArgSort(), last, 0, k).Contiguous()
	}
	nth = found.Cast(dtype.I32).Scan(uop.Sum, last).Contiguous()
	return countBefore(nth, alongAxis(iota(k, dtype.I32), last, with(s, last, k)), func(e, i *uop.UOp) *uop.UOp { return i.Less(e).Not() }).Contiguous()
}

// ordinalValue is the integer at a place of the order of the last axis.
func ordinalValue(key, place *uop.UOp) *uop.UOp {
	if key.DType().Size() == 8 {
		return key.Gather(ordinalLast(key, place, false), len(key.Shape())-1)
	}
	return ordinalDigits(key, place, false)
}

// mostFew is how many elements at most are found one after the other, and fewFirst how many there must be for each: otherwise all are
// counted.
const (
	mostFew  = 16
	fewFirst = 16
)

// isFew says that k of n elements are found one after the other.
func isFew(n, k int) bool { return k > 0 && k <= mostFew && k*fewFirst <= n && n <= sortWhole }

// manyRows is how many rows are laid out so that they lie beside each other and share lanes: then what is found is spread over no lanes and
// gathered from none.
const manyRows = 64

// firstFew finds the least of those that come after what was found last, and the first place of it, k times.
func firstFew(key *uop.UOp, k int) *uop.UOp {
	axis := len(key.Shape()) - 1
	if key.Shape()[:axis].Numel() < manyRows {
		return fewAlong(key, axis, k)
	}
	front, back := []int{axis}, []int{}
	for i := range axis {
		front, back = append(front, i), append(back, i+1)
	}
	return fewAlong(key.Permute(front...).Contiguous(), 0, k).Permute(append(back, 0)...)
}

func fewAlong(key *uop.UOp, axis, k int) *uop.UOp {
	s := key.Shape()
	one := with(s, axis, 1)
	least := func(u *uop.UOp) *uop.UOp { return u.Not().Reduce(uop.MaxOf, axis).Not().Reshape(one...) }
	_, hi := uop.IntLimits(key.DType())
	place := alongAxis(iota(s[axis], dtype.I32), axis, s)
	found, before := make([]*uop.UOp, k), (*uop.UOp)(nil)
	for i := range found {
		left, past := key, place.Int(-1)
		if i > 0 { // equal elements come in the order of their places
			wide := spread(before, s)
			later := wide.Less(key).Or(key.Equal(wide).And(spread(found[i-1], s).Less(place)))
			left = later.Where(key, key.Const(hi))
		}
		value := least(left)
		if i > 0 {
			past = value.Equal(before).Where(found[i-1], past)
		}
		here := key.Equal(spread(value, s)).And(spread(past, s).Less(place))
		found[i], before = least(here.Where(place, place.Int(s[axis]))), value
	}
	return join(found, axis, k)
}

// countBlock is the longest axis of which one element is found by counting what comes before each, n² comparisons; of longer ones
// its bits are found.
const countBlock = 64

// ordinalOf gives the index of the element at a place of the order of an axis. The places have the shape of t, but the axis is 1.
func (t *Tensor) ordinalOf(place *uop.UOp, axis int) *uop.UOp {
	key := sortKey(t.node().Detach(), false)
	if t.Dim(axis) <= countBlock && !t.mayBeCut() {
		return ordinalFew(key, place, axis)
	}
	swap := exchange(t.Rank(), axis)
	return ordinalLast(key.Permute(swap...), place.Permute(swap...), t.Engine() != nil && t.Engine().Grid()).Permute(swap...)
}

// mayBeCut says that t may be cut over several devices, so that not all elements of an axis can be compared with all.
func (t *Tensor) mayBeCut() bool { return t.Engine() != nil && t.Engine().Several() }

// ordinalFew gives the indices of the elements before which as many others come as each place says. All are compared with all, and each
// place with all: no index is written where values say, so that rows which lie beside each other share lanes.
func ordinalFew(key, place *uop.UOp, axis int) *uop.UOp {
	s, n, k := key.Shape(), key.Shape()[axis], place.Shape()[axis]
	wide := func(n, m int) []int { return slices.Insert(with(s, axis, n), axis+1, m) }
	down := func(u *uop.UOp, m int) *uop.UOp { // u's axis is the first of two
		d := u.Shape()[axis]
		return spread(u.Reshape(wide(d, 1)...), wide(d, m))
	}
	right := func(u *uop.UOp, n int) *uop.UOp { // and here the second
		d := u.Shape()[axis]
		return spread(u.Reshape(wide(1, d)...), wide(n, d))
	}
	numbers := alongAxis(iota(n, dtype.I32), axis, s)
	it, other := down(key, n), right(key, n)
	earlier := right(numbers, n).Less(down(numbers, n))
	before := other.Less(it).Or(earlier.And(other.Equal(it))).Cast(dtype.I32).Reduce(uop.Sum, axis+1)
	found := down(before, k).Equal(right(place, n))
	return found.Where(down(numbers, k), place.Int(0)).Reduce(uop.Sum, axis)
}

// ordinalLast finds the element by its digits. Of 64 bits, the upper half comes first: then what has another one is greatest.
func ordinalLast(key, place *uop.UOp, grid bool) *uop.UOp {
	s := key.Shape()
	last := len(s) - 1
	halves := []*uop.UOp{key}
	if key.DType().Size() == 8 {
		low := key.Cast(dtype.I32)
		halves = []*uop.UOp{key.Shr(key.Int(32)).Cast(map[bool]dtype.DType{true: dtype.U32, false: dtype.I32}[key.DType().IsUnsigned()]), low.Xor(greatest(low).Not())}
	}
	var same *uop.UOp
	for _, half := range halves {
		if same != nil {
			half = same.Where(half, greatest(half))
		}
		half = half.Contiguous()
		value := ordinalDigits(half, place, grid)
		place = place.Sub(half.Less(spread(value, s)).Cast(dtype.I32).Reduce(uop.Sum, last).Reshape(place.Shape()...))
		here := half.Equal(spread(value, s))
		if same != nil {
			here = here.And(same)
		}
		same = here
	}
	nth := same.Cast(dtype.I32).Scan(uop.Sum, last)
	found := same.And(nth.Equal(spread(place.Add(place.Int(1)), s)))
	at := alongAxis(iota(s[last], dtype.I32), last, s)
	return found.Where(at, at.Int(0)).Reduce(uop.Sum, last).Reshape(place.Shape()...)
}

// ordinalDigits finds the key at a place of the order by its digits, the highest first: of the bounds of a digit's values, how many have at
// most as many elements below them as come before the place. Two bits at a time are 48 comparisons an element of 32 bits, four are 128
// and go through the elements half as often; they give each invocation of a grid one bound, where it would have a row alone.
func ordinalDigits(key, place *uop.UOp, grid bool) *uop.UOp {
	bits, next := 2, nextDigit
	if grid {
		bits, next = 4, nextDigitOnGrid
	}
	lo, _ := uop.IntLimits(key.DType())
	value := spread(key.Const(lo), place.Shape())
	for bit := 8*key.DType().Size() - bits; bit >= 0; bit -= bits {
		value = next(key, place, value, bit).Contiguous()
	}
	return value
}

// nextDigit adds a digit of two bits to a value.
func nextDigit(key, place, value *uop.UOp, bit int) *uop.UOp {
	s := key.Shape()
	found, bound := value, value
	for range 3 {
		bound = bound.Add(bound.Int(1 << bit))
		below := key.Less(spread(bound, s)).Cast(dtype.I32).Reduce(uop.Sum, len(s)-1).Reshape(place.Shape()...)
		found = place.Less(below).Where(found, bound)
	}
	return found
}

// nextDigitOnGrid adds a digit of four bits to a value.
func nextDigitOnGrid(key, place, value *uop.UOp, bit int) *uop.UOp {
	s := key.Shape()
	last := len(s) - 1
	wide, bounds := append(slices.Clone(s), 16), append(slices.Clone(place.Shape()), 16)
	step := alongAxis(uop.NewIota(16).Cast(key.DType()), last+1, bounds)
	bound := spread(value.Reshape(append(slices.Clone(place.Shape()), 1)...), bounds).Add(step.Mul(step.Int(1 << bit))) // […, 1, 16]
	keys := spread(key.Reshape(append(slices.Clone(s), 1)...), wide)
	below := keys.Less(spread(bound, wide)).Cast(dtype.I32).Reduce(uop.Sum, last)
	few := spread(place, with(place.Shape(), last, 16)).Less(below).Not() // the first always
	count := few.Cast(dtype.I32).Reduce(uop.Sum, last).Reshape(place.Shape()...)
	digit := count.Sub(count.Int(1)).Cast(key.DType())
	return value.Add(digit.Mul(digit.Int(1 << bit)))
}
