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

func oneHot(g *generator) {
	v, ok := g.pick(func(v value) bool { return isInt(v) && len(v.dims) < mostRank })
	if !ok {
		return
	}
	n := number(5)
	if g.IntN(3) == 0 {
		n = dim{t: 1, c: 5}
	}
	dims := append(slices.Clone(v.dims), n)
	if !small(dims) {
		return
	}
	g.add("OneHotMod5", []value{v}, n.String(), value{dims: dims, d: dtype.I32, mag: 1}, func(e *env, in []T) T { return in[0].Mod(5).OneHot(e.at(n)) })
}

func indexSelect(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	least := v.dims[a].least()
	if least < 1 {
		return
	}
	n := g.size()
	dims := slices.Clone(v.dims)
	dims[a] = n
	if !small(dims) {
		return
	}
	i := g.indices([]dim{n}, least, g.IntN(4) == 0)
	g.add("IndexSelect", []value{v, i}, fmt.Sprint("axis ", a), moved(v, dims...), func(_ *env, in []T) T { return in[0].IndexSelect(a, in[1]) })
}

func embedding(g *generator) {
	n, w := number(7), number(1+g.IntN(4))
	if g.IntN(4) == 0 {
		n = dim{t: 1, c: 6}
	}
	table := g.leafOf([]dim{n, w}, dtype.F32)
	ids := g.shape()
	if len(ids) >= mostRank || !small(append(ids, w)) {
		return
	}
	i := g.indices(ids, 7, g.IntN(4) == 0)
	g.add("Embedding", []value{table, i}, "", moved(table, append(slices.Clone(ids), w)...), func(_ *env, in []T) T { return in[0].Embedding(in[1], tensor.EmbeddingOptions{}) })
}

func gather(g *generator) {
	v, ok := g.any(1)
	if !ok {
		return
	}
	a := g.axis(v)
	least := v.dims[a].least()
	if least < 1 {
		return
	}
	dims := slices.Clone(v.dims)
	dims[a] = g.size()
	if !small(dims) {
		return
	}
	i := g.indices(dims, least, g.IntN(4) == 0)
	g.add("TakeAlong", []value{v, i}, fmt.Sprint("axis ", a), moved(v, dims...), func(_ *env, in []T) T { return in[0].TakeAlong(a, in[1]) })
}

func sorted(g *generator) {
	v, ok := g.pick(func(v value) bool { return isExact(v) && len(v.dims) > 0 })
	if !ok {
		return
	}
	a := g.axis(v)
	d := v.dims[a]
	if !d.fixed() && g.IntN(3) > 0 {
		return
	}
	text := fmt.Sprint("axis ", a)
	at := value{dims: v.dims, d: dtype.I32, mag: float64(d.most())}
	switch g.IntN(4) {
	case 0:
		g.add("Sort", []value{v}, text, v, func(_ *env, in []T) T { s, _ := in[0].Sort(a, false); return s })
	case 1:
		g.add("ArgSort", []value{v}, text, at, func(_ *env, in []T) T { return in[0].ArgSort(a, true) })
	default:
		k := min(2, d.least())
		if k < 1 {
			return
		}
		dims := slices.Clone(v.dims)
		dims[a] = number(k)
		g.add("TopK", []value{v}, text, moved(v, dims...), func(_ *env, in []T) T { s, _ := in[0].TopK(k, a, true); return s })
	}
}

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
	length := s.plus(number(2*padding - k + 1))
	w := []dim{o, c, number(k)}
	dims := []dim{n, o, length}
	if length.least() < 1 || !small(w) || !small(dims) {
		return
	}
	f := g.leafOf(w, dtype.F32)
	g.add("Conv", []value{v, f}, fmt.Sprint("padding ", padding), product(v, f, float64(c.most()*k), dims), func(_ *env, in []T) T { return in[0].Conv(in[1], nil, tensor.Conv{Padding: padding}) })
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

func scatter(g *generator) {
	v, ok := g.pick(func(v value) bool { return isExact(v) && len(v.dims) > 0 && v.mag < 1000 })
	if !ok {
		return
	}
	a := g.axis(v)
	least := v.dims[a].least()
	if least < 1 {
		return
	}
	src := g.leafOf(v.dims, v.d)
	i := g.indices(v.dims, least, false)
	out := both(v, src, v.dims)
	out.mag = v.mag + src.mag*float64(v.dims[a].most())
	g.add("ScatterAdd", []value{v, src, i}, fmt.Sprint("axis ", a), out, func(_ *env, in []T) T { return in[0].ScatterAdd(a, in[2], in[1]) })
}

