package legal

import (
	"math"

	"github.com/weft-ml/weft/uop"
)

// div divides floats in integer arithmetic, correctly rounded: a long division of the significands with a few
// digits a step, for machines whose own division is not exact.
func (l *Legalizer) div(a, b *uop.UOp) *uop.UOp {
	d := a.DType()
	y := layoutOf(d)
	ea, ma := significand(a, y)
	eb, mb := significand(b, y)
	n := func(i int) *uop.UOp { return ma.Int(i) }

	// One digit before the point, frac + 2 behind it, the last of which also says whether a rest is left.
	less := ma.Less(mb)
	rest := less.Where(ma.Add(ma), ma).Sub(mb)
	q := n(1)
	for left := y.frac + 2; left > 0; {
		step := min(left, y.word-y.frac-1)
		rest = rest.Shl(n(step))
		digits := l.asPlain(rest.IDiv(mb))
		rest = rest.Sub(digits.Mul(mb))
		q = q.Shl(n(step)).Or(digits)
		left -= step
	}
	q = q.Or(rest.Equal(n(0)).Where(n(0), n(1)))

	e := ea.Sub(eb).Add(less.Where(ea.Int(y.bias-1), ea.Int(y.bias)))
	out := e.Int(1).Add(e.Neg()).Max(e.Int(0)) // places below the least normal exponent
	out = out.Less(e.Int(y.frac+4)).Where(out, e.Int(y.frac+4)).Cast(y.u)
	lost := q.And(n(1).Shl(out).Add(n(-1))).Equal(n(0)).Where(n(0), n(1))
	q = q.Shr(out).Or(lost)
	field := e.Max(e.Int(1)).Add(e.Int(-1)).Cast(y.u).Shl(n(y.frac))
	odd := q.Shr(n(2)).And(n(1))
	v := field.Add(q.Add(odd).Add(n(1)).Shr(n(2)))

	inf := n(bitsOf(d, math.Inf(1)))
	aa, ab := magnitude(a).Bitcast(y.u), magnitude(b).Bitcast(y.u)
	v = e.Less(e.Int(2*y.bias+1)).Where(v, inf)
	zero := aa.Equal(n(0)).Or(ab.Equal(inf))
	infinite := aa.Equal(inf).Or(ab.Equal(n(0)))
	v = zero.Where(n(0), infinite.Where(inf, v))
	bad := zero.And(infinite).Or(inf.Less(aa)).Or(inf.Less(ab))
	sign := a.Bitcast(y.u).Xor(b.Bitcast(y.u)).And(n(math.MinInt >> (64 - y.word)))
	return bad.Where(n(bitsOf(d, math.NaN())), v.Or(sign)).Bitcast(d)
}

// significand gives the biased exponent and the significand with its leading 1, denormals normalised.
func significand(x *uop.UOp, y layout) (e, m *uop.UOp) {
	ax := magnitude(x)
	tiny := ax.Less(x.Float(math.Ldexp(1, 1-y.bias)))
	b := tiny.Where(ax.Mul(x.Float(math.Ldexp(1, y.frac))), ax).Bitcast(y.u)
	e = b.Shr(b.Int(y.frac)).Cast(y.i)
	e = e.Add(tiny.Where(e.Int(-y.frac), e.Int(0)))
	return e, b.And(b.Int(1<<y.frac - 1)).Or(b.Int(1 << y.frac))
}
