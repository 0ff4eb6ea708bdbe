package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums of products of small integers are carried in 32 bits, in which they are exact up to a multiple of 2³²: any order of
// adding gives the same bits, and sums may be multiplied out. So several steps of the reduction become one where the machine
// multiplies pairs of 16 bits (uop.Dot2) or fours of 8 bits (uop.Dot4) and adds the products: words hold the factors of these steps.
// Pairs of bfloat16 (uop.DotBF16) are added in float32, and so is their sum, in an order that is the same each time.

// dotted is a sum of products as the directive takes it: Σ (x + a)·(y + b), where a and b are the same in all steps. It is
// Σ x·y + a·Σ y + b·Σ x + n·a·b.
type dotted struct {
	n       int // steps of a word
	factors [2]factor
}

// factor is a load of small integers, widened, and what is added to it. Of bytes, Dot4 multiplies such without a sign
// with such with one: where both factors are of one kind, words hold 128 more or less of one of them.
type factor struct {
	wide *uop.UOp
	plus *uop.UOp // or nil
	bias int
}

func (f factor) load() *uop.UOp { return f.wide.At(0) }

// sumOf says that the sum of factor i is needed: that of the other one's plus and bias.
func (d *dotted) sumOf(i int) bool { return d.factors[1-i].plus != nil || d.factors[1-i].bias != 0 }

const sumSuffix = "s" // p1s is the sum of p1 over the steps

// dot carries out "dot r0.a 4".
func (k *kernel) dot(m Directive) error {
	if m.N != 2 && m.N != 4 {
		return fmt.Errorf("words hold 2 or 4 steps, not %d", m.N)
	}
	a, err := k.stepsAxis(m)
	if err != nil {
		return err
	}
	u := k.values[a.owner]
	d := k.dotted(u, m.N)
	if d == nil {
		return fmt.Errorf("%s is no sum of products of numbers of at most %d bits that the machine adds so", a.owner, 32/m.N)
	}
	k.inWords(a, d, func(x, y *uop.UOp) *uop.UOp {
		switch {
		case d.factors[0].load().DType() == dtype.BF16:
			return x.DotBF16(y)
		case m.N == 4:
			return x.Dot4(y)
		}
		return x.Dot2(y)
	})
	return nil
}

// stepsAxis is the axis of a reduction whose steps a directive puts into words.
func (k *kernel) stepsAxis(m Directive) (*axis, error) {
	a := k.axes[m.Name]
	if a == nil {
		return nil, k.noAxis(m.Name)
	}
	if a.owner == "" || a.kind != Serial || a.guard != nil || k.peeled(a) || k.owners(a.r) != 1 {
		return nil, fmt.Errorf("axis %s is not one that only a reduction goes along", a.name)
	}
	_, ranges := reduceParts(k.values[a.owner])
	if slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return k.byR[r].guard != nil || k.peeled(k.byR[r]) }) {
		return nil, fmt.Errorf("an axis of %s is split so that its steps are not those of its factors", a.owner)
	}
	return a, nil
}

// inWords puts the steps of a sum of products along an axis into words, which product multiplies.
func (k *kernel) inWords(a *axis, d *dotted, product func(x, y *uop.UOp) *uop.UOp) {
	u := k.values[a.owner]
	_, ranges := reduceParts(u)
	w := k.newRange(ceilDiv(extent(a.r), d.n), a.name)
	words := map[*uop.UOp]*uop.UOp{}
	var at [2]*uop.UOp
	for i, f := range d.factors {
		at[i], words[f.wide] = k.words(f, a.r, w, d.n)
	}
	ranges = slices.Clone(ranges)
	ranges[slices.Index(ranges, a.r)] = w
	sum := k.t.ReduceRanges(uop.Sum, []*uop.UOp{product(at[0], at[1])}, ranges)
	words[u] = sum
	total, sums := k.multiplied(d, u, sum.Cast(u.DType()))
	for name, v := range k.values {
		if words[v] != nil {
			k.values[name] = words[v]
		}
	}
	delete(k.axes, a.name)
	k.addAxis(a.name, w, a.owner)
	k.rewriteReduce(func(v *uop.UOp) bool { return v == u }, func(_, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{total} })
	for i, s := range sums {
		if s != nil {
			k.nameReduce(k.loadName(d.factors[i].load())+sumSuffix, s)
		}
	}
}

