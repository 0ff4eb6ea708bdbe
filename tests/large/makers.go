package large

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// maker makes one layer on a value, or says that there is none for it.
type maker struct {
	weight int
	smooth bool // gives no whole numbers
	whole  bool // for whole numbers only
	floats bool // for floats only
	empty  bool // takes values without elements
	make   func(b *build, x value) (value, bool)
}

var makers map[string]maker

func init() {
	makers = map[string]maker{
		"leaf":      {weight: 0, empty: true, make: func(b *build, _ value) (value, bool) { return b.fresh(b.shape(1 + b.IntN(4))...), true }},
		"linear":    {weight: 5, make: linear},
		"square":    {weight: 3, make: square},
		"conv":      {weight: 5, make: convBlock},
		"transpose": {weight: 2, make: convTranspose},
		"pool":      {weight: 3, make: pool},
		"attention": {weight: 5, smooth: true, make: attention},
		"norm":      {weight: 5, smooth: true, make: norm},
		"softmax":   {weight: 4, smooth: true, make: softmax},
		"recurrent": {weight: 2, smooth: true, make: recurrent},
		"experts":   {weight: 2, smooth: true, make: experts},
		"embed":     {weight: 2, make: embed},
		"scan":      {weight: 4, make: scan},
		"order":     {weight: 4, make: order},
		"scatter":   {weight: 4, make: scatter},
		"gather":    {weight: 4, make: gather},
		"pad":       {weight: 4, make: pad},
		"window":    {weight: 3, make: window},
		"move":      {weight: 8, make: movement},
		"chain":     {weight: 6, smooth: true, make: chain},
		"integers":  {weight: 6, whole: true, make: integers},
		"reduce":    {weight: 8, make: reduce},
		"meet":      {weight: 6, make: meet},
		"join":      {weight: 5, make: join},
		"where":     {weight: 4, make: where},
		"gradient":  {weight: 6, floats: true, make: gradient},
		"einsum":    {weight: 3, make: einsum},
		"signal":    {weight: 2, smooth: true, make: signal},
		"resize":    {weight: 2, smooth: true, make: resize},
		"matrices":  {weight: 2, smooth: true, make: matrices},
		"loss":      {weight: 2, smooth: true, make: loss},
		"kmeans":    {weight: 1, smooth: true, make: kmeans},
		"triangle":  {weight: 2, make: triangle},
	}
}

// fresh is a new leaf as a value.
func (b *build) fresh(shape ...int) value {
	k := len(b.leaves)
	return value{b.leaf(shape...), 3, k}
}

// made is a value that is no leaf.
func made(t T, bound float64) (value, bool) { return value{t, bound, -1}, true }

func nothing() (value, bool) { return value{}, false }

// ranked brings a value to so many axes: joins leading ones, or cuts the last.
func (b *build) ranked(x T, rank int) T {
	if x.Rank() > rank {
		x = x.Flatten(0, x.Rank()-rank)
	}
	for x.Rank() < rank {
		a := b.IntN(x.Rank() + 1)
		if a < x.Rank() {
			if f := b.factor(x.Dim(a)); f > 1 && b.one(2) {
				x = x.Unflatten(a, f, x.Dim(a)/f)
				continue
			}
		}
		x = x.Unsqueeze(a)
	}
	return x
}

// factor is a divisor of n.
func (b *build) factor(n int) int {
	for range 6 {
		f := 2 + b.IntN(16)
		if n%f == 0 {
			return f
		}
	}
	return 1
}

// cut keeps at most n of an axis.
func cut(x T, axis, n int) T {
	if x.Dim(axis) > n {
		return x.Narrow(axis, 0, n)
	}
	return x
}

// linear is x·w + b with an activation.
func linear(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	k := t.Dim(-1)
	bound := x.bound*3*float64(k) + 3
	if !b.fits(bound) {
		return nothing()
	}
	n := b.size(min(513, 3*most/max(1, t.Numel()/max(1, k))))
	for n > 1 && t.Numel()*n > 30_000_000 {
		n /= 2
	}
	y := t
	switch b.IntN(3) {
	case 0:
		y = t.MatMul(b.weight(k, k, n))
	case 1:
		y = t.Linear(b.weight(k, n, k), b.leaf(n))
	case 2:
		y = t.MatMul(b.weight(k, n, k).T()).Add(b.leaf(n))
	}
	if b.one(2) {
		y = b.activate(y)
	}
	return made(y, bound)
}

// activate is an activation; in exact programs one that keeps whole numbers.
func (b *build) activate(x T) T {
	if b.p.exact {
		switch b.IntN(3) {
		case 0:
			return x.Maximum(0)
		case 1:
			return x.Abs()
		}
		return x.Clamp(-6, 6)
	}
	switch b.IntN(9) {
	case 0:
		return x.ReLU()
	case 1:
		return x.GELU()
	case 2:
		return x.SiLU()
	case 3:
		return x.Tanh()
	case 4:
		return x.Sigmoid()
	case 5:
		return x.LeakyReLU(0.1)
	case 6:
		return x.Softplus(1)
	case 7:
		return x.ELU(1)
	}
	return x.Mish()
}

