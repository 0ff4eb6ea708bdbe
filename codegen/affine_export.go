package codegen

import "github.com/weft-ml/weft/uop"

// Strided takes an index apart: index = base + stride·r, base not depending on r. ok is false where it is
// not of that form.
func Strided(t *uop.Table, index, r *uop.UOp, varying func(*uop.UOp) bool) (base *uop.UOp, stride int, ok bool) {
	f := newFacts()
	a := f.affine(index)
	stride = a.coeff(r)
	rest := affine{c: a.c}
	for _, m := range a.terms {
		if m.u == r {
			continue
		}
		if varying(m.u) {
			return nil, 0, false
		}
		rest.terms = append(rest.terms, m)
	}
	return rest.node(t), stride, true
}
