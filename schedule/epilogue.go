package schedule

import "github.com/weft-ml/weft/uop"

// epilogues gives, for a node that is computed from a reduction element by element, that reduction, if every path from the reduction to a result leads
// through the node. Where the node is stored, the reduction need not be.
func (s *scheduler) epilogues() map[*uop.UOp]*uop.UOp {
	uses := map[*uop.UOp]int{}
	for _, u := range s.topo {
		for _, x := range u.Src() {
			uses[x]++
		}
	}
	for _, r := range s.roots {
		uses[r]++
	}
	type share struct {
		of *uop.UOp // a reduction
		by int      // how many of its paths, of which there are ways, lead through the node: each node divides its own among its users
	}
	shares := map[*uop.UOp]share{}
	out := map[*uop.UOp]*uop.UOp{}
	for _, u := range s.topo {
		if u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts == 1 && s.stored[u] == "" {
			shares[u] = share{u, ways}
			continue
		}
		if !u.Op().Elementwise() && u.Op() != uop.Reshape {
			continue
		}
		var sum share
		for _, x := range u.Src() {
			h := shares[x]
			if h.of == nil || sum.of != nil && h.of != sum.of || h.of.Shape().Numel() != u.Shape().Numel() || h.by%uses[x] != 0 {
				continue
			}
			sum = share{h.of, sum.by + h.by/uses[x]}
		}
		if sum.of != nil {
			shares[u] = sum
		}
		if sum.by == ways && s.stored[u] == "" {
			out[u] = sum.of
		}
	}
	return out
}

// ways is a number that can be divided among many uses.
const ways = 1 << 20 * 27 * 25 * 7
