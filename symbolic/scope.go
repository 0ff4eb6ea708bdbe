package symbolic

import "github.com/weft-ml/weft/uop"

// Scope holds what is known of the registers of one lowered kernel, whose values have names: a register that is never assigned
// again is what it was declared as. Of others, and of what no Define has told, any value of the type is expected. The zero
// Scope knows nothing.
type Scope struct {
	x         index
	multiples uop.Map[int]
}

// Define tells that a register is this value, wherever it is used. It has to be told before anything is asked about the
// register.
func (s *Scope) Define(reg, value *uop.UOp) {
	s.x.spans.Set(reg, s.x.span(value))
	s.multiples.Set(reg, s.Multiple(value))
}

// Bounds is the function of this name, with registers.
func (s *Scope) Bounds(e *uop.UOp) (lo, hi int, ok bool) {
	all := s.x.span(e)
	return all.lo, all.hi, all.finite()
}

// AnyMultiple is what 0 is said to be a multiple of.
const AnyMultiple = 1 << 20

// Multiple gives a power of two that every value of an Index expression is a multiple of.
func (s *Scope) Multiple(e *uop.UOp) int {
	sums := func(u *uop.UOp) bool {
		return u.Op() == uop.Add || u.Op() == uop.Mul || u.Op() == uop.MulAdd || u.Op() == uop.Neg || u.Op() == uop.Shl
	}
	return fill(&s.multiples, e, sums, s.multipleOf)
}

func (s *Scope) multipleOf(u *uop.UOp) int {
	at := func(i int) int {
		n, _ := s.multiples.Get(u.At(i))
		return n
	}
	if c, ok := u.ConstInt(); ok {
		return lowest(c)
	}
	switch u.Op() {
	case uop.Add:
		return min(at(0), at(1))
	case uop.Mul:
		return min(at(0)*at(1), AnyMultiple)
	case uop.MulAdd:
		return min(at(0)*at(1), at(2))
	case uop.Neg:
		return at(0)
	case uop.Shl:
		if c, ok := u.At(1).ConstInt(); ok && 0 <= c && c < 20 {
			return min(at(0)<<c, AnyMultiple)
		}
	}
	return 1
}

// lowest is the greatest power of two that divides c.
func lowest(c int) int {
	if c == 0 {
		return AnyMultiple
	}
	return min(c&-c, AnyMultiple)
}
