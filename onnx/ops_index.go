package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// counted is an index whose negative numbers count from the end of an axis of size n.
func counted(index t, n int) t {
	if index.DType().IsUnsigned() {
		return index
	}
	return index.Lt(0).Where(index.Add(n), index)
}

func gather(c *call) []*Value {
	x, index := c.t(0), c.array(1)
	axis := c.axis(c.attrInt("axis", 0), x.Rank())
	shape := slices.Concat(x.Shape()[:axis], index.shape, x.Shape()[axis+1:])
	if c.r.atHand(index) && count(index.shape) == 1 {
		i := c.ints(1)[0]
		if i < 0 {
			i += x.Dim(axis)
		}
		if i < 0 || i >= x.Dim(axis) {
			c.fail("index %d is outside of axis %d of %v", c.ints(1)[0], axis, x.Shape())
		}
		return c.one(x.Narrow(axis, i, 1).Reshape(shape...), c.elem(0))
	}
	if count(shape) == 0 {
		return c.one(c.emptyOf(c.elem(0), shape), c.elem(0))
	}
	if made := index.t; c.r.atHand(index) && count(index.shape) <= mostKnown {
		list, below := make([]int64, count(index.shape)), false
		for k, i := range c.ints(1) {
			if i < 0 {
				i, below = i+x.Dim(axis), true
			}
			if i < 0 || i >= x.Dim(axis) {
				c.fail("index %d is outside of axis %d of %v", c.ints(1)[k], axis, x.Shape())
			}
			list[k] = int64(i)
		}
		if made != nil && !below && leafOf(made.Node()).Op() != uop.Buffer && len(runsOf(list)) > mostRuns && timesEach(list) < 2 {
			return c.one(c.at(x, axis, made), c.elem(0))
		}
		return c.one(c.pick(x, axis, list).Reshape(shape...), c.elem(0))
	}
	return c.one(x.IndexSelect(axis, c.t(1).Flatten().Reshape(count(index.shape))).Reshape(shape...), c.elem(0))
}

// at takes parts of an axis by numbers that are computed and inside of it. What computes them may hold for other sizes too; an array of them would not.
func (c *call) at(x t, axis int, index t) t {
	own := index.Shape()
	before, after := x.Shape()[:axis], x.Shape()[axis+1:]
	ones, wide := slices.Repeat([]int{1}, len(own)-1), own[1:]
	x = x.Reshape(slices.Concat(before, []int{x.Dim(axis)}, ones, after)...).Expand(slices.Concat(before, []int{x.Dim(axis)}, wide, after)...)
	index = index.Reshape(slices.Concat(slices.Repeat([]int{1}, axis), own, slices.Repeat([]int{1}, len(after)))...).Expand(slices.Concat(before, own, after)...)
	return tensor.FromNode(x.Node().Gather(index.Node(), axis), c.r.eng)
}

// mostKnown are the indices of a node that are looked at in the program.
const mostKnown = 1 << 16

// emptyOf is an array without elements.
func (c *call) emptyOf(e Elem, shape []int) t { return c.full(0, e, shape) }

// full is an array of one number.
func (c *call) full(v any, e Elem, shape []int) t {
	return tensor.FromNode(tensor.Full(v, e.DType(), shape...).Node(), c.r.eng)
}

func gatherElements(c *call) []*Value {
	x, index := c.t(0), c.t(1)
	axis := c.axis(c.attrInt("axis", 0), x.Rank())
	if index.Numel() == 0 {
		return c.one(c.emptyOf(c.elem(0), index.Shape()), c.elem(0))
	}
	return c.one(x.Gather(axis, counted(index, x.Dim(axis))), c.elem(0))
}

// flatPlaces turns indices [..., k] into axes of the given sizes to places in the flattened axes, negative ones counted from the end.
func (c *call) flatPlaces(index t, sizes []int) t {
	k := index.Dim(-1)
	lead := index.Shape()[:index.Rank()-1]
	place := c.full(0, Int64, lead)
	for i := range k {
		at := counted(index.Select(-1, i), sizes[i])
		// what lies outside must stay so, in whichever place it would be; as it is where it is all of a place, which an error names then
		bad := at.Lt(0)
		if k > 1 {
			bad = bad.LogicalOr(at.Ge(sizes[i]))
		}
		place = place.Mul(sizes[i]).Add(bad.Where(tensor.FullLike(at, int64(1)<<40), at))
	}
	return place
}

