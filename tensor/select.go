package tensor

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Operations whose result's shape depends on values. They compute what they need at once, wait for it, and go
// on with a graph; inside Capture they are errors.

// NonZero gives the places of the elements that are not 0, in order, as an int64 tensor [count, rank].
func (t *Tensor) NonZero(ctx context.Context) (*Tensor, error) {
	var host scratch
	defer host.free()
	places, err := t.places(ctx, &host)
	if err != nil {
		return nil, err
	}
	s := t.Shape()
	raw := host.bytes(8 * len(places) * len(s))
	return t.beside(dtype.I64, []int{len(places), len(s)}, unravel(raw, places, s)), nil
}

// unravel writes rising flat positions as int64 places in a shape. Rows of the last axis are passed one after the other, so that nothing is divided.
func unravel(raw []byte, places []int32, s []int) []byte {
	if len(s) == 0 || len(places) == 0 {
		return raw
	}
	last := len(s) - 1
	row, begin, to := make([]int, last), 0, raw
	for _, p := range places {
		for int(p)-begin >= s[last] {
			begin += s[last]
			for i := last - 1; i >= 0; i-- {
				if row[i]++; row[i] < s[i] {
					break
				}
				row[i] = 0
			}
		}
		for _, i := range row {
			binary.LittleEndian.PutUint64(to, uint64(i))
			to = to[8:]
		}
		binary.LittleEndian.PutUint64(to, uint64(int(p)-begin))
		to = to[8:]
	}
	return raw
}

// places are the flat positions of the elements that are not 0.
func (t *Tensor) places(ctx context.Context, host *scratch) ([]int32, error) {
	if t.Numel() > math.MaxInt32 {
		fail("NonZero", shapes(t.shape()), "positions do not fit into int32")
	}
	on, err := t.like(t.truth()).bytesIn(ctx, host.bytes)
	if err != nil {
		return nil, err
	}
	return placesOf(on, host.ints(len(on)-bytes.Count(on, []byte{0}))), nil
}

// placesOf writes the places of the bytes that are not 0. Each place is written, and the next one over it unless the byte counts, as branches on
// random bytes are guessed wrong.
func placesOf(on []byte, out []int32) []int32 {
	for i, k := 0, 0; k < len(out); {
		if i+8 <= len(on) && binary.LittleEndian.Uint64(on[i:]) == 0 {
			i += 8
			continue
		}
		for end := min(i+8, len(on)); i < end && k < len(out); i++ {
			out[k] = int32(i)
			k += oneIf(on[i] != 0)
		}
	}
	return out
}

// oneIf is 1 where b is true, without a branch.
func oneIf(b bool) int {
	var n int
	if b {
		n = 1
	}
	return n
}

// MaskedSelect gives the elements of t where the mask is true, in order, as a list. Both broadcast.
func (t *Tensor) MaskedSelect(ctx context.Context, mask *Tensor) (*Tensor, error) {
	if mask.DType() != dtype.Bool {
		failType("MaskedSelect", []dtype.DType{mask.DType()}, "the mask must be bool")
	}
	both := Broadcast(t, mask)
	var host scratch
	defer host.free()
	places, err := both[1].places(ctx, &host)
	if err != nil {
		return nil, err
	}
	return both[0].Flatten().gather(0, places), nil
}

// NonZeroSized is NonZero for a number of places that is known before, so that nothing is read: the places of the first size elements
// that are not 0, and rows of fill after them, int64 [size, rank].
func (t *Tensor) NonZeroSized(size, fill int) *Tensor {
	places, found := t.firstPlaces("NonZeroSized", size)
	s := t.shape()
	checkParts("NonZeroSized", s, len(s))
	columns := make([]*Tensor, len(s))
	for i, n := range slices.Backward(s) {
		columns[i] = found.Where(places.Mod(max(n, 1)), fill).To(dtype.I64)
		places = places.FloorDiv(max(n, 1))
	}
	if len(s) == 0 {
		return t.like(Full(0, dtype.I64, size, 0).node())
	}
	return Stack(1, columns...)
}

// MaskedSelectSized is MaskedSelect for a number of elements that is known before, so that nothing is read: the first size elements of
// t where the mask is true, in order, and fill after them. Both broadcast.
func (t *Tensor) MaskedSelectSized(mask *Tensor, size int, fill any) *Tensor {
	if mask.DType() != dtype.Bool {
		failType("MaskedSelectSized", []dtype.DType{mask.DType()}, "the mask must be bool")
	}
	both := Broadcast(t, mask)
	places, found := both[1].firstPlaces("MaskedSelectSized", size)
	picked := newTensor(both[0].node().Reshape(both[0].Numel()).Gather(places.node(), 0), commonEngine("MaskedSelectSized", t, mask))
	return picked.MaskedFill(found.LogicalNot(), fill)
}

