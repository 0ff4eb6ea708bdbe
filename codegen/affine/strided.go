package affine

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Summands takes an index of a lowered kernel apart, and leaves what it meets as it is: see symbolic.Summands.
func Summands(u *uop.UOp) Form {
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
	a := Summands(index)
	stride = a.Coeff(r)
	var rest Form
	for _, m := range a.Terms {
		if m.Node == r {
			continue
		}
		if varying(m.Node) {
			return nil, 0, 0, false
		}
		rest.Terms = append(rest.Terms, m)
	}
	return rest.Node(t), a.Const, stride, true
}

// Plus is u + c, spelled as affine forms are.
func Plus(u *uop.UOp, c int) *uop.UOp {
	a := Summands(u)
	a.Const += c
	return a.Node(u.Home())
}

// Pattern takes an index apart that differs between lanes only by numbers known beforehand: index = base + offsets[lane].
func Pattern(t *uop.Table, index, r *uop.UOp, varying func(*uop.UOp) bool) (base *uop.UOp, offsets []int, ok bool) {
	a := Summands(index)
	var scalar, lane Form
	scalar.Const = a.Const
	for _, m := range a.Terms {
		switch {
		case !varying(m.Node):
			scalar.Terms = append(scalar.Terms, m)
		case onlyRange(m.Node, r):
			lane.Terms = append(lane.Terms, m)
		default:
			return nil, nil, false
		}
	}
	f := lane.Node(t)
	for i := range codegen.Extent(r) {
		at := uop.Substitute(t, map[*uop.UOp]*uop.UOp{r: t.Index(i)}, f)[0]
		n, ok := symbolic.Simplify(t, at).ConstInt()
		if !ok {
			return nil, nil, false
		}
		offsets = append(offsets, n)
	}
	return scalar.Node(t), offsets, true
}

// onlyRange says that an expression is made of one range and constants alone.
func onlyRange(u, r *uop.UOp) bool {
	for _, x := range uop.Topo(u) {
		if len(x.Src()) == 0 && x != r && x.Op() != uop.Const || !x.Op().Elementwise() && len(x.Src()) > 0 {
			return false
		}
	}
	return true
}
