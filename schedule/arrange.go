package schedule

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// arrange chooses the order in which the axes of temporaries lie in memory. Where what is stored is next permuted and
// then reshaped (windows of a pool put back into an image, heads joined), the permuted order makes that reshape
// a merge of neighbours: all accesses stay affine, where the other order leaves divisions in the reader.
func (s *scheduler) arrange() {
	s.layout = map[*uop.UOp][]int{}
	users, own := map[*uop.UOp][]*uop.UOp{}, map[*uop.UOp]bool{}
	for _, u := range s.topo {
		asIs := u.Op() == uop.Foreign || u.Op() == uop.Loop // they need their operands, also reshaped ones, and their results as they are
		own[u] = own[u] || asIs
		for _, x := range u.Src() {
			users[x] = append(users[x], u)
			if asIs {
				own[array(x)] = true
			}
		}
	}
	root := map[*uop.UOp]bool{}
	for _, r := range s.roots {
		root[r] = true
	}
	for _, u := range s.topo {
		if _, ok := s.stored[u]; ok && !own[u] && !root[u] && u.Op() != uop.Scatter && !s.weighs(u) {
			if order := s.permuted(u, users); order != nil {
				s.layout[u] = order
			}
		}
	}
}

// permuted is the order in which u is permuted and reshaped above, looking through what is computed element by
// element, or nil.
func (s *scheduler) permuted(u *uop.UOp, users map[*uop.UOp][]*uop.UOp) []int {
	seen := map[*uop.UOp]bool{u: true}
	todo := []*uop.UOp{u}
	for len(todo) > 0 && len(seen) < 64 {
		x := todo[0]
		todo = todo[1:]
		for _, y := range users[x] {
			if y.Op() == uop.Permute && slices.ContainsFunc(users[y], func(z *uop.UOp) bool { return merges(z) }) {
				return y.Arg().(uop.Ints).Slice()
			}
			_, stored := s.stored[y]
			if !stored && !seen[y] && y.Op().Elementwise() && y.Shape().Equal(u.Shape()) {
				seen[y] = true
				todo = append(todo, y)
			}
		}
	}
	return nil
}

// merges reports whether a reshape joins axes.
func merges(u *uop.UOp) bool {
	wide := func(s uop.Shape) int {
		n := 0
		for _, d := range s {
			if d != 1 {
				n++
			}
		}
		return n
	}
	return u.Op() == uop.Reshape && wide(u.Shape()) < wide(u.At(0).Shape())
}

// rearranged puts a list with an entry for each axis of stored node u into memory order.
func rearranged[T any](s *scheduler, u *uop.UOp, list []T) []T {
	order := s.layout[u]
	if order == nil {
		return list
	}
	out := make([]T, len(list))
	for i, o := range order {
		out[i] = list[o]
	}
	return out
}
