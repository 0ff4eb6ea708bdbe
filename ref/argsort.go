package ref

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// argSort orders the last axis, row by row.
func (e *evaluator) argSort(u *uop.UOp) array {
	shape := u.Shape()
	x, out := e.src(u, 0).dense(shape), newArray(shape)
	n := shape[len(shape)-1]
	compare := func(a, b uop.Value) int { return cmp.Compare(a.Int(), b.Int()) }
	if u.At(0).DType().IsUnsigned() {
		compare = func(a, b uop.Value) int { return cmp.Compare(uint64(a), uint64(b)) }
	}
	order := make([]int, n)
	for at := 0; at < len(x.data); at += n {
		row := x.data[at : at+n]
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return compare(row[i], row[j]) })
		for i, from := range order {
			out.data[at+i] = uop.Value(from)
		}
	}
	return out
}
