package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums of products of small integers are carried in 32 bits, in which they are exact up to a multiple of 2³²: any order of
// adding gives the same bits. So two steps of the reduction become one where the machine multiplies two pairs of 16 bits and adds the
// products (uop.Dot2): words hold the factors of both steps.

// dot carries out "dot r0.a 2".
func (k *kernel) dot(m Move) error {
	a := k.axes[m.Name]
	if a == nil {
		return k.noAxis(m.Name)
	}
	if m.N != 2 {
		return fmt.Errorf("words hold 2 steps, not %d", m.N)
	}
	if a.owner == "" || a.kind != Serial || a.guard != nil || k.peeled(a) || k.owners(a.r) != 1 {
		return fmt.Errorf("axis %s is not one that only a reduction goes along", a.name)
	}
	u := k.values[a.owner]
	x, y := smallFactors(u)
	if x == nil {
		return fmt.Errorf("%s is no sum of products of integers of at most 16 bits", a.owner)
	}
	w := k.newRange(ceilDiv(extent(a.r), 2), a.name)
	p := k.pairs(x, a.r, w).Dot2(k.pairs(y, a.r, w))
	_, ranges := reduceParts(u)
	ranges = slices.Clone(ranges)
	ranges[slices.Index(ranges, a.r)] = w
	sum := k.t.ReduceRanges(uop.Sum, []*uop.UOp{p}, ranges)
	words := map[*uop.UOp]*uop.UOp{x: p.At(0), y: p.At(1), u: sum}
	for name, v := range k.values {
		if words[v] != nil {
			k.values[name] = words[v]
		}
	}
	delete(k.axes, a.name)
	k.addAxis(a.name, w, a.owner)
	k.rewriteReduce(func(v *uop.UOp) bool { return v == u }, func(_, _ *uop.UOp) []*uop.UOp { return []*uop.UOp{sum.Cast(u.DType())} })
	return nil
}

// smallFactors are what a sum of products multiplies, if that are loads of integers that fit 16 bits with sign: their casts.
func smallFactors(u *uop.UOp) (x, y *uop.UOp) {
	parts, _ := reduceParts(u)
	if monoid := u.Arg().(uop.ReduceArg).Monoid; monoid != uop.Sum || parts[0].Op() != uop.Mul || parts[0].DType() != dtype.I32 && parts[0].DType() != dtype.U32 {
		return nil, nil
	}
	x, y = parts[0].At(0), parts[0].At(1)
	for _, f := range []*uop.UOp{x, y} {
		if !widens(f) || f.At(0).Op() != uop.Load || !slices.Contains([]dtype.DType{dtype.I8, dtype.U8, dtype.I16}, f.At(0).DType()) {
			return nil, nil
		}
	}
	return x, y
}

// pairs is the word of a factor's two steps 2w and 2w+1; a step behind the end is 0.
func (k *kernel) pairs(f, r, w *uop.UOp) *uop.UOp {
	step := func(i int) *uop.UOp {
		at := k.facts.affine(w.Mul(k.t.Index(2)).Add(k.t.Index(i))).node(k.t)
		l := k.substitute(map[*uop.UOp]*uop.UOp{r: at}, f.At(0))
		gate := k.fold(l.At(1).And(at.Less(k.t.Index(extent(r)))))
		return k.t.Load(l.At(0), gate, l.Src()[2:]...).Cast(dtype.I32)
	}
	lo, hi := step(0), step(1)
	return lo.And(lo.Int(0xffff)).Or(hi.Shl(hi.Int(16)))
}

// dot2 is Dot2 where a machine has it not.
func dot2(x, y *uop.UOp) *uop.UOp {
	bits := x.Int(16)
	low := func(u *uop.UOp) *uop.UOp { return u.Shl(bits).Shr(bits) }
	return low(x).Mul(low(y)).Add(x.Shr(bits).Mul(y.Shr(bits)))
}

// dottable is the range along which a reduction's steps go in pairs, or nil.
func (c *chooser) dottable(r *reduction) *uop.UOp {
	if !c.target.Has(uop.Dot2, dtype.I32) || len(r.ranges) != 1 || extent(r.ranges[0]) < 8 || c.owners(r.ranges[0]) != 1 {
		return nil
	}
	if x, _ := smallFactors(r.u); x == nil || slices.ContainsFunc(r.loads, func(l *access) bool { return l.wide == nil || l.gated }) {
		return nil
	}
	return r.ranges[0]
}

// steps is how many iterations a range has once pairs are words.
func (p *arranger) steps(r *uop.UOp) int {
	if r == p.words {
		return ceilDiv(extent(r), 2)
	}
	return extent(r)
}
