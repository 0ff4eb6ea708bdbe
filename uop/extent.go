package uop

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
)

// Sizes that vary. An axis whose size is known when a plan is played only has in Shape the most that it can be, and beside it,
// in Sizes, an expression of variables that says how many of its elements count; the others may be anything. So everything
// that reads shapes plans with the most, and a node that would let elements matter that do not count cannot be made.

// MaxVars is how many variables the size of an axis may speak of.
const MaxVars = 8

// Size is a number of elements, or a position: C + Σ K·Var. Terms come first and in the order of their variables, so that equal sizes
// are ==.
type Size struct {
	C     int
	Terms [MaxVars]SizeTerm
}

// SizeTerm is K times a variable; K is 0 where there is none.
type SizeTerm struct {
	Var VarArg
	K   int
}

// Fixed is a size that does not vary.
func Fixed(n int) Size { return Size{C: n} }

// SizeOf is the value of a variable as a size. What can be one number only is that number.
func SizeOf(v VarArg) (s Size) {
	if v.Lo == v.Hi {
		return Fixed(v.Lo)
	}
	s.Terms[0] = SizeTerm{v, 1}
	return s
}

// Varies reports whether the size depends on a variable.
func (s Size) Varies() bool { return s.Terms[0].K != 0 }

// Vars are the variables that it speaks of.
func (s Size) Vars() (list []VarArg) {
	for _, t := range s.Terms[:s.count()] {
		list = append(list, t.Var)
	}
	return list
}

// count is the number of terms.
func (s *Size) count() (n int) {
	for n < MaxVars && s.Terms[n].K != 0 {
		n++
	}
	return n
}

// Add is s + k·o; ok is false where that speaks of more than MaxVars variables.
func (s Size) Add(o Size, k int) (sum Size, ok bool) {
	sum.C = Plus(s.C, Times(k, o.C))
	n, i, j := 0, 0, 0
	for { // merges terms in order
		a, b := s.term(i), o.term(j)
		t := a
		switch c := compareTerms(a, b); {
		case a.K == 0 && b.K == 0:
			return sum, true
		case c < 0:
			i++
		case c > 0:
			t = SizeTerm{b.Var, k * b.K}
			j++
		default:
			t.K += k * b.K
			i, j = i+1, j+1
		}
		if t.K == 0 {
			continue
		}
		if n == MaxVars {
			return sum, false
		}
		sum.Terms[n] = t
		n++
	}
}

// term is the i-th, with K = 0 behind the last.
func (s *Size) term(i int) (t SizeTerm) {
	if i < MaxVars {
		t = s.Terms[i]
	}
	return t
}

// compareTerms orders terms by their variables; those without come last.
func compareTerms(a, b SizeTerm) int {
	x, y := a.Var, b.Var
	switch {
	case a.K == 0 || b.K == 0:
		if a.K != 0 {
			return -1
		}
		return 1
	case x == y:
		return 0
	case x.Name != y.Name:
		return strings.Compare(x.Name, y.Name)
	case x.Lo != y.Lo:
		return x.Lo - y.Lo
	case x.Hi != y.Hi:
		return x.Hi - y.Hi
	case x.Bound != y.Bound:
		if y.Bound {
			return -1
		}
		return 1
	}
	return x.Value - y.Value
}

// Plus is s + n.
func (s Size) Plus(n int) Size {
	s.C = Plus(s.C, n)
	return s
}

// Times is n · s.
func (s Size) Times(n int) Size {
	out, _ := Size{}.Add(s, n)
	return out
}

// Over is s / n where that is a size for all values of its variables.
func (s Size) Over(n int) (Size, bool) {
	if n == 0 || s.C%n != 0 {
		return s, false
	}
	s.C /= n
	for i, t := range s.Terms {
		if t.K%n != 0 {
			return s, false
		}
		s.Terms[i].K /= n
	}
	return s, true
}

// Bounds are the least and the greatest that it can be.
func (s Size) Bounds() (lo, hi int) {
	lo, hi = s.C, s.C
	for _, t := range s.Terms[:s.count()] {
		a, b := Times(t.K, t.Var.Lo), Times(t.K, t.Var.Hi)
		lo, hi = Plus(lo, min(a, b)), Plus(hi, max(a, b))
	}
	return lo, hi
}

