package sizes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/uop"
)

// n is k·n + c of the first variable, m of the second.
func n(k, c int) form { return form{C: c, K: [uop.MaxVars]int{k, 0}} }
func m(k, c int) form { return form{C: c, K: [uop.MaxVars]int{0, k}} }

// fixed is a number.
func fixed(c int) form { return form{C: c} }

func TestFormsAreFoundInSamples(t *testing.T) {
	one, two, both := samples{{3}, {5}, {9}}, samples{{3}, {5}}, samples{{3, 2}, {5, 7}, {9, 4}}
	for _, c := range []struct {
		name string
		s    samples
		xs   []int
		want form
		ok   bool
	}{
		{"a number", one, []int{4, 4, 4}, fixed(4), true},
		{"the variable", one, []int{3, 5, 9}, n(1, 0), true},
		{"a multiple and a number", one, []int{5, 9, 17}, n(2, -1), true},
		{"one that falls", one, []int{7, 5, 1}, n(-1, 10), true},
		{"a square", one, []int{9, 25, 81}, form{}, false},
		{"a half", one, []int{1, 2, 4}, form{}, false},
		{"a half that is exact in no sample but the first", samples{{4}, {5}, {6}}, []int{2, 2, 3}, form{}, false},
		{"two samples", two, []int{6, 10}, n(2, 0), true},
		{"half of a difference", two, []int{6, 7}, form{}, false},
		{"the second of two", both, []int{2, 7, 4}, m(1, 0), true},
		{"their sum", both, []int{6, 13, 14}, form{C: 1, K: [uop.MaxVars]int{1, 1}}, true},
		{"their product", both, []int{6, 35, 36}, form{}, false},
		{"samples that are equal", samples{{3}, {3}}, []int{1, 2}, form{}, false},
		{"a variable that differs last", samples{{3}, {3}, {4}}, []int{6, 6, 8}, n(2, 0), true},
		{"two variables in step", samples{{3, 6}, {4, 8}, {5, 10}}, []int{4, 5, 6}, n(1, 1), true},
	} {
		f, ok := c.s.form(c.xs)
		assert.Equal(t, c.ok, ok, c.name)
		if c.ok {
			assert.Equal(t, c.want, f, c.name)
		}
	}
}

func TestFormsAreDivided(t *testing.T) {
	for _, c := range []struct {
		f    form
		d    int
		want form
		ok   bool
	}{
		{n(4, 6), 2, n(2, 3), true}, {n(4, 6), 4, form{}, false}, {n(3, 6), 2, form{}, false}, {form{C: 4, K: [uop.MaxVars]int{2, 6}}, 2, form{C: 2, K: [uop.MaxVars]int{1, 3}}, true}, {n(1, 0), 0, form{}, false},
	} {
		f, ok := c.f.over(c.d)
		assert.Equal(t, c.ok, ok, "%v over %d", c.f, c.d)
		if c.ok {
			assert.Equal(t, c.want, f)
			assert.Equal(t, c.f, f.times(c.d))
		}
	}
}

func TestProductsAreTheSameInAnyOrder(t *testing.T) {
	assert.True(t, product([]form{n(1, 1), m(2, 0)}).equal(product([]form{m(1, 0), fixed(2), n(1, 1)})))
	assert.False(t, product([]form{n(1, 1), m(2, 0)}).equal(product([]form{n(1, 2), m(2, 0)})))
	assert.True(t, product([]form{n(1, 1), n(1, -1)}).equal(polynomial{{2, 0}: 1, {}: -1}), "what cancels is gone")
	assert.Equal(t, 24, number([]form{n(1, 1), m(2, 0), fixed(2)}, Values{2, 2}))
	d, ok := product([]form{n(4, 8)}).multiple(product([]form{n(1, 2)}))
	assert.True(t, ok)
	assert.Equal(t, 4, d)
	for _, q := range [][]form{{n(1, 3)}, {n(3, 6)}, {m(1, 2)}, {fixed(4)}, {n(-1, -2)}} {
		_, ok = product([]form{n(4, 8)}).multiple(product(q))
		assert.False(t, ok, "%v", q)
	}
}

// refuses says whether f does.
func refuses(f func()) (yes bool) {
	defer func() { yes = recover() == any(errRefused) }()
	f()
	return false
}

func TestFactorsAreTaken(t *testing.T) {
	for _, c := range []struct {
		name             string
		size, from       []form
		want, left, join []form
	}{
		{"one of two", []form{n(1, 0)}, []form{n(1, 0), m(1, 0)}, []form{n(1, 0)}, []form{m(1, 0)}, []form{n(1, 0)}},
		{"both", []form{n(1, 0), m(1, 0)}, []form{n(1, 0), m(1, 0)}, []form{n(1, 0), m(1, 0)}, nil, []form{n(1, 0), m(1, 0)}},
		{"both, as the size has them in the other order", []form{m(1, 0), n(1, 0)}, []form{n(1, 0), m(1, 0)}, []form{n(1, 0), m(1, 0)}, nil, []form{n(1, 0), m(1, 0)}},
		{"none", []form{fixed(1)}, []form{n(1, 0)}, []form{fixed(1)}, []form{n(1, 0)}, []form{fixed(1)}},
		{"a part of a number", []form{fixed(2)}, []form{fixed(6), n(1, 0)}, []form{fixed(2)}, []form{fixed(3), n(1, 0)}, []form{fixed(2)}},
		{"a part of a multiple", []form{n(1, 1)}, []form{n(3, 3)}, []form{n(1, 1)}, []form{fixed(3)}, []form{n(1, 1)}},
		{"a multiple", []form{n(3, 0)}, []form{n(1, 0), fixed(3)}, []form{n(1, 0), fixed(3)}, nil, []form{n(3, 0)}},
		{"a number and what varies", []form{n(3, 0)}, []form{fixed(3), n(1, 0)}, []form{fixed(3), n(1, 0)}, nil, []form{fixed(3), n(1, 0)}},
	} {
		out, rest := taken(c.size, c.from)
		assert.Equal(t, c.want, out, c.name)
		assert.ElementsMatch(t, c.left, rest, c.name)
		assert.Equal(t, c.join, joined(out), c.name)
	}
	assert.True(t, refuses(func() { taken([]form{fixed(2)}, []form{n(2, 0)}) }), "halves of what varies do not have elements that count first")
	assert.True(t, refuses(func() { taken([]form{m(1, 0)}, []form{n(1, 0), m(1, 0)}) }), "the second before the first")
	assert.True(t, refuses(func() { taken([]form{n(1, 0)}, []form{n(1, 1)}) }))
	assert.True(t, refuses(func() { taken([]form{n(1, 0)}, nil) }))
	assert.Equal(t, []form{fixed(1)}, joined(nil))
	assert.Equal(t, []form{n(6, 0), m(2, 0)}, joined([]form{fixed(1), n(1, 0), fixed(6), m(1, 0), fixed(2)}))
}
