package tensor

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Gather takes, for each element of index, the element of t at that place of the axis and the same place of the others:
// out[…i…] = t[…index[…i…]…]. index is nowhere larger than t but on the axis. An index outside the axis, negative ones
// too, is a *ValueError when the result is read.
func (t *Tensor) Gather(axis int, index *Tensor) *Tensor {
	axis = t.axis("Gather", axis)
	checkIndex("Gather", index)
	return t.pickInside("Gather", axis, index.like(indexWithin("Gather", index.node(), axis, t.Dim(axis), false)))
}

// pickInside is Gather for an index of which is known that it is inside, or of which what is outside is not used.
func (t *Tensor) pickInside(op string, axis int, index *Tensor) *Tensor {
	axis = t.axis(op, axis)
	u := t.boxOf(op, axis, index)
	return newTensor(u.Gather(index.node(), axis), commonEngine(op, t, index))
}

// boxOf is the part of t that an index along an axis can reach.
func (t *Tensor) boxOf(op string, axis int, index *Tensor) *uop.UOp {
	checkIndex(op, index)
	s := t.room()
	if index.Rank() != len(s) {
		fail(op, shapes(s, index.room()), "the index needs as many axes")
	}
	hi := slices.Clone(index.room())
	for i, n := range hi {
		if i != axis && n > s[i] {
			fail(op, shapes(s, index.room()), "the index is larger on axis %d", i)
		}
	}
	hi[axis] = s[axis]
	return t.node().Shrink(make([]int, len(s)), hi)
}

// Merging says how ScatterReduce merges.
type Merging uint8

// The reductions of ScatterReduce and IndexReduce.
const (
	MergeLast Merging = 0 // the value written last stands
	MergeSum  Merging = 1
	MergeProd Merging = 2
	MergeMean Merging = 3
	MergeMax  Merging = 4
	MergeMin  Merging = 5
)

// Scatter is t with the elements of src at the places that index names on the axis; of several for one place the last
// one stands. src is at least as large as index and may be a number. A place outside the axis, negative ones too, is a
// *ValueError when the result is read.
func (t *Tensor) Scatter(axis int, index *Tensor, src any) *Tensor {
	return t.ScatterReduce(axis, index, src, MergeLast, true)
}

// ScatterAdd adds the elements of src to those of t at the places that index names on the axis.
func (t *Tensor) ScatterAdd(axis int, index *Tensor, src any) *Tensor {
	return t.ScatterReduce(axis, index, src, MergeSum, true)
}

// ScatterReduce merges the elements of src into t at the places that index names on the axis. Without includeSelf the
// elements of t there do not take part. The mean of integers is rounded down.
func (t *Tensor) ScatterReduce(axis int, index *Tensor, src any, how Merging, includeSelf bool) *Tensor {
	axis = t.axis("ScatterReduce", axis)
	checkIndex("ScatterReduce", index)
	index = index.like(indexWithin("ScatterReduce", index.node(), axis, t.Dim(axis), false))
	return t.mergeInside(axis, index, src, how, includeSelf)
}

// mergeInside is ScatterReduce for an index of which is known that it is inside; what is outside is left out.
func (t *Tensor) mergeInside(axis int, index *Tensor, src any, how Merging, includeSelf bool) *Tensor {
	const op = "" // whoever called
	axis = t.axis(op, axis)
	box := t.boxOf(op, axis, index)
	o := toOperand(op, src)
	s := index.shape()
	var value *uop.UOp
	if o.t == nil {
		value = spread(o.as(t.DType()), s)
	} else {
		if o.t.DType() != t.DType() {
			failType(op, []dtype.DType{t.DType(), o.t.DType()}, "the types differ; use To")
		}
		if o.t.Rank() != len(s) {
			fail(op, shapesOf(t, index, o.t), "the source needs as many axes")
		}
		for i, n := range o.shape() {
			if n < s[i] {
				fail(op, shapesOf(t, index, o.t), "the source is smaller than the index on axis %d", i)
			}
		}
		value = o.t.node().Shrink(make([]int, len(s)), s)
	}
	out := scatterInto(box, index.node(), value, axis, how, includeSelf)
	return newTensor(placed(t.node(), out), commonEngine(op, t, index, o.t))
}

// placed puts a changed front part back into u.
func placed(u, part *uop.UOp) *uop.UOp {
	if part.Shape().Equal(u.Shape()) {
		return part
	}
	hi := make([]int, len(u.Shape()))
	in := u.Home().True()
	for i, n := range u.Shape() {
		k := part.Shape()[i]
		hi[i] = n - k
		if k < n {
			pos := alongAxis(uop.NewIota(n), i, u.Shape())
			in = in.And(pos.Less(pos.Int(k)))
		}
	}
	return in.Where(part.Pad(make([]int, len(hi)), hi), u)
}

