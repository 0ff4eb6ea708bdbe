package codegen

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// fold simplifies one node of index arithmetic or of a condition whose operands are folded: affine forms are
// collected, and what bounds decide is decided.
func (k *kernel) fold(u *uop.UOp) *uop.UOp {
	if u.DType() == dtype.Index && u.Op() != uop.Const && u.Op() != uop.Range {
		return k.foldIndex(u)
	}
	switch u.Op() {
	case uop.Less, uop.Equal:
		if u.At(0).DType().IsInt() {
			if b := k.facts.bound(u); b.lo == b.hi {
				return k.t.ConstOf(dtype.Bool, uop.Value(b.lo))
			}
			if u.At(0) == u.At(1) {
				return k.t.ConstOf(dtype.Bool, uop.ValueOf(dtype.Bool, u.Op() == uop.Equal))
			}
		}
	case uop.And:
		if u.DType() == dtype.Bool {
			for i := range 2 {
				if c, ok := u.At(i).ConstValue(); ok {
					if c.Bool() {
						return u.At(1 - i)
					}
					return u.At(i)
				}
			}
		}
	case uop.Xor:
		if a, ok := u.At(0).ConstValue(); ok {
			if b, ok := u.At(1).ConstValue(); ok && u.DType() == dtype.Bool {
				return u.Const(a ^ b)
			}
		}
	case uop.Where:
		if c, ok := u.At(0).ConstValue(); ok {
			if c.Bool() {
				return u.At(1)
			}
			return u.At(2)
		}
		if u.At(2).IsConst(0) && zeroUnless(u.At(0), u.At(1)) {
			return u.At(1)
		}
	case uop.Load:
		if c, ok := u.At(1).ConstValue(); ok && !c.Bool() {
			return u.Int(0)
		}
	}
	return u
}

// zeroUnless says that u is a load, or a product of loads, whose gate is c: +0 where c does not hold.
func zeroUnless(c, u *uop.UOp) bool {
	for u.Op() == uop.Mul {
		if !zeroUnless(c, u.At(1)) {
			return false
		}
		u = u.At(0)
	}
	return u.Op() == uop.Load && u.At(1) == c
}

func (k *kernel) foldIndex(u *uop.UOp) *uop.UOp {
	switch u.Op() {
	case uop.Add, uop.Neg, uop.Mul, uop.MulAdd:
		return k.facts.affine(u).node(k.t)
	case uop.IDiv, uop.Mod:
		c, ok := u.At(1).ConstInt()
		if !ok || c <= 0 {
			break
		}
		// x = c·q + r with 0 ≤ r < c proven.
		a := k.facts.affine(u.At(0))
		var q, r affine
		for _, t := range a.terms {
			if t.k%c == 0 {
				q.terms = append(q.terms, term{t.u, t.k / c})
			} else {
				r.terms = append(r.terms, t)
			}
		}
		q.c, r.c = floorDiv(a.c, c), a.c-c*floorDiv(a.c, c)
		if k.facts.bound(r.node(k.t)).within(0, c-1) {
			if u.Op() == uop.IDiv {
				return q.node(k.t)
			}
			return r.node(k.t)
		}
	case uop.Where:
		if c, ok := u.At(0).ConstValue(); ok {
			if c.Bool() {
				return u.At(1)
			}
			return u.At(2)
		}
	case uop.Load:
		if c, ok := u.At(1).ConstValue(); ok && !c.Bool() {
			return u.Int(0)
		}
	}
	if b := k.facts.bound(u); b.lo == b.hi {
		return k.t.Index(b.lo)
	}
	return u
}
