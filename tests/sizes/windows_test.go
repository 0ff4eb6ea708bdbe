package sizes

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func conv(g *generator) {
	v, ok := g.pick(func(v value) bool { return isFloat(v) && len(v.dims) == 3 && v.mag < 20 })
	if !ok {
		return
	}
	n, c, s := v.dims[0], v.dims[1], v.dims[2]
	k, o := 1+g.IntN(3), number(1+g.IntN(4))
	if g.IntN(5) == 0 {
		o = g.size()
	}
	padding := g.IntN(2) * (k - 1)
	length, stride := s.plus(number(2*padding-k+1)), 1
	if half, ok := s.over(2); ok && g.IntN(2) == 0 {
		length, stride = half.plus(number(padding-(k+1)/2+1)), 2
	}
	w := []dim{o, c, number(k)}
	dims := []dim{n, o, length}
	if length.least() < 1 || !small(w) || !small(dims) {
		return
	}
	f := g.leafOf(w, dtype.F32)
	g.add("Conv", []value{v, f}, fmt.Sprint("padding ", padding, ", stride ", stride), product(v, f, float64(c.most()*k), dims), func(_ *env, in []T) T { return in[0].Conv(in[1], nil, tensor.Conv{Padding: padding, Stride: stride}) })
}

func pool(g *generator) {
	v, ok := g.pick(func(v value) bool { return isFloat(v) && len(v.dims) == 3 })
	if !ok {
		return
	}
	s := v.dims[2]
	dims := slices.Clone(v.dims)
	p := tensor.Pool{Size: []int{2}, Axes: 1}
	if h, ok := s.over(2); ok && g.IntN(2) == 0 {
		dims[2] = h
	} else {
		p.Stride = []int{1}
		dims[2] = s.plus(number(-1))
	}
	if dims[2].least() < 1 {
		return
	}
	if g.IntN(2) == 0 {
		g.add("MaxPool", []value{v}, fmt.Sprint(p.Stride), moved(v, dims...), func(_ *env, in []T) T { return in[0].MaxPool(p) })
		return
	}
	g.add("AvgPool", []value{v}, fmt.Sprint(p.Stride), like(v, dims, v.mag, roughly(v, 1, v.mag)), func(_ *env, in []T) T { return in[0].AvgPool(p) })
}

func unfold(g *generator) {
	v, ok := g.any(1)
	if !ok || len(v.dims) >= mostRank {
		return
	}
	a := g.axis(v)
	dims := append(slices.Clone(v.dims), number(2))
	dims[a] = dims[a].plus(number(-1))
	if dims[a].least() < 1 || !small(dims) {
		return
	}
	g.add("Unfold", []value{v}, fmt.Sprint("axis ", a), moved(v, dims...), func(_ *env, in []T) T { return in[0].Unfold(a, 2, 1) })
}

func resize(g *generator) {
	v, ok := g.pick(func(v value) bool { return isFloat(v) && len(v.dims) == 3 })
	if !ok {
		return
	}
	dims := slices.Clone(v.dims)
	d, _ := dims[2].times(number(2))
	if g.IntN(3) == 0 {
		d = g.size()
	}
	dims[2] = d
	if !small(dims) {
		return
	}
	if g.IntN(2) == 0 {
		g.add("ResizeNearest", []value{v}, d.String(), moved(v, dims...), func(e *env, in []T) T { return in[0].Resize([]int{e.at(d)}, tensor.Resize{}) })
		return
	}
	g.add("ResizeLinear", []value{v}, d.String(), like(v, dims, v.mag, roughly(v, 1, 40*v.mag)), func(e *env, in []T) T {
		return in[0].Resize([]int{e.at(d)}, tensor.Resize{Mode: tensor.ResizeLinear})
	})
}
