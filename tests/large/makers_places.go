package large

import (
	"github.com/weft-ml/weft/tensor"
)

// scan runs along an axis.
func scan(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	switch b.IntN(5) {
	case 0, 1:
		if bound := x.bound * float64(t.Dim(a)); b.fits(bound) {
			if !b.p.exact {
				return made(t.CumSum(a).Div(float64(t.Dim(a))), 1)
			}
			return made(t.CumSum(a), bound)
		}
	case 2:
		v, i := t.CumMax(a)
		if b.p.exact && b.one(2) && b.fits(float64(t.Dim(a))) {
			return made(i.To(b.dtype), float64(t.Dim(a)))
		}
		return made(v, x.bound)
	case 3:
		if !b.p.exact {
			return made(t.Mul(0.2).Add(1).CumProd(a), 1)
		}
		return made(t.Sign().CumProd(a), 1)
	}
	v, _ := t.CumMin(a)
	return made(v.Flip(a), x.bound)
}

// order sorts, or takes the best.
func order(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	if t.Dim(a) > 600 {
		t = t.Narrow(a, 3, 257)
	}
	n := t.Dim(a)
	switch b.IntN(5) {
	case 0:
		v, i := t.Sort(a, b.one(2))
		if b.p.exact && b.one(2) && b.fits(float64(n)) {
			return made(i.To(b.dtype), float64(n))
		}
		return made(v, x.bound)
	case 1:
		v, _ := t.TopK(1+b.IntN(min(n, 9)), a, b.one(2))
		return made(v, x.bound)
	case 2:
		i := t.ArgSort(a, b.one(2))
		return made(t.Flip(a).Gather(a, i), x.bound)
	case 3:
		v, _ := t.KthValue(1+b.IntN(n), a)
		return made(v, x.bound)
	}
	v, i := t.MaxIndex(a)
	if b.p.exact && b.fits(float64(n)+x.bound) {
		return made(v.Add(i.To(b.dtype)), float64(n)+x.bound)
	}
	return made(v, x.bound)
}

// scatter adds or writes elements at places.
func scatter(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	n := t.Dim(a)
	m := b.small(129)
	shape := t.Shape()
	shape[a] = m
	switch b.IntN(5) {
	case 0:
		if bound := x.bound * float64(n+1); b.fits(bound) {
			zero := tensor.Zeros(shape...).To(t.DType())
			return made(zero.IndexAdd(a, b.indices(m, n), t, 1), bound)
		}
	case 1:
		i := b.indices(m, t.Shape()...)
		if bound := x.bound*float64(n) + 3; b.fits(bound) {
			return made(b.leaf(shape...).To(t.DType()).ScatterAdd(a, i, t), bound)
		}
	case 2:
		if t.Numel() < 20_000 {
			return made(tensor.Zeros(shape...).To(t.DType()).Scatter(a, b.indices(m, t.Shape()...), t), x.bound)
		}
	case 3:
		i := b.indices(m, t.Shape()...)
		return made(tensor.Zeros(shape...).To(t.DType()).ScatterReduce(a, i, t, tensor.MergeMax, b.one(2)), x.bound)
	}
	rows := min(n, 1+b.IntN(4))
	shape[a] = rows
	start := b.number(n - rows + 1)
	return made(t.WithAt(b.leaf(shape...).To(t.DType()), b.span(t, a, start, start+rows)...), max(x.bound, 3))
}

// span is the index of part of an axis.
func (b *build) span(t T, a, from, to int) []any {
	index := make([]any, t.Rank())
	for i := range index {
		index[i] = tensor.All
	}
	index[a] = tensor.R(from, to)
	return index
}

// gather takes elements at places.
func gather(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	n := t.Dim(a)
	m := b.size(129)
	if t.Numel()/n*m > most {
		return nothing()
	}
	shape := t.Shape()
	shape[a] = m
	switch b.IntN(4) {
	case 0:
		return made(t.IndexSelect(a, b.indices(n, m)), x.bound)
	case 1:
		return made(t.Gather(a, b.indices(n, shape...)), x.bound)
	case 2:
		index := make([]any, t.Rank())
		for i := range index {
			index[i] = tensor.All
		}
		index[a] = b.indices(n, m)
		if t.Rank() > 1 && b.one(2) {
			o := (a + 1) % t.Rank()
			index[o] = b.indices(t.Dim(o), m)
		}
		return made(t.At(index...), x.bound)
	}
	back := make([]float64, n)
	for i, p := range b.Perm(n) {
		back[i] = float64(p)
	}
	k := 0
	order := b.filled(func() float64 { k++; return back[k-1] }, false, n)
	return made(t.IndexSelect(a, order).Add(t), 2*x.bound)
}
