package codegen

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// loopsOf gives the loops of a reduction, outermost first: a vector outside, then the explicit order, then the
// order in which its ranges are listed.
func (b *builder) loopsOf(ranges []*uop.UOp) []*axis {
	loops := make([]*axis, len(ranges))
	for i, r := range ranges {
		loops[i] = b.byR[r]
	}
	slices.SortStableFunc(loops, func(x, y *axis) int {
		if x.kind == Vector || y.kind == Vector {
			return rank(y.kind == Vector) - rank(x.kind == Vector)
		}
		px, okx := b.place[x.r]
		py, oky := b.place[y.r]
		if okx && oky {
			return px - py
		}
		return rank(oky) - rank(okx)
	})
	return loops
}

func rank(x bool) int {
	if x {
		return 1
	}
	return 0
}

// reduce builds a reduction: accumulators, its loops, the update. Over a Vector axis each lane has
// accumulators of its own, folded at the end.
func (b *builder) reduce(u *uop.UOp, sp spot) ([]Stmt, []*uop.UOp) {
	parts, ranges := reduceParts(u)
	m := u.Arg().(uop.ReduceArg).Monoid
	carried := b.carrying.is(u)
	if carried {
		ranges = slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return sp.open.has(b.facts.rangeID(r)) })
	}
	loops := b.loopsOf(ranges)
	sp.roots = parts
	if carried {
		regs, out := b.resume(m, parts)
		return append(append(out, b.level(loops, sp, "", b.update(m, regs))...), b.suspend(regs)...), regs
	}
	regs, out := b.accumulators(m, parts)
	if sp.lanes && loops[0].kind == Vector { // inside other lanes each does the whole
		serial := *loops[0]
		serial.kind = Serial
		loops = append(loops[1:], &serial)
	}
	if loops[0].kind != Vector {
		return append(out, b.level(loops, sp, "", b.update(m, regs))...), regs
	}
	lanes, body := b.accumulators(m, parts)
	v := loops[0]
	sp.open = sp.open.or(b.facts.set(v.r))
	sp.lanes = true
	body = append(body, b.level(loops[1:], sp, v.name, b.update(m, lanes))...)
	body = append(body, &Fold{Regs: regs, Monoid: m, Range: v.r, Values: lanes})
	return append(out, &Loop{Range: v.r, Kind: Vector, Reduce: true, Body: body}), regs
}

func (b *builder) accumulators(m uop.Monoid, parts []*uop.UOp) (regs []*uop.UOp, lets []Stmt) {
	for i, p := range parts {
		r := b.reg(p.DType())
		regs = append(regs, r)
		lets = append(lets, &Let{r, p.Const(m.Info().Identity(p.DType(), i))})
	}
	return regs, lets
}

func (b *builder) update(m uop.Monoid, regs []*uop.UOp) func(sp spot) []Stmt {
	return func(sp spot) []Stmt {
		return []Stmt{&Set{Regs: regs, Values: mergeInto(m, regs, sp.roots)}}
	}
}

// mergeInto merges accumulators with elements. A sum of products is rounded once per step: this is where
// multiply-adds come from.
func mergeInto(m uop.Monoid, acc, x []*uop.UOp) []*uop.UOp {
	if p := x[0]; m == uop.Sum && p.Op() == uop.Mul && (p.DType() == dtype.F32 || p.DType() == dtype.F64) {
		return []*uop.UOp{p.At(0).MulAdd(p.At(1), acc[0])}
	}
	return m.Info().Merge(acc, x)
}
