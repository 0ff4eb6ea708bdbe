package ref

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// scan merges each element with all before it on the axis. Floats are carried in float64, and rounded where they are
// stored.
func (e *evaluator) scan(u *uop.UOp) []array {
	arg := u.Arg().(uop.ScanArg)
	if len(u.Src()) != arg.Parts {
		panic("BUG: ref: a scan over loop ranges")
	}
	shape := u.Shape()
	types := make([]dtype.DType, arg.Parts)
	arrays := make([]array, 2*arg.Parts) // sources, then results
	for i, s := range u.Src() {
		types[i], arrays[i] = s.DType(), e.src(u, i)
		if len(s.Shape()) == 0 {
			arrays[i].strides = make([]int, len(shape))
		}
		arrays[arg.Parts+i] = newArray(shape)
	}
	m := newMerger(arg.Monoid, types...)
	acc, item := make([]uop.Value, arg.Parts), make([]uop.Value, arg.Parts)
	rows := slices.Clone(shape)
	rows[arg.Axis] = 1
	walk(rows, arrays, func(at []int) {
		copy(acc, m.start)
		for j := range shape[arg.Axis] {
			for i := range item {
				item[i] = arrays[i].data[at[i]+j*arrays[i].strides[arg.Axis]]
			}
			m.into(acc, item)
			for i, v := range acc {
				out := arrays[arg.Parts+i]
				out.data[at[arg.Parts+i]+j*out.strides[arg.Axis]] = v
			}
		}
	})
	for i, d := range types {
		round(d, arrays[arg.Parts+i].data)
	}
	return arrays[arg.Parts:]
}
