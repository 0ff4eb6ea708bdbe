package large

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// relation says that two expressions have the same elements: the same bits where equal is set, else up to rounding.
type relation struct {
	name  string
	equal bool
	sides func(b *build) (T, T, bool)
}

// alike is a layer that treats the parts of its first axis alike.
func alike(b *build) func(x T) T {
	k := b.size(65)
	w, bias := b.weight(k, k, b.size(129)), b.leaf(k)
	depth := b.IntN(3)
	return func(x T) T {
		x = x.LayerNorm(bias, nil, 1e-3, k).MatMul(w).GELU()
		for range depth {
			x = x.Softmax(-1).Mul(x).CumSum(-1)
		}
		return x.Sub(x.MeanKeep(-1))
	}
}

var relations = []relation{
	{"rows in another order", false, func(b *build) (T, T, bool) {
		f := alike(b)
		n, k := b.size(130), b.leaves[1].Dim(0)
		x := b.leaf(n, k)
		p := make([]float64, n)
		for i, v := range b.Perm(n) {
			p[i] = float64(v)
		}
		k = 0
		index := b.filled(func() float64 { k++; return p[k-1] }, false, n)
		return f(x).IndexSelect(0, index), f(x.IndexSelect(0, index)), true
	}},
	{"a batch and single ones", false, func(b *build) (T, T, bool) {
		f := alike(b)
		n, k := b.size(9), b.leaves[1].Dim(0)
		x := b.leaf(n, 3, k)
		var list []T
		for i := range n {
			list = append(list, f(x.Select(0, i)))
		}
		return f(x), tensor.Stack(0, list...), true
	}},
	{"a convolution is a product of windows", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		n, c, h, w := b.size(5), b.size(33), 3+b.size(33), 3+b.size(33)
		o, k := b.size(65), 1+b.IntN(3)
		if n*c*h*w > most {
			return nil, nil, false
		}
		p := tensor.Conv{Stride: 1 + b.IntN(3), Padding: b.IntN(2), Dilation: 1}
		x, f := b.leaf(n, c, h, w), b.leaf(o, c, k, k)
		y := x.Conv2D(f, nil, p)
		cols := x.Im2Col(tensor.Pool{Size: []int{k, k}, Stride: []int{p.Stride}, Padding: []int{p.Padding}})
		return y, f.Reshape(o, c*k*k).MatMul(cols).Reshape(y.Shape()...), true
	}},
	{"a sum in two steps", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		x := b.leaf(b.shape(3)...)
		return x.Sum(0, 2), x.Sum(2).Sum(0), true
	}},
	{"a sum of parts", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		x := b.leaf(b.shape(2)...)
		a := b.IntN(2)
		c := b.IntN(x.Dim(a) + 1)
		s := x.Split(a, c, x.Dim(a)-c)
		return x.Sum(a), s[0].Sum(a).Add(s[1].Sum(a)), true
	}},
	{"twice as large", false, func(b *build) (T, T, bool) {
		k := b.size(257)
		x, w := b.leaf(b.size(129), k), b.leaf(k, b.size(129))
		return x.Mul(4).MatMul(w), x.MatMul(w).Mul(4), true
	}},
	{"a product in transposed layouts", false, func(b *build) (T, T, bool) {
		k := b.size(257)
		x, w := b.leaf(b.size(129), k), b.leaf(k, b.size(129))
		return x.MatMul(w), w.T().Contiguous().MatMul(x.T().Contiguous()).T(), true
	}},
	{"sorted and put back", true, func(b *build) (T, T, bool) {
		x := b.leaf(b.size(9), b.size(513))
		v, i := x.Sort(1, b.one(2))
		return x, tensor.Zeros(x.Shape()...).Scatter(1, i, v), true
	}},
	{"all of TopK is sorted", true, func(b *build) (T, T, bool) {
		x := b.leaf(b.size(9), b.size(257))
		v, _ := x.TopK(x.Dim(1), 1, true)
		s, _ := x.Sort(1, true)
		return v, s, true
	}},
	{"attention one query at a time", false, func(b *build) (T, T, bool) {
		n, l, d := b.size(5), b.size(33), b.size(65)
		q, k, v := b.leaf(n, 2, l, d), b.leaf(n, 2, l, d), b.leaf(n, 2, l, b.size(33))
		all := tensor.ScaledDotProduct(q, k, v, tensor.Attention{Causal: true})
		var rows []T
		for i := range l {
			rows = append(rows, tensor.ScaledDotProduct(q.Narrow(2, i, 1), k.Narrow(2, 0, i+1), v.Narrow(2, 0, i+1), tensor.Attention{}))
		}
		return all, tensor.Cat(2, rows...), true
	}},
	{"scans are prefix sums", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		n := b.size(1023)
		x := b.leaf(n, b.size(33))
		return x.CumSum(0), tensor.Ones(n, n).Tril(0).MatMul(x), true
	}},
	{"a gather is a one-hot product", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		n, m := b.size(129), b.size(129)
		x, i := b.leaf(n, b.size(65)), b.indices(n, m)
		return x.IndexSelect(0, i), i.Unsqueeze(1).Eq(tensor.Arange(n)).To(dtype.F32).MatMul(x), true
	}},
	{"adding at places is a one-hot product", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		n, m := b.size(129), b.size(513)
		x, i := b.leaf(m, b.size(65)), b.indices(n, m)
		return tensor.Zeros(n, x.Dim(1)).IndexAdd(0, i, x, 1), i.Unsqueeze(0).Eq(tensor.Arange(n).Unsqueeze(1)).To(dtype.F32).MatMul(x), true
	}},
	{"gradient of a convolution is a transposed one", true, func(b *build) (T, T, bool) {
		b.p.exact = true
		n, c, h, o, k := b.size(3), b.size(17), 3+b.size(17), b.size(17), 1+b.IntN(3)
		s := 1 + b.IntN(2)
		x, f := b.leaf(n, c, h, h), b.leaf(o, c, k, k)
		y := x.Conv2D(f, nil, tensor.Conv{Stride: s})
		g := b.leaf(y.Shape()...)
		over := (h - k) % s
		return y.GradWith(g, x)[0], g.ConvTranspose(f, nil, tensor.Conv{Stride: s, OutputPadding: []int{over, over}}), over < s
	}},
	{"moments by two ways", false, func(b *build) (T, T, bool) {
		x := b.leaf(b.size(65), b.size(1023))
		return x.Var(0, 1), x.Square().Mean(1).Sub(x.Mean(1).Square()), true
	}},
}