func gatherND(c *call) []*Value {
	x, index := c.t(0), c.t(1)
	b := c.attrInt("batch_dims", 0)
	if b < 0 || index.Rank() == 0 || b >= index.Rank() || b > x.Rank() {
		c.fail("%d batch axes of %v at %v", b, x.Shape(), index.Shape())
	}
	k := index.Dim(-1)
	if k+b > x.Rank() {
		c.fail("indices of %d numbers into %v", k, x.Shape())
	}
	s := x.Shape()
	batch, inner, tail := s[:b], s[b:b+k], s[b+k:]
	lead := index.Shape()[b : index.Rank()-1]
	shape := slices.Concat(batch, lead, tail)
	if count(shape) == 0 {
		return c.one(c.emptyOf(c.elem(0), shape), c.elem(0))
	}
	nb, ni, nt := count(batch), count(inner), count(tail)
	place := c.flatPlaces(index, inner).Reshape(nb, count(lead))
	rows := tensor.ArangeOf(dtype.I64, 0, nb, 1).Reshape(nb, 1).Mul(ni)
	over := place.Ge(ni)
	place = over.Where(tensor.FullLike(place, int64(1)<<40), place.Add(rows))
	out := x.Reshape(nb*ni, nt).IndexSelect(0, place.Reshape(nb*count(lead)))
	return c.one(out.Reshape(shape...), c.elem(0))
}

var mergings = map[string]tensor.Merging{
	"none": tensor.MergeLast, "add": tensor.MergeSum, "mul": tensor.MergeProd, "max": tensor.MergeMax, "min": tensor.MergeMin,
}

func (c *call) merging() tensor.Merging {
	name := c.attrString("reduction", "none")
	m, ok := mergings[name]
	if !ok {
		c.fail("its reduction is %.40q", name)
	}
	return m
}

func scatterElements(c *call) []*Value {
	x, index, updates := c.t(0), c.t(1), c.t(2)
	axis := c.axis(c.attrInt("axis", 0), x.Rank())
	if index.Numel() == 0 {
		return []*Value{c.value(0)}
	}
	return c.one(x.ScatterReduce(axis, counted(index, x.Dim(axis)), updates, c.merging(), true), c.elem(0))
}

func scatterND(c *call) []*Value {
	x, index, updates := c.t(0), c.t(1), c.t(2)
	if index.Rank() == 0 || index.Dim(-1) > x.Rank() {
		c.fail("indices %v into %v", index.Shape(), x.Shape())
	}
	s, k := x.Shape(), index.Dim(-1)
	ni, nt := count(s[:k]), count(s[k:])
	n := count(index.Shape()[:index.Rank()-1])
	if n == 0 || x.Numel() == 0 {
		return []*Value{c.value(0)}
	}
	place := c.flatPlaces(index, s[:k]).Reshape(n, 1).Expand(n, nt)
	out := x.Reshape(ni, nt).ScatterReduce(0, place, updates.Reshape(n, nt), c.merging(), true)
	return c.one(out.Reshape(s...), c.elem(0))
}

// tensorScatter writes the new entries of a cache: update[b, …, i, …] goes to the place write[b] + i of an axis.
func tensorScatter(c *call) []*Value {
	x, update := c.t(0), c.t(1)
	axis := c.axis(c.attrInt("axis", -2), x.Rank())
	if axis == 0 {
		c.fail("its axis is that of the batch")
	}
	n, m := x.Dim(axis), update.Dim(axis)
	place := tensor.ArangeOf(dtype.I64, 0, m, 1).Reshape(c.along(x.Rank(), axis, m)...)
	if c.has(2) {
		place = place.Add(c.t(2).To(dtype.I64).Reshape(c.along(x.Rank(), 0, x.Dim(0))...))
	}
	if c.attrString("mode", "linear") == "circular" {
		place = place.Mod(n)
	}
	return c.one(x.Scatter(axis, place.Expand(update.Shape()...), update), c.elem(0))
}

// along is the shape of a list that lies along an axis.
func (c *call) along(rank, axis, n int) []int {
	s := slices.Repeat([]int{1}, rank)
	s[axis] = n
	return s
}

func nonZero(c *call) []*Value {
	v := c.array(0)
	list := numbersOf(v.elem, c.r.host(v))
	rank := len(v.shape)
	at := make([][]int64, rank)
	n := 0
	for i, x := range list {
		if x == 0 {
			continue
		}
		n++
		for a := rank - 1; a >= 0; a-- {
			at[a] = append(at[a], int64(i%v.shape[a]))
			i /= v.shape[a]
		}
	}
	if rank == 0 {
		return []*Value{intsValue([]int{0, n})}
	}
	return []*Value{intsValue([]int{rank, n}, slices.Concat(at...)...)}
}

func compress(c *call) []*Value {
	x := c.t(0)
	shape := x.Shape()
	axis := 0
	if c.attr("axis") == nil {
		x = x.Reshape(x.Numel())
	} else {
		axis = c.axis(c.attrInt("axis", 0), x.Rank())
	}
	var index []int64
	for i, v := range c.data(1) {
		if v != 0 {
			index = append(index, int64(i))
		}
	}
	if len(index) > 0 && int(index[len(index)-1]) >= x.Dim(axis) {
		c.fail("the condition picks %d of axis %d of %v", index[len(index)-1], axis, shape)
	}
	return c.one(c.pick(x, axis, index), c.elem(0))
}

// mostRuns are the slices that known numbers of an axis may be written as; more of them are a table that is looked up.
const mostRuns = 4

