package wgsl

import (
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

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
	n := symbolic.AnyMultiple
	if c != 0 {
		n = min(n, c&-c)
	}
	if base != nil {
		n = min(n, r.scope.Multiple(base))
	}
	return n
}
