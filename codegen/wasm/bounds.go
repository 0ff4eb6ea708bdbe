package wasm

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// span holds all values of an index; numbers beyond far are not told apart.
type span struct{ lo, hi int64 }

const far = int64(1) << 40

var anywhere = span{-far, far}

func (s span) fits32() bool { return s.lo >= math.MinInt32 && s.hi <= math.MaxInt32 }

// bound gives the span of an index or integer, registers included.
func (r *renderer) bound(u *uop.UOp) span {
	if b, ok := r.bounds[u]; ok {
		return b
	}
	b := r.boundOf(u)
	b = span{max(b.lo, -far), min(b.hi, far)}
	if d := u.DType(); d != dtype.Index && d.Size() < 8 {
		lo, hi := uop.IntLimits(d)
		if all := (span{lo.Int(), hi.Int()}); b.lo < all.lo || b.hi > all.hi { // it may wrap
			b = all
		}
	}
	r.bounds[u] = b
	return b
}

func (r *renderer) boundOf(u *uop.UOp) span {
	if d := u.DType(); !d.IsInt() && d != dtype.Bool || d.Size() == 8 {
		return anywhere
	}
	var a, b span
	if u.Op().Elementwise() && u.Op() != uop.Where && u.Op() != uop.Bitcast {
		a = r.bound(u.At(0))
		if len(u.Src()) > 1 {
			b = r.bound(u.At(1))
		}
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return span{v.Int(), v.Int()}
	case uop.Range:
		return span{0, int64(u.Arg().(uop.RangeArg).N) - 1}
	case uop.Var:
		if a := u.Arg().(uop.VarArg); a.Lo != a.Hi {
			return span{int64(a.Lo), int64(a.Hi)}
		}
	case uop.Neg:
		return span{-a.hi, -a.lo}
	case uop.Cast:
		return a
	case uop.Add:
		return span{a.lo + b.lo, a.hi + b.hi}
	case uop.Mul:
		return product(a, b)
	case uop.MulAdd:
		p, c := product(a, b), r.bound(u.At(2))
		return span{p.lo + c.lo, p.hi + c.hi}
	case uop.IDiv, uop.Shr:
		if a.lo >= 0 && b.lo >= 0 {
			return span{0, a.hi}
		}
		return span{min(a.lo, -a.hi), max(a.hi, -a.lo)}
	case uop.Shl:
		if b.lo == b.hi && b.lo >= 0 && b.lo < 31 {
			return product(a, span{1 << b.lo, 1 << b.lo})
		}
	case uop.Mod:
		if b.lo > 0 {
			return span{0, b.hi - 1}
		}
	case uop.Max:
		return span{max(a.lo, b.lo), max(a.hi, b.hi)}
	case uop.And:
		if a.lo >= 0 && b.lo >= 0 {
			return span{0, min(a.hi, b.hi)}
		}
	case uop.Where:
		x, y := r.bound(u.At(1)), r.bound(u.At(2))
		return span{min(x.lo, y.lo), max(x.hi, y.hi)}
	case uop.Less, uop.Equal:
		return span{0, 1}
	}
	return anywhere
}

func product(a, b span) span {
	if a == anywhere || b == anywhere || max(a.hi, -a.lo) > math.MaxInt32 || max(b.hi, -b.lo) > math.MaxInt32 {
		return anywhere
	}
	p, q, s, t := a.lo*b.lo, a.lo*b.hi, a.hi*b.lo, a.hi*b.hi
	return span{min(p, q, s, t), max(p, q, s, t)}
}

// wide says that an index needs 64 bits.
func (r *renderer) wide(u *uop.UOp) bool { return !r.bound(u).fits32() }