// pick takes parts of an axis by numbers that are known and inside of it: slices, as of a reflected border, where they are few.
func (c *call) pick(x t, axis int, index []int64) t {
	if len(index) == 0 {
		return x.Narrow(axis, 0, 0)
	}
	if list := runsOf(index); len(list) <= mostRuns {
		var parts []t
		for _, r := range list {
			parts = append(parts, r.of(x, axis))
		}
		return tensor.Cat(axis, parts...)
	}
	if n := timesEach(index); n > 1 {
		return x.Narrow(axis, int(index[0]), len(index)/n).RepeatInterleave(n, axis)
	}
	shape := slices.Clone(x.Shape())
	shape[axis] = len(index)
	at := c.r.tensor(intsValue([]int{len(index)}, index...)).Reshape(c.along(x.Rank(), axis, len(index))...).Expand(shape...)
	return tensor.FromNode(x.Node().Gather(at.Node(), axis), c.r.eng) // nothing to be checked
}

// timesEach is how often a list repeats each of its numbers, which follow each other; 0 where it is none of that kind.
func timesEach(index []int64) int {
	n := 1
	for n < len(index) && index[n] == index[0] {
		n++
	}
	if len(index)%n > 0 {
		return 0
	}
	for i, at := range index {
		if at != index[0]+int64(i/n) {
			return 0
		}
	}
	return n
}

// indexRun is n numbers from at on, each greater than the one before by step: 1, −1 or 0.
type indexRun struct{ at, step, n int }

func runsOf(index []int64) (out []indexRun) {
	for _, i := range index {
		if k := len(out) - 1; k >= 0 {
			r, step := &out[k], int(i)-out[k].at-out[k].step*(out[k].n-1)
			if step >= -1 && step <= 1 && (r.n == 1 || r.step == step) {
				r.step = step
				r.n++
				continue
			}
			if len(out) > mostRuns {
				return out
			}
		}
		out = append(out, indexRun{at: int(i), n: 1})
	}
	return out
}

func (r indexRun) of(x t, axis int) t {
	switch {
	case r.n == 1 || r.step == 1:
		return x.Narrow(axis, r.at, r.n)
	case r.step == -1:
		return x.Narrow(axis, r.at-r.n+1, r.n).Flip(axis)
	}
	shape := slices.Clone(x.Shape())
	shape[axis] = r.n
	return x.Narrow(axis, r.at, 1).Expand(shape...)
}

func reverseSequence(c *call) []*Value {
	x := c.t(0)
	time, batch := c.axis(c.attrInt("time_axis", 0), x.Rank()), c.axis(c.attrInt("batch_axis", 1), x.Rank())
	n := x.Dim(time)
	at := tensor.ArangeOf(dtype.I64, 0, n, 1).Reshape(c.along(x.Rank(), time, n)...)
	lens := c.t(1).To(dtype.I64).Reshape(c.along(x.Rank(), batch, x.Dim(batch))...)
	place := at.Lt(lens).Where(lens.Sub(1).Sub(at), at)
	return c.one(x.Gather(time, place.Expand(x.Shape()...)), c.elem(0))
}

func oneHot(c *call) []*Value {
	index, values := c.t(0), c.t(2)
	depth := int(c.float(1))
	rank := index.Rank() + 1
	axis := c.axis(c.attrInt("axis", -1), rank)
	if depth < 0 {
		c.fail("its depth is %d", depth)
	}
	if index.IsFloat() || index.DType().Bits() < 32 { // its type need not hold the depth
		index = index.To(dtype.I64)
	}
	index = counted(index, depth).Unsqueeze(axis)
	hot := index.Eq(tensor.ArangeOf(dtype.I64, 0, depth, 1).To(index.DType()).Reshape(c.along(rank, axis, depth)...))
	off, on := values.Narrow(0, 0, 1).Reshape(), values.Narrow(0, 1, 1).Reshape()
	return c.one(hot.Where(on, off), c.elem(2))
}

func trilu(c *call) []*Value {
	x := c.t(0)
	k := 0
	if c.has(1) {
		k = c.int(1)
	}
	if x.Rank() < 2 {
		c.fail("an array %v is no matrix", x.Shape())
	}
	rows, columns := x.Dim(-2), x.Dim(-1)
	k = max(-rows-1, min(k, columns+1))
	if c.attrBool("upper", true) {
		return c.one(x.Triu(k), c.elem(0))
	}
	return c.one(x.Tril(k), c.elem(0))
}

func init() {
	register("", map[string]operator{
		"Gather": bytewise(moving(gather)), "GatherElements": bytewise(moving(gatherElements)), "GatherND": bytewise(moving(gatherND)),
		"ScatterElements": moving(scatterElements), "Scatter": moving(scatterElements), "ScatterND": moving(scatterND),
		"TensorScatter": tensorScatter, "NonZero": nonZero, "Compress": moving(compress), "ReverseSequence": moving(reverseSequence),
		"OneHot": moving(oneHot), "Trilu": trilu,
	})
}