// Relations hold for any sizes, each side realized alone and both together.
func TestRelations(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	for _, rel := range relations {
		t.Run(rel.name, func(t *testing.T) {
			for seed := *first; seed < *first+uint64(count(3)); seed++ {
				b := newBuild(&program{limit: 4096, elements: 1 << 14, dtype: dtype.F32}, dtype.F32)
				b.place = on(j.engine)
				b.Rand = newRand(seed, rel.name)
				x, y, ok := rel.sides(b)
				if !ok {
					continue
				}
				require.Equal(t, x.Shape(), y.Shape(), "seed %d", seed)
				if b.one(2) {
					require.NoError(t, tensor.Realize(ctx, y, x))
				}
				both, err := read(ctx, []T{x, y})
				require.NoError(t, err)
				compareSides(t, rel, seed, x.Shape(), both[0], both[1])
			}
		})
	}
}

func compareSides(t *testing.T, rel relation, seed uint64, shape []int, x, y []float64) {
	t.Helper()
	size := 0.
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	for i := range x {
		if rel.equal && !(x[i] == y[i]) || !(math.Abs(x[i]-y[i]) <= 2e-5*(math.Abs(x[i])+size)) {
			require.Fail(t, "other elements", "%s, seed %d %v: element %d is %v and %v", rel.name, seed, shape, i, x[i], y[i])
		}
	}
}
