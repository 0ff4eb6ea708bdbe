package wgsl

import "github.com/weft-ml/weft/uop"

// offset takes a constant off an index.
func offset(u *uop.UOp) (base *uop.UOp, c int) {
	if n, ok := u.ConstInt(); ok {
		return nil, n
	}
	if u.Op() == uop.Add {
		if n, ok := u.At(1).ConstInt(); ok {
			return u.At(0), n
		}
	}
	return u, 0
}

// multiple is a power of two that base + c is a multiple of.
func (r *renderer) multiple(base *uop.UOp, c int) int {
	n := lowest(c)
	if base != nil {
		n = min(n, r.alignment(base))
	}
	return n
}

const anyAlignment = 1 << 20

func lowest(c int) int {
	if c == 0 {
		return anyAlignment
	}
	return min(c&-c, anyAlignment)
}

// alignment is a power of two that an index is a multiple of.
func (r *renderer) alignment(u *uop.UOp) int {
	if c, ok := u.ConstInt(); ok {
		return lowest(c)
	}
	switch u.Op() {
	case uop.Reg:
		return max(1, r.aligned[u])
	case uop.Add:
		return min(r.alignment(u.At(0)), r.alignment(u.At(1)))
	case uop.Mul:
		return min(r.alignment(u.At(0))*r.alignment(u.At(1)), anyAlignment)
	case uop.MulAdd:
		return min(r.alignment(u.At(0))*r.alignment(u.At(1)), r.alignment(u.At(2)))
	case uop.Neg:
		return r.alignment(u.At(0))
	case uop.Shl:
		if c, ok := u.At(1).ConstInt(); ok && c < 20 {
			return min(r.alignment(u.At(0))<<c, anyAlignment)
		}
	}
	return 1
}
