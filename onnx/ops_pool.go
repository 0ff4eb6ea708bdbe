package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// pooling is a window with the number of its places on each axis.
type pooling struct {
	window
	in, out []int
}

func (c *call) pooling(x t) pooling {
	size, ok := c.attrInts("kernel_shape")
	if !ok || x.Rank() < 3 {
		c.fail("windows %v over %v", size, x.Shape())
	}
	p := pooling{in: x.Shape()[2:]}
	p.window = c.window(size, p.in)
	for i, n := range p.in {
		if size[i] < 1 || size[i] > 1<<31 {
			c.fail("windows are %v", size)
		}
		reach := p.dilation[i]*(size[i]-1) + 1
		room := n + p.lo[i] + p.hi[i] - reach
		if room < 0 {
			c.fail("windows %v do not fit %v", size, x.Shape())
		}
		out := room/p.stride[i] + 1
		if c.attrBool("ceil_mode", false) && room%p.stride[i] != 0 && out*p.stride[i] < n+p.lo[i] {
			out++ // one that begins inside and runs over the end
		}
		p.out = append(p.out, out)
	}
	return p
}

// padded is x with as much around it as the windows reach.
func (p pooling) padded(x t, v any) t {
	lo, hi := make([]int, len(p.in)), make([]int, len(p.in))
	for i, n := range p.in {
		lo[i] = p.lo[i]
		hi[i] = (p.out[i]-1)*p.stride[i] + p.dilation[i]*(p.size[i]-1) + 1 - n - lo[i]
	}
	return x.PadWith(v, lo, hi)
}

// separable is of how many elements windows are whose maximum is taken along one axis after the other: that reads as many as their sides have together.
const separable = 16

// greatest is the maximum of each window over x, which is padded.
func (p pooling) greatest(x t) t {
	if count(p.size) < separable {
		return x.MaxPool(p.pool())
	}
	for i := len(p.size) - 1; i >= 0; i-- {
		along := pooling{window: window{size: slices.Repeat([]int{1}, len(p.size)), stride: slices.Repeat([]int{1}, len(p.size)), dilation: slices.Repeat([]int{1}, len(p.size))}}
		along.size[i], along.stride[i], along.dilation[i] = p.size[i], p.stride[i], p.dilation[i]
		x = x.MaxPool(along.pool())
	}
	return x
}

func (p pooling) pool() tensor.Pool {
	return tensor.Pool{Size: p.size, Stride: p.stride, Dilation: p.dilation, Axes: len(p.size)}
}

func maxPool(c *call) []*Value {
	x := c.t(0)
	p := c.pooling(x)
	e := c.elem(0)
	lowest := any(math.Inf(-1))
	if !e.isFloat() {
		lo, _ := limits(e)
		lowest = int(lo)
	}
	y := p.padded(x, lowest)
	if len(c.node.out) < 2 || c.node.out[1] == "" {
		return c.one(p.greatest(y), e)
	}
	v, at := y.MaxPoolIndex(p.pool())
	return []*Value{c.out(v, e), c.out(c.places(at.To(dtype.I64), y.Shape()[2:], x.Shape(), p.lo), Int64)}
}

// places turns places among padded axes into places in the whole array x.
func (c *call) places(at t, padded, x, lo []int) t {
	n := len(padded)
	column := c.attrInt("storage_order", 0) == 1
	coords := make([]t, n)
	for i := n - 1; i >= 0; i-- {
		coords[i] = at.Mod(padded[i]).Sub(lo[i])
		at = at.FloorDiv(padded[i])
	}
	order := make([]int, n)
	for i := range order {
		if order[i] = i; column {
			order[i] = n - 1 - i
		}
	}
	var place t
	for _, i := range order {
		if place == nil {
			place = coords[i]
		} else {
			place = place.Mul(x[2+i]).Add(coords[i])
		}
	}
	whole := tensor.ArangeOf(dtype.I64, 0, x[0]*x[1], 1).Mul(count(x[2:]))
	return place.Add(whole.Reshape(append([]int{x[0], x[1]}, slices.Repeat([]int{1}, n)...)...))
}

