package evaluate

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A kernel may round otherwise than its definition, which adds in order: by little, unless a step follows (rounding to integers, a
// comparison), and then by much. And nobody promises the sign of a NaN, −(x·c) being x·(−c), or that of a sum that is 0. Where a
// form of a kernel differs, the definition is computed again, with changes as small as those, and what comes out then is right too.

// trials is how often: a sum that lies beside a step falls to one side in half of them.
const trials = 16

// nudge changes values by a few units of their last place; nil changes nothing, and one without random numbers only finds out whether
// anything is rounded, or would be in another order.
type nudge struct {
	r       *rand.Rand
	inexact bool // numbers are rounded; otherwise only signs change, of NaN and of sums that are 0
}

// lastPlaces is how far apart two ways to round an operation may end, relative to its terms: a few units of the last place.
func lastPlaces(d dtype.DType) float64 { return math.Ldexp(1, 3-d.Digits()) }

// nudged computes what else the Spec might give. A change that leads out of an array ends that trial.
func nudged(s *codegen.Spec, memory [][]uop.Value, inexact bool, most int) (out [][][]uop.Value) {
	for i := range trials {
		m := cloneAll(memory)
		if _, err := define(s, nil, m, most, &nudge{rand.New(rand.NewPCG(uint64(i), 0)), inexact}); err == nil {
			out = append(out, m)
		}
	}
	return out
}

// op changes the value of an op, if that is rounded: small multiples of a sixteenth are exact.
func (n *nudge) op(u *uop.UOp, x uop.Value, src []uop.Value) uop.Value {
	if n == nil || !u.DType().IsFloat() {
		return x
	}
	if n.r == nil {
		n.inexact = n.inexact || rounded(u, x, src)
		return x
	}
	size := 0.
	switch f := x.Float(); {
	case uop.Info(u.Op()).Trait != uop.Exact:
		size = math.Abs(f)
	case u.Op() == uop.Add || u.Op() == uop.Mul:
		if size = math.Abs(f); size < 1<<12 && f*16 == math.Trunc(f*16) {
			size = 0
		} else if u.Op() == uop.Add {
			size = max(size, magnitude(u.DType(), src[0]), magnitude(u.DType(), src[1]))
		}
	}
	return n.by(u.DType(), x, size)
}

// rounded says that a product or a sum is not exact. Other operations that round are found beforehand.
func rounded(u *uop.UOp, x uop.Value, src []uop.Value) bool {
	if u.Op() != uop.Add && u.Op() != uop.Mul {
		return false
	}
	a, b, f := src[0].Float(), src[1].Float(), x.Float()
	if notFinite(a) || notFinite(b) {
		return false
	}
	if u.Op() == uop.Mul {
		const up = 0x1p600 // what is lost of a subnormal product is less than the least number
		if math.Abs(f) < 1/up {
			return f != a*b || f == 0 && a != 0 && b != 0 || math.FMA(a*up, b, -f*up) != 0
		}
		return f != a*b || math.FMA(a, b, -f) != 0
	}
	back := f - a
	return f != a+b || (a-(f-back))+(b-back) != 0
}

// total is what a reduction adds up: the sum of the magnitudes, and the place of the last digit of them all.
type total struct {
	size  float64
	digit int
	any   bool
}

func (t *total) add(d dtype.DType, x uop.Value) {
	f := magnitude(d, x)
	t.size += f
	if f == 0 || notFinite(f) {
		return
	}
	m, e := math.Frexp(f)
	if e += bits.TrailingZeros64(uint64(m*(1<<53))) - 53; !t.any || e < t.digit {
		t.digit, t.any = e, true
	}
}

// rounds says that sums of some of the numbers may not be exact.
func (t *total) rounds(d dtype.DType) bool {
	return t.any && !notFinite(t.size) && t.size > math.Ldexp(1, t.digit+d.Digits())
}

// reduction changes the values of a reduction.
func (n *nudge) reduction(m uop.Monoid, parts []*uop.UOp, acc []uop.Value, sum total) []uop.Value {
	if n == nil || m.Info().Exact {
		return acc
	}
	if n.r == nil {
		n.inexact = n.inexact || sum.rounds(parts[0].DType())
		return acc
	}
	size := sum.size
	for i, p := range parts {
		if p.DType().IsFloat() {
			if acc[i].Float() == 0 { // a sum of one −0 is that, or 0 + −0
				acc[i] = uop.FloatValue(p.DType(), math.Copysign(0, n.r.Float64()-.5))
			}
			if len(parts) > 1 || m == uop.Prod {
				size = math.Abs(acc[i].Float())
			}
			acc[i] = n.by(p.DType(), acc[i], size)
		}
	}
	return acc
}

func (n *nudge) by(d dtype.DType, x uop.Value, size float64) uop.Value {
	switch f := x.Float(); {
	case f != f:
		return uop.FloatValue(d, math.Copysign(f, n.r.Float64()-.5))
	case !n.inexact || size == 0 || notFinite(f) || notFinite(size):
		return x
	default:
		return uop.FloatValue(d, f+(2*n.r.Float64()-1)*size*lastPlaces(d))
	}
}

func magnitude(d dtype.DType, x uop.Value) float64 {
	if !d.IsFloat() {
		return 0
	}
	return math.Abs(x.Float())
}
