package schedule

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// A reduction to fewer than splitOut elements of at least splitIn each is cut into splitParts partial results and
// a merge. The counts depend on shapes only, so that the number of threads never changes a result.
const (
	splitOut   = 16
	splitIn    = 1 << 15
	splitParts = 64
)

// split rewrites large reductions to small results as two, and long scans as scans of blocks. It expects and leaves tensor-level nodes.
func (s *scheduler) split(roots []*uop.UOp) []*uop.UOp {
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(roots...) {
		v := u.WithSrc(s.t, func(x *uop.UOp) *uop.UOp { return done[x] })
		var w *uop.UOp
		switch v.Op() {
		case uop.Reduce:
			w = splitReduce(v)
		case uop.Scan:
			w = splitScan(v)
		case uop.Part:
			if v.At(0).Op() == uop.After { // a scan that was split
				w = partOf(v.At(0), v.Arg().(uop.PartArg).I)
			}
		}
		if w != nil {
			v = w
		}
		done[u] = v
	}
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = done[r]
	}
	return out
}

// splitReduce is u as a reduction of partial results, or nil where it is small or has no axis to cut.
func splitReduce(u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ReduceArg)
	in := u.At(0).Shape()
	if a.Parts != 1 || u.Shape().Numel() == 0 || u.Shape().Numel() >= splitOut || in.Numel()/u.Shape().Numel() < splitIn {
		return nil
	}
	axes := a.Axes.Slice()
	best, count := -1, 1
	for _, ax := range axes {
		if c := divisor(in[ax]); c > count {
			best, count = ax, c
		}
	}
	x := u.At(0)
	if best < 0 || count < 8 {
		if a.Monoid != uop.Sum {
			return nil
		}
		best = axes[0]
		for _, ax := range axes {
			if in[ax] > in[best] {
				best = ax
			}
		}
		if in[best] < splitParts {
			return nil
		}
		lo, hi := make([]int, len(in)), make([]int, len(in))
		hi[best] = (splitParts - in[best]%splitParts) % splitParts
		x, count = x.Pad(lo, hi), splitParts
	}
	shape := slices.Clone(x.Shape())
	shape = slices.Insert(shape, best, count)
	shape[best+1] /= count
	var inner []int
	for _, ax := range axes {
		if ax >= best {
			ax++
		}
		inner = append(inner, ax)
	}
	partial := x.Reshape(shape...).Reduce(a.Monoid, inner...).Contiguous()
	kept := 0 // the cut axis among the axes that are left
	for ax := range best {
		if !slices.Contains(axes, ax) {
			kept++
		}
	}
	return partial.Reduce(a.Monoid, kept)
}

// divisor is the largest divisor of n that is at most splitParts.
func divisor(n int) int {
	for d := min(splitParts, n); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}
