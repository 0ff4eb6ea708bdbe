package fuzz

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// argSort orders rows of which all elements are known; of others each place may hold any.
func (e *evaluator) argSort(u *uop.UOp) area {
	shape := u.Shape()
	n := shape[len(shape)-1]
	d := u.At(0).DType()
	x, out := e.src(u, 0).dense(shape), newArea(shape)
	order := make([]int, n)
	for at := 0; at < len(x.data); at += n {
		row := x.data[at : at+n]
		known := !slices.ContainsFunc(row, func(b bound) bool { return b.lo != b.hi })
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int {
			if d.IsUnsigned() {
				return cmp.Compare(uint64(row[i].lo), uint64(row[j].lo))
			}
			return cmp.Compare(row[i].lo.Int(), row[j].lo.Int())
		})
		for i, from := range order {
			out.data[at+i] = bound{uop.IntValue(dtype.I32, 0), uop.IntValue(dtype.I32, int64(n-1)), false}
			if known {
				out.data[at+i] = point(uop.Value(from))
			}
		}
	}
	return out
}
