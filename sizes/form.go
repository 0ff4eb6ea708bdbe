package sizes

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// form is an integer of a case, C + Σ K·n where n are the values of the variables.
type form struct {
	C int
	K [uop.MaxVars]int
}

// Values are those of the variables.
type Values [uop.MaxVars]int

func (f form) at(n Values) int {
	x := f.C
	for i, k := range f.K {
		x += k * n[i]
	}
	return x
}

func (f form) varies() bool { return f.K != [uop.MaxVars]int{} }

// falls says that something is taken away: a number, or a multiple of a variable.
func (f form) falls() bool {
	return f.varies() && (f.C < 0 || slices.ContainsFunc(f.K[:], func(k int) bool { return k < 0 }))
}

func (f form) times(d int) form {
	f.C *= d
	for i := range f.K {
		f.K[i] *= d
	}
	return f
}

// over is f / d where that is a form.
func (f form) over(d int) (form, bool) {
	if d == 0 || f.C%d != 0 {
		return f, false
	}
	f.C /= d
	for i := range f.K {
		if f.K[i]%d != 0 {
			return f, false
		}
		f.K[i] /= d
	}
	return f, true
}

// number is the product of forms.
func number(fs []form, n Values) int {
	x := 1
	for _, f := range fs {
		x *= f.at(n)
	}
	return x
}

// samples are what the variables are in the cases that a graph is made from.
type samples []Values

// scaled are samples whose variables count so many elements at once: strides make half of a size, or a quarter; false: they are no such multiples, but
// for a number.
func (s samples) scaled(by [uop.MaxVars]int) (samples, bool) {
	if !slices.ContainsFunc(by[:], func(d int) bool { return d != 1 }) {
		return nil, false
	}
	out := slices.Clone(s)
	for i, d := range by {
		for k, n := range s {
			if d == 0 || (n[i]-s[0][i])%d != 0 {
				return nil, false
			}
			out[k][i] = n[i] / d
		}
	}
	return out, true
}

// form finds that of an integer, of which each case has one.
func (s samples) form(xs []int) (form, bool) { return s.formBy(xs, s.slopes) }

// formBy finds the form with those slopes: it is right if there is such a one.
func (s samples) formBy(xs []int, slopes func(xs []int) (num, den [uop.MaxVars]int)) (form, bool) {
	f := form{C: xs[0]}
	if slices.ContainsFunc(xs, func(x int) bool { return x != xs[0] }) {
		num, den := slopes(xs)
		for i, d := range den {
			f.K[i] = num[i] / d
			f.C -= f.K[i] * s[0][i]
		}
	}
	for i, n := range s {
		if f.at(n) != xs[i] {
			return f, false
		}
	}
	return f, true
}

// fractions are by what each variable has to be divided, for an integer to be a sum of multiples.
func (s samples) fractions(xs []int) (by [uop.MaxVars]int) {
	num, den := s.slopes(xs)
	for i, d := range den {
		a, b := num[i], d
		for a != 0 { // the greatest common divisor is b
			a, b = b%a, a
		}
		by[i] = max(d/b, -d/b)
	}
	return by
}

// slopes are fractions: by how much an integer changes with each variable, if it does so linearly. Of one variable or two they follow from three cases.
func (s samples) slopes(xs []int) (num, den [uop.MaxVars]int) {
	if s.many() {
		return s.shares(xs)
	}
	for i := range den {
		den[i] = 1
	}
	var rows [][3]int // differences to the first
	for k, n := range s[1:] {
		rows = append(rows, [3]int{n[0] - s[0][0], n[1] - s[0][1], xs[k+1] - xs[0]})
	}
	for i, a := range slices.Backward(rows) {
		for _, b := range slices.Backward(rows[:i]) {
			if det := a[0]*b[1] - a[1]*b[0]; det != 0 {
				num[0], num[1] = a[2]*b[1]-a[1]*b[2], a[0]*b[2]-a[2]*b[0]
				den[0], den[1] = det, det
				return num, den
			}
		}
	}
	for _, r := range rows {
		if r[0] != 0 {
			num[0], den[0] = r[2], r[0]
		}
	}
	return num, den
}

// differs says that a variable is not the same in all cases.
func (s samples) differs(i int) bool {
	return slices.ContainsFunc(s, func(n Values) bool { return n[i] != s[0][i] })
}

// many says that there are more than two variables.
func (s samples) many() bool {
	for i := few; i < uop.MaxVars; i++ {
		if s.differs(i) {
			return true
		}
	}
	return false
}

