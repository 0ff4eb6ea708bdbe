package tensor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// factor is an operand as it is multiplied and added up: 16-bit floats and small integers in 32 bits. It becomes so before it is repeated, so that
// the gradient is added up in them too.
func factor(u *uop.UOp, d dtype.DType) *uop.UOp { return u.Cast(d).Cast(dtype.Accumulator(d)) }

// contract is Σ x·y over axes, of factors of type d.
func contract(d dtype.DType, x, y *uop.UOp, axes ...int) *uop.UOp {
	return only(x.Mul(y), uop.Sum, axes...).Reduce(uop.Sum, axes...).Cast(d)
}

// MatMul returns t[…,n,k] · w[…,k,m]; leading axes broadcast. A tensor of one axis is a row on the
// left and a column on the right, and that axis is dropped from the result.
func (t *Tensor) MatMul(w *Tensor) *Tensor {
	x, y := t.room(), w.room()
	if len(x) == 0 || len(y) == 0 {
		fail("MatMul", shapes(x, y), "needs at least one axis each")
	}
	a, b := slices.Clone(x), slices.Clone(y)
	if len(x) == 1 {
		a = uop.Shape{1, x[0]}
	}
	if len(y) == 1 {
		b = uop.Shape{y[0], 1}
	}
	n, k, m := a[len(a)-2], a[len(a)-1], b[len(b)-1]
	if k != b[len(b)-2] {
		fail("MatMul", shapes(x, y), "inner sizes %d and %d differ", k, b[len(b)-2])
	}
	if p, q := t.sizeAt(len(x)-1), w.sizeAt(max(0, len(y)-2)); p != q {
		failArg("MatMul", "inner sizes %v and %v differ", p, q)
	}
	lead := broadcastShape("MatMul", a[:len(a)-2], b[:len(b)-2])
	d := dtype.Promote(t.DType(), w.DType())
	full := append(slices.Clone(lead), n, m, k)
	u := factor(t.node(), d).Reshape(slices.Concat(a[:len(a)-2], []int{n, 1, k})...)
	v := factor(w.node(), d).Reshape(b...)
	v = v.Permute(swapLast(len(b))...).Reshape(slices.Concat(b[:len(b)-2], []int{1, m, k})...)
	out := contract(d, spread(u, full), spread(v, full), len(full)-1)
	s := slices.Clone(lead)
	if len(x) > 1 {
		s = append(s, n)
	}
	if len(y) > 1 {
		s = append(s, m)
	}
	return newTensor(out.Reshape(s...), commonEngine("MatMul", t, w))
}

func swapLast(n int) []int {
	order := identity(n)
	order[n-1], order[n-2] = order[n-2], order[n-1]
	return order
}

// Dot is MatMul.
func (t *Tensor) Dot(w *Tensor) *Tensor { return t.MatMul(w) }

// Outer returns t[n] · w[m] as n×m.
func (t *Tensor) Outer(w *Tensor) *Tensor {
	if t.Rank() != 1 || w.Rank() != 1 {
		fail("Outer", shapesOf(t, w), "needs one axis each")
	}
	return t.Unsqueeze(1).Mul(w.Unsqueeze(0))
}

// Linear returns t[…,in] · w[out,in]ᵀ + b[out]; b may be nil. A w of one axis gives one output,
// without an axis for it.
func (t *Tensor) Linear(w, b *Tensor) *Tensor {
	switch {
	case w.Rank() < 1 || w.Rank() > 2 || t.Rank() == 0:
		fail("Linear", shapes(t.room(), w.room()), "needs a weight of shape out, in and an input of at least one axis")
	case t.sizeAt(t.Rank()-1) != w.sizeAt(w.Rank()-1):
		fail("Linear", shapes(t.room(), w.room()), "inner sizes %v and %v differ", t.sizeAt(t.Rank()-1), w.sizeAt(w.Rank()-1))
	}
	y := w
	if w.Rank() == 2 {
		y = w.T()
	}
	out := t.MatMul(y)
	if b == nil {
		return out
	}
	if s := broadcastShape("Linear", out.room(), b.room()); !s.Equal(out.room()) {
		fail("Linear", shapes(t.room(), w.room(), b.room()), "the bias does not fit the output %v", []int(out.room()))
	}
	return out.Add(b)
}

// labelled is an operand of Einsum with a letter for each axis; the axes of an ellipsis have the labels of dots.
type labelled struct {
	t    *Tensor
	axes []rune
}

