package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Transforms of many numbers by butterflies: stages of few terms, each a kernel that computes all sums of the same terms at once.
// The order of indices is that of Stockham's method backwards: a stage multiplies terms that lie apart by powers of a root of one,
// transforms them, and puts the results at equal distances, so that nothing is reversed at the end.

// manyNumbers is from how many numbers on kernels of products take longer than launches and the larger graph.
const manyNumbers = 1 << 14

// leastBehind is how many numbers behind an axis are lanes enough for its butterflies; of fewer the axis is moved to the end.
const leastBehind = 16

// behind is how many numbers lie behind those of an axis.
func (p pair) behind(axis int) int { return uop.Shape(p.re.shape()[axis+1:]).Numel() }

// factors are those of an axis' length by which butterflies transform, or nil where products with matrices are faster: of few numbers, of real
// ones, of which they skip half, of lengths that one small matrix transforms, and of powers of 3, which take too many stages.
func (p pair) factors(axis int) []int {
	n := p.re.Dim(axis)
	f := radices(n)
	threes := 0
	for _, a := range f {
		if a == 3 {
			threes++
		}
	}
	if p.re.Numel() < manyNumbers || p.im == nil || n < 16 && n%4 != 0 && len(f) > 1 || len(f) > 2 && 2*threes > len(f) {
		return nil
	}
	return f
}

// radices are the factors of n by which butterflies transform: 2, 3, 4, 5 and 7; nil where n has others. More terms at once would be
// more than registers hold.
func radices(n int) (out []int) {
	for _, a := range []int{4, 5, 3, 2, 7} {
		for n%a == 0 && n > 1 {
			out, n = append(out, a), n/a
		}
	}
	if n > 1 {
		return nil
	}
	return out
}

// butterflied transforms an axis, without scaling, by the factors of its length. The gradient of a transform is one backwards.
func (p pair) butterflied(axis int, factors []int) pair {
	tables := make([]pair, len(factors))
	for i, done := 1, factors[0]; i < len(factors); i++ {
		tables[i] = twiddles(p.re, factors[i], done, factors[i]*done).each(func(x *Tensor) *Tensor { return x.Unsqueeze(-1) })
		done *= factors[i]
	}
	parts := func(x *Tensor) pair { return pair{x.Select(axis, 0), x.Select(axis, 1)} }
	return parts(Function("FFT", func(in ...*Tensor) []*Tensor {
		return []*Tensor{pair{in[0], in[1]}.butterflies(axis, factors, tables)}
	}, FunctionOptions{Gradient: func(in, out, seeds []*Tensor) []*Tensor {
		g := parts(seeds[0])
		back := parts(pair{g.im, g.re}.butterflies(axis, factors, tables))
		return []*Tensor{back.im, back.re}
	}})(p.re, p.im)[0])
}

// butterflies gives both parts of the transform, in an axis before the transformed one. What lies behind that is transformed side by side, in
// the lanes of each stage.
func (p pair) butterflies(axis int, factors []int, tables []pair) *Tensor {
	shape := p.re.Shape()
	lead, n, behind := shape[:axis:axis], shape[axis], p.behind(axis)
	p = p.each((*Tensor).settled)
	var all *Tensor
	rest, done := 1, n
	for i, a := range factors {
		done /= a
		x := p.each(func(x *Tensor) *Tensor { // as k, r, d
			return x.Reshape(append(lead, rest, a, done*behind)...).Transpose(axis, axis+1)
		})
		if i > 0 {
			x = x.times(tables[i], false)
		}
		y := x.small(axis)
		all = Stack(axis, y.re, y.im).Contiguous().Reshape(append(lead, 2, n*behind)...)
		p = pair{all.Select(axis, 0), all.Select(axis, 1)}
		rest *= a
	}
	return all.Reshape(slices.Concat(lead, []int{2}, shape[axis:])...)
}

// settled is x, which is stored first where it is not yet, or not part of what is.
func (x *Tensor) settled() *Tensor {
	u := x.node()
	for u.Op().IsMovement() && u.Op() != uop.Pad && u.Op() != uop.Slide || u.Op() == uop.Detach {
		u = u.At(0)
	}
	if u.Op() == uop.Buffer || u.Op() == uop.Contiguous {
		return x
	}
	return x.Contiguous()
}

// small transforms a short axis, written out. Terms at equal distances from its ends share their sums and differences.
func (p pair) small(axis int) pair {
	n := p.re.Dim(axis)
	x := make([]pair, n)
	for k := range n {
		x[k] = p.each(func(x *Tensor) *Tensor { return x.Select(axis, k) })
	}
	y := make([]pair, n)
	switch n {
	case 2:
		y[0], y[1] = x[0].plus(x[1]), x[0].minus(x[1])
	case 4:
		a, b, c, d := x[0].plus(x[2]), x[0].minus(x[2]), x[1].plus(x[3]), x[1].minus(x[3])
		y[0], y[2] = a.plus(c), a.minus(c)
		y[1], y[3] = pair{b.re.Add(d.im), b.im.Sub(d.re)}, pair{b.re.Sub(d.im), b.im.Add(d.re)}
	default: // odd
		half := n / 2
		sum, diff := make([]pair, half+1), make([]pair, half+1)
		y[0] = x[0]
		for k := 1; k <= half; k++ {
			sum[k], diff[k] = x[k].plus(x[n-k]), x[k].minus(x[n-k])
			y[0] = y[0].plus(sum[k])
		}
		for j := 1; j <= half; j++ {
			c := x[0]
			var s pair
			for k := 1; k <= half; k++ {
				si, co := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
				c = pair{c.re.Add(sum[k].re.Mul(co)), c.im.Add(sum[k].im.Mul(co))}
				d := pair{diff[k].re.Mul(si), diff[k].im.Mul(si)}
				if k == 1 {
					s = d
				} else {
					s = s.plus(d)
				}
			}
			y[j], y[n-j] = pair{c.re.Add(s.im), c.im.Sub(s.re)}, pair{c.re.Sub(s.im), c.im.Add(s.re)}
		}
	}
	re, im := make([]*Tensor, n), make([]*Tensor, n)
	for k, z := range y {
		re[k], im[k] = z.re, z.im
	}
	return pair{Stack(axis, re...), Stack(axis, im...)}
}

func (p pair) plus(q pair) pair  { return pair{p.re.Add(q.re), p.im.Add(q.im)} }
func (p pair) minus(q pair) pair { return pair{p.re.Sub(q.re), p.im.Sub(q.im)} }
