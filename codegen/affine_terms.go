package codegen

import "github.com/weft-ml/weft/uop"

// Term is one summand of a sum of indices: K times U.
type Term struct {
	U *uop.UOp
	K int
}

// Sum takes an index apart: constant + Σ K·U, with different U that are no sums themselves.
func Sum(index *uop.UOp) (constant int, terms []Term) {
	a := newFacts().affine(index)
	for _, m := range a.terms {
		terms = append(terms, Term{m.u, m.k})
	}
	return a.c, terms
}