func crossEntropy(g *generator) {
	v, ok := g.pick(func(v value) bool {
		return isFloat(v) && len(v.dims) == 2 && v.dims[1].fixed() && v.dims[1].c > 1 && v.mag < 60
	})
	if !ok {
		return
	}
	i := g.indices(v.dims[:1], v.dims[1].c, g.IntN(6) == 0)
	mag := 2*v.mag + 8
	g.add("CrossEntropy", []value{v, i}, "", like(v, nil, mag, roughly(v, 4, 4*mag)), func(_ *env, in []T) T { return in[0].CrossEntropy(in[1]) })
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

// depends says whether a value is made of another.
func (g *generator) depends(id, on int) bool {
	if id == on {
		return true
	}
	if id < on {
		return false
	}
	return slices.ContainsFunc(g.p.steps[id].in, func(i int) bool { return g.depends(i, on) })
}

// loss is a number that depends on a value, tame whatever the value is.
func (g *generator) loss() (value, bool) {
	v, ok := g.float(1)
	if !ok {
		return v, false
	}
	return g.add("Loss", []value{v}, "", like(v, nil, 1, roughly(v, 1, 4)), func(_ *env, in []T) T { return in[0].Tanh().Square().Mean() }), true
}

func grad(g *generator) {
	l, ok := g.loss()
	if !ok {
		return
	}
	w, ok := g.pick(func(w value) bool { return isFloat(w) && w.id != l.id && g.depends(l.id, w.id) })
	if !ok {
		return
	}
	g.add("Grad", []value{l, w}, "", like(w, w.dims, 8, 4000+l.err*8), func(_ *env, in []T) T { return in[0].Grad(in[1])[0] })
}

// assign has a state move against a gradient, or count.
func assign(g *generator) {
	v, ok := g.float(1)
	if !ok || v.mag > 30 {
		return
	}
	k := v.dims[len(v.dims)-1]
	if !k.fixed() || k.c > 8 || len(v.dims) > 3 {
		return
	}
	m := number(1 + g.IntN(3))
	l := &leaf{id: g.leaves, from: -4, n: 9, state: true}
	w := g.leaf(l, value{dims: []dim{k, m}, d: dtype.F32, unit: 0, mag: 4, err: 200})
	y := g.add("MatMul", []value{v, w}, "", product(v, w, float64(k.c), append(slices.Clone(v.dims[:len(v.dims)-1]), m)), func(_ *env, in []T) T { return in[0].MatMul(in[1]) })
	loss := g.add("Loss", []value{y}, "", like(y, nil, 1, roughly(y, 1, 4)), func(_ *env, in []T) T { return in[0].Tanh().Square().Mean() })
	out := w
	out.err = 4000
	g.add("Assign", []value{loss, w}, "", out, func(_ *env, in []T) T {
		return in[1].Assign(in[1].Sub(in[0].Grad(in[1])[0].Mul(0.125)).Clamp(-3, 3))
	})
	g.p.steps[len(g.p.steps)-1].kept = true
}

// write puts zeros into a part of an axis.
func write(g *generator) {
	v, ok := g.any(1)
	if !ok || v.d == dtype.Bool || v.dims[0].least() < 1 {
		return
	}
	at := g.IntN(2) * -1
	g.add("WithAt", []value{v}, fmt.Sprint(at), v, func(_ *env, in []T) T { return in[0].WithAt(0, at) })
}

// table takes as many rows as there are from one that is long enough, as embeddings of positions are taken.
func table(g *generator) {
	n := []dim{{t: 1}, {t: 1, c: 1}, {b: 1}}[g.IntN(3)]
	dims := []dim{number(mostT + 8), number(1 + g.IntN(4))}
	if g.IntN(3) == 0 {
		dims[1] = n
	}
	v := g.leafOf(dims, dtype.F32)
	from := []dim{{}, {}, {c: 3}, {t: -1, c: mostT}}[g.IntN(4)]
	if from.t < 0 {
		n = dim{t: 1}
	}
	out := slices.Clone(dims)
	out[0] = n
	g.add("Narrow", []value{v}, fmt.Sprintf("axis 0, from %v, %v", from, n), moved(v, out...), func(e *env, in []T) T { return in[0].Narrow(0, e.at(from), e.at(n)) })
}

// writeAt puts a row of numbers into a state, at a place that depends on a size.
func writeAt(g *generator) {
	k := number(1 + g.IntN(4))
	n := []dim{{c: 1}, {b: 1}}[g.IntN(2)]
	row := g.leafOf([]dim{n, k}, dtype.F32)
	l := &leaf{id: g.leaves, from: -4, n: 9, state: true}
	w := g.leaf(l, value{dims: []dim{number(mostT + 8), k}, d: dtype.F32, unit: 0.25, mag: 2})
	assign := g.IntN(2) == 0
	name := "WithAt"
	if assign {
		name = "SetAt"
	}
	g.add(name, []value{w, row}, fmt.Sprint("from t, ", n), w, func(e *env, in []T) T {
		r := tensor.R(e.t, e.t+e.at(n))
		if assign {
			return in[0].SetAt(in[1], r)
		}
		return in[0].WithAt(in[1], r)
	})
	g.p.steps[len(g.p.steps)-1].kept = assign
}
