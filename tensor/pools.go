package tensor

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// AdaptiveAvgPool gives the last len(sizes) axes new sizes; each element is the mean of those it covers.
func (t *Tensor) AdaptiveAvgPool(sizes ...int) *Tensor {
	if t.emptied("AdaptiveAvgPool", sizes) {
		return t.like(spread(uop.NewInt(floating(t.DType()), 0), slices.Concat(t.shape()[:t.Rank()-len(sizes)], sizes)))
	}
	return t.Resize(sizes, Resize{Mode: ResizeArea})
}

// AdaptiveMaxPool gives the last len(sizes) axes new sizes; each element is the largest of those it covers. indices
// (int32) count within these axes.
func (t *Tensor) AdaptiveMaxPool(sizes ...int) (values, indices *Tensor) {
	if t.emptied("AdaptiveMaxPool", sizes) {
		s := slices.Concat(t.shape()[:t.Rank()-len(sizes)], sizes)
		return t.like(spread(uop.NewInt(t.DType(), 0), s)), t.like(spread(uop.NewInt(dtype.I32, 0), s))
	}
	lists := make([][][]int, len(sizes))
	for i, n := range sizes {
		in := t.Dim(t.Rank() - len(sizes) + i)
		if in < 1 {
			fail("AdaptiveMaxPool", shapes(t.shape()), "size %d cannot become %d", in, n)
		}
		checkListed("AdaptiveMaxPool", t.shape(), n)
		for j := range n {
			lo, hi := covered(j, in, n)
			lists[i] = append(lists[i], span(lo, hi, 1))
		}
	}
	return t.maxOf(lists)
}

// emptied is whether one of the sizes is 0, and so nothing is left; it refuses sizes that cannot be.
func (t *Tensor) emptied(op string, sizes []int) bool {
	if len(sizes) > t.Rank() {
		fail(op, shapes(t.shape()), "%d sizes for %d axes", len(sizes), t.Rank())
	}
	for i, n := range sizes {
		if n < 0 {
			fail(op, shapes(t.shape()), "size %d cannot become %d", t.Dim(t.Rank()-len(sizes)+i), n)
		}
	}
	return slices.Contains(sizes, 0)
}

// span is lo, lo+step, … below hi.
func span(lo, hi, step int) []int {
	var out []int
	for ; lo < hi; lo += step {
		out = append(out, lo)
	}
	return out
}

// maxOf takes the maximum over boxes of the last axes: lists[i][j] are the indices of axis i that belong to element j. It
// also gives where in these axes the maximum stands; of several the first. NaN wins.
func (t *Tensor) maxOf(lists [][][]int) (values, indices *Tensor) {
	rank := t.Rank() - len(lists)
	lead, in := t.Shape()[:rank], t.Shape()[rank:]
	out := make([]int, len(lists))
	boxes := [][]int32{{0}} // positions in the flattened axes, by element
	for i, l := range lists {
		out[i] = len(l)
		var next [][]int32
		for _, box := range boxes {
			for _, list := range l {
				var b []int32
				for _, at := range box {
					for _, k := range list {
						b = append(b, at*int32(in[i])+int32(k))
					}
				}
				next = append(next, b)
			}
		}
		boxes = next
	}
	width := 0
	for _, b := range boxes {
		width = max(width, len(b))
	}
	var table []int32
	for _, b := range boxes {
		table = append(table, b...)
		table = append(table, slices.Repeat([]int32{-1}, width-len(b))...)
	}
	n, m := len(boxes), prod(lead)
	x := t.Reshape(m, prod(in))
	where := t.ints(table, 1, n*width)
	wide := spread(where.node(), uop.Shape{m, n * width})
	box := x.node().Detach().Gather(wide, 1)
	box = wide.Less(wide.Int(0)).Where(box.Const(uop.Least(box.DType())), box)
	best := argMax(box.Reshape(m, n, width), 2)
	at := wide.Reshape(m, n, width).Gather(best.Reshape(m, n, 1), 2).Reshape(m, n)
	e := commonEngine("MaxPool", t, where)
	v := newTensor(x.node().Gather(at, 1), e)
	s := slices.Concat(lead, out)
	return v.Reshape(s...), newTensor(at, e).Reshape(s...)
}

