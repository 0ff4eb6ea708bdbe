package sizes

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

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
