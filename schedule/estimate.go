package schedule

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// leafSet is the arrays that an expression loads, by node; nil past a dozen.
type leafSet struct {
	leaves []*uop.UOp
	many   bool
}

const maxLeaves = 12

func (a *leafSet) join(b leafSet) {
	a.many = a.many || b.many
	for _, l := range b.leaves {
		if !contains(a.leaves, l) {
			a.leaves = append(a.leaves, l)
		}
	}
	if len(a.leaves) > maxLeaves {
		a.leaves, a.many = a.leaves[:maxLeaves], true
	}
}

// bytes is what one of n elements loads: an array smaller than n stays in cache in proportion.
func (a leafSet) bytes(n float64) float64 {
	sum := 0.0
	for _, l := range a.leaves {
		size := float64(max(l.DType().Size(), 1))
		sum += size * min(1, float64(l.Shape().Numel())/max(n, 1))
	}
	if a.many {
		sum *= 2
	}
	return sum
}

// estimates gives the cost of an element of every node, taken as computed where it is used, down to parameters,
// stored nodes and reductions, whose results count as loads.
func (s *scheduler) estimates(stored map[*uop.UOp]string) map[*uop.UOp]estimate {
	out := make(map[*uop.UOp]estimate, len(s.topo))
	leaves := make(map[*uop.UOp]leafSet, len(s.topo))
	flops := make(map[*uop.UOp]float64, len(s.topo))
	heights := make(map[*uop.UOp]int, len(s.topo))
	for _, u := range s.topo {
		var set leafSet
		f, height := 0.0, 0
		for _, x := range u.Src() {
			height = max(height, heights[x]+1)
			set.join(leaves[x])
			if x.DType() != dtype.Bool || len(leaves[x].leaves) > 0 || flops[x] >= functionFlops { // where a padding is depends on loops only
				f += flops[x]
			}
		}
		n := float64(u.Shape().Numel())
		_, fixed := stored[u]
		switch {
		case u.Op() == uop.Param:
			set, f = leafSet{leaves: []*uop.UOp{u}}, 0
		case u.Op().Elementwise():
			f += uop.Info(u.Op()).Cost.Element
			out[u] = estimate{flops: f, bytes: set.bytes(n)}
		case u.Op() == uop.Expand: // computed once for many elements
			f *= float64(u.At(0).Shape().Numel()) / max(n, 1)
			out[u] = estimate{flops: f, bytes: set.bytes(n)}
		case u.Op() == uop.Gather: // loaded one by one, at an index that is loaded and compared
			f += gatherFlops
			out[u] = estimate{flops: f, bytes: set.bytes(n)}
		case scanOf(u) != nil:
			r := scanOf(u)
			if u != r || r.Arg().(uop.ScanArg).Results() == 1 { // its results count as loads
				set, f = leafSet{leaves: []*uop.UOp{u}}, 0
			}
			out[u] = estimate{flops: f + 1, bytes: set.bytes(n)}
		case u.Op() == uop.Reduce || u.Op() == uop.Part:
			body := u
			if u.Op() == uop.Part {
				body = u.At(0)
			}
			inner := float64(body.At(0).Shape().Numel())
			loaded := 0.0
			bodySet, bodyFlops := leafSet{}, 0.0
			for _, x := range body.Src() {
				bodySet.join(leaves[x])
				bodyFlops += flops[x]
			}
			for _, l := range bodySet.leaves {
				loaded += float64(l.Shape().Numel())
			}
			size := inner / max(n, 1)
			out[u] = estimate{flops: size * (bodyFlops + 1), bytes: size * bodySet.bytes(inner), reuse: inner / max(loaded, 1)}
			if u.Op() == uop.Part || body.Arg().(uop.ReduceArg).Parts == 1 {
				set, f = leafSet{leaves: []*uop.UOp{u}}, 0
			} else {
				set, f = bodySet, bodyFlops // seen through Part
			}
		default:
			out[u] = estimate{flops: f, bytes: set.bytes(n)}
		}
		if e, ok := out[u]; ok {
			e.height = height
			out[u] = e
		}
		if fixed {
			set, f, height = leafSet{leaves: []*uop.UOp{u}}, 0, 0
		}
		leaves[u], flops[u], heights[u] = set, f, height
	}
	return out
}
