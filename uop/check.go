package uop

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Checks. What only values can tell, such as an index that lies outside, is found on the device: a Check passes a
// value through and says beside it, in an int32 code, what is wrong with it. Codes are 0 where nothing is, and of
// several elements the largest code counts.

// below is where the codes of numbers begin that are too small.
const below = 1 << 30

// Check is u, which is right only where no element of code is above 0.
func (u *UOp) Check(code *UOp, a CheckArg) *UOp { return u.home.Make(Check, u.dtype, a, u, code) }

// OutsideCode is the code of integers that should be a.Lo … a.N−1: how far they are outside, and on which side.
func (u *UOp) OutsideCode(a CheckArg) *UOp {
	if u.dtype.Bits() < 32 {
		u = u.Cast(dtype.I32)
	}
	most := below - 1 // more is not told apart
	if u.dtype.IsUnsigned() {
		over := u.Min(u.Const(atMost(u.dtype, a.N-1+most))).Sub(u.Int(a.N - 1))
		return u.Less(u.Int(a.N)).Where(u.Int(0), over).Cast(dtype.I32)
	}
	lo, hi := a.Lo-most, a.N-1+most
	if u.dtype == dtype.I32 {
		lo, hi = max(lo, math.MinInt32), min(hi, math.MaxInt32)
	}
	v := u.Max(u.Int(lo)).Min(u.Int(hi))
	under := v.Less(v.Int(a.Lo)).Where(v.Int(a.Lo).Sub(v).Add(v.Int(below)), v.Int(0))
	return v.Less(v.Int(a.N)).Where(under, v.Sub(v.Int(a.N-1))).Cast(dtype.I32)
}

// atMost is n as a value of an unsigned type, or the largest one if n is larger.
func atMost(d dtype.DType, n int) Value {
	if d == dtype.U32 && n > math.MaxUint32 {
		return ValueOf(d, math.MaxUint32)
	}
	return ValueOf(d, n)
}

// Number is what a code above 0 stands for: the number that was outside, or, where that is too far away to be told, what it is above or
// below.
func (a CheckArg) Number(code int32) string {
	switch far := int32(below - 1); {
	case code == below+far:
		return fmt.Sprint("below ", a.Lo-int(far)+1)
	case code > below:
		return fmt.Sprint(a.Lo - int(code-below))
	case code == far:
		return fmt.Sprint("above ", a.N-1+int(far)-1)
	}
	return fmt.Sprint(a.N - 1 + int(code))
}