func averagePool(c *call) []*Value {
	x := wide(c.t(0))
	p := c.pooling(x)
	whole := c.attrBool("count_include_pad", false)
	sum := p.padded(x, 0).SumPool(p.pool())
	counts := tensor.Full(1, x.DType(), slices.Repeat([]int{1}, len(p.in))...)
	for i, n := range p.in {
		c.listed(p.out[i], p.size[i])
		list := make([]float64, p.out[i])
		for o := range list {
			for k := range p.size[i] {
				at := o*p.stride[i] - p.lo[i] + k*p.dilation[i]
				if at >= 0 && at < n || whole && at < n+p.hi[i] {
					list[o]++
				}
			}
		}
		along := &Value{elem: Float32, shape: c.along(len(p.in), i, len(list)), raw: rawOf(dtype.F32, list), known: true}
		counts = counts.Mul(c.r.tensor(along).To(x.DType()))
	}
	return c.one(sum.Div(counts), c.elem(0))
}

func lpPool(c *call) []*Value {
	x := wide(c.t(0))
	p := c.pooling(x)
	norm := float64(c.attrInt("p", 2))
	if c.opset < 2 {
		norm = c.attrFloat("p", 2)
	}
	return c.one(rootOf(p.padded(powerOf(x, norm), 0).SumPool(p.pool()), norm), c.elem(0))
}

func powerOf(x t, p float64) t {
	switch p {
	case 1:
		return x.Abs()
	case 2:
		return x.Mul(x)
	}
	return x.Abs().Pow(p)
}

func rootOf(x t, p float64) t {
	switch p {
	case 1:
		return x
	case 2:
		return x.Sqrt()
	}
	return x.Pow(1 / p)
}

// global is a reduction over all axes after the second.
func global(f func(c *call, x t, axes []int) t) operator {
	return func(c *call) []*Value {
		x := c.t(0)
		axes := []int{}
		for i := 2; i < x.Rank(); i++ {
			axes = append(axes, i)
		}
		if len(axes) == 0 {
			return c.one(x, c.elem(0))
		}
		return c.one(f(c, x, axes), c.elem(0))
	}
}

func maxUnpool(c *call) []*Value {
	x, index := c.t(0), c.t(1)
	size, _ := c.attrInts("kernel_shape")
	in := x.Shape()[2:]
	w := c.window(size, in)
	s := slices.Clone(x.Shape())
	for i, n := range in {
		s[2+i] = (n-1)*w.stride[i] + size[i] - w.lo[i] - w.hi[i]
	}
	out := s
	if c.has(2) {
		if out = c.ints(2); len(out) != len(s) {
			c.fail("its output is to be %v", out)
		}
	}
	flat := c.full(0, c.elem(0), []int{count(s)}).Scatter(0, index.Reshape(x.Numel()), x.Reshape(x.Numel())).Reshape(s...)
	lo, hi := make([]int, len(s)), make([]int, len(s))
	for i := range s {
		hi[i] = c.limited(out[i]) - s[i]
	}
	return c.one(flat.PadWith(0, lo, hi), c.elem(0))
}

// col2Im adds columns back into an image.
func col2Im(c *call) []*Value {
	x := c.t(0)
	image, block := c.ints(1), c.ints(2)
	w := c.window(block, image)
	sizes := slices.Clone(image)
	crop, cut := make([]int, len(image)), make([]int, len(image))
	for i := range sizes {
		sizes[i] += w.lo[i] + w.hi[i]
		crop[i], cut[i] = -w.lo[i], -w.hi[i]
	}
	y := x.Fold(sizes, tensor.Pool{Size: block, Stride: w.stride, Dilation: w.dilation, Axes: len(image)})
	return c.one(y.Pad(crop, cut), c.elem(0))
}

func init() {
	register("", map[string]operator{
		"MaxPool": bytewise(maxPool), "AveragePool": averagePool, "LpPool": lpPool, "MaxUnpool": maxUnpool, "Col2Im": col2Im,
		"GlobalMaxPool":     global(func(_ *call, x t, axes []int) t { return x.MaxKeep(axes...) }),
		"GlobalAveragePool": global(func(_ *call, x t, axes []int) t { return wide(x).MeanKeep(axes...) }),
		"GlobalLpPool": global(func(c *call, x t, axes []int) t {
			p := float64(c.attrInt("p", 2))
			return rootOf(powerOf(wide(x), p).SumKeep(axes...), p)
		}),
	})
}