// firstPlaces are the flat positions (int32) of the first n elements that are not 0, and whether there are so many.
func (t *Tensor) firstPlaces(op string, n int) (places, found *Tensor) {
	checkSizes(op, []int{n})
	if t.Numel() > math.MaxInt32 {
		fail(op, shapes(t.shape()), "positions do not fit into int32")
	}
	all := t.Numel()
	truth := t.like(t.truth().Reshape(all))
	if float64(n)*math.Log2(float64(max(all, 1))) < float64(all) { // a few are searched for
		places = truth.CumSum(0).SearchSorted(arange(n).Add(1), false)
		return places, places.Lt(all)
	}
	places = truth.ArgSort(0, true)
	places = places.like(extend(cut(places.node(), 0, 0, min(n, all)), 0, 0, max(n-all, 0)))
	return places, arange(n).Lt(truth.Sum())
}

// BinCount counts how often each of 0, 1, 2, … stands in a list, or, with weights, adds up their weights (float32, others as
// float64). The result has at least least elements, and as many as the largest number needs.
func (t *Tensor) BinCount(ctx context.Context, weights *Tensor, least int) (*Tensor, error) {
	checkIndex("BinCount", t)
	if least < 0 {
		failArg("BinCount", "at least %d elements", least)
	}
	if t.Rank() != 1 || weights != nil && !weights.shape().Equal(t.shape()) {
		fail("BinCount", shapes(t.shape()), "needs a list, and weights of the same length")
	}
	if weights == nil {
		t.counts("BinCount", t.Numel(), "count parts of them")
	}
	n := least
	if t.Numel() > 0 {
		ends, err := Data[int64](ctx, Stack(0, t.Max(), t.Min()).To(dtype.I64))
		if err != nil {
			return nil, err
		}
		if ends[1] < 0 {
			failArg("BinCount", "the list holds %d; only numbers from 0 on can be counted", ends[1])
		}
		n = max(n, int(ends[0])+1)
	}
	if weights == nil {
		return Full(0, dtype.I32, n).mergeInside(0, t, 1, MergeSum, true), nil
	}
	if weights.DType() != dtype.F32 {
		weights = weights.To(dtype.F64)
	}
	return Full(0, weights.DType(), n).mergeInside(0, t, weights, MergeSum, true), nil
}

// OneHot makes a new last axis of n elements, 1 (int32) at the number that stands in t and 0 elsewhere. A number outside is a
// *ValueError when the result is read. OneHotMax finds n.
func (t *Tensor) OneHot(n int) *Tensor {
	t = wideIndex("OneHot", t)
	if n < 0 || n == 0 && t.Numel() > 0 {
		failArg("OneHot", "%d classes", n)
	}
	t = t.like(within("OneHot", "class", t.node(), 0, n, fmt.Sprintf("%d classes", n)))
	return t.Unsqueeze(-1).Eq(arange(n).To(t.DType())).To(dtype.I32)
}

// OneHotMax is OneHot with as many elements as the largest number needs, which it reads at once.
func (t *Tensor) OneHotMax(ctx context.Context) (*Tensor, error) {
	checkIndex("OneHotMax", t)
	if t.Numel() == 0 {
		fail("OneHotMax", shapes(t.shape()), "an empty tensor has no largest number; name how many classes there are")
	}
	top, err := t.Max().Item(ctx)
	if err != nil {
		return nil, err
	}
	return t.OneHot(max(int(top)+1, 1)), nil
}

// SearchSorted gives, for each value, the place (int32) where it would be inserted into the last axis of t, which is sorted,
// to keep the order: before equal elements, or after them when right is set. t is a list, or has the axes of values but the
// last.
func (t *Tensor) SearchSorted(values *Tensor, right bool) *Tensor {
	d := dtype.Promote(t.DType(), values.DType())
	s := values.shape()
	if t.Rank() < 1 || t.Rank() > 1 && (values.Rank() != t.Rank() || !slices.Equal(s[:len(s)-1], t.shape()[:t.Rank()-1])) {
		fail("SearchSorted", shapesOf(t, values), "needs a list, or the same axes but the last")
	}
	key, v := sortKey(t.node().Cast(d), false), sortKey(values.node().Cast(d), false)
	n := t.Dim(-1)
	t.counts("SearchSorted", n, "search in parts of them")
	if t.Rank() == 1 {
		v = v.Reshape(s.Numel())
	}
	last := len(v.Shape()) - 1
	isBefore := func(e, v *uop.UOp) *uop.UOp {
		if right {
			return v.Less(e).Not()
		}
		return e.Less(v)
	}
	if n <= countBlock { // sooner than one place after the other is looked at
		wide := append(slices.Clone(v.Shape()), n)
		all := slices.Insert(slices.Clone(key.Shape()), last, 1)
		it := v.Reshape(append(slices.Clone(v.Shape()), 1)...)
		count := isBefore(spread(key.Reshape(all...), wide), spread(it, wide)).Cast(dtype.I32).Reduce(uop.Sum, last+1)
		return newTensor(count.Reshape(s...), commonEngine("SearchSorted", t, values))
	}
	count := countBefore(key, v, isBefore)
	return newTensor(count.Reshape(s...), commonEngine("SearchSorted", t, values))
}

