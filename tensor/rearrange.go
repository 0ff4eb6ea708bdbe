package tensor

import (
	"slices"
	"strconv"

	"github.com/weft-ml/weft/uop"
)

// Rearrange reorders, splits and merges axes as a formula says, in the notation of einops: "b (h w) c -> b c h w" splits the second
// axis of t into h and w and moves c. sizes, which may be nil, has what cannot be found from the shape: of the axes in one pair of
// parentheses, all but one. Each axis stands on both sides. A formula that is wrong is an *ArgumentError that names the character.
//
//	x.Rearrange("b (h p) (w q) c -> b (h w) (p q c)", map[string]int{"p": 16, "q": 16}) // pictures cut into patches
func (t *Tensor) Rearrange(text string, sizes map[string]int) *Tensor {
	f := parseFormula("Rearrange", text)
	y := f.split(t, sizes)
	f.within(f.left, f.right, "on the left")
	f.within(f.right, f.left, "on the right")
	return f.arrange(y)
}

// EinRepeat is Rearrange with axes that stand on the right alone, along which t is repeated: "h w -> h w c" with the size of c, and
// "h w -> (h 2) (w 2)", which makes a picture twice as large.
func (t *Tensor) EinRepeat(text string, sizes map[string]int) *Tensor {
	f := parseFormula("EinRepeat", text)
	y := f.split(t, sizes)
	f.within(f.left, f.right, "on the left")
	return f.arrange(y)
}

// EinReduce is Rearrange with axes that stand on the left alone, which reduce takes: "b c (h 2) (w 2) -> b c h w" with
// (*Tensor).Max is a pool of windows of 2×2. reduce is any method of its form: Sum, Mean, Max, Min, Prod, Any, All, LogSumExp, …
func (t *Tensor) EinReduce(text string, reduce func(t *Tensor, axes ...int) *Tensor, sizes map[string]int) *Tensor {
	f := parseFormula("EinReduce", text)
	y := f.split(t, sizes)
	f.within(f.right, f.left, "on the right")
	if reduce == nil {
		failArg(f.op, "no reduction")
	}
	var gone []int
	kept := f.known[:0:0]
	for i, n := range f.known {
		if f.right.has(n.text) {
			kept = append(kept, n)
		} else {
			gone = append(gone, i)
		}
	}
	if len(gone) > 0 {
		y, f.known = reduce(y, gone...), kept
	}
	return f.arrange(y)
}

// within fails where an axis of one side is not on the other.
func (f *formula) within(of, in side, where string) {
	for _, n := range of.names() {
		if !in.has(n.text) {
			f.bad(n.at, "axis %s stands %s alone", n.shown(), where)
		}
	}
}

func (n name) shown() string {
	if n.size > 0 {
		return "of size " + strconv.Itoa(n.size)
	}
	return n.text
}

// split gives t an axis for each name on the left, and finds all sizes.
func (f *formula) split(t *Tensor, sizes map[string]int) *Tensor {
	s := t.shape()
	free := 0
	if f.left.dotted >= 0 {
		free = len(s) - (len(f.left.axes) - 1)
	}
	if f.left.dotted < 0 && len(s) != len(f.left.axes) || free < 0 {
		fail(f.op, shapes(s), "%q names %d axes on the left", f.text, len(f.left.axes)-min(1, f.left.dotted+1))
	}
	if f.right.dotted >= 0 && f.left.dotted < 0 {
		f.bad(f.right.axes[f.right.dotted][0].at, "... stands on the right alone")
	}
	f.left.spread(free)
	f.right.spread(free)
	f.sizes = map[string]int{}
	f.given(sizes)
	for i, axis := range f.left.axes {
		f.fit(s, i, axis)
	}
	f.known = f.left.names()
	out := make([]int, len(f.known))
	for i, n := range f.known {
		out[i] = f.sizes[n.text]
	}
	return t.like(t.node().Reshape(out...))
}

// given takes the sizes of the caller and of numbers.
func (f *formula) given(sizes map[string]int) {
	all := append(f.left.names(), f.right.names()...)
	for _, n := range all {
		if n.size > 0 {
			f.sizes[n.text] = n.size
		}
		size, ok := sizes[n.text]
		if !ok {
			continue
		}
		if size < 0 || size > uop.MaxElements {
			failArg(f.op, "size %d of axis %s", size, n.text)
		}
		f.sizes[n.text] = size
	}
	first, other := "", false // the first name, in their order, that is no axis
	for key := range sizes {
		if !slices.ContainsFunc(all, func(n name) bool { return n.text == key }) && (!other || key < first) {
			first, other = key, true
		}
	}
	if other {
		failArg(f.op, "%q has no axis %q, of which a size is given", f.text, first)
	}
}

// fit finds the one size of an axis of t that is not given, or checks those that are.
func (f *formula) fit(s uop.Shape, i int, axis []name) {
	product, unknown := 1, -1
	for k, n := range axis {
		size, ok := f.sizes[n.text]
		switch {
		case ok:
			product = uop.Times(product, size)
		case unknown >= 0:
			f.bad(n.at, "the sizes of %s and %s are not given", axis[unknown].text, n.text)
		default:
			unknown = k
		}
	}
	if unknown < 0 {
		if product != s[i] {
			fail(f.op, shapes(s), "%q: axis %d of size %d is not %d, as the formula has it", f.text, i, s[i], product)
		}
		return
	}
	if product == 0 || s[i]%product != 0 {
		fail(f.op, shapes(s), "%q: axis %d of size %d does not divide by %d", f.text, i, s[i], product)
	}
	f.sizes[axis[unknown].text] = s[i] / product
}

// arrange brings the axes into the order of the right side, adds those that are new and merges what stands in parentheses.
func (f *formula) arrange(t *Tensor) *Tensor {
	place := map[string]int{}
	for i, n := range f.known {
		place[n.text] = i
	}
	var order, narrow, wide, out []int
	for _, axis := range f.right.axes {
		size := 1
		for _, n := range axis {
			d, ok := f.sizes[n.text]
			if !ok {
				f.bad(n.at, "the size of %s is not given", n.text)
			}
			size = uop.Times(size, d)
			wide = append(wide, d)
			if i, ok := place[n.text]; ok {
				order, narrow = append(order, i), append(narrow, d)
			} else {
				narrow = append(narrow, 1)
			}
		}
		out = append(out, size)
	}
	checkSizes(f.op, wide)
	u := t.node().Permute(order...).Reshape(narrow...)
	return t.like(spread(u, wide).Reshape(out...))
}