// MaxUnpool puts each element back where MaxPoolIndex found it, among zeros. Of the sizes that p could have pooled to t's, the
// smallest are taken, or those that are given.
func (t *Tensor) MaxUnpool(indices *Tensor, p Pool, sizes ...int) *Tensor {
	checkIndex("MaxUnpool", indices)
	if !indices.shape().Equal(t.shape()) {
		fail("MaxUnpool", shapesOf(t, indices), "needs indices of the same shape")
	}
	n := p.over("MaxUnpool", t)
	rank := t.Rank() - n
	sizes = p.unpooled(t.Shape()[rank:], sizes)
	return t.scatterFlat(indices, rank, sizes)
}

// unpooled are the sizes before a pool; given ones are checked.
func (p Pool) unpooled(pooled, given []int) []int {
	n := len(pooled)
	at := func(list []int, i, none int) int {
		switch len(list) {
		case 0:
			return none
		case 1:
			return list[0]
		case n:
			return list[i]
		}
		failArg("MaxUnpool", "%d numbers for %d axes", len(list), n)
		return 0
	}
	if len(given) > 0 && len(given) != n {
		failArg("MaxUnpool", "%d sizes for %d axes", len(given), n)
	}
	if p.Same {
		failArg("MaxUnpool", "Same does not say what the sizes were; name the padding")
	}
	lo, hi := bothSides("MaxUnpool", n, p.Padding, 0)
	out := make([]int, n)
	for i, k := range pooled {
		size := at(p.Size, i, 0)
		stride := at(p.Stride, i, size)
		if size < 1 || stride < 1 {
			failArg("MaxUnpool", "windows of %d, %d apart", size, stride)
		}
		if max(size, stride, lo[i], hi[i]) > uop.MaxElements || min(lo[i], hi[i]) < 0 {
			failArg("MaxUnpool", "windows of %d, %d apart, padding %d and %d", size, stride, lo[i], hi[i])
		}
		out[i] = uop.Plus(uop.Times(k-1, stride), size-lo[i]-hi[i])
		if len(given) > 0 {
			if given[i] <= out[i]-stride || given[i] >= out[i]+stride {
				failArg("MaxUnpool", "size %d of axis %d is not between %d and %d", given[i], i, out[i]-stride, out[i]+stride)
			}
			out[i] = given[i]
		}
	}
	checkSizes("MaxUnpool", out)
	return out
}

// scatterFlat writes t's elements at positions in flattened axes of the given sizes.
func (t *Tensor) scatterFlat(indices *Tensor, rank int, sizes []int) *Tensor {
	lead := t.Shape()[:rank]
	m, n, k := prod(lead), prod(sizes), prod(t.Shape()[rank:])
	u := t.node().Reshape(m, k)
	base := spread(u.Int(0), uop.Shape{m, n})
	at := within("MaxUnpool", "index", indices.node().Reshape(m, k), 0, n, fmt.Sprintf("a plane of %d elements", n))
	out := base.Scatter(at, u, 1, uop.Last)
	return newTensor(out, commonEngine("MaxUnpool", t, indices)).Reshape(slices.Concat(lead, sizes)...)
}

// LocalResponseNorm divides by (k + alpha·mean of the squares of size neighbouring channels)^beta; channels are
// axis 1, and there are zeros beyond them.
func (t *Tensor) LocalResponseNorm(size int, alpha, beta, k float64) *Tensor {
	if t.Rank() < 2 || size < 1 {
		fail("LocalResponseNorm", shapes(t.shape()), "needs channels in axis 1 and a size above 0, not %d", size)
	}
	u := t.Square().node()
	n := t.Dim(1)
	before := min(size/2, n) // as far as there are channels
	after := min(size-1-size/2, n)
	sum := t.like(slide(u, 1, window{before + 1 + after, 1, 1, before, n})).Sum(-1)
	return t.Div(sum.Mul(alpha / float64(size)).Add(k).Pow(beta))
}

// SumPool is the sum of each window; padding counts as zeros.
func (t *Tensor) SumPool(p Pool) *Tensor {
	x, d := t.wide()
	u, axes := x.cutInto(p.plan("SumPool", t), 0)
	return t.like(u.Reduce(uop.Sum, axes...).Cast(d))
}

// LpPool is the norm-p length of each window, (Σ tᵖ)^(1/p); windows that run over the end count as if full.
func (t *Tensor) LpPool(norm float64, p Pool) *Tensor {
	size := 1
	for _, w := range p.plan("LpPool", t) {
		size *= w.size
	}
	y := t.Pow(norm).AvgPool(p)
	y = y.Sign().Mul(y.Abs().ReLU()).Mul(size)
	zero := y.Eq(0)
	return zero.Where(0, zero.Where(1, y).Pow(1/norm)).To(y.DType())
}
