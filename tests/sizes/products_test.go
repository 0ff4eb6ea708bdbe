package sizes

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// product is what is known of sums of n products.
func product(v, w value, n float64, dims []dim) value {
	out := value{dims: dims, d: v.d, mag: v.mag * w.mag * n}
	out.err = n*(v.err*w.mag+w.err*v.mag) + out.mag
	if v.unit > 0 && w.unit > 0 {
		out.unit = v.unit * w.unit
	}
	return out
}

func matmul(g *generator) {
	v, ok := g.float(1)
	if !ok || v.mag > 20 {
		return
	}
	k := v.dims[len(v.dims)-1]
	w, ok := g.pick(func(w value) bool { return w.d == dtype.F32 && len(w.dims) == 2 && w.dims[0] == k && w.mag < 20 })
	if !ok || g.IntN(2) == 0 {
		dims := []dim{k, g.size()}
		if len(v.dims) >= 3 && g.IntN(2) == 0 {
			dims = append(slices.Clone(v.dims[:len(v.dims)-2]), dims...)
		}
		if !small(dims) {
			return
		}
		w = g.leafOf(dims, dtype.F32)
	}
	out := append(slices.Clone(v.dims[:len(v.dims)-1]), w.dims[len(w.dims)-1])
	if !small(out) {
		return
	}
	g.add("MatMul", []value{v, w}, "", product(v, w, float64(k.most()), out), func(_ *env, in []T) T { return in[0].MatMul(in[1]) })
}

// gram multiplies a value with itself, or one of the same shape, transposed.
func gram(g *generator) {
	v, ok := g.float(2)
	if !ok || v.mag > 20 {
		return
	}
	w, ok := g.pick(func(w value) bool { return w.d == dtype.F32 && slices.Equal(v.dims, w.dims) && w.mag < 20 })
	if !ok {
		w = v
	}
	r := len(v.dims)
	out := append(slices.Clone(v.dims[:r-1]), v.dims[r-2])
	k := v.dims[r-1]
	inner := g.IntN(2) == 0
	if inner {
		out = append(slices.Clone(v.dims[:r-2]), v.dims[r-1], v.dims[r-1])
		k = v.dims[r-2]
	}
	if !small(out) {
		return
	}
	g.add("Gram", []value{v, w}, fmt.Sprint(inner), product(v, w, float64(k.most()), out), func(_ *env, in []T) T {
		if inner {
			return in[0].Transpose(r-2, r-1).MatMul(in[1])
		}
		return in[0].MatMul(in[1].Transpose(r-2, r-1))
	})
}

func einsum(g *generator) {
	v, ok := g.pick(func(v value) bool { return v.d == dtype.F32 && len(v.dims) == 2 && v.mag <= 20 })
	if !ok {
		return
	}
	i, j := v.dims[0], v.dims[1]
	k := g.size()
	type f struct {
		text string
		w    []dim
		out  []dim
		n    dim
	}
	c := []f{{"ij,kj->ik", []dim{k, j}, []dim{i, k}, j}, {"ij,ik->jk", []dim{i, k}, []dim{j, k}, i}, {"ij,j->i", []dim{j}, []dim{i}, j}, {"ij,ij->j", []dim{i, j}, []dim{j}, i},
		{"ij,ik->ijk", []dim{i, k}, []dim{i, j, k}, number(1)}, {"ij,kj->jik", []dim{k, j}, []dim{j, i, k}, number(1)}}[g.IntN(6)]
	if !small(c.w) || !small(c.out) {
		return
	}
	w := g.leafOf(c.w, dtype.F32)
	g.add("Einsum", []value{v, w}, c.text, product(v, w, float64(c.n.most()), c.out), func(_ *env, in []T) T { return tensor.Einsum(c.text, in...) })
}

func attention(g *generator) {
	q, ok := g.float(2)
	if !ok || q.mag > 10 {
		return
	}
	r := len(q.dims)
	m, d := g.size(), q.dims[r-1]
	causal := g.IntN(2) == 0
	if causal || g.IntN(2) == 0 {
		m = q.dims[r-2]
	}
	kd := append(slices.Clone(q.dims[:r-2]), m, d)
	vd := append(slices.Clone(q.dims[:r-2]), m, number(3))
	out := append(slices.Clone(q.dims[:r-1]), number(3))
	scores := append(slices.Clone(q.dims[:r-1]), m)
	if !small(kd) || !small(scores) {
		return
	}
	k, v := g.leafOf(kd, dtype.F32), g.leafOf(vd, dtype.F32)
	s := q.mag * k.mag * math.Sqrt(float64(d.most()))
	g.add("Attention", []value{q, k, v}, fmt.Sprint("causal ", causal), like(q, out, v.mag, roughly(q, 2*k.mag*v.mag*math.Sqrt(float64(d.most())), s*v.mag)), func(_ *env, in []T) T {
		return tensor.ScaledDotProduct(in[0], in[1], in[2], tensor.Attention{Causal: causal})
	})
}