// Einsum multiplies operands and sums over the letters that do not appear after "->", as in
// "bij,bjk->bik". Without "->" the letters that appear once remain, in alphabetical order, after the
// axes of an ellipsis. A letter twice in one operand takes the diagonal; "..." stands for axes that
// broadcast.
func Einsum(formula string, ts ...*Tensor) *Tensor {
	formula = strings.ReplaceAll(formula, " ", "")
	in, out, explicit := strings.Cut(formula, "->")
	terms := strings.Split(in, ",")
	if len(terms) != len(ts) {
		fail("Einsum", shapesOf(ts...), "%q names %d operands, not %d", formula, len(terms), len(ts))
	}
	ops := make([]labelled, len(ts))
	for i, term := range terms {
		ops[i] = labelled{ts[i], einsumAxes(formula, term, ts[i].Rank(), ts)}
	}
	target := einsumTarget(formula, out, explicit, ops, ts)
	sizes := einsumSizes(formula, ops, ts)
	d := ts[0].DType()
	for i := range ops {
		d = dtype.Promote(d, ops[i].t.DType())
		ops[i] = ops[i].diagonals()
	}
	for i, o := range ops {
		o.t = o.t.To(d)
		if own := o.among(neededBeside(ops, [2]int{i, i}, target)); len(own) < len(o.axes) && len(ops) > 1 { // summed before it is multiplied
			o = labelled{o.reduce(own), own}
		}
		ops[i] = o
	}
	pairs, _ := fewestProducts(ops, target, sizes)
	for _, p := range pairs {
		ops[p[0]] = ops[p[0]].times(ops[p[1]], neededBeside(ops, p, target), sizes)
		ops = slices.Delete(ops, p[1], p[1]+1)
	}
	return ops[0].reduce(target)
}

// neededBeside lists the letters of the result and of all operands but a pair.
func neededBeside(ops []labelled, pair [2]int, target []rune) []rune {
	need := slices.Clone(target)
	for i, o := range ops {
		if i != pair[0] && i != pair[1] {
			need = append(need, o.axes...)
		}
	}
	return need
}

// einsumTried is of how many operands all orders are compared. Of more the pair that is cheapest by itself comes first.
const einsumTried = 5

// fewestProducts says which operands are multiplied, one pair after the other, so that there are few multiplications in all. A product takes the
// place of the first of its operands.
func fewestProducts(ops []labelled, target []rune, sizes map[rune]int) (pairs [][2]int, products float64) {
	type step struct {
		pair [2]int
		stay []rune
		cost float64
	}
	var steps []step
	for i := range ops {
		for j := range i {
			s := step{pair: [2]int{j, i}, cost: 1}
			var gone []rune
			s.stay, gone = ops[j].split(ops[i], neededBeside(ops, s.pair, target))
			for _, r := range slices.Concat(s.stay, gone) {
				s.cost *= float64(sizes[r])
			}
			steps = append(steps, s)
		}
	}
	if len(ops) > einsumTried {
		steps = []step{slices.MinFunc(steps, func(a, b step) int { return cmp.Compare(a.cost, b.cost) })}
	}
	for _, s := range steps {
		rest := slices.Delete(slices.Clone(ops), s.pair[1], s.pair[1]+1)
		rest[s.pair[0]] = labelled{axes: s.stay}
		more, cost := fewestProducts(rest, target, sizes)
		if cost += s.cost; pairs == nil || cost < products {
			pairs, products = append([][2]int{s.pair}, more...), cost
		}
	}
	return pairs, products
}

// dots is the label of the k-th ellipsis axis, counted from the right.
func dots(k int) rune { return rune(0x1000 + k) }

// einsumAxes labels the axes of one operand.
func einsumAxes(formula, term string, rank int, ts []*Tensor) []rune {
	before, after, has := strings.Cut(term, "...")
	fixed := len([]rune(before)) + len([]rune(after))
	if fixed > rank || !has && fixed != rank {
		fail("Einsum", shapesOf(ts...), "%q: %q does not name the %d axes of its operand", formula, term, rank)
	}
	for _, r := range before + after {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			failArg("Einsum", "%q: %q is not a letter", formula, string(r))
		}
	}
	axes := []rune(before)
	for k := rank - fixed - 1; k >= 0; k-- {
		axes = append(axes, dots(k))
	}
	return append(axes, []rune(after)...)
}

