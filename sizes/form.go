package sizes

import (
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
	if by == [uop.MaxVars]int{1, 1} {
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
func (s samples) form(xs []int) (form, bool) {
	f := form{C: xs[0]}
	for i := 1; i < len(xs); i++ {
		if xs[i] != xs[0] {
			f = s.solve(xs)
			break
		}
	}
	for i, n := range s {
		if f.at(n) != xs[i] {
			return f, false
		}
	}
	return f, true
}

// solve gives integers that are right if there are such: by the first pair of cases in which one variable differs, or by three of them where two do.
func (s samples) solve(xs []int) (f form) {
	num, den := s.slopes(xs)
	f.C = xs[0]
	for i, d := range den {
		f.K[i] = num[i] / d
		f.C -= f.K[i] * s[0][i]
	}
	return f
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

// slopes are fractions: by how much an integer changes with each variable, if it does so linearly.
func (s samples) slopes(xs []int) (num, den [uop.MaxVars]int) {
	last := len(s) - 1
	d := [2][3]int{}
	for row, i := range [2]int{max(0, last-1), last} { // differences to the first
		d[row] = [3]int{s[i][0] - s[0][0], s[i][1] - s[0][1], xs[i] - xs[0]}
	}
	den = [uop.MaxVars]int{1, 1}
	if det := d[0][0]*d[1][1] - d[0][1]*d[1][0]; det != 0 {
		num[0], num[1] = d[0][2]*d[1][1]-d[0][1]*d[1][2], d[0][0]*d[1][2]-d[0][2]*d[1][0]
		return num, [uop.MaxVars]int{det, det}
	}
	for _, r := range d {
		if r[0] != 0 {
			num[0], den[0] = r[2], r[0]
		}
	}
	return num, den
}

// with are samples with one variable more, or two: how many elements parts of arrays have.
func (s samples) with(parts [][]int) (samples, bool) {
	out, found := slices.Clone(s), false
	for i := range uop.MaxVars {
		if s == nil { // sizes of inputs depend on more
			break
		}
		if slices.ContainsFunc(out, func(n Values) bool { return n[i] != out[0][i] }) {
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

// variables finds what the sizes of inputs depend on: one of them, of which all others are multiples and a constant, or else two.
func variables(cases []Case) (samples, bool) {
	var vectors [][]int // of sizes that differ
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