func scatterInto(base, index, value *uop.UOp, axis int, how Merging, includeSelf bool) *uop.UOp {
	s := base.Shape()
	one := spread(value.Int(1), value.Shape())
	count := func() *uop.UOp { return spread(base.Int(0), s).Scatter(index, one, axis, uop.Sum) }
	neutral := func(v *uop.UOp) *uop.UOp { // in place of the elements that do not take part
		if includeSelf {
			return base
		}
		return count().Equal(base.Int(0)).Where(base, v)
	}
	switch how {
	case MergeSum:
		return neutral(base.Int(0)).Scatter(index, value, axis, uop.Sum)
	case MergeProd:
		return neutral(base.Int(1)).Scatter(index, value, axis, uop.Prod)
	case MergeMean:
		sum, n := neutral(base.Int(0)).Scatter(index, value, axis, uop.Sum), count()
		if includeSelf {
			n = n.Add(n.Int(1))
		}
		n = n.Equal(n.Int(0)).Where(n.Int(1), n)
		if base.DType().IsFloat() {
			return sum.Div(n)
		}
		return sum.IDiv(n)
	case MergeMax:
		return neutral(base.Const(uop.Least(base.DType()))).Scatter(index, value, axis, uop.MaxOf)
	case MergeMin:
		least := mirror(base.Const(uop.Least(base.DType())))
		return mirror(mirror(neutral(least)).Scatter(index, mirror(value), axis, uop.MaxOf))
	}
	return base.Scatter(index, value, axis, uop.Last)
}

// TakeAlong is Gather with t and index broadcast against each other on the other axes. Negative numbers count from the end.
func (t *Tensor) TakeAlong(axis int, index *Tensor) *Tensor {
	axis = t.axis("TakeAlong", axis)
	if index.Rank() != t.Rank() {
		fail("TakeAlong", shapesOf(t, index), "the index needs as many axes")
	}
	checkIndex("TakeAlong", index)
	s := broadcastShape("TakeAlong", with(t.shape(), axis, 1), with(index.shape(), axis, 1))
	wide := t.Expand(with(s, axis, t.Dim(axis))...)
	index = index.like(indexWithin("TakeAlong", index.node(), axis, t.Dim(axis), true))
	return wide.pickInside("TakeAlong", axis, index.Expand(with(s, axis, index.Dim(axis))...))
}

// listIndex spreads a list of indices of an axis over the shape of an array.
func (t *Tensor) listIndex(op string, axis int, index *Tensor, s uop.Shape) *Tensor {
	checkIndex(op, index)
	if index.Rank() > 1 {
		fail(op, shapesOf(t, index), "the index is no list")
	}
	n := index.Numel()
	list := indexWithin(op, index.node().Reshape(n), axis, t.Dim(axis), true)
	return index.like(alongAxis(list, axis, with(s, axis, n)))
}

// IndexSelect takes parts of an axis by a list of indices; negative ones count from the end. One outside is a *ValueError when
// the result is read.
func (t *Tensor) IndexSelect(axis int, index *Tensor) *Tensor {
	axis = t.axis("IndexSelect", axis)
	return t.pickInside("IndexSelect", axis, t.listIndex("IndexSelect", axis, index, t.shape()))
}

// rows are the rows of t, a table, that a list of numbers names, all of which are inside.
func (t *Tensor) rows(list *Tensor) *Tensor {
	n := list.room().Numel()
	return t.pickInside("IndexSelect", 0, list.like(alongAxis(list.node().Reshape(n), 0, with(t.room(), 0, n))))
}

// IndexReduce merges the parts of src into the parts of an axis that a list of indices names (see
// ScatterReduce).
func (t *Tensor) IndexReduce(axis int, index, src *Tensor, how Merging, includeSelf bool) *Tensor {
	axis = t.axis("IndexReduce", axis)
	if src.Rank() == 0 {
		src = src.Reshape(slices.Repeat([]int{1}, t.Rank())...)
	}
	if want := with(t.shape(), axis, index.Numel()); !slices.Equal(want, src.Shape()) {
		fail("IndexReduce", shapesOf(t, index, src), "the source must be %v", want)
	}
	return t.mergeInside(axis, t.listIndex("IndexReduce", axis, index, src.shape()), src, how, includeSelf)
}

// IndexCopy replaces the parts of an axis that a list of indices names by those of src.
func (t *Tensor) IndexCopy(axis int, index, src *Tensor) *Tensor {
	return t.IndexReduce(axis, index, src, MergeLast, true)
}

