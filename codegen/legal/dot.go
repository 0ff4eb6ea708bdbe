package legal

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// dot2 is Dot2 where a machine has it not.
func dot2(x, y *uop.UOp) *uop.UOp {
	bits := x.Int(16)
	low := func(u *uop.UOp) *uop.UOp { return u.Shl(bits).Shr(bits) }
	return low(x).Mul(low(y)).Add(x.Shr(bits).Mul(y.Shr(bits)))
}

// dotBF16 is DotBF16 where a machine has it not.
func dotBF16(x, y *uop.UOp) *uop.UOp {
	low := func(u *uop.UOp) *uop.UOp { return u.Shl(u.Int(16)).Bitcast(dtype.F32) }
	high := func(u *uop.UOp) *uop.UOp { return u.And(u.Int(-1 << 16)).Bitcast(dtype.F32) }
	return low(x).Mul(low(y)).Add(high(x).Mul(high(y)))
}

// dot4 is Dot4 where a machine has it not.
func dot4(x, y *uop.UOp) (sum *uop.UOp) {
	for i := range 4 {
		p := x.Shr(x.Int(8 * i)).And(x.Int(255)).Mul(y.Shl(y.Int(24 - 8*i)).Shr(y.Int(24)))
		if i > 0 {
			p = sum.Add(p)
		}
		sum = p
	}
	return sum
}
