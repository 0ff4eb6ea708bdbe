package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums of products of small integers are carried in 32 bits, in which they are exact up to a multiple of 2³²: any order of
// adding gives the same bits, and sums may be multiplied out. So several steps of the reduction become one where the machine
// multiplies pairs of 16 bits (uop.Dot2) or fours of 8 bits (uop.Dot4) and adds the products: words hold the factors of these steps.
// Pairs of bfloat16 (uop.DotBF16) are added in float32, and so is their sum, in an order that is the same each time.

// Dotted is a sum of products as the directive takes it: Σ (x + a)·(y + b), where a and b are the same in all steps. It is
// Σ x·y + a·Σ y + b·Σ x + n·a·b.
type Dotted struct {
	N       int // steps of a word
	Factors [2]Factor
}

// Factor is a load of small integers, widened, and what is added to it. Of bytes, Dot4 multiplies such without a sign
// with such with one: where both factors are of one kind, words hold 128 more or less of one of them.
type Factor struct {
	wide *uop.UOp
	plus *uop.UOp // or nil
	bias int
}

// Load is the load that a factor widens.
func (f Factor) Load() *uop.UOp { return f.wide.At(0) }

// Biased says that words hold other numbers than those that are loaded.
func (f Factor) Biased() bool { return f.bias != 0 }

// SumOf says that the sum of factor i is needed: that of the other one's plus and bias.
func (d *Dotted) SumOf(i int) bool { return d.Factors[1-i].plus != nil || d.Factors[1-i].bias != 0 }

const SumSuffix = "s" // p1s is the sum of p1 over the steps

// dot carries out "dot r0.a 4".
func (k *applier) dot(m codegen.Directive) error {
	if m.N != 2 && m.N != 4 {
		return fmt.Errorf("words hold 2 or 4 steps, not %d", m.N)
	}
	a, err := k.stepsAxis(m)
	if err != nil {
		return err
	}
	u := k.Values[a.Owner]
	d := k.Dotted(u, m.N)
	if d == nil {
		return fmt.Errorf("%s is no sum of products of numbers of at most %d bits that the machine adds so", a.Owner, 32/m.N)
	}
	k.inWords(a, d, codegen.CeilDiv(codegen.Extent(a.Range), d.N), func(x, y *uop.UOp) *uop.UOp {
		switch {
		case d.Factors[0].Load().DType() == dtype.BF16:
			return x.DotBF16(y)
		case m.N == 4:
			return x.Dot4(y)
		}
		return x.Dot2(y)
	})
	return nil
}

// stepsAxis is the axis of a reduction whose steps a directive puts into words.
func (k *applier) stepsAxis(m codegen.Directive) (*Axis, error) {
	a := k.Axes[m.Name]
	if a == nil {
		return nil, k.noAxis(m.Name)
	}
	if a.Owner == "" || a.Kind != codegen.Serial || a.Guard != nil || k.peeled(a) || k.Owners(a.Range) != 1 {
		return nil, fmt.Errorf("axis %s is not one that only a reduction goes along", a.Name)
	}
	_, ranges := codegen.ReduceParts(k.Values[a.Owner])
	if slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return k.ByRange[r].Guard != nil || k.peeled(k.ByRange[r]) }) {
		return nil, fmt.Errorf("an axis of %s is split so that its steps are not those of its factors", a.Owner)
	}
	return a, nil
}

// inWords puts the steps of a sum of products along an axis into n words, which product multiplies.
func (k *applier) inWords(a *Axis, d *Dotted, n int, product func(x, y *uop.UOp) *uop.UOp) {
	u := k.Values[a.Owner]
	_, ranges := codegen.ReduceParts(u)
	w := k.Table.Index(0)
	own, i := []*uop.UOp{}, slices.Index(ranges, a.Range) // of one word among other axes there is none
	if n > 1 || len(ranges) == 1 {
		w = k.NewRange(n, a.Name)
		own = append(own, w)
	}
	words := map[*uop.UOp]*uop.UOp{}
	var at [2]*uop.UOp
	for i, f := range d.Factors {
		at[i], words[f.wide] = k.words(f, a.Range, w, d.N)
	}
	ranges = slices.Replace(slices.Clone(ranges), i, i+1, own...)
	sum := k.Table.ReduceRanges(uop.Sum, []*uop.UOp{product(at[0], at[1])}, ranges)
	words[u] = sum
	total, sums := k.multiplied(d, u, sum.Cast(u.DType()))
	for name, v := range k.Values {
		if words[v] != nil {
			k.Values[name] = words[v]
		}
	}
	if delete(k.Axes, a.Name); len(own) > 0 {
		k.addAxis(a.Name, w, a.Owner)
	}
	k.rewriteReduce(func(v *uop.UOp) bool { return v == u }, func(_, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{total} })
	for i, s := range sums {
		if s != nil {
			k.nameReduce(k.loadName(d.Factors[i].Load())+SumSuffix, s)
		}
	}
}

// Dotted takes a sum of products apart; nil if it is none of loads of integers that words of n steps hold, or of bfloat16 where the machine
// has an instruction for them: of numbers that are exact otherwise it rounds the sums and takes denormal ones for 0.
func (k *Kernel) Dotted(u *uop.UOp, n int) *Dotted {
	types := []dtype.DType{dtype.I8, dtype.U8, dtype.I16}
	if n == 4 {
		types = types[:2]
	}
	d := k.productsOf(u, n, types, dtype.I32, dtype.U32)
	if d == nil && n == 2 && k.Target.Has(uop.DotBF16, dtype.I32) {
		d = k.productsOf(u, n, []dtype.DType{dtype.BF16}, dtype.F32)
	}
	if d != nil && n == 4 {
		k.sign(d)
	}
	return d
}

