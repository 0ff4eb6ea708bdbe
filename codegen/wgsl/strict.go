package wgsl

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Shader compilers simplify floats as if they were real numbers: x·0 and x−x become 0, x/x becomes 1, (a+b)−a
// becomes b, a division by a constant 0 has no meaning. Where a sum, product or quotient looks like that, one
// operand goes through bits that only the uniform block knows. Nor do processors of graphics round quotients, or
// products that they add: what the graph has rounded is, as where a condition asks whether numbers are whole.

// strict spells a float op that must not be simplified, or that the language has not, or gives "".
func (r *renderer) strict(u *uop.UOp) string {
	if len(u.Src()) != 2 {
		return ""
	}
	x, y := u.At(0), u.At(1)
	switch u.Op() {
	case uop.Add:
		if z := r.negated(y); z != nil && (r.stands(x) == z || r.hasTerm(x, z)) {
			return fmt.Sprintf("(%s + %s(%s))", r.expr(x), r.use("flip"), r.inner(y))
		}
		if z := r.negated(x); z != nil && (r.stands(y) == z || r.hasTerm(y, z)) {
			return fmt.Sprintf("(%s(%s) + %s)", r.use("flip"), r.inner(x), r.expr(y))
		}
		if r.cancels(x, y) || r.cancels(y, x) {
			return fmt.Sprintf("(%s + %s(%s))", r.expr(x), r.use("hide"), r.expr(y))
		}
		if r.p.Loose && (r.rounds(x) || r.rounds(y)) {
			return fmt.Sprintf("(%s + %s)", r.rounded(x), r.rounded(y))
		}
	case uop.Mul, uop.Div:
		zero := func(v *uop.UOp) bool {
			c, ok := r.known(v)
			return ok && c.Float() == 0
		}
		a, b, hidden := r.expr(x), r.expr(y), true
		switch {
		case zero(x):
			a = r.use("hide") + "(" + a + ")"
		case zero(y) || u.Op() == uop.Div && r.stands(x) == r.stands(y):
			b = r.use("hide") + "(" + b + ")"
		default:
			hidden = false
		}
		c, ok := r.known(y)
		exact := ok && powerOfTwo(c.Float())
		switch {
		case u.Op() == uop.Div && r.p.Loose && !exact:
			return fmt.Sprintf("%s(%s, %s)", r.use("quotient"), a, b)
		case hidden:
			return fmt.Sprintf("(%s %s %s)", a, binary[u.Op()], b)
		case u.Op() == uop.Div && ok && !exact: // it would become a product with the rounded inverse
			return fmt.Sprintf("(%s / %s(%s))", a, r.use("hide"), b)
		}
	}
	return ""
}

// rounds says that u stands for a product, or one with its sign turned, that has to be rounded.
func (r *renderer) rounds(u *uop.UOp) bool {
	v := r.stands(u)
	if v.Op() == uop.Neg {
		v = r.stands(v.At(0))
	}
	return v.Op() == uop.Mul && !slices.ContainsFunc(v.Src(), func(x *uop.UOp) bool {
		c, ok := r.known(x)
		return ok && powerOfTwo(c.Float())
	})
}

// rounded spells a term of a sum.
func (r *renderer) rounded(u *uop.UOp) string {
	if r.rounds(u) {
		return r.use("hide") + "(" + r.expr(u) + ")"
	}
	return r.expr(u)
}

// stands is what a name stands for.
func (r *renderer) stands(u *uop.UOp) *uop.UOp {
	for r.named[u] != nil {
		u = r.named[u]
	}
	return u
}

// negated is z where u stands for −z.
func (r *renderer) negated(u *uop.UOp) *uop.UOp {
	if v := r.stands(u); v.Op() == uop.Neg {
		return r.stands(v.At(0))
	}
	return nil
}

// inner spells z where u stands for −z.
func (r *renderer) inner(u *uop.UOp) string { return r.expr(r.stands(u).At(0)) }

// hasTerm says that u stands for a sum one of whose terms is z.
func (r *renderer) hasTerm(u, z *uop.UOp) bool {
	v := r.stands(u)
	return v.Op() == uop.Add && (r.stands(v.At(0)) == z || r.stands(v.At(1)) == z)
}

// cancels says that u stands for a sum with −z, and v for z.
func (r *renderer) cancels(u, v *uop.UOp) bool {
	s := r.stands(u)
	if s.Op() != uop.Add {
		return false
	}
	z := r.stands(v)
	return r.negated(s.At(0)) == z || r.negated(s.At(1)) == z
}
