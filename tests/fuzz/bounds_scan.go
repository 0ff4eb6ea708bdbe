package fuzz

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// scan merges what lies before each element, at once: how a device groups it is not known. Of what takes several values
// nothing is known.
func (e *evaluator) scan(u *uop.UOp) []area {
	arg := u.Arg().(uop.ScanArg)
	shape := u.Shape()
	n := shape[arg.Axis]
	if e.spent += shape.Numel() * (n + arg.Parts); e.spent > e.limit {
		panic(tooMuch{})
	}
	out := make([]area, arg.Parts)
	for i, s := range u.Src() {
		out[i] = newArea(shape)
		for k := range out[i].data {
			out[i].data[k] = unknown(s.DType())
		}
	}
	if arg.Parts > 1 {
		return out
	}
	rows := slices.Clone(shape)
	rows[arg.Axis] = 1
	src, dst := e.src(u, 0), out[0]
	walk(rows, []area{src, dst}, func(at []int) {
		var items []bound
		for j := range n {
			items = append(items, src.data[at[0]+j*src.strides[arg.Axis]])
			dst.data[at[1]+j*dst.strides[arg.Axis]] = merge(arg.Monoid, u.DType(), items)
		}
	})
	return out
}