// IndexAdd adds alpha·src to the parts of an axis that a list of indices names.
func (t *Tensor) IndexAdd(axis int, index, src *Tensor, alpha any) *Tensor {
	return t.IndexReduce(axis, index, src.Mul(alpha).To(t.DType()), MergeSum, true)
}

// IndexFill sets the parts of an axis that a list of indices names to a number or a tensor without axes.
func (t *Tensor) IndexFill(axis int, index *Tensor, v any) *Tensor {
	axis = t.axis("IndexFill", axis)
	o := toOperand("IndexFill", v)
	list := t.listIndex("IndexFill", axis, index, t.shape())
	value := newTensor(spread(o.as(t.DType()), list.shape()), commonEngine("IndexFill", t, o.t))
	return t.mergeInside(axis, list, value, MergeLast, true)
}

// IndexPut writes values where the index tensors of the first axes, broadcast together, point; with add they are
// added, also several to one place.
func (t *Tensor) IndexPut(index []*Tensor, values *Tensor, add bool) *Tensor {
	k := len(index)
	if k == 0 || k > t.Rank() {
		fail("IndexPut", shapes(t.shape()), "%d index tensors", k)
	}
	s := t.shape()
	common := broadcastShape("IndexPut", shapesOf(index...)...)
	linear := spread(uop.NewInt(dtype.I32, 0), common)
	for i, x := range index {
		checkIndex("IndexPut", x)
		u := spread(indexWithin("IndexPut", x.node(), i, s[i], true).Cast(dtype.I32), common)
		linear = linear.Mul(linear.Int(s[i])).Add(u)
	}
	n, rest := common.Numel(), s[k:]
	rows := append(uop.Shape{n}, rest...)
	value := fitTo("IndexPut", values.node().Cast(t.DType()), slices.Concat(common, rest)).Reshape(rows...)
	at := spread(linear.Reshape(append([]int{n}, ones(len(rest))...)...), rows)
	how := uop.Last
	if add {
		how = uop.Sum
	}
	base := t.node().Reshape(append([]int{s[:k].Numel()}, rest...)...)
	out := base.Scatter(at, value, 0, how).Reshape(s...)
	return newTensor(out, commonEngine("IndexPut", append([]*Tensor{t, values}, index...)...))
}

// MaskedScatter puts the elements of src, in order, into the places of t where the mask is true. src needs as
// many elements, else there is a *ValueError when the result is read.
func (t *Tensor) MaskedScatter(mask, src *Tensor) *Tensor {
	if mask.DType() != dtype.Bool || src.DType() != t.DType() {
		failType("MaskedScatter", []dtype.DType{t.DType(), mask.DType(), src.DType()}, "needs a bool mask and a source of the same type")
	}
	both := Broadcast(t, mask)
	x, m := both[0], both[1].Flatten()
	place := m.CumSum(0).Sub(1)
	n := src.Numel()
	if code := outside("MaskedScatter", "element", place.node(), 0, n, "the source", m.node()); code != nil {
		place = place.like(place.node().Check(code, checkOf("MaskedScatter", "element", 0, n, fmt.Sprintf("a source of %d elements", n))))
	}
	v := src.Flatten().pickInside("MaskedScatter", 0, place)
	return m.Where(v, x.Flatten()).Reshape(x.Shape()...)
}

// EmbeddingOptions change how Embedding reads its table; the zero value does not.
type EmbeddingOptions struct {
	Padding     []int   // rows of these numbers get no gradient
	MaxNorm     float64 // longer rows are read as shortened to it, the table stays as it is; 0: no limit
	NormType    float64 // the p of that length; 0: 2
	ScaleByFreq bool    // gradients are divided by how often a row is used
}

// Embedding takes rows of t, a table [n, d], by their numbers: the shape of ids, and d. A number outside, negative ones too, is
// a *ValueError when the result is read.
func (t *Tensor) Embedding(ids *Tensor, o EmbeddingOptions) *Tensor {
	ids = wideIndex("Embedding", ids)
	if t.Rank() != 2 {
		fail("Embedding", shapes(t.room()), "the table needs two axes")
	}
	n := t.Dim(0)
	for _, row := range o.Padding {
		if row < 0 || row >= n {
			failArg("Embedding", "padding row %d of %d; rows count from 0, and an empty list keeps the gradients of all", row, n)
		}
	}
	flat := ids.Reshape(-1)
	flat = flat.like(within("Embedding", "id", flat.node(), 0, n, fmt.Sprintf("a table of %d rows", n)))
	out := t.shortened(o).rows(flat)
	grad := t.rows(flat)
	if o.ScaleByFreq {
		count := Full(0, dtype.I32, n).mergeInside(0, flat, 1, MergeSum, true)
		grad = grad.Div(count.rows(flat).Unsqueeze(1))
	}
	for _, row := range o.Padding {
		grad = flat.Eq(row).Unsqueeze(1).Where(0, grad)
	}
	if o.ScaleByFreq || len(o.Padding) > 0 || o.MaxNorm > 0 {
		out = stated(out, grad)
	}
	sizes := make([]any, ids.Rank(), ids.Rank()+1)
	for i, n := range ids.Sizes() {
		sizes[i] = n
	}
	return out.ReshapeTo(append(sizes, t.sizeAt(1))...)
}