// productsOf takes a sum, of some types, of products of loads of other types apart, in words of n steps; nil if it is none.
func (k *Kernel) productsOf(u *uop.UOp, n int, types []dtype.DType, sums ...dtype.DType) *Dotted {
	parts, ranges := codegen.ReduceParts(u)
	if monoid := u.Arg().(uop.ReduceArg).Monoid; monoid != uop.Sum || parts[0].Op() != uop.Mul || !slices.Contains(sums, parts[0].DType()) {
		return nil
	}
	d := &Dotted{N: n}
	for i, f := range parts[0].Src() {
		d.Factors[i] = k.factor(f, k.Facts.Set(ranges...), types)
		if d.Factors[i].wide == nil {
			return nil
		}
	}
	return d
}

// factor finds a widened load that fits a word, and what is added to it; without one it is empty.
func (k *Kernel) factor(u *uop.UOp, steps affine.RangeSet, types []dtype.DType) Factor {
	fits := func(u *uop.UOp) bool {
		return u.Op() == uop.Cast && widens(u) && u.At(0).Op() == uop.Load && slices.Contains(types, u.At(0).DType())
	}
	if fits(u) {
		return Factor{wide: u}
	}
	if u.Op() == uop.Add && u.DType().IsInt() {
		for i := range 2 {
			if fits(u.At(i)) && k.Facts.FreeRanges(u.At(1-i)).Disjoint(steps) {
				return Factor{wide: u.At(i), plus: u.At(1 - i)}
			}
		}
	}
	return Factor{}
}

// sign orders the factors so that bytes of the first have no sign and those of the second have one. Where both are of a kind the one is
// changed that makes sums cheaper: of two factors the sum of the smaller array, and none that is not needed anyway.
func (k *Kernel) sign(d *Dotted) {
	x, y := &d.Factors[0], &d.Factors[1]
	unsigned := func(f *Factor) bool { return f.Load().DType() == dtype.U8 }
	if unsigned(x) == unsigned(y) {
		cost := func(f *Factor) (n int) { // of all elements
			n = 1
			k.Facts.FreeRanges(f.wide).Each(func(i int) { n = min(n*codegen.Extent(k.Facts.Ranges[i]), 1<<50) })
			if f.Load().At(1).Op() != uop.Const {
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
		d.Factors[0], d.Factors[1] = d.Factors[1], d.Factors[0]
	}
}

// words are a factor's n steps n·w … in one word each; a step behind the end is 0. staged is what of them is kept where they are
// staged: without the bias where there are gates, since the rest of a box is filled with zeros.
func (k *applier) words(f Factor, r, w *uop.UOp, n int) (word, staged *uop.UOp) {
	bits := 32 / n
	for i := range n {
		at := k.Facts.Form(w.Mul(k.Table.Index(n)).Add(k.Table.Index(i))).Node(k.Table)
		l := k.Substitute(map[*uop.UOp]*uop.UOp{r: at}, f.Load())
		gate := k.Fold(l.At(1).And(k.Fold(at.Less(k.Table.Index(codegen.Extent(r))))))
		l = k.Table.Load(l.At(0), gate, l.Src()[2:]...)
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
	if staged = word; f.Load().At(1).Op() == uop.Const {
		staged = word.Xor(word.Int(-0x7f7f7f80))
	}
	return word.Xor(word.Int(-0x7f7f7f80)), staged
}

// multiplied is a sum of products of words with what is missing in it, and the sums of factors that it needs.
func (k *applier) multiplied(d *Dotted, u, total *uop.UOp) (sum *uop.UOp, sums [2]*uop.UOp) {
	_, ranges := codegen.ReduceParts(u)
	for i := range d.Factors {
		if !d.SumOf(i) {
			continue
		}
		c := total.Int(-d.Factors[1-i].bias)
		if p := d.Factors[1-i].plus; p != nil {
			c = c.Add(p)
		}
		sums[i] = k.sumOver(d.Factors[i].wide, ranges)
		total = total.Add(c.Mul(sums[i]))
	}
	if a, b := d.Factors[0].plus, d.Factors[1].plus; a != nil && b != nil {
		n := 1
		for _, r := range ranges {
			n *= codegen.Extent(r)
		}
		total = total.Add(a.Mul(b).Mul(a.Int(n)))
	}
	return total, sums
}

// sumOver is the sum of a widened load over ranges: over new ones, and over one where they lie densely.
func (k *applier) sumOver(wide *uop.UOp, ranges []*uop.UOp) *uop.UOp {
	l := wide.At(0)
	own := map[*uop.UOp]*uop.UOp{}
	var over []*uop.UOp
	at := k.Linear(l.At(0).Arg().(uop.ParamArg).Slot, l.Src()[2:])
	mayJoin := l.At(1).Op() == uop.Const && at.Plain()
	for i := 0; i < len(ranges); i++ {
		r, n := ranges[i], codegen.Extent(ranges[i])
		for mayJoin && i+1 < len(ranges) && at.Coeff(r) == at.Coeff(ranges[i+1])*codegen.Extent(ranges[i+1]) {
			i++
			own[r] = k.Table.Index(0)
			r, n = ranges[i], n*codegen.Extent(ranges[i])
		}
		own[r] = k.NewRange(n, "")
		over = append(over, own[r])
	}
	if len(over) < len(ranges) {
		l = k.Table.Load(l.At(0), l.At(1), at.Node(k.Table))
	}
	return k.Table.ReduceRanges(uop.Sum, []*uop.UOp{k.Substitute(own, l).Cast(wide.DType())}, over)
}

// loadName is what directives call a load.
func (k *Kernel) loadName(l *uop.UOp) string {
	i := slices.IndexFunc(k.loads, func(name string) bool { return k.Values[name] == l })
	return k.loads[i]
}
