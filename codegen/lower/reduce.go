package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// loopsOf gives the loops of a reduction, outermost first: a vector outside, then the explicit order, then the
// order in which its ranges are listed.
func (b *builder) loopsOf(ranges []*uop.UOp) []*nest.Axis {
	loops := make([]*nest.Axis, len(ranges))
	for i, r := range ranges {
		loops[i] = b.ByRange[r]
	}
	slices.SortStableFunc(loops, func(x, y *nest.Axis) int {
		if n := rank(y.Kind == codegen.Vector || y.Kind == codegen.Lane) - rank(x.Kind == codegen.Vector || x.Kind == codegen.Lane); n != 0 {
			return n
		}
		px, okx := b.Place[x.Range]
		py, oky := b.Place[y.Range]
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

// reduce builds reductions over the same ranges: accumulators, loops, the update. Over a Vector axis each lane has
// accumulators of its own, folded at the end. It returns the results of each.
func (b *builder) reduce(us []*uop.UOp, sp insertionPoint) ([]codegen.Stmt, [][]*uop.UOp) {
	_, ranges := codegen.ReduceParts(us[0])
	sp.roots = nil
	for _, u := range us {
		parts, _ := codegen.ReduceParts(u)
		sp.roots = append(sp.roots, parts...)
	}
	if b.carrying.is(us[0]) {
		return b.reduceCarried(us[0], ranges, sp)
	}
	loops := b.loopsOf(ranges)
	regs, out := b.accumulators(us)
	if loops[0].Kind == codegen.Lane {
		return append(out, (&grouper{b}).reduceLanes(us, loops, sp, regs)...), regs
	}
	if sp.lanes && loops[0].Kind == codegen.Vector { // inside other lanes each does the whole
		serial := *loops[0]
		serial.Kind = codegen.Serial
		loops = append(loops[1:], &serial)
	}
	if loops[0].Kind != codegen.Vector {
		sp.counts = b.countedIn(us, loops, 0)
		return append(out, b.level(loops, sp, "", b.update(us, regs))...), regs
	}
	lanes, body := b.accumulators(us)
	v := loops[0]
	sp.open, sp.unrolled = sp.open.Or(b.Facts.Set(v.Range)), sp.unrolled.Or(b.Facts.Set(v.Range))
	sp.lanes = true
	sp.counts = b.countedIn(us, loops, 1)
	inside := b.level(loops[1:], sp, v.Name, b.update(us, lanes))
	if v.Guard != nil {
		inside = when(v.Guard, inside...)
	}
	body = append(body, inside...)
	for i, u := range us {
		body = append(body, &codegen.HorizontalReduce{Regs: regs[i], Monoid: codegen.MonoidOf(u), Range: v.Range, Values: lanes[i]})
	}
	return append(out, &codegen.Loop{Range: v.Range, Kind: codegen.Vector, Reduce: true, Body: body}), regs
}

// reduceCarried does the loops that are not open yet, between taking up partial results and laying them down. A long sum is added to them
// afterwards, as a block (see chains).
func (b *builder) reduceCarried(u *uop.UOp, ranges []*uop.UOp, sp insertionPoint) ([]codegen.Stmt, [][]*uop.UOp) {
	terms := 1
	for _, r := range ranges {
		terms *= codegen.Extent(r)
	}
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return sp.open.Has(b.Facts.RangeID(r)) })
	loops := func(regs []*uop.UOp) []codegen.Stmt {
		return b.level(b.loopsOf(ranges), sp, "", b.update([]*uop.UOp{u}, [][]*uop.UOp{regs}))
	}
	regs, out := b.resume(codegen.MonoidOf(u), sp.roots)
	if codegen.MonoidOf(u) == uop.Sum && u.DType() == dtype.F32 && terms > longestChain {
		own, block := b.accumulators([]*uop.UOp{u})
		block = append(block, loops(own[0])...)
		out = append(append(block, out...), &codegen.Set{Regs: regs, Values: []*uop.UOp{regs[0].Add(own[0][0])}})
	} else {
		out = append(out, loops(regs)...)
	}
	return append(out, b.suspend(regs)...), [][]*uop.UOp{regs}
}

func (b *builder) accumulators(us []*uop.UOp) (regs [][]*uop.UOp, lets []codegen.Stmt) {
	for _, u := range us {
		parts, _ := codegen.ReduceParts(u)
		var mine []*uop.UOp
		for i, p := range parts {
			r := b.reg(p.DType())
			mine = append(mine, r)
			lets = append(lets, &codegen.Let{Reg: r, Value: p.Const(codegen.MonoidOf(u).Info().Identity(p.DType(), i))})
		}
		regs = append(regs, mine)
	}
	return regs, lets
}

// update merges the elements, which are the roots of the innermost place, into the accumulators.
func (b *builder) update(us []*uop.UOp, regs [][]*uop.UOp) func(sp insertionPoint) []codegen.Stmt {
	return func(sp insertionPoint) (out []codegen.Stmt) {
		x := sp.roots
		for i, u := range us {
			n := len(regs[i])
			out = append(out, b.merging(codegen.MonoidOf(u), regs[i], x[:n], sp.unrolled)...)
			x = x[n:]
		}
		return out
	}
}

// merging merges an element into accumulators. What counts as 0 in a sum where loops around it are too far is not computed there.
func (b *builder) merging(m uop.Monoid, acc, x []*uop.UOp, unrolled affine.RangeSet) []codegen.Stmt {
	if m == uop.Sum && b.Target.Fuses(x[0].DType()) {
		x = []*uop.UOp{productSum(x[0])}
	}
	if w := x[0]; m == uop.Sum && w.Op() == uop.Where && w.At(2).IsConst(0) && !codegen.Reads(w.At(0)) && b.leftOut(w.At(0), unrolled) {
		lets, term := b.kept(w.At(1))
		return append(lets, when(w.At(0), &codegen.Set{Regs: acc, Values: mergeInto(m, acc, []*uop.UOp{term})})...)
	}
	return []codegen.Stmt{&codegen.Set{Regs: acc, Values: mergeInto(m, acc, x)}}
}

// kept names the factors of a term that lie in memory of a workgroup, which may be read whether the term counts or not.
func (b *builder) kept(term *uop.UOp) (lets []codegen.Stmt, named *uop.UOp) {
	if !b.Target.Grid || term.Op() != uop.Mul {
		return nil, term
	}
	with := map[*uop.UOp]*uop.UOp{}
	for _, u := range term.Src() {
		if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Scratch && u.At(1) == b.Table.True() {
			r := b.reg(u.DType())
			lets, with[u] = append(lets, &codegen.Let{Reg: r, Value: u}), r
		}
	}
	return lets, b.Substitute(with, term)
}

// leftOut says that terms for which a condition does not hold are better left out than added as zeros: a graphics processor asks each invocation, and
// of registers each; others ask once for all of them.
func (b *builder) leftOut(cond *uop.UOp, unrolled affine.RangeSet) bool {
	if b.Target.Grid {
		return !b.Target.CPUBacked
	}
	return b.Facts.FreeRanges(cond).Disjoint(unrolled)
}

// productSum is an element of a sum that is a sum of products itself, or one times a factor as those of packed blocks are, with multiply-adds.
func productSum(u *uop.UOp) *uop.UOp {
	if u.DType() != dtype.F32 && u.DType() != dtype.F64 {
		return u
	}
	switch u.Op() {
	case uop.Where:
		if u.At(2).IsConst(0) {
			return u.At(0).Where(productSum(u.At(1)), u.At(2))
		}
	case uop.Mul:
		for i := range 2 {
			if x := u.At(i); x.Op() == uop.Add {
				if y := productSum(x); y != x {
					return y.Mul(u.At(1 - i))
				}
			}
		}
	case uop.Add:
		for i := range 2 {
			if x := u.At(i); x.Op() == uop.Mul {
				return x.At(0).MulAdd(x.At(1), productSum(u.At(1-i)))
			}
		}
	}
	return u
}

// mergeInto merges accumulators with elements. A sum of products is rounded once per product: this is where
// multiply-adds come from.
func mergeInto(m uop.Monoid, acc, x []*uop.UOp) []*uop.UOp {
	if d := x[0].DType(); m == uop.Sum && (d == dtype.F32 || d == dtype.F64) {
		if sum := addProducts(acc[0], x[0]); sum != nil {
			return []*uop.UOp{sum}
		}
	}
	return m.Info().Merge(acc, x)
}

// addProducts adds a product to a sum, or several that productSum made multiply-adds of; nil where p is something else.
func addProducts(sum, p *uop.UOp) *uop.UOp {
	switch p.Op() {
	case uop.Mul:
		return p.At(0).MulAdd(p.At(1), sum)
	case uop.MulAdd:
		if sum = addProducts(sum, p.At(2)); sum != nil {
			return p.At(0).MulAdd(p.At(1), sum)
		}
	}
	return nil
}

// roundSums takes apart the multiply-adds of accumulators that the target has not, or only as a function.
func (b *builder) roundSums(stmts []codegen.Stmt) []codegen.Stmt {
	if b.Target.Fuses(dtype.F32) && b.Target.Fuses(dtype.F64) {
		return stmts
	}
	out := make([]codegen.Stmt, len(stmts))
	for i, s := range stmts {
		if inside := codegen.Body(s); inside != nil {
			s = codegen.WithBody(s, b.roundSums(inside))
		}
		if set, ok := s.(*codegen.Set); ok && len(set.Regs) == 1 {
			v := set.Values[0]
			if v.Op() == uop.MulAdd && v.At(2) == set.Regs[0] && !b.Target.Fuses(v.DType()) {
				s = &codegen.Set{Regs: set.Regs, Values: []*uop.UOp{v.At(2).Add(v.At(0).Mul(v.At(1)))}}
			}
		}
		out[i] = s
	}
	return out
}
