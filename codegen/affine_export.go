package codegen

import (
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// summands takes an index of a lowered kernel apart, and leaves what it meets as it is: see symbolic.Summands.
func summands(u *uop.UOp) affine {
	terms, c, ok := symbolic.Summands(u)
	return affineOf(u, terms, c, ok)
}

// Strided takes an index apart: index = base + stride·r, base not depending on r. ok is false where it is
// not of that form.
func Strided(t *uop.Table, index, r *uop.UOp, varying func(*uop.UOp) bool) (base *uop.UOp, stride int, ok bool) {
	base, c, stride, ok := StridedFrom(t, index, r, varying)
	if !ok {
		return nil, 0, false
	}
	return Plus(base, c), stride, true
}

// StridedFrom is Strided with what is constant of the base apart: index = base + c + stride·r.
func StridedFrom(t *uop.Table, index, r *uop.UOp, varying func(*uop.UOp) bool) (base *uop.UOp, c, stride int, ok bool) {
	a := summands(index)
	stride = a.coeff(r)
	var rest affine
	for _, m := range a.terms {
		if m.u == r {
			continue
		}
		if varying(m.u) {
			return nil, 0, 0, false
		}
		rest.terms = append(rest.terms, m)
	}
	return rest.node(t), a.c, stride, true
}

// Plus is u + c, spelled as affine forms are.
func Plus(u *uop.UOp, c int) *uop.UOp {
	a := summands(u)
	a.c += c
	return a.node(u.Home())
}

// Pattern takes an index apart that differs between lanes only by numbers known beforehand: index = base + offsets[lane].
func Pattern(t *uop.Table, index, r *uop.UOp, varying func(*uop.UOp) bool) (base *uop.UOp, offsets []int, ok bool) {
	k := &kernel{t: t, facts: newFacts()}
	a := summands(index)
	var scalar, lane affine
	scalar.c = a.c
	own := k.facts.set(r)
	for _, m := range a.terms {
		switch {
		case !varying(m.u):
			scalar.terms = append(scalar.terms, m)
		case onlyRange(m.u) && k.facts.freeRanges(m.u).within(own):
			lane.terms = append(lane.terms, m)
		default:
			return nil, nil, false
		}
	}
	f := lane.node(t)
	for i := range extent(r) {
		n, ok := k.substitute(map[*uop.UOp]*uop.UOp{r: t.Index(i)}, f).ConstInt()
		if !ok {
			return nil, nil, false
		}
		offsets = append(offsets, n)
	}
	return scalar.node(t), offsets, true
}

// onlyRange says that an expression is made of ranges and constants alone.
func onlyRange(u *uop.UOp) bool {
	for _, x := range uop.Topo(u) {
		if len(x.Src()) == 0 && x.Op() != uop.Range && x.Op() != uop.Const || x.Op() == uop.Load {
			return false
		}
	}
	return true
}

// Conjuncts are the conditions that all hold where a gate does.
func Conjuncts(gate *uop.UOp) []*uop.UOp { return symbolic.Conjuncts(gate) }
