package lower

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// A window over a padded picture loads under a condition of its place, the lane and the step within the window. In all steps but the first and
// the last it holds for all lanes, and in these for those of all vectors but one: where each step is written out, hardly a load is masked.

const (
	mostGatedSteps = 32  // of loops around each other
	mostGatedLoads = 160 // in all these steps
)

// gated writes out short loops of reductions that load what differs between lanes under conditions that depend on the step.
func (b *builder) gated(stmts []codegen.Stmt, lanes affine.RangeSet) []codegen.Stmt {
	out := make([]codegen.Stmt, 0, len(stmts))
	for _, s := range stmts {
		l, ok := s.(*codegen.Loop)
		switch inside := codegen.Body(s); {
		case ok && l.Kind == codegen.Vector:
			out = append(out, codegen.WithBody(s, b.gated(inside, lanes.Or(b.Facts.Set(l.Range)))))
		case ok && b.worthSteps(l, lanes):
			out = append(out, b.steps(l)...)
		case inside != nil:
			out = append(out, codegen.WithBody(s, b.gated(inside, lanes)))
		default:
			out = append(out, s)
		}
	}
	return out
}

// worthSteps says that a loop, with loops in it or none, has few steps in which registers are assigned and nothing else, and that a load under a
// condition which differs between lanes has another condition in each step of one of these loops.
func (b *builder) worthSteps(l *codegen.Loop, lanes affine.RangeSet) bool {
	steps, loads, ranges := 1, 0, affine.RangeSet{}
	for body := []codegen.Stmt{l}; ; {
		var in *codegen.Loop
		if len(body) == 1 {
			in, _ = body[0].(*codegen.Loop)
		}
		if in == nil {
			if !onlySets(body) {
				return false
			}
			break
		}
		if in.Kind != codegen.Serial || !in.Reduce || in.Count != nil || codegen.Extent(in.Range) == 0 {
			return false
		}
		steps *= codegen.Extent(in.Range)
		ranges = ranges.Or(b.Facts.Set(in.Range))
		body = in.Body
	}
	if steps > mostGatedSteps {
		return false
	}
	asked := affine.RangeSet{}
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load && u.At(1).Op() != uop.Const {
				loads++
				if free := b.Facts.FreeRanges(u.At(1)); !free.Disjoint(lanes) {
					asked = asked.Or(free)
				}
			}
		}
	})
	return !asked.Disjoint(ranges) && loads*steps <= mostGatedLoads
}

// steps are the iterations of a loop, and of the loops in it, one after the other.
func (b *builder) steps(l *codegen.Loop) (out []codegen.Stmt) {
	for i := range codegen.Extent(l.Range) {
		for _, s := range b.jam(l.Body, l.Range, []*uop.UOp{b.Table.Index(i)}) {
			if inner, ok := s.(*codegen.Loop); ok {
				out = append(out, b.steps(inner)...)
			} else {
				out = append(out, s)
			}
		}
	}
	return out
}
