package onnx

import (
	"slices"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// moving is an operator that moves elements without looking at them. Of arrays of strings their numbers are moved.
func moving(f operator) operator {
	return func(c *call) []*Value {
		if !slices.ContainsFunc(c.in, func(v *Value) bool { return v != nil && v.kind == IsTensor && v.elem == String }) {
			return f(c)
		}
		var table []string
		own := *c
		own.in = slices.Clone(c.in)
		for i, v := range c.in {
			if v != nil && v.elem == String {
				list := make([]int64, len(v.strs))
				for j := range list {
					list[j] = int64(len(table) + j)
				}
				table = append(table, v.strs...)
				own.in[i] = intsValue(v.shape, list...)
			}
		}
		outs := f(&own)
		for i, v := range outs {
			c.texts(c.listed(v.shape...), 0)
			list, _ := integersOf(v.elem, c.r.host(v))
			text := make([]string, len(list))
			for j, n := range list {
				if n >= 0 && int(n) < len(table) {
					text[j] = table[n]
				}
			}
			outs[i] = &Value{elem: String, shape: v.shape, strs: text, known: true}
		}
		return outs
	}
}

func identity(c *call) []*Value { return []*Value{c.value(0)} }

func reshape(c *call) []*Value {
	x := c.t(0)
	shape, ok := c.attrInts("shape")
	if c.opset >= 5 {
		shape, ok = c.ints(1), true
	}
	if !ok {
		c.fail("it has no shape")
	}
	return c.one(x.Reshape(c.resolve(x.Shape(), shape, c.attrBool("allowzero", false))...), c.elem(0))
}

// resolve replaces 0 by the old size and −1 by what is left.
func (c *call) resolve(old, shape []int, zeros bool) []int {
	shape = slices.Clone(shape)
	free, n := -1, 1
	for i, d := range shape {
		if d == 0 && !zeros {
			if i >= len(old) {
				c.fail("shape %v keeps axis %d, which %v does not have", shape, i, old)
			}
			d = old[i]
			shape[i] = d
		}
		switch {
		case d == -1 && free < 0:
			free = i
		case d < 0:
			c.fail("there is no shape %v", shape)
		default:
			n *= d
		}
	}
	if free >= 0 {
		if shape[free] = 0; n > 0 {
			if count(old)%n != 0 {
				shape[free] = -1
				c.fail("%v does not become %v", old, shape)
			}
			shape[free] = count(old) / n
		}
	}
	return shape
}

func transpose(c *call) []*Value {
	x := c.t(0)
	perm, ok := c.attrInts("perm")
	if !ok {
		for i := range x.Rank() {
			perm = append(perm, x.Rank()-1-i)
		}
	}
	return c.one(x.Permute(perm...), c.elem(0))
}

// axesOf are axes given as an attribute or, later, as an input.
func (c *call) axesOf(i, since int) (list []int, ok bool) {
	if c.opset < since {
		return c.attrInts("axes")
	}
	if !c.has(i) {
		return nil, false
	}
	return c.ints(i), true
}

func squeeze(c *call) []*Value {
	x := c.t(0)
	axes, ok := c.axesOf(1, 13)
	shape := x.Shape()
	drop := make([]bool, len(shape))
	for i, n := range shape {
		drop[i] = !ok && n == 1
	}
	for _, a := range axes {
		a = c.axis(a, len(shape))
		if shape[a] != 1 {
			c.fail("axis %d of %v is not of size 1", a, shape)
		}
		drop[a] = true
	}
	out := []int{}
	for i, n := range shape {
		if !drop[i] {
			out = append(out, n)
		}
	}
	return c.one(x.Reshape(out...), c.elem(0))
}

func unsqueeze(c *call) []*Value {
	x := c.t(0)
	axes, ok := c.axesOf(1, 13)
	if !ok {
		c.fail("it has no axes")
	}
	rank := x.Rank() + len(axes)
	fresh := make([]bool, rank)
	for _, a := range axes {
		if a = c.axis(a, rank); fresh[a] {
			c.fail("axis %d is named twice", a)
		}
		fresh[a] = true
	}
	old := x.Shape()
	shape := make([]int, rank)
	for i := range shape {
		if shape[i] = 1; !fresh[i] {
			shape[i], old = old[0], old[1:]
		}
	}
	return c.one(x.Reshape(shape...), c.elem(0))
}

func flatten(c *call) []*Value {
	x := c.t(0)
	rows, columns := matrixAt(c, x.Shape(), c.attrInt("axis", 1))
	return c.one(x.Reshape(rows, columns), c.elem(0))
}

func concat(c *call) []*Value {
	list := make([]t, len(c.in))
	for i := range list {
		list[i] = c.t(i)
	}
	if len(list) == 0 {
		c.fail("it has no inputs")
	}
	axis := c.axis(c.attrInt("axis", 1), list[0].Rank())
	if x := amongZeros(axis, list); x != nil {
		return c.one(x, c.elem(0))
	}
	return c.one(tensor.Cat(axis, list...), c.elem(0))
}

// amongZeros is the join of parts of which all but one are the number zero, as masks are laid on a picture: that one with zeros around it, wherever it
// lies, so that all such masks share a plan. Else it is nil. Integers may be sizes, of which a zero is one like others.
func amongZeros(axis int, list []t) (x t) {
	lo, hi := make([]int, list[0].Rank()), make([]int, list[0].Rank())
	across := func(part t) []int { return slices.Delete(part.Shape(), axis, axis+1) }
	for _, part := range list {
		switch {
		case part.DType().IsInt() || part.DType() != list[0].DType() || part.Rank() != list[0].Rank() || !slices.Equal(across(part), across(list[0])): // Cat says what is wrong
			return nil
		case !isZero(part.Node()) && x != nil:
			return nil
		case !isZero(part.Node()):
			x = part
		case x == nil:
			lo[axis] += part.Dim(axis)
		default:
			hi[axis] += part.Dim(axis)
		}
	}
	if x == nil {
		return nil
	}
	return x.Pad(lo, hi)
}

// isZero says that all elements are the constant zero.
func isZero(u *uop.UOp) bool {
	for u.Op().IsMovement() {
		u = u.At(0)
	}
	v, ok := u.ConstValue()
	return ok && uop.ToBits(u.DType(), v) == 0
}

func split(c *call) []*Value {
	x := c.t(0)
	axis := c.axis(c.attrInt("axis", 0), x.Rank())
	sizes, ok := c.attrInts("split")
	if c.opset >= 13 {
		if sizes, ok = nil, c.has(1); ok {
			sizes = c.ints(1)
		}
	}
	if !ok {
		parts := c.attrInt("num_outputs", len(c.node.out))
		if parts < 1 || parts > 1<<20 {
			c.fail("it gives %d parts", parts)
		}
		size := (x.Dim(axis) + parts - 1) / parts
		for left := x.Dim(axis); len(sizes) < parts; left -= sizes[len(sizes)-1] {
			sizes = append(sizes, max(0, min(size, left)))
		}
	}
	var outs []*Value
	for _, part := range x.Split(axis, sizes...) {
		outs = append(outs, c.out(part, c.elem(0)))
	}
	return outs
}

func slice(c *call) []*Value {
	x := c.t(0)
	starts, _ := c.attrInts("starts")
	ends, _ := c.attrInts("ends")
	axes, ok := c.attrInts("axes")
	var steps []int
	if c.opset >= 10 {
		starts, ends = c.ints(1), c.ints(2)
		if ok = c.has(3); ok {
			axes = c.ints(3)
		}
		if c.has(4) {
			steps = c.ints(4)
		}
	}
	if len(starts) != len(ends) || ok && len(axes) != len(starts) || steps != nil && len(steps) != len(starts) {
		c.fail("%d starts, %d ends, %d axes, %d steps", len(starts), len(ends), len(axes), len(steps))
	}
	for i := range starts {
		axis, step := i, 1
		if ok {
			axis = axes[i]
		}
		if steps != nil {
			step = steps[i]
		}
		x = c.sliceAxis(x, c.axis(axis, x.Rank()), starts[i], ends[i], step)
	}
	return c.one(x, c.elem(0))
}

func (c *call) sliceAxis(x t, axis, start, end, step int) t {
	n := x.Dim(axis)
	if start < 0 {
		start += n
	}
	if end < 0 {
		end += n
	}
	switch {
	case step == 0:
		c.fail("a step is 0")
	case step > 0:
		start, end = max(0, min(start, n)), max(0, min(end, n))
	default: // from the mirrored end
		start, end = n-1-max(-1, min(start, n-1)), n-1-max(-1, min(end, n-1))
		x, step = x.Flip(axis), -step
	}
	if end <= start {
		return x.Narrow(axis, 0, 0)
	}
	x = x.Narrow(axis, start, end-start)
	if step == 1 {
		return x
	}
	index := make([]any, axis+1)
	index[axis] = tensor.RS(0, end-start, min(step, end-start))
	return x.At(index...)
}

func expand(c *call) []*Value {
	x := c.t(0)
	return c.one(c.expand(x, c.ints(1)), c.elem(0))
}

// expand broadcasts x and a shape against each other.
func (c *call) expand(x t, to []int) t {
	shape := x.Shape()
	for len(shape) < len(to) {
		shape = append([]int{1}, shape...)
	}
	x = x.Reshape(shape...)
	out := slices.Clone(shape)
	for i := range to {
		at := len(shape) - len(to) + i
		switch {
		case to[i] < 0 || shape[at] != 1 && to[i] != 1 && to[i] != shape[at]:
			c.fail("%v does not broadcast to %v", x.Shape(), to)
		case shape[at] == 1:
			out[at] = to[i]
		}
	}
	return x.Expand(out...)
}

func tile(c *call) []*Value {
	x := c.t(0)
	counts := c.ints(1)
	if len(counts) != x.Rank() {
		c.fail("%d counts for %d axes", len(counts), x.Rank())
	}
	if x.Rank() == 0 {
		return c.one(x, c.elem(0))
	}
	return c.one(x.Repeat(counts...), c.elem(0))
}

func shapeOp(c *call) []*Value {
	s := c.value(0).shape
	from, to := c.attrInt("start", 0), c.attrInt("end", len(s))
	if from < 0 {
		from += len(s)
	}
	if to < 0 {
		to += len(s)
	}
	from, to = max(0, min(from, len(s))), max(0, min(to, len(s)))
	var list []int64
	for _, n := range s[from:max(from, to)] {
		list = append(list, int64(n))
	}
	return []*Value{intsValue([]int{len(list)}, list...)}
}

func sizeOp(c *call) []*Value {
	return []*Value{intsValue([]int{}, int64(count(c.value(0).shape)))}
}

func where(c *call) []*Value {
	return c.one(c.t(0).Where(c.t(1), c.t(2)), c.elem(1))
}

func init() {
	register("", map[string]operator{
		"Identity": identity, "Reshape": bytewise(moving(reshape)), "Transpose": bytewise(moving(transpose)), "Squeeze": bytewise(moving(squeeze)),
		"Unsqueeze": bytewise(moving(unsqueeze)), "Flatten": bytewise(moving(flatten)), "Concat": bytewise(moving(concat)), "Split": bytewise(moving(split)), "Slice": bytewise(moving(slice)),
		"Expand": bytewise(moving(expand)), "Tile": bytewise(moving(tile)), "Shape": shapeOp, "Size": sizeOp, "Where": bytewise(moving(where)),
	})
}
