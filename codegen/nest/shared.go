package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// SharedSubexpr is a costly element of a reduction over one range that an output has as well, with an axis of its own in the
// place of that range: the exponential of a softmax. It is staged under name, and both read the copy.
type SharedSubexpr struct {
	Name        string   // of the element; Name + OutputSuffix is the output's
	Reduction   string   // the reduction
	Range, Axis *uop.UOp // the range and the axis, or what became of them
}

// OutputSuffix ends the name of an output's side of a shared subexpression.
const OutputSuffix = "'"

// costly is the weight from which on it pays to keep an element.
const costly = 20

// nameShared finds shared subexpressions; the element of r1 is called r1e.
func (k *Kernel) nameShared() {
	var here map[*uop.UOp]*uop.UOp // what the kernel computes, by the form in which terms of indices are sorted
	same := &codegen.Rewriter{Table: k.Table, Fold: k.sortedTerms}
	for _, name := range k.reds {
		parts, ranges := codegen.ReduceParts(k.Values[name])
		if len(parts) != 1 || len(ranges) != 1 || !k.isCostly(parts[0], ranges[0]) {
			continue
		}
		if here == nil {
			here = map[*uop.UOp]*uop.UOp{}
			for _, u := range uop.Topo(k.Roots()...) {
				here[same.Do(u)] = u
			}
		}
		for _, g := range k.Groups {
			for _, a := range g.Axes {
				if codegen.Extent(a.Range) != codegen.Extent(ranges[0]) {
					continue
				}
				other := here[same.Do(k.Substitute(map[*uop.UOp]*uop.UOp{ranges[0]: a.Range}, parts[0]))]
				if e := name + "e"; other != nil && other != parts[0] && k.Values[e] == nil {
					k.Values[e], k.Values[e+OutputSuffix] = parts[0], other
					k.SharedSubexprs = append(k.SharedSubexprs, SharedSubexpr{e, name, ranges[0], a.Range})
				}
			}
		}
	}
}

// sortedTerms is a sum of indices with its terms in the order of their ranges.
func (k *Kernel) sortedTerms(u *uop.UOp) *uop.UOp {
	if u.Op() != uop.Add || u.DType() != dtype.Index {
		return u
	}
	a := k.Facts.Form(u)
	first := func(t affine.Term) int {
		ranges := k.Facts.List(k.Facts.FreeRanges(t.Node))
		if len(ranges) == 0 {
			return -1
		}
		return ranges[0].Arg().(uop.RangeArg).ID
	}
	a.Terms = slices.Clone(a.Terms)
	slices.SortStableFunc(a.Terms, func(x, y affine.Term) int { return first(x) - first(y) })
	return a.Node(k.Table)
}

// isCostly says that a value takes many instructions for each r.
func (k *Kernel) isCostly(u, r *uop.UOp) bool {
	found := false
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool { return found || u.Op() == uop.Reduce || u.Op() == uop.Load }, func(u *uop.UOp) {
		found = found || codegen.Weight(u) >= costly && k.Facts.FreeRanges(u).Has(k.Facts.RangeID(r))
	})
	return found
}