// einsumTarget labels the axes of the result.
func einsumTarget(formula, out string, explicit bool, ops []labelled, ts []*Tensor) []rune {
	count := map[rune]int{}
	most := 0
	for _, o := range ops {
		for _, r := range o.axes {
			count[r]++
			if r >= dots(0) {
				most = max(most, int(r-dots(0))+1)
			}
		}
	}
	var ellipsis, letters []rune
	for k := most - 1; k >= 0; k-- {
		ellipsis = append(ellipsis, dots(k))
	}
	if !explicit {
		for r, n := range count {
			if r < dots(0) && n == 1 {
				letters = append(letters, r)
			}
		}
		slices.SortStableFunc(letters, cmp.Compare[rune])
		return append(ellipsis, letters...)
	}
	before, after, has := strings.Cut(out, "...")
	target := []rune(before)
	if has {
		target = append(target, ellipsis...)
	}
	target = append(target, []rune(after)...)
	for i, r := range target {
		if count[r] == 0 || slices.Contains(target[:i], r) {
			fail("Einsum", shapesOf(ts...), "%q: the result names %q, which no operand has or which it names twice", formula, string(r))
		}
	}
	return target
}

func einsumSizes(formula string, ops []labelled, ts []*Tensor) map[rune]int {
	sizes := map[rune]int{}
	for _, o := range ops {
		for i, r := range o.axes {
			n := o.t.Dim(i)
			old, ok := sizes[r]
			switch {
			case !ok || old == 1:
				sizes[r] = n
			case n != 1 && n != old:
				fail("Einsum", shapesOf(ts...), "%q: an axis has sizes %d and %d", formula, old, n)
			}
		}
	}
	return sizes
}

// diagonals merges axes with one letter.
func (l labelled) diagonals() labelled {
	for i := 0; i < len(l.axes); i++ {
		j := slices.Index(l.axes[i+1:], l.axes[i])
		if j < 0 {
			continue
		}
		j += i + 1
		if l.t.Dim(i) != l.t.Dim(j) {
			fail("Einsum", shapesOf(l.t), "the diagonal of axes %d and %d of different sizes", i, j)
		}
		order := slices.Delete(identity(len(l.axes)), j, j+1)
		order = slices.Delete(order, i, i+1)
		u := diagonal(l.t.node().Permute(append(order, i, j)...), 0)
		l.t = l.t.like(u)
		r := l.axes[i]
		l.axes = append(slices.Delete(slices.Delete(slices.Clone(l.axes), j, j+1), i, i+1), r)
		i = -1
	}
	return l
}

// on lays the operand out over labels.
func (l labelled) on(labels []rune, sizes map[rune]int) *uop.UOp {
	var order, s, full []int
	for _, r := range labels {
		full = append(full, sizes[r])
		if i := slices.Index(l.axes, r); i >= 0 {
			order, s = append(order, i), append(s, l.t.Dim(i))
		} else {
			s = append(s, 1)
		}
	}
	return spread(factor(l.t.node(), l.t.DType()).Permute(order...).Reshape(s...), full)
}

// among lists the letters of an operand that are needed.
func (l labelled) among(need []rune) (own []rune) {
	for _, r := range l.axes {
		if slices.Contains(need, r) {
			own = append(own, r)
		}
	}
	return own
}

// split tells the letters of two operands apart: those that are needed, and those that their product is summed over.
func (l labelled) split(o labelled, need []rune) (stay, gone []rune) {
	for _, r := range slices.Concat(l.axes, o.axes) {
		switch {
		case slices.Contains(stay, r) || slices.Contains(gone, r):
		case slices.Contains(need, r):
			stay = append(stay, r)
		default:
			gone = append(gone, r)
		}
	}
	return stay, gone
}

// times multiplies two operands and sums over the letters that are not needed any more.
func (l labelled) times(o labelled, need []rune, sizes map[rune]int) labelled {
	stay, gone := l.split(o, need)
	all := slices.Concat(stay, gone)
	var axes []int
	for i := range gone {
		axes = append(axes, len(stay)+i)
	}
	u := contract(l.t.DType(), l.on(all, sizes), o.on(all, sizes), axes...)
	return labelled{newTensor(u, commonEngine("Einsum", l.t, o.t)), stay}
}

// reduce sums what is not in target and orders the rest.
func (l labelled) reduce(target []rune) *Tensor {
	var axes, order []int
	var left []rune
	for i, r := range l.axes {
		if slices.Contains(target, r) {
			left = append(left, r)
		} else {
			axes = append(axes, i)
		}
	}
	t := l.t
	if len(axes) > 0 {
		t = t.Sum(axes...).To(t.DType())
	}
	for _, r := range target {
		order = append(order, slices.Index(left, r))
	}
	return t.like(t.node().Permute(order...))
}
