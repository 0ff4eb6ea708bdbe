package large

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// pad puts something around a value.
func pad(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 || t.Numel() > most/2 {
		return nothing()
	}
	lo, hi := make([]int, t.Rank()), make([]int, t.Rank())
	mode := tensor.PadMode(b.IntN(4))
	for i := range lo {
		if b.one(2) {
			lo[i], hi[i] = b.IntN(min(9, t.Dim(i))), b.IntN(min(5, t.Dim(i)))
			k := b.number(min(lo[i], hi[i]) + 1)
			lo[i], hi[i] = lo[i]-k, hi[i]+k
			hi[i] = min(hi[i], t.Dim(i)-1)
		}
	}
	if b.one(3) {
		return made(t.PadWith(2-b.number(3), lo, hi), max(2, x.bound))
	}
	return made(t.PadMode(mode, lo, hi), x.bound)
}

// window cuts a value into windows, and perhaps adds them up again.
func window(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	k := min(t.Dim(a), pick(b, 1, 2, 3, 5, 8, 9))
	switch b.IntN(3) {
	case 0:
		if t.Numel()*k <= most {
			return made(t.Unfold(a, k, 1+b.IntN(3)), x.bound)
		}
	case 1:
		if bound := x.bound * float64(k); b.fits(bound) && t.Numel()*k < 4*most {
			return made(t.Unfold(a, k, 1+b.IntN(3)).Sum(-1), bound)
		}
	}
	t = cut(b.ranked(t, 4), 1, 33)
	k = min(3, t.Dim(2), t.Dim(3))
	bound := x.bound * 9
	if t.Numel() > most/9 || !b.fits(bound) {
		return nothing()
	}
	p := tensor.Pool{Size: []int{k, k}, Stride: []int{1 + b.IntN(2)}, Padding: []int{b.IntN(2)}}
	return made(t.Im2Col(p).Fold([]int{t.Dim(2), t.Dim(3)}, p), bound)
}

// movement moves elements only, several times.
func movement(b *build, x value) (value, bool) {
	t := x.t
	for range 1 + b.IntN(4) {
		if t.Rank() == 0 {
			return nothing()
		}
		a := b.IntN(t.Rank())
		n := t.Dim(a)
		switch b.IntN(11) {
		case 0:
			t = t.Permute(b.Perm(t.Rank())...)
		case 1:
			t = t.Flip(a)
		case 2:
			t = t.Roll([]int{b.number(2*n+1) - n}, []int{a})
		case 3:
			if n > 0 {
				k := 1 + b.IntN(n)
				t = t.Narrow(a, b.number(n-k+1), k)
			}
		case 4:
			if n > 2 {
				t = t.At(append(b.span(t, a, 0, n)[:a], tensor.RS(b.IntN(2), tensor.End, 2+b.IntN(2)))...)
			}
		case 5:
			if t.Numel() <= most/3 {
				t = t.RepeatInterleave(1+b.IntN(3), a)
			}
		case 6:
			t = b.refactored(t)
		case 7:
			if t.Numel() <= most/2 {
				counts := make([]int, t.Rank())
				for i := range counts {
					counts[i] = 1
				}
				counts[a] = 2
				t = t.Repeat(counts...)
			}
		case 8:
			t = t.Transpose(a, b.IntN(t.Rank()))
		case 9:
			if n > 1 {
				t = t.At(append(b.span(t, a, 0, n)[:a], tensor.RS(tensor.End, tensor.Begin, -1-b.IntN(2)))...)
			}
		case 10:
			t = t.Contiguous()
		}
	}
	return made(t, x.bound)
}

// refactored has another shape of as many elements.
func (b *build) refactored(t T) T {
	n := t.Numel()
	if n == 0 {
		return t
	}
	shape := make([]int, 1+b.IntN(4))
	for i := range shape {
		shape[i] = 1
	}
	for p := 2; n > 1; p++ {
		if p*p > n {
			p = n
		}
		for ; n%p == 0; n /= p {
			shape[b.IntN(len(shape))] *= p
		}
	}
	return t.Reshape(shape...)
}

// triangle keeps a part of matrices.
func triangle(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() < 2 {
		return nothing()
	}
	switch b.IntN(3) {
	case 0:
		return made(t.Tril(b.number(9)-4), x.bound)
	case 1:
		return made(t.Triu(b.number(9)-4), x.bound)
	}
	return made(t.Diagonal(0), x.bound)
}

