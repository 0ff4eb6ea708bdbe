package legal

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Where a target has no multiply-add, or only a slow one, sums of products and the shared polynomials round their products: they
// need the speed and not the last digit. A MulAdd of the graph is computed exactly: whoever wrote it may need just
// that, to know what a product lost.

// roundProducts takes apart the multiply-adds of what a rule has made of a transcendental function. On a target that writes
// loose ones they stay.
func (l *Legalizer) roundProducts(v, w *uop.UOp) *uop.UOp {
	if uop.Info(v.Op()).Trait != uop.Function {
		return w
	}
	done := map[*uop.UOp]*uop.UOp{}
	uop.Walk([]*uop.UOp{w}, func(u *uop.UOp) bool { return l.done[u] != nil }, func(u *uop.UOp) {
		n := u.WithSrc(l.t, func(s *uop.UOp) *uop.UOp {
			if x := done[s]; x != nil {
				return x
			}
			return s
		})
		if n.Op() == uop.MulAdd && n.DType() != dtype.Index && !l.target.Fuses(n.DType()) {
			if l.target.RelaxedFMA {
				l.plain[n] = true
			} else {
				n = n.At(0).Mul(n.At(1)).Add(n.At(2))
			}
		}
		if n != u && l.plain[u] {
			l.plain[n] = true
		}
		done[u] = n
	})
	if x := done[w]; x != nil {
		return x
	}
	return w
}

// loose is a·b + c, one instruction where that is the machine's.
func (l *Legalizer) loose(a, b, c *uop.UOp) *uop.UOp {
	switch v := a.MulAdd(b, c); {
	case l.target.Fuses(v.DType()):
		return v
	case l.target.RelaxedFMA:
		return l.asPlain(v)
	}
	return a.Mul(b).Add(c)
}

// sumError is what rounding has cut off from s = x + y.
func sumError(s, x, y *uop.UOp) *uop.UOp {
	back := s.Sub(x)
	return x.Sub(s.Sub(back)).Add(y.Sub(back))
}

// toOdd moves s, a rounded sum that misses rest, to the neighbour towards rest whose last digit is odd, so that
// rounding it again is rounding once.
func toOdd(s, rest *uop.UOp) *uop.UOp {
	b := s.Bitcast(dtype.U64)
	zero := s.Int(0)
	down := rest.Less(zero).Xor(s.Less(zero))
	odd := down.Where(b.Add(b.Int(-1)), b).Or(b.Int(1))
	exact := rest.Equal(zero).Or(rest.Equal(rest).Not()) // infinite sums have no rest
	return exact.Where(b, odd).Bitcast(s.DType())
}

// fusedF32 is a·b + c rounded once: in F64 the product is exact.
func fusedF32(a, b, c *uop.UOp) *uop.UOp {
	a, b, c = a.Cast(dtype.F64), b.Cast(dtype.F64), c.Cast(dtype.F64)
	p := a.Mul(b)
	s := p.Add(c)
	return toOdd(s, sumError(s, p, c)).Cast(dtype.F32)
}

// fusedF64 is a·b + c rounded once (denormal results twice), by Boldo and Melquiond (2008): the product and two sums as pairs, of which the
// last two low parts are added to odd. Large numbers are scaled first. Where the product is so small that
// its low part is lost, or not finite, it is added as it is.
func fusedF64(a, b, c *uop.UOp) *uop.UOp {
	const large, scale = 900, 200
	one, up, down := a.Int(1), a.Float(math.Ldexp(1, scale)), a.Float(math.Ldexp(1, -scale))
	top, inf := a.Float(math.Ldexp(1, large)), a.Float(math.Inf(1))
	isLarge := func(x *uop.UOp) *uop.UOp { return magnitude(x).Less(top).Not() }
	plain := a.Mul(b)
	scaleB := isLarge(b)
	scaleA := isLarge(a).Or(isLarge(plain).And(scaleB.Not())).Or(isLarge(c))
	x, y := a.Mul(scaleA.Where(down, one)), b.Mul(scaleB.Where(down, one))
	w := c.Mul(scaleA.Where(down, one)).Mul(scaleB.Where(down, one))

	p := x.Mul(y)
	e := productError(p, x, y)
	t := w.Add(e)
	s := p.Add(t)
	low, high := sumError(t, w, e), sumError(s, p, t)
	z := low.Add(high)
	exact := s.Add(toOdd(z, sumError(z, low, high))).Mul(scaleA.Where(up, one)).Mul(scaleB.Where(up, one))

	finite := magnitude(a).Less(inf).And(magnitude(b).Less(inf))
	safe := finite.And(magnitude(c).Less(inf)).And(magnitude(s).Less(inf)).And(a.Float(math.Ldexp(1, -960)).Less(magnitude(p)))
	return safe.Where(exact, finite.And(magnitude(c).Equal(inf)).Where(c, plain.Add(c)))
}

// productError is a·b − p for p = a·b rounded, by Dekker and Veltkamp.
func productError(p, a, b *uop.UOp) *uop.UOp {
	ah, al := halves(a)
	bh, bl := halves(b)
	return al.Mul(bl).Sub(p.Sub(ah.Mul(bh)).Sub(al.Mul(bh)).Sub(ah.Mul(bl)))
}

// halves splits a number into its upper and lower digits.
func halves(x *uop.UOp) (hi, lo *uop.UOp) {
	t := x.Mul(x.Float(1<<27 + 1))
	hi = t.Sub(t.Sub(x))
	return hi, x.Sub(hi)
}