// dotted takes a sum of products apart; nil if it is none of loads of integers that words of n steps hold, or of bfloat16 where the machine
// has an instruction for them: of numbers that are exact otherwise it rounds the sums and takes denormal ones for 0.
func (k *kernel) dotted(u *uop.UOp, n int) *dotted {
	types := []dtype.DType{dtype.I8, dtype.U8, dtype.I16}
	if n == 4 {
		types = types[:2]
	}
	d := k.productsOf(u, n, types, dtype.I32, dtype.U32)
	if d == nil && n == 2 && k.target.Has(uop.DotBF16, dtype.I32) {
		d = k.productsOf(u, n, []dtype.DType{dtype.BF16}, dtype.F32)
	}
	if d != nil && n == 4 {
		k.sign(d)
	}
	return d
}

// productsOf takes a sum, of some types, of products of loads of other types apart, in words of n steps; nil if it is none.
func (k *kernel) productsOf(u *uop.UOp, n int, types []dtype.DType, sums ...dtype.DType) *dotted {
	parts, ranges := reduceParts(u)
	if monoid := u.Arg().(uop.ReduceArg).Monoid; monoid != uop.Sum || parts[0].Op() != uop.Mul || !slices.Contains(sums, parts[0].DType()) {
		return nil
	}
	d := &dotted{n: n}
	for i, f := range parts[0].Src() {
		d.factors[i] = k.factor(f, k.facts.set(ranges...), types)
		if d.factors[i].wide == nil {
			return nil
		}
	}
	return d
}

// factor finds a widened load that fits a word, and what is added to it; without one it is empty.
func (k *kernel) factor(u *uop.UOp, steps rangeSet, types []dtype.DType) factor {
	fits := func(u *uop.UOp) bool {
		return u.Op() == uop.Cast && widens(u) && u.At(0).Op() == uop.Load && slices.Contains(types, u.At(0).DType())
	}
	if fits(u) {
		return factor{wide: u}
	}
	if u.Op() == uop.Add && u.DType().IsInt() {
		for i := range 2 {
			if fits(u.At(i)) && k.facts.freeRanges(u.At(1-i)).disjoint(steps) {
				return factor{wide: u.At(i), plus: u.At(1 - i)}
			}
		}
	}
	return factor{}
}

// sign orders the factors so that bytes of the first have no sign and those of the second have one. Where both are of a kind the one is
// changed that makes sums cheaper: of two factors the sum of the smaller array, and none that is not needed anyway.
func (k *kernel) sign(d *dotted) {
	x, y := &d.factors[0], &d.factors[1]
	unsigned := func(f *factor) bool { return f.load().DType() == dtype.U8 }
	if unsigned(x) == unsigned(y) {
		cost := func(f *factor) (n int) { // of all elements
			n = 1
			k.facts.freeRanges(f.wide).each(func(i int) { n = min(n*extent(k.facts.ranges[i]), 1<<50) })
			if f.load().At(1).Op() != uop.Const {
				n *= 32
			}
			return n
		}
		changeX, changeY := cost(y), cost(x)
		if y.plus != nil {
			changeX += cost(x)
		}
		if x.plus != nil {
			changeY += cost(y)
		}
		f := x
		if changeY < changeX {
			f = y
		}
		if f.bias = 128; unsigned(f) {
			f.bias = -128
		}
	}
	if unsigned(y) && y.bias == 0 || y.bias > 0 {
		d.factors[0], d.factors[1] = d.factors[1], d.factors[0]
	}
}

// words are a factor's n steps n·w … in one word each; a step behind the end is 0. staged is what of them is kept where they are
// staged: without the bias where there are gates, since the rest of a box is filled with zeros.
func (k *kernel) words(f factor, r, w *uop.UOp, n int) (word, staged *uop.UOp) {
	bits := 32 / n
	for i := range n {
		at := k.facts.affine(w.Mul(k.t.Index(n)).Add(k.t.Index(i))).node(k.t)
		l := k.substitute(map[*uop.UOp]*uop.UOp{r: at}, f.load())
		gate := k.fold(l.At(1).And(k.fold(at.Less(k.t.Index(extent(r))))))
		l = k.t.Load(l.At(0), gate, l.Src()[2:]...)
		part := l
		if l.DType() == dtype.BF16 {
			part = l.Bitcast(dtype.I16)
		}
		part = part.Cast(dtype.I32)
		switch {
		case n == 4 && l.DType() == dtype.I8:
			part = l.Bitcast(dtype.U8).Cast(dtype.I32)
		case n == 2 && i == 0:
			part = part.And(part.Int(0xffff))
		}
		if i > 0 {
			part = part.Shl(part.Int(i * bits))
			part = word.Or(part)
		}
		word = part
	}
	if f.bias == 0 {
		return word, word
	}
	if staged = word; f.load().At(1).Op() == uop.Const {
		staged = word.Xor(word.Int(-0x7f7f7f80))
	}
	return word.Xor(word.Int(-0x7f7f7f80)), staged
}

