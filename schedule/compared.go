package schedule

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// sight is how an expression sees a reduction: which one, and the last node before it that moves or reduces elements.
type sight struct {
	reduction *uop.UOp
	through   *uop.UOp // nil where elements stand in their own places
}

// maxSights is how many reductions an expression may see before they are no longer followed.
const maxSights = 64

// compared finds the reductions whose elements are compared with each other: to rank them, or to find which one is the
// maximum. A sum that two loops compute anew adds in two orders, and an element that differs from itself by its last
// digit has no rank. So these are stored wherever they would be computed in more than one place.
func (s *scheduler) compared() map[*uop.UOp]bool {
	found := map[*uop.UOp]bool{}
	sights := map[*uop.UOp][]sight{}
	for _, u := range s.topo {
		if u.Op() == uop.Less || u.Op() == uop.Equal {
			for _, a := range sights[u.At(0)] {
				for _, b := range sights[u.At(1)] {
					if a.reduction == b.reduction && a.through != b.through {
						found[a.reduction] = true
					}
				}
			}
		}
		if list := see(u, sights); len(list) > 0 && len(list) <= maxSights {
			sights[u] = list
		}
	}
	return found
}

// see is what u sees of the reductions below it, up to those whose sums depend on the order of adding.
func see(u *uop.UOp, sights map[*uop.UOp][]sight) []sight {
	moves := u.Op().IsMovement()
	from := u.Src()
	switch u.Op() {
	case uop.Const, uop.Var, uop.Param, uop.Buffer, uop.Contiguous, uop.Scatter:
		return nil
	case uop.Reduce, uop.Part, uop.Scan:
		r := u
		if u.Op() == uop.Part {
			r = u.At(0)
		}
		if u.DType().IsFloat() && !monoidOf(r).Info().Exact {
			return []sight{{reduction: u}}
		}
		moves = true
	case uop.Gather, uop.Detach:
		moves = u.Op() == uop.Gather
		from = from[:1]
	}
	if u.DType() == dtype.Index {
		return nil
	}
	if len(from) == 1 && !moves {
		return sights[from[0]]
	}
	var out []sight
	for _, x := range from {
		for _, v := range sights[x] {
			if moves {
				v.through = u
			}
			if !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}