// square multiplies a value by its own transpose, or two of the last axes.
func square(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() < 2 {
		return nothing()
	}
	t = cut(cut(t, -1, 300), -2, 200)
	for t.Rank() > 3 {
		t = t.Flatten(0, 1)
	}
	if t.Rank() == 3 {
		t = cut(t, 0, max(1, 20_000_000/(t.Dim(-1)*t.Dim(-2)*t.Dim(-2))))
	}
	bound := x.bound * x.bound * float64(t.Dim(-1))
	if !b.fits(bound) {
		return nothing()
	}
	other := t
	if b.one(3) {
		other = t.Flip(-1).Add(1)
		bound = x.bound * (x.bound + 1) * float64(t.Dim(-1))
	}
	y := t.MatMul(other.T())
	if !b.p.exact {
		y = y.Div(float64(t.Dim(-1)))
	}
	if !b.fits(bound) {
		return nothing()
	}
	return made(y, bound)
}

// meet is a value with another that broadcasts.
func meet(b *build, x value) (value, bool) {
	t := x.t
	y := b.operand(b.other)
	s := t.Shape()
	if !fitting(s, y.t.Shape()) || b.one(2) {
		for i := range s {
			if b.one(2) {
				s[i] = 1
			}
		}
		y = b.fresh(s[b.IntN(len(s)+1):]...)
	}
	switch b.IntN(5) {
	case 0, 1:
		return made(t.Add(y.t), x.bound+y.bound)
	case 2:
		return made(y.t.Sub(t), x.bound+y.bound)
	case 3:
		if b.fits(x.bound * y.bound) {
			return made(t.Mul(y.t), x.bound*y.bound)
		}
	}
	return made(t.Maximum(y.t), math.Max(x.bound, y.bound))
}

// fitting says whether shapes broadcast to no more than a value may have.
func fitting(x, y []int) bool {
	n := 1
	for i := 1; i <= max(len(x), len(y)); i++ {
		p, q := 1, 1
		if i <= len(x) {
			p = x[len(x)-i]
		}
		if i <= len(y) {
			q = y[len(y)-i]
		}
		if p != q && p != 1 && q != 1 {
			return false
		}
		n *= max(p, q)
	}
	return n <= most
}

// chain is elementwise ops one upon the other, of one value used several times.
func chain(b *build, x value) (value, bool) {
	t := x.t
	for range 1 + b.IntN(6) {
		switch b.IntN(10) {
		case 0:
			t = t.Mul(x.t.Sigmoid())
		case 1:
			t = t.Sin().Add(t)
		case 2:
			t = t.Abs().Add(0.5).Log()
		case 3:
			t = t.Square().Add(1).Rsqrt().Mul(t)
		case 4:
			t = t.Tanh().Exp()
		case 5:
			t = t.Div(t.Abs().Add(1))
		case 6:
			t = t.Erf().Add(x.t)
		case 7:
			t = t.Cos().Atan2(x.t.Abs().Add(0.25))
		case 8:
			t = b.activate(t)
		default:
			t = t.RSub(1).Mul(0.5 + 0.25*float64(b.number(5)))
		}
	}
	return made(t, 1)
}

// integers are ops of whole numbers, through other types.
func integers(b *build, x value) (value, bool) {
	t := x.t
	switch b.IntN(7) {
	case 0:
		return made(t.To(dtype.I32).To(b.dtype), x.bound)
	case 1:
		if x.bound < 127 && b.p.dtype != dtype.I8 {
			return made(t.To(dtype.I8).To(b.dtype), x.bound)
		}
	case 2:
		return made(t.Gt(0).To(b.dtype), 1)
	case 3:
		return made(t.Eq(t.Clamp(-1, 1)).To(dtype.I16).To(b.dtype), 1)
	case 4:
		return made(t.Mod(3), 3)
	case 5:
		return made(t.To(dtype.I64).FloorDiv(2).To(b.dtype), x.bound)
	}
	return made(t.Neg().Add(b.number(5)-2), x.bound+2)
}

// where chooses by values or by places.
func where(b *build, x value) (value, bool) {
	t := x.t
	if t.Rank() == 0 {
		return nothing()
	}
	a := b.IntN(t.Rank())
	shape := make([]int, t.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[a] = t.Dim(a)
	grid := tensor.Arange(t.Dim(a)).Reshape(shape...)
	switch b.IntN(4) {
	case 0:
		return made(grid.Lt(b.number(t.Dim(a)+1)).Where(t, t.Neg()), x.bound)
	case 1:
		return made(t.Gt(0).Where(t, b.leaf(t.Dim(-1))), math.Max(3, x.bound))
	case 2:
		return made(grid.Mod(3).Eq(b.number(3)).Where(t, b.number(3)-1), max(1, x.bound))
	}
	return made(t.MaskedFill(b.indices(2, shape...).Eq(1), -1), math.Max(1, x.bound))
}
