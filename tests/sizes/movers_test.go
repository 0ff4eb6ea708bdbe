package sizes

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func permute(g *generator) {
	v, ok := g.any(2)
	if !ok {
		return
	}
	order := g.Perm(len(v.dims))
	dims := make([]dim, len(order))
	for i, o := range order {
		dims[i] = v.dims[o]
	}
	g.add("Permute", []value{v}, fmt.Sprint(order), moved(v, dims...), func(_ *env, in []T) T { return in[0].Permute(order...) })
}

func (g *generator) reshaped(v value, dims []dim) {
	g.add("Reshape", []value{v}, fmt.Sprint(dims), moved(v, dims...), func(e *env, in []T) T { return in[0].Reshape(e.shape(dims)...) })
}

func merge(g *generator) {
	v, ok := g.any(2)
	if !ok {
		return
	}
	i := g.IntN(len(v.dims) - 1)
	d, ok := v.dims[i].times(v.dims[i+1])
	if ok {
		g.reshaped(v, slices.Concat(v.dims[:i], []dim{d}, v.dims[i+2:]))
	}
}

// split divides an axis that is a product.
func split(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	var found [][2]dim
	axis := g.axis(v)
	d := v.dims[axis]
	for _, k := range []int{2, 3, 4, 5} {
		if q, ok := d.over(k); ok && d != (dim{}) {
			found = append(found, [2]dim{number(k), q}, [2]dim{q, number(k)})
		}
	}
	sizes := []dim{{b: 1}, {t: 1}, {t: 1, c: 1}, {t: 2}, {b: 2}, {t: 3}, {t: 1, c: 2}, {t: 2, c: 1}, {t: 1, b: 1}}
	for _, x := range sizes {
		for _, y := range append(sizes, number(2), number(3)) {
			if p, ok := x.times(y); ok && p == d {
				found = append(found, [2]dim{x, y}, [2]dim{y, x})
			}
		}
	}
	if found == nil || len(v.dims) >= mostRank {
		return
	}
	f := found[g.IntN(len(found))]
	g.reshaped(v, slices.Concat(v.dims[:axis], f[:], v.dims[axis+1:]))
}

func unsqueeze(g *generator) {
	v, ok := g.any(0)
	if !ok || len(v.dims) >= mostRank {
		return
	}
	if i := slices.Index(v.dims, number(1)); i >= 0 && g.IntN(2) == 0 {
		g.add("Squeeze", []value{v}, fmt.Sprint(i), moved(v, slices.Delete(slices.Clone(v.dims), i, i+1)...), func(_ *env, in []T) T { return in[0].Squeeze(i) })
		return
	}
	i := g.IntN(len(v.dims) + 1)
	g.add("Unsqueeze", []value{v}, fmt.Sprint(i), moved(v, slices.Insert(slices.Clone(v.dims), i, number(1))...), func(_ *env, in []T) T { return in[0].Unsqueeze(i) })
}

func expand(g *generator) {
	v, ok := g.any(0)
	if !ok {
		return
	}
	dims := slices.Clone(v.dims)
	if i := slices.Index(dims, number(1)); i >= 0 {
		dims[i] = g.size()
	} else {
		dims = append([]dim{g.size()}, dims...)
	}
	if !small(dims) {
		return
	}
	g.add("Expand", []value{v}, fmt.Sprint(dims), moved(v, dims...), func(e *env, in []T) T { return in[0].Expand(e.shape(dims)...) })
}

func flip(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	g.add("Flip", []value{v}, fmt.Sprint("axis ", a), v, func(_ *env, in []T) T { return in[0].Flip(a) })
}

// both is what is known of a value that has elements of two.
func both(v, w value, dims []dim) value {
	out := value{dims: dims, d: v.d, mag: max(v.mag, w.mag), err: max(v.err, w.err)}
	if v.unit > 0 && w.unit > 0 {
		out.unit = min(v.unit, w.unit)
	}
	return out
}

func cat(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	w := v
	if g.IntN(4) > 0 {
		var ok bool
		w, ok = g.pick(func(w value) bool {
			if w.d != v.d || len(w.dims) != len(v.dims) {
				return false
			}
			for i := range w.dims {
				if i != a && w.dims[i] != v.dims[i] {
					return false
				}
			}
			return w.id != v.id
		})
		if !ok {
			if v.d != dtype.F32 && v.d != dtype.I32 && v.d != dtype.Bool {
				return
			}
			row := slices.Clone(v.dims)
			row[a] = []dim{number(1), number(1), number(2), g.size()}[g.IntN(4)]
			w = g.leafOf(row, v.d)
		}
	}
	if g.IntN(2) == 0 {
		v, w = w, v
	}
	dims := slices.Clone(v.dims)
	dims[a] = dims[a].plus(w.dims[a])
	if !small(dims) {
		return
	}
	g.add("Cat", []value{v, w}, fmt.Sprint("axis ", a), both(v, w, dims), func(_ *env, in []T) T { return tensor.Cat(a, in...) })
}

func stack(g *generator) {
	v, ok := g.any(0)
	if !ok || len(v.dims) >= mostRank {
		return
	}
	w, ok := g.pick(func(w value) bool { return w.d == v.d && slices.Equal(w.dims, v.dims) })
	if !ok {
		w = v
	}
	a := g.IntN(len(v.dims) + 1)
	dims := slices.Insert(slices.Clone(v.dims), a, number(2))
	if !small(dims) {
		return
	}
	g.add("Stack", []value{v, w}, fmt.Sprint("axis ", a), both(v, w, dims), func(_ *env, in []T) T { return tensor.Stack(a, in...) })
}