// multiplied is a sum of products of words with what is missing in it, and the sums of factors that it needs.
func (k *kernel) multiplied(d *dotted, u, total *uop.UOp) (sum *uop.UOp, sums [2]*uop.UOp) {
	_, ranges := reduceParts(u)
	for i := range d.factors {
		if !d.sumOf(i) {
			continue
		}
		c := total.Int(-d.factors[1-i].bias)
		if p := d.factors[1-i].plus; p != nil {
			c = c.Add(p)
		}
		sums[i] = k.sumOver(d.factors[i].wide, ranges)
		total = total.Add(c.Mul(sums[i]))
	}
	if a, b := d.factors[0].plus, d.factors[1].plus; a != nil && b != nil {
		n := 1
		for _, r := range ranges {
			n *= extent(r)
		}
		total = total.Add(a.Mul(b).Mul(a.Int(n)))
	}
	return total, sums
}

// sumOver is the sum of a widened load over ranges: over new ones, and over one where they lie densely.
func (k *kernel) sumOver(wide *uop.UOp, ranges []*uop.UOp) *uop.UOp {
	l := wide.At(0)
	own := map[*uop.UOp]*uop.UOp{}
	var over []*uop.UOp
	at := k.linear(l.At(0).Arg().(uop.ParamArg).Slot, l.Src()[2:])
	mayJoin := l.At(1).Op() == uop.Const && at.plain()
	for i := 0; i < len(ranges); i++ {
		r, n := ranges[i], extent(ranges[i])
		for mayJoin && i+1 < len(ranges) && at.coeff(r) == at.coeff(ranges[i+1])*extent(ranges[i+1]) {
			i++
			own[r] = k.t.Index(0)
			r, n = ranges[i], n*extent(ranges[i])
		}
		own[r] = k.newRange(n, "")
		over = append(over, own[r])
	}
	if len(over) < len(ranges) {
		l = k.t.Load(l.At(0), l.At(1), at.node(k.t))
	}
	return k.t.ReduceRanges(uop.Sum, []*uop.UOp{k.substitute(own, l).Cast(wide.DType())}, over)
}

// loadName is what directives call a load.
func (k *kernel) loadName(l *uop.UOp) string {
	i := slices.IndexFunc(k.loads, func(name string) bool { return k.values[name] == l })
	return k.loads[i]
}

// dot2 is Dot2 where a machine has it not.
func dot2(x, y *uop.UOp) *uop.UOp {
	bits := x.Int(16)
	low := func(u *uop.UOp) *uop.UOp { return u.Shl(bits).Shr(bits) }
	return low(x).Mul(low(y)).Add(x.Shr(bits).Mul(y.Shr(bits)))
}

// dotBF16 is DotBF16 where a machine has it not.
func dotBF16(x, y *uop.UOp) *uop.UOp {
	low := func(u *uop.UOp) *uop.UOp { return u.Shl(u.Int(16)).Bitcast(dtype.F32) }
	high := func(u *uop.UOp) *uop.UOp { return u.And(u.Int(-1 << 16)).Bitcast(dtype.F32) }
	return low(x).Mul(low(y)).Add(high(x).Mul(high(y)))
}

// dot4 is Dot4 where a machine has it not.
func dot4(x, y *uop.UOp) (sum *uop.UOp) {
	for i := range 4 {
		p := x.Shr(x.Int(8 * i)).And(x.Int(255)).Mul(y.Shl(y.Int(24 - 8*i)).Shr(y.Int(24)))
		if i > 0 {
			p = sum.Add(p)
		}
		sum = p
	}
	return sum
}