// few variables can be told from three cases, whatever sums of multiples of them integers are.
const few = 2

// shares are the slopes of a multiple of a variable, or of the sum of some, as what is joined is: for more than that cases are too few. Fewer variables
// come first, and multiples before fractions.
func (s samples) shares(xs []int) (num, den [uop.MaxVars]int) {
	for i := range den {
		den[i] = 1
	}
	differ := uint(0)
	for i := range uop.MaxVars {
		if s.differs(i) {
			differ |= 1 << i
		}
	}
	found := false
	for size := 1; size <= bits.OnesCount(differ); size++ {
		for set := uint(1); set <= differ; set++ {
			if bits.OnesCount(set) != size || set&^differ != 0 {
				continue
			}
			up, by, ok := s.slope(set, xs)
			if whole := ok && up%by == 0; !ok || size > 1 && up*by < 0 || found && !whole {
				continue
			}
			found = true
			for i := range uop.MaxVars {
				num[i], den[i] = 0, 1
				if set>>i&1 != 0 {
					num[i], den[i] = up, by
				}
			}
			if up%by == 0 {
				return num, den
			}
		}
	}
	return num, den
}

// slope is by how much an integer changes with the sum of some variables, if it is the same in all cases: up for each by of them.
func (s samples) slope(set uint, xs []int) (up, by int, ok bool) {
	for k, n := range s {
		d := 0
		for i := range uop.MaxVars {
			if set>>i&1 != 0 {
				d += n[i] - s[0][i]
			}
		}
		if by == 0 {
			up, by = xs[k]-xs[0], d
		}
		if (xs[k]-xs[0])*by != up*d {
			return 0, 0, false
		}
	}
	return up, by, by != 0
}

// with are samples with one variable more, or two: how many elements parts of arrays have.
func (s samples) with(parts [][]int) (samples, bool) {
	out, found := slices.Clone(s), false
	for i := range few {
		if s == nil { // sizes of inputs depend on more
			break
		}
		if out.differs(i) {
			continue // it is another size's
		}
		at := slices.IndexFunc(parts, func(xs []int) bool { _, ok := out.form(xs); return !ok })
		if at < 0 || i > 0 && len(s) < 3 {
			break
		}
		found = true
		for k := range out {
			out[k][i] = parts[at][k]
		}
	}
	return out, found
}

// differing are sizes of inputs that differ, of which each case has one; false: inputs differ in more.
func differing(cases []Case) (vectors [][]int, ok bool) {
	for i, u := range cases[0].Ins {
		for axis := range u.Shape() {
			v := make([]int, len(cases))
			same := true
			for k, c := range cases {
				s := c.Ins[i].Shape()
				if len(s) != len(u.Shape()) || c.Ins[i].DType() != u.DType() {
					return nil, false
				}
				v[k] = s[axis]
				same = same && v[k] == v[0]
			}
			if !same {
				vectors = append(vectors, v)
			}
		}
	}
	return vectors, true
}

// variables finds what the sizes of inputs depend on: one of them, of which all others are multiples and a constant, or else two.
func variables(cases []Case, vectors [][]int) (samples, bool) {
	if len(vectors) == 0 {
		return make(samples, len(cases)), false
	}
	fits := func(s samples) bool {
		for _, v := range vectors {
			if _, ok := s.form(v); !ok {
				return false
			}
		}
		return true
	}
	for i, a := range vectors {
		s := make(samples, len(cases))
		for k := range s {
			s[k][0] = a[k]
		}
		if fits(s) {
			return s, true
		}
		for _, b := range vectors[i+1:] {
			for k := range s {
				s[k][1] = b[k]
			}
			if len(cases) > 2 && fits(s) {
				return s, true
			}
			for k := range s {
				s[k][1] = 0
			}
		}
	}
	return nil, false
}

// independent has a variable for each size that is no multiple of another and no sum of others, the least first: of what is joined the parts are variables.
func independent(cases []Case, vectors [][]int) (s samples, ok bool) {
	vectors = slices.Clone(vectors)
	slices.SortStableFunc(vectors, func(a, b []int) int { return cmp.Compare(total(a), total(b)) })
	s = make(samples, len(cases))
	n := 0
	for _, v := range vectors {
		if f, ok := s.formBy(v, s.shares); ok && !f.falls() {
			continue
		}
		if n == uop.MaxVars {
			return nil, false
		}
		for k := range s {
			s[k][n] = v[k]
		}
		n++
	}
	return s, n >= few
}

func total(xs []int) (sum int) {
	for _, x := range xs {
		sum += x
	}
	return sum
}