func pad(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	lo, hi := number(g.IntN(3)), number(g.IntN(3))
	if g.IntN(4) == 0 {
		lo = g.size()
	}
	if g.IntN(4) == 0 {
		hi = g.size()
	}
	dims := slices.Clone(v.dims)
	dims[a] = dims[a].plus(lo).plus(hi)
	if !small(dims) {
		return
	}
	with := 0
	if v.d != dtype.Bool && g.IntN(3) == 0 {
		with = 1
	}
	out := moved(v, dims...)
	out.mag = max(out.mag, 1)
	g.add("Pad", []value{v}, fmt.Sprintf("axis %d, %v, %v, with %d", a, lo, hi, with), out, func(e *env, in []T) T {
		l, h := make([]int, len(dims)), make([]int, len(dims))
		l[a], h[a] = e.at(lo), e.at(hi)
		return in[0].PadWith(with, l, h)
	})
}

func narrow(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	d := v.dims[a]
	k := 1 + g.IntN(2)
	less := d.plus(number(-k))
	var start, n dim
	switch g.IntN(7) {
	case 0: // all but the first
		start, n = number(k), less
	case 1: // all but the last
		n = less
	case 2: // the last
		start, n = less, number(k)
	case 3: // the first
		n = number(k)
	case 4: // a half
		h, ok := d.over(2)
		if !ok {
			return
		}
		start, n = number(0), h
		if g.IntN(2) == 0 {
			start = h
		}
	case 5: // as many as there are of something else, or what is left
		part := g.size()
		rest := d.plus(dim{-part.c, -part.b, -part.t, -part.bb, -part.bt, -part.tt})
		if rest.b < 0 || rest.t < 0 || rest.bt < 0 || rest.bb < 0 || rest.tt < 0 {
			return
		}
		start, n = number(0), part
		if g.IntN(2) == 0 {
			start, n = rest, part
		}
	case 6: // inside
		start, n = number(1), d.plus(number(-2))
	}
	if least := n.least(); least < 0 || start.least() < 0 || least == 0 && g.IntN(3) > 0 || start.plus(n).least() > d.least() {
		return
	}
	dims := slices.Clone(v.dims)
	dims[a] = n
	g.add("Narrow", []value{v}, fmt.Sprintf("axis %d, from %v, %v", a, start, n), moved(v, dims...), func(e *env, in []T) T { return in[0].Narrow(a, e.at(start), e.at(n)) })
}

// stepped takes every second element of an axis of even length.
func stepped(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	h, ok := v.dims[a].over(2)
	if !ok || h.least() < 1 {
		return
	}
	dims := slices.Clone(v.dims)
	dims[a] = h
	from := g.IntN(2)
	g.add("EverySecond", []value{v}, fmt.Sprintf("axis %d, from %d", a, from), moved(v, dims...), func(e *env, in []T) T {
		index := make([]any, a+1)
		index[a] = tensor.RS(from, tensor.End, 2)
		return in[0].At(index...)
	})
}

func roll(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	g.add("Roll", []value{v}, fmt.Sprint("axis ", a), v, func(_ *env, in []T) T { return in[0].Roll([]int{1}, []int{a}) })
}

func repeat(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	n := number(2)
	if g.IntN(3) == 0 {
		n = g.size()
	}
	d, ok := v.dims[a].times(n)
	dims := slices.Clone(v.dims)
	dims[a] = d
	if !ok || !small(dims) {
		return
	}
	each := g.IntN(2) == 0
	name := "Repeat"
	if each {
		name = "RepeatInterleave"
	}
	g.add(name, []value{v}, fmt.Sprintf("axis %d, %v", a, n), moved(v, dims...), func(e *env, in []T) T {
		if each {
			return in[0].RepeatInterleave(e.at(n), a)
		}
		counts := slices.Repeat([]int{1}, len(dims))
		counts[a] = e.at(n)
		return in[0].Repeat(counts...)
	})
}

func triangle(g *generator) {
	v, ok := g.pick(func(v value) bool { return isNumber(v) && len(v.dims) >= 2 })
	if !ok {
		return
	}
	k, upper := g.IntN(3)-1, g.IntN(2) == 0
	name := "Tril"
	if upper {
		name = "Triu"
	}
	g.add(name, []value{v}, fmt.Sprint(k), v, func(_ *env, in []T) T {
		if upper {
			return in[0].Triu(k)
		}
		return in[0].Tril(k)
	})
}

// mask puts a number where one place is before another.
func mask(g *generator) {
	v, ok := g.float(2)
	if !ok {
		return
	}
	r := len(v.dims)
	n, m := v.dims[r-2], v.dims[r-1]
	out := v
	out.mag = max(v.mag, 9)
	g.add("CausalMask", []value{v}, "", out, func(e *env, in []T) T {
		i, j := tensor.Arange(e.at(n)).Unsqueeze(1), tensor.Arange(e.at(m)).Unsqueeze(0)
		return j.Le(i).Where(in[0], -9)
	})
}

func diagonal(g *generator) {
	v, ok := g.pick(func(v value) bool { r := len(v.dims); return r >= 2 && v.dims[r-1] == v.dims[r-2] })
	if !ok {
		return
	}
	g.add("Diagonal", []value{v}, "", moved(v, v.dims[:len(v.dims)-1]...), func(_ *env, in []T) T { return in[0].Diagonal(0) })
}

func contiguous(g *generator) {
	if v, ok := g.any(0); ok {
		if g.IntN(2) == 0 {
			g.add("Detach", []value{v}, "", v, func(_ *env, in []T) T { return in[0].Detach() })
			return
		}
		g.add("Contiguous", []value{v}, "", v, func(_ *env, in []T) T { return in[0].Contiguous() })
	}
}