// join puts values together and takes them apart.
func join(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 || t.Numel() > most/3 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	s := t.Shape()
	s[a] = b.small(33)
	if n := t.Numel() / max(1, t.Dim(a)) * s[a]; n > most {
		s[a] = 1
	}
	switch b.IntN(4) {
	case 0:
		return made(tensor.Cat(a, t, b.leaf(s...), t.Flip(a)), max(3, x.bound))
	case 1:
		return made(tensor.Stack(a, t, t.Neg(), t.Add(1)), x.bound+1)
	case 2:
		cutAt := b.IntN(t.Dim(a) + 1)
		p := t.Split(a, cutAt, t.Dim(a)-cutAt)
		return made(tensor.Cat(a, p[1], p[0].Mul(2)), 2*x.bound)
	}
	y := b.leaf(s...)
	return made(tensor.Cat(a, y, t).Add(tensor.Cat(a, t, y)), x.bound+3)
}

// reduce sums or finds the largest, over some of the axes.
func reduce(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	axes := b.Perm(t.Rank())[:1+b.IntN(t.Rank())]
	n := 1
	for _, a := range axes {
		n *= t.Dim(a)
	}
	bound := x.bound * float64(n)
	switch k := b.IntN(8); {
	case k < 2 && b.fits(bound):
		if !b.p.exact {
			return made(t.Mean(axes...), 1)
		}
		return made(t.SumOf(b.dtype, axes...), bound)
	case k < 4 && b.fits(2*bound):
		if !b.p.exact {
			return made(t.Sub(t.MeanKeep(axes...)), 1)
		}
		return made(t.Add(t.SumKeep(axes...).To(b.dtype)), 2*bound)
	case k == 4:
		return made(t.Max(axes...), x.bound)
	case k == 5:
		return made(t.Sub(t.MinKeep(axes...)), 2*x.bound)
	case k == 6 && !b.p.exact:
		return made(t.Std(0, axes...).Add(t.NormKeep(2, axes...).Mean()), 1)
	case k == 6 && b.fits(float64(n)):
		return made(t.CountNonZero(axes...).To(b.dtype), float64(n))
	}
	return made(t.Gt(0).Any(axes...).To(b.dtype), 1)
}

// gradient is that of a weighted sum of a value with respect to leaves.
func gradient(b *build, x value) (value, bool) {
	if !x.t.IsFloat() || b.p.exact && b.p.dtype != dtype.F32 && b.p.dtype != dtype.F64 {
		return nothing()
	}
	var to []T
	for _, l := range b.leaves {
		if l.IsFloat() {
			to = append(to, l)
		}
	}
	if len(to) == 0 {
		return nothing()
	}
	w := pick(b, to...)
	if b.p.exact { // sums of small whole numbers: of one layer's gradient these are exact
		return nothing()
	}
	seed := b.leaf(x.t.Shape()...)
	if b.one(2) {
		return made(x.t.Mul(seed).Mean().Grad(w)[0].Mul(float64(max(1, x.t.Numel()))).Clamp(-1e4, 1e4), 1)
	}
	return made(x.t.Square().GradWith(seed, w)[0], 1)
}

// einsum contracts in some order of axes.
func einsum(b *build, x value) (value, bool) {
	t := cut(cut(cut(b.ranked(x.t, 3), 0, 33), 1, 65), 2, 65)
	p, q, r := t.Dim(0), t.Dim(1), t.Dim(2)
	m := b.small(33)
	type form struct {
		text  string
		shape []int
		n     int
	}
	f := pick(b,
		form{"abc,cd->abd", []int{r, m}, r},
		form{"abc,bd->dca", []int{q, m}, q},
		form{"abc,adc->bd", []int{p, m, r}, p * r},
		form{"abc,abc->b", []int{p, q, r}, p * r},
		form{"abc,dab->cd", []int{m, p, q}, p * q},
		form{"abc,cba->ac", []int{r, q, p}, q},
	)
	bound := x.bound * 3 * float64(f.n)
	if !b.fits(bound) {
		return nothing()
	}
	return made(tensor.Einsum(f.text, t, b.weight(f.n, f.shape...)), bound)
}

// signal goes through a Fourier transform and back.
func signal(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	if t.Dim(a) > 600 {
		t = t.Narrow(a, 0, 513)
	}
	f := t.RFFT(-1, a, tensor.Ortho)
	if b.one(2) {
		return made(f.Select(-1, 0), 1)
	}
	return made(f.Mul(0.5).IRFFT(t.Dim(a), a, tensor.Ortho), 1)
}

// resize changes sizes of pictures.
func resize(b *build, x value) (value, bool) {
	t := cut(cut(b.ranked(x.t, 4), 1, 9), 0, 5)
	t = cut(cut(t, 2, 65), 3, 65)
	h, w := b.size(65), b.size(65)
	if t.Dim(0)*t.Dim(1)*h*w > most {
		return nothing()
	}
	mode := pick(b, tensor.ResizeNearest, tensor.ResizeLinear, tensor.ResizeCubic, tensor.ResizeArea, tensor.ResizeNearestExact)
	return made(t.Resize([]int{h, w}, tensor.Resize{Mode: mode, AlignCorners: b.one(2) && (mode == tensor.ResizeLinear || mode == tensor.ResizeCubic)}), 1)
}