// Value is what it comes to, if all its variables have values; else the first that has none.
func (s Size) Value() (n int, ok bool, unbound VarArg) {
	n = s.C
	for _, t := range s.Terms[:s.count()] {
		if !t.Var.Bound {
			return 0, false, t.Var
		}
		n += t.K * t.Var.Value
	}
	return n, true, VarArg{}
}

// With is s with values of variables in place of those that it had.
func (s Size) With(value func(v VarArg) (n int, ok bool)) Size {
	out := Size{C: s.C}
	for _, t := range s.Terms[:s.count()] {
		if n, ok := value(t.Var); ok {
			t.Var.Bound, t.Var.Value = true, n
		}
		one := Size{}
		one.Terms[0] = t
		out, _ = out.Add(one, 1)
	}
	return out
}

// Node is the size as a scalar of type Index.
func (s Size) Node() *UOp {
	var sum *UOp
	for _, t := range s.Terms[:s.count()] {
		x := global.Make(Var, dtype.Index, t.Var)
		if t.K != 1 {
			x = x.Mul(x.Int(t.K))
		}
		if sum == nil {
			sum = x
		} else {
			sum = sum.Add(x)
		}
	}
	switch {
	case sum == nil:
		return global.Index(s.C)
	case s.C != 0:
		return sum.Add(sum.Int(s.C))
	}
	return sum
}

// String writes the size as "2·n + 1", with the bounds or the value of its variables.
func (s Size) String() string {
	var b strings.Builder
	for i, t := range s.Terms[:s.count()] {
		switch {
		case i > 0 && t.K > 0:
			b.WriteString(" + ")
		case i > 0:
			b.WriteString(" − ")
			t.K = -t.K
		case t.K < 0:
			b.WriteString("−")
			t.K = -t.K
		}
		if t.K != 1 {
			fmt.Fprintf(&b, "%d·", t.K)
		}
		b.WriteString(t.Var.String())
	}
	switch {
	case b.Len() == 0:
		fmt.Fprint(&b, s.C)
	case s.C > 0:
		fmt.Fprintf(&b, " + %d", s.C)
	case s.C < 0:
		fmt.Fprintf(&b, " − %d", -s.C)
	}
	return b.String()
}

// String names a variable, with its value or its bounds.
func (v VarArg) String() string {
	if v.Bound {
		return fmt.Sprintf("%s=%d", v.Name, v.Value)
	}
	return fmt.Sprintf("%s(%d…%d)", v.Name, v.Lo, v.Hi)
}

// Sizes are the sizes of the axes where one of them varies, else nil; not to be changed.
func (u *UOp) Sizes() []Size {
	if u.sizes == nil {
		return nil
	}
	return *u.sizes
}

// Varies reports whether the size of an axis varies.
func (u *UOp) Varies(axis int) bool { return u.sizes != nil && (*u.sizes)[axis].Varies() }

// Limit is u, of which only the first size elements of an axis count; the axis has as many as that can be. A fixed size is a
// promise that all count that there are, whatever u says: what did not has been replaced.
func (u *UOp) Limit(axis int, size Size) *UOp {
	return u.home.Make(Extent, u.dtype, ExtentArg{axis, size}, u)
}

// Only is u with another value in place of elements along axes that do not count: then all do.
func (u *UOp) Only(v Value, axes ...int) *UOp {
	for _, axis := range axes {
		if u.Varies(axis) {
			u = Within(axis, u.shape, (*u.sizes)[axis]).Where(u, u.Const(v)).Limit(axis, Fixed(u.shape[axis]))
		}
	}
	return u
}

// Within says of the elements of an array of a shape which of them come before size on an axis.
func Within(axis int, shape Shape, size Size) *UOp {
	line := make([]int, len(shape))
	for i := range line {
		line[i] = 1
	}
	line[axis] = shape[axis]
	return NewIota(shape[axis]).Less(size.Node()).Reshape(line...).Expand(shape...)
}