// countBefore searches the last axis of key, which is sorted, for how many elements come before each of v, by powers of two.
func countBefore(key, v *uop.UOp, isBefore func(e, v *uop.UOp) *uop.UOp) *uop.UOp {
	last := len(key.Shape()) - 1
	n := key.Shape()[last]
	count := spread(uop.NewInt(dtype.I32, 0), v.Shape())
	step := 1
	for step <= n/2 {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		probe := count.Add(count.Int(step))
		e := key.Gather(probe.Sub(probe.Int(1)), last)
		count = atMost(probe, probe.Int(n)).And(isBefore(e, v)).Where(probe, count)
	}
	return count
}

// orderedSet is how many elements, and as many of those looked for, make it worth bringing a set into order.
const orderedSet = 512

// IsIn is true where an element of t is among those of set.
func (t *Tensor) IsIn(set *Tensor) *Tensor {
	set = set.Flatten()
	n, varies := set.room().Numel(), t.given().Sizes() != nil || set.given().Sizes() != nil
	if n < orderedSet || t.room().Numel() < orderedSet || varies || t.mayBeCut() || set.mayBeCut() {
		return t.Unsqueeze(-1).Eq(set).Any(-1)
	}
	d := dtype.Promote(t.DType(), set.DType())
	x := t.To(d)
	ordered, _ := set.To(d).Sort(0, false)
	ordered = ordered.Contiguous()
	at := ordered.SearchSorted(x, false).Minimum(n - 1)
	return ordered.like(ordered.node().Gather(at.Flatten().node(), 0)).Reshape(t.Shape()...).Eq(x)
}

// Histogram counts the elements of t between neighbouring edges, the last edge included: a list of t's type, one
// shorter than edges. weights, of t's shape or nil, are added up instead.
func (t *Tensor) Histogram(edges, weights *Tensor) *Tensor {
	if edges.Rank() != 1 || edges.Numel() < 2 || weights != nil && !weights.shape().Equal(t.shape()) {
		fail("Histogram", shapesOf(t, edges), "needs a list of at least two edges, and weights of the same shape")
	}
	n := edges.Numel() - 1
	x := t.Flatten()
	bin := edges.SearchSorted(x, true).Sub(1)
	bin = x.Eq(edges.Select(0, n)).Where(n-1, bin)
	bin = x.IsNaN().Where(-1, bin).Contiguous() // by all threads; one adds up
	zero := Full(0, t.DType(), n)
	if weights == nil {
		return zero.mergeInside(0, bin, 1, MergeSum, true)
	}
	return zero.mergeInside(0, bin, weights.Flatten(), MergeSum, true)
}

// HistogramEdges are n+1 evenly spaced edges from lo to hi, or, where both are equal, over the range of t's
// elements; of a range without width one half (or, when wide, one) to either side.
func (t *Tensor) HistogramEdges(n int, lo, hi float64, wide bool) *Tensor {
	if n < 1 || hi < lo {
		failArg("HistogramEdges", "%d bins from %v to %v", n, lo, hi)
	}
	margin := 0.5
	if wide {
		margin = 1
	}
	if lo == hi && t.Numel() == 0 {
		hi++ // nothing has no ends
	}
	a, b := Full(lo, t.DType()), Full(hi, t.DType())
	if lo == hi && t.Numel() > 0 {
		a, b = t.Min(), t.Max()
	}
	same := a.Eq(b)
	a, b = same.Where(a.Sub(margin), a), same.Where(b.Add(margin), b)
	i := arange(n + 1)
	step := b.Sub(a).Div(n)
	up, down := i.To(t.DType()).Mul(step).Add(a), b.Sub(i.RSub(n).To(t.DType()).Mul(step))
	return i.Mul(2).Lt(n+1).Where(up, down)
}