// shortened are the rows with their length limited.
func (t *Tensor) shortened(o EmbeddingOptions) *Tensor {
	if o.MaxNorm <= 0 {
		return t
	}
	p := o.NormType
	if p == 0 {
		p = 2
	}
	length := t.Detach().Norm(p, 1).Unsqueeze(1)
	return length.Gt(o.MaxNorm).Where(t.Mul(length.Add(1e-7).RDiv(o.MaxNorm)), t)
}

// BagMode says how EmbeddingBag merges the rows of a bag.
type BagMode uint8

// The modes of EmbeddingBag.
const (
	BagSum  BagMode = 0
	BagMean BagMode = 1
	BagMax  BagMode = 2
)

// EmbeddingBag merges rows of t, a table [n, d], to one row for each bag. ids is [bags, k], or a list cut into bags that
// begin at offsets: the first at 0, none before another that precedes it. Other offsets are a *ValueError when the result is read. weights, of the
// shape of ids or nil, multiply the rows (BagSum). Rows of the numbers o.Padding do not take part. An empty bag is 0.
func (t *Tensor) EmbeddingBag(ids, offsets, weights *Tensor, mode BagMode, o EmbeddingOptions) *Tensor {
	ids = wideIndex("EmbeddingBag", ids)
	bags := 0
	var bag *Tensor
	switch {
	case ids.Rank() == 2 && offsets == nil:
		bags = ids.Dim(0)
		bag = arange(bags).Unsqueeze(1).Expand(ids.Shape()...).Flatten()
	case ids.Rank() == 1 && offsets != nil && offsets.Rank() == 1:
		offsets = wideIndex("EmbeddingBag", offsets)
		bags = offsets.Dim(0)
		offsets = offsets.ascending(ids.Dim(0))
		begun := offsets.Unsqueeze(0).Le(arange(ids.Dim(0)).Unsqueeze(1))
		bag = begun.To(dtype.I32).Sum(1).Sub(1)
	default:
		fail("EmbeddingBag", shapesOf(t, ids), "needs bags as rows, or a list of numbers and offsets")
	}
	if weights != nil && (mode != BagSum || !weights.shape().Equal(ids.shape())) {
		fail("EmbeddingBag", shapesOf(t, ids, weights), "weights need the shape of the numbers, and BagSum")
	}
	rows := t.Embedding(ids.Flatten(), o)
	if weights != nil {
		rows = rows.Mul(weights.Flatten().Unsqueeze(1))
	}
	for _, row := range o.Padding {
		bag = ids.Flatten().Eq(row).Where(-1, bag)
	}
	at := bag.Unsqueeze(1).Expand(rows.Shape()...)
	zero := Full(0, rows.DType(), bags, t.Dim(1))
	if mode == BagMax {
		return zero.mergeInside(0, at, rows, MergeMax, false)
	}
	sum := zero.mergeInside(0, at, rows, MergeSum, true)
	if mode == BagMean {
		count := Full(0, dtype.I32, bags).mergeInside(0, bag, 1, MergeSum, true)
		sum = sum.Div(count.Maximum(1).Unsqueeze(1))
	}
	return sum
}

// ascending are places in a list of n ids where its bags begin, checked: they begin with 0 and do not fall.
func (t *Tensor) ascending(n int) *Tensor {
	const op = "EmbeddingBag"
	t = t.like(within(op, "offset", t.node(), 0, n+1, fmt.Sprintf("a list of %d ids", n)))
	bags := t.Dim(0)
	if bags == 0 {
		return t
	}
	before := t.Narrow(0, 0, bags-1).Pad([]int{1}, []int{0})
	place := arange(bags)
	wrong := place.Eq(0).Where(t.Ne(0), t.Lt(before))
	first := wrong.Where(place, bags)
	a := uop.CheckArg{Op: asCalled(op), Reason: "the offset at place %d is out of order: the first is 0, and none is less than the one before", At: caller(), Lo: bags, N: bags + 1}
	return t.like(t.node().Check(first.node().OutsideCode(a), a))
}
