package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// SamplePadding says what GridSample finds outside the array.
type SamplePadding uint8

// The paddings of GridSample.
const (
	SampleZeros      SamplePadding = 0 // zeros
	SampleBorder     SamplePadding = 1 // the nearest edge
	SampleReflection SamplePadding = 2 // the array mirrored at its edges, again and again
)

// Sample says how GridSample reads. Mode is ResizeLinear, ResizeNearest or (in two dimensions) ResizeCubic. With AlignCorners
// the positions −1 and 1 are the centres of the outer elements, else their outer edges.
type Sample struct {
	Mode         ResizeMode
	Padding      SamplePadding
	AlignCorners bool
}

// GridSample reads t, [n, c, …] with two or three more axes, at the positions grid[n, …, k]: k coordinates from −1 to
// 1, that of the last axis first. The result is [n, c, …] with the grid's sizes.
func (t *Tensor) GridSample(grid *Tensor, o Sample) *Tensor {
	dims := t.Rank() - 2
	if dims < 2 || dims > 3 || grid.Rank() != t.Rank() || grid.Dim(-1) != dims || grid.Dim(0) != t.Dim(0) {
		fail("GridSample", shapesOf(t, grid), "needs [n, c, h, w] and [n, …, 2], or [n, c, d, h, w] and [n, …, 3]")
	}
	if o.Mode == ResizeCubic && dims != 2 {
		fail("GridSample", shapesOf(t, grid), "cubic sampling needs two dimensions")
	}
	x, d := t.wide()
	n := t.Dim(0)
	points := prod(grid.Shape()[1 : grid.Rank()-1])
	g := grid.To(x.DType()).Reshape(n, points, dims)
	p := &sampler{o: o, x: x.Reshape(n, t.Dim(1), prod(t.Shape()[2:])), sizes: t.Shape()[2:]}
	at := make([]*Tensor, dims) // by axis of t
	for i := range dims {
		size := float64(p.sizes[i])
		c := g.Select(-1, dims-1-i).Add(1)
		if o.AlignCorners {
			at[i] = c.Mul((size - 1) / 2)
		} else {
			at[i] = c.Mul(size).Sub(1).Mul(0.5)
		}
	}
	var out *Tensor
	switch o.Mode {
	case ResizeLinear:
		out = p.blend(at, 0, 1, func(part *Tensor, k int) *Tensor {
			if k == 0 {
				return part.RSub(1)
			}
			return part
		})
	case ResizeCubic:
		out = p.blend(at, -1, 2, func(part *Tensor, k int) *Tensor { return part.Sub(k).Abs().keys(-0.75) })
	default:
		nearest := make([]*Tensor, dims)
		for i := range at {
			nearest[i] = p.inside(at[i], i).Round()
		}
		out = p.read(nearest)
	}
	return out.Reshape(append([]int{n, t.Dim(1)}, grid.Shape()[1:grid.Rank()-1]...)...).To(d)
}

// keys is the cubic convolution filter of a distance.
func (t *Tensor) keys(a float64) *Tensor {
	near := t.Mul(a + 2).Sub(a + 3).Mul(t).Mul(t).Add(1)
	far := t.Mul(a).Sub(5 * a).Mul(t).Add(8 * a).Mul(t).Sub(4 * a)
	return t.Le(1).Where(near, t.Lt(2).Where(far, 0))
}

type sampler struct {
	o     Sample
	x     *Tensor // [n, c, elements]
	sizes []int
}

// inside brings coordinates of an axis into the array, as the padding says.
func (p *sampler) inside(at *Tensor, axis int) *Tensor {
	size := float64(p.sizes[axis])
	switch p.o.Padding {
	case SampleBorder:
		return at.HardTanh(0, size-1)
	case SampleReflection:
		lo, span := -0.5, size
		if p.o.AlignCorners {
			lo, span = 0, size-1
		}
		if span == 0 {
			return at.Mul(0)
		}
		away := at.Sub(lo).Abs()
		wide := dtype.Accumulator(at.DType())
		by := func(x *Tensor, v float64) *Tensor {
			return x.like(nearRemainder(x.node().Cast(wide), uop.NewFloat(wide, v)).Cast(x.DType()))
		}
		rest := by(away, span)
		odd := by(away.Div(span).Floor(), 2).Eq(1)
		return odd.Where(rest.RSub(span), rest).Add(lo).HardTanh(0, size-1)
	}
	return at
}

