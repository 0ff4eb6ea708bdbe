package nest

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Fold simplifies one node of index arithmetic or of a condition whose operands are folded: affine forms are
// collected, and what bounds decide is decided.
func (k *Kernel) Fold(u *uop.UOp) *uop.UOp {
	if u.DType() == dtype.Index && u.Op() != uop.Const && u.Op() != uop.Range {
		return k.foldIndex(u)
	}
	switch u.Op() {
	case uop.Less, uop.Equal:
		if u.At(0).DType().IsInt() {
			if b := affine.Bound(u); b.Lo == b.Hi {
				return k.Table.ConstOf(dtype.Bool, uop.Value(b.Lo))
			}
			if u.At(0) == u.At(1) {
				return k.Table.ConstOf(dtype.Bool, uop.ValueOf(dtype.Bool, u.Op() == uop.Equal))
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

// zeroUnless says that u is a load whose gate is c, perhaps of another type, or a product of such: +0 where c does not hold.
func zeroUnless(c, u *uop.UOp) bool {
	seen := map[*uop.UOp]bool{}
	for factors := []*uop.UOp{u}; len(factors) > 0; {
		u, factors = factors[len(factors)-1], factors[:len(factors)-1]
		switch {
		case seen[u]:
		case u.Op() == uop.Mul || u.Op() == uop.Cast:
			factors = append(factors, u.Src()...)
		case u.Op() != uop.Load || u.At(1) != c:
			return false
		}
		seen[u] = true
	}
	return true
}

func (k *Kernel) foldIndex(u *uop.UOp) *uop.UOp {
	switch u.Op() {
	case uop.Add, uop.Neg, uop.Mul, uop.MulAdd:
		return k.Facts.Form(u).Node(k.Table)
	case uop.IDiv, uop.Mod:
		c, ok := u.At(1).ConstInt()
		if !ok || c <= 0 {
			break
		}
		// x = c·q + r
		a := k.Facts.Form(u.At(0))
		var q, r affine.Form
		for _, t := range a.Terms {
			if x := k.divide(t.Node, t.Coef, c); x != nil {
				q = q.Add(k.Facts.Form(x), 1)
			} else {
				r.Terms = append(r.Terms, t)
			}
		}
		q = q.Add(affine.Form{Const: codegen.FloorDiv(a.Const, c)}, 1)
		r.Const = a.Const - c*codegen.FloorDiv(a.Const, c)
		rest := r.Node(k.Table)
		lo := affine.Bound(rest).Lo
		if lo < -1<<30 { // a number that was loaded
			break
		}
		if lo < 0 { // machines round toward zero: what is divided must not be negative
			m := (c - 1 - lo) / c
			q.Const, r.Const = q.Const-m, r.Const+c*m
			rest = r.Node(k.Table)
		}
		small := affine.Bound(rest).Within(0, c-1)
		switch {
		case u.Op() == uop.Mod && small:
			return rest
		case u.Op() == uop.Mod && rest != u.At(0):
			return k.foldIndex(rest.Mod(u.At(1)))
		case u.Op() == uop.IDiv && small:
			return q.Node(k.Table)
		case u.Op() == uop.IDiv && rest != u.At(0):
			return q.Add(affine.Form{Terms: []affine.Term{{Node: rest.IDiv(u.At(1)), Coef: 1}}}, 1).Node(k.Table)
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
	if b := affine.Bound(u); b.Lo == b.Hi {
		return k.Table.Index(b.Lo)
	}
	return u
}

// divide is k·u / c where that is exact, else nil.
func (k *Kernel) divide(u *uop.UOp, f, c int) *uop.UOp {
	if f%c == 0 {
		return affine.Form{Terms: []affine.Term{{Node: u, Coef: f / c}}}.Node(k.Table)
	}
	if u.Op() != uop.Max || f != 1 && f != -1 {
		return nil
	}
	var x [2]*uop.UOp
	for i := range x {
		a := k.Facts.Form(u.At(i))
		if a.Const%c != 0 {
			return nil
		}
		for _, t := range a.Terms {
			if t.Coef%c != 0 {
				return nil
			}
		}
		for j := range a.Terms {
			a.Terms = append([]affine.Term(nil), a.Terms...)
			a.Terms[j].Coef /= c
		}
		a.Const /= c
		x[i] = a.Node(k.Table)
	}
	m := x[0].Max(x[1])
	if f < 0 {
		return m.Neg()
	}
	return m
}
