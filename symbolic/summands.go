package symbolic

import "github.com/weft-ml/weft/uop"

// Summands takes an expression apart as it is written, at its additions and its products with constants: constant + Σ
// coefficient·node, in the order in which nodes first appear. Nothing is simplified, so that an expression of a lowered
// kernel, whose divisions were made safe for machines, keeps its form. ok is false where numbers overflow.
func Summands(e *uop.UOp) (terms []Term, constant int, ok bool) {
	s := summands{at: map[*uop.UOp]int{}, ok: true}
	s.add(e, 1)
	for _, t := range s.terms {
		if t.Coef != 0 {
			terms = append(terms, t)
		}
	}
	return terms, s.constant, s.ok
}

type summands struct {
	terms    []Term
	at       map[*uop.UOp]int
	constant int
	ok       bool
}

// add adds k times u.
func (s *summands) add(u *uop.UOp, k int) {
	if s.ok = s.ok && small(k); !s.ok {
		return
	}
	if c, ok := u.ConstInt(); ok {
		s.constant += times(k, c)
		s.ok = small(s.constant)
		return
	}
	switch u.Op() {
	case uop.Add:
		s.add(u.At(0), k)
		s.add(u.At(1), k)
		return
	case uop.Neg:
		s.add(u.At(0), -k)
		return
	case uop.Mul:
		for i := range 2 {
			if c, ok := u.At(i).ConstInt(); ok {
				s.add(u.At(1-i), times(k, c))
				return
			}
		}
	}
	i, known := s.at[u]
	if !known {
		i = len(s.terms)
		s.at[u] = i
		s.terms = append(s.terms, Term{Node: u})
	}
	s.terms[i].Coef += k
	s.ok = small(s.terms[i].Coef)
}