// blend sums the elements from lo to hi around each point, weighted along each axis by the distance.
func (p *sampler) blend(at []*Tensor, lo, hi int, weight func(part *Tensor, k int) *Tensor) *Tensor {
	dims := len(at)
	base, parts := make([]*Tensor, dims), make([]*Tensor, dims)
	for i := range at {
		a := at[i]
		if p.o.Mode != ResizeCubic {
			a = p.inside(a, i)
		}
		base[i] = a.Floor()
		parts[i] = a.Sub(base[i])
	}
	var out *Tensor
	count := hi - lo + 1
	for corner := range int(math.Pow(float64(count), float64(dims))) {
		var w *Tensor
		where := make([]*Tensor, dims)
		for i, c := 0, corner; i < dims; i, c = i+1, c/count {
			k := lo + c%count
			where[i] = base[i].Add(k)
			if p.o.Mode == ResizeCubic {
				where[i] = p.inside(where[i], i)
			}
			if wi := weight(parts[i], k); w == nil {
				w = wi
			} else {
				w = w.Mul(wi)
			}
		}
		v := p.read(where).Mul(w.Unsqueeze(1))
		if out == nil {
			out = v
		} else {
			out = out.Add(v)
		}
	}
	return out
}

// read gives the elements at whole coordinates, zeros outside.
func (p *sampler) read(at []*Tensor) *Tensor {
	var linear, ok *Tensor
	for i, a := range at {
		a = a.Detach()
		in := a.Ge(0).And(a.Le(float64(p.sizes[i] - 1)))
		k := a.To(dtype.I32)
		if i == 0 {
			linear, ok = k, in
		} else {
			linear, ok = linear.Mul(p.sizes[i]).Add(k), ok.And(in)
		}
	}
	index := ok.Where(linear, -1).Unsqueeze(1)
	s := append(slices.Clone(p.x.Shape()[:2]), index.Dim(-1))
	e := commonEngine("GridSample", p.x, index)
	return newTensor(p.x.node().Gather(index.Expand(s...).node(), 2), e)
}

// AffineGrid makes the grid that GridSample needs to apply the maps theta, [n, 2, 3] or [n, 3, 4], to arrays of
// the given sizes [n, c, …].
func AffineGrid(theta *Tensor, sizes []int, alignCorners bool) *Tensor {
	dims := len(sizes) - 2
	if dims < 2 || dims > 3 || theta.Rank() != 3 || theta.Dim(1) != dims || theta.Dim(2) != dims+1 || theta.Dim(0) != sizes[0] {
		fail("AffineGrid", shapes(theta.shape(), sizes), "needs [n, 2, 3] and [n, c, h, w], or [n, 3, 4] and [n, c, d, h, w]")
	}
	if !theta.IsFloat() {
		failType("AffineGrid", []dtype.DType{theta.DType()}, "needs floats")
	}
	axes := make([]*Tensor, dims)
	for i, n := range sizes[2:] {
		edge := 1 - 1/float64(n)
		if alignCorners {
			edge = 1
		}
		if n == 1 {
			edge = 0
		}
		axes[i] = LinspaceOf(theta.DType(), -edge, edge, n)
	}
	grid := Meshgrid(axes...)
	slices.Reverse(grid)
	grid = append(grid, OnesLike(grid[0]))
	points := Stack(-1, grid...).Unsqueeze(0).Unsqueeze(-2) // [1, …, 1, dims+1]
	m := theta.Reshape(slices.Concat(sizes[:1], slices.Repeat([]int{1}, dims), []int{dims, dims + 1})...)
	return m.Mul(points).Sum(-1)
}
