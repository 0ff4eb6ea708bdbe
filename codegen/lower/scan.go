package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// A scan merges the values over a range up to where an axis of the output stands. Code for it is one loop over that axis,
// the innermost of its nest: accumulators are declared before it, and each iteration merges one value into them and then
// stores. So that axis stays whole and serial; what directives may do is to share, unroll and put into lanes the others.
// A scan by key has an accumulator for each key, in scratch memory; the other axes of its nest are shared only.

// openScans is what a scan needs of the loop over r that is about to be opened: accumulators before it, and in its innermost
// place, before what leaf does there, the merge of one more element. The scans themselves become their accumulators, which
// have no value for a reduction before that merge: as if they depended on a loop that is not open yet.
func (b *builder) openScans(sp insertionPoint, r *uop.UOp, leaf func(sp insertionPoint) []codegen.Stmt) ([]codegen.Stmt, insertionPoint, func(sp insertionPoint) []codegen.Stmt) {
	with := map[*uop.UOp]*uop.UOp{} // what values run over becomes the loop itself
	for _, u := range uop.Topo(sp.roots...) {
		if _, over, at := codegen.ScanParts(u); at == r && over != nil {
			with[over] = r
		}
	}
	if len(with) == 0 {
		return nil, sp, leaf
	}
	var lets []codegen.Stmt
	var open []running
	var items []*uop.UOp
	results := map[*uop.UOp][]*uop.UOp{}
	n := len(sp.roots)
	inside := b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if with[u] != nil {
			return r
		}
		if parts, over, at := codegen.ScanParts(u); parts != nil && at == r {
			s := running{ScanArg: u.Arg().(uop.ScanArg), over: b.Facts.Set(over)}
			for _, start := range s.Start(src[:len(parts)]) {
				x := b.reg(start.DType())
				b.Facts.Declare(x, s.over)
				s.regs = append(s.regs, x)
				if key := codegen.ScanKey(u); key == nil {
					lets = append(lets, &codegen.Let{Reg: x, Value: start})
				} else {
					s.table = b.newScratch(x.DType(), s.Keys)
					each := b.NewRange(s.Keys, "")
					lets = append(lets, &codegen.Alloc{Buf: s.table, N: s.Keys}, &codegen.Loop{Range: each, Body: []codegen.Stmt{&codegen.Store{Buf: s.table, Index: []*uop.UOp{each}, Value: start}}})
				}
			}
			items = append(items, src[:len(parts)]...)
			if s.table != nil {
				items = append(items, src[len(parts)+2])
			}
			open, results[u] = append(open, s), s.regs
			return s.regs[0]
		}
		if u.Op() == uop.Part && results[u.At(0)] != nil {
			return results[u.At(0)][u.Arg().(uop.PartArg).I]
		}
		return b.Fold(codegen.Remake(b.Table, u, src))
	})
	inside.roots = append(slices.Clip(inside.roots), items...)
	return lets, inside, func(sp insertionPoint) (out []codegen.Stmt) {
		x := sp.roots[n:]
		for _, s := range open {
			if s.table != nil {
				at := x[1:2]
				sum := mergeInto(s.Monoid, []*uop.UOp{b.Table.Load(s.table, b.Table.True(), at...)}, x[:1])[0]
				out = append(out, &codegen.Let{Reg: s.regs[0], Value: sum}, &codegen.Store{Buf: s.table, Index: at, Value: s.regs[0]})
				x = x[2:]
			} else {
				out = append(out, &codegen.Set{Regs: s.regs, Values: s.merged(x[:s.Parts])})
				x = x[s.Parts:]
			}
			sp.open = sp.open.Or(s.over)
		}
		sp.roots = sp.roots[:n]
		rest, sp := b.compute(sp, "")
		return slices.Concat(out, rest, leaf(sp))
	}
}

// running is a scan whose loop is open.
type running struct {
	uop.ScanArg
	regs  []*uop.UOp
	over  affine.RangeSet
	table *uop.UOp // of a scan by key: its accumulators
}

// merged is what a scan holds after an element.
func (s *running) merged(x []*uop.UOp) []*uop.UOp {
	if s.Step != nil {
		return s.Merge(s.regs, x)
	}
	return mergeInto(s.Monoid, s.regs, x)
}
