package ref

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// scan merges each element with all before it on the axis. Floats are carried in float64, and rounded where they are
// stored, but for those of recurrences.
func (e *evaluator) scan(u *uop.UOp) []array {
	arg := u.Arg().(uop.ScanArg)
	if arg.Keys > 0 {
		return []array{e.scanByKey(u)}
	}
	if len(u.Src()) != arg.Parts {
		panic("BUG: ref: a scan over loop ranges")
	}
	shape := u.Shape()
	types := make([]dtype.DType, arg.Parts)
	arrays := make([]array, arg.Parts+arg.Results()) // sources, then results
	for i, s := range u.Src() {
		types[i], arrays[i] = s.DType(), e.src(u, i)
		if len(s.Shape()) == 0 {
			arrays[i].strides = make([]int, len(shape))
		}
	}
	for i := range arg.Results() {
		arrays[arg.Parts+i] = newArray(shape)
	}
	var m *merger
	if arg.Step == nil {
		m = newMerger(arg.Monoid, types...)
	} else {
		m = newStep(arg, types)
	}
	acc, item := make([]uop.Value, arg.Results()), make([]uop.Value, arg.Parts)
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
	for i, d := range m.types {
		round(d, arrays[arg.Parts+i].data)
	}
	return arrays[arg.Parts:]
}

// scanByKey merges each element with those before it on the axis that have its key.
func (e *evaluator) scanByKey(u *uop.UOp) array {
	arg := u.Arg().(uop.ScanArg)
	shape := u.Shape()
	out, step := newArray(shape), shape[arg.Axis+1:].Numel()
	x, key := e.src(u, 0).dense(shape).data, e.src(u, 1).dense(shape).data
	m := newMerger(arg.Monoid, u.DType())
	rows := slices.Clone(shape)
	rows[arg.Axis] = 1
	walk(rows, []array{out}, func(at []int) {
		acc := map[uop.Value][]uop.Value{}
		for j := range shape[arg.Axis] {
			i := at[0] + j*step
			k := key[i]
			if acc[k] == nil {
				acc[k] = slices.Clone(m.start)
			}
			m.into(acc[k], []uop.Value{x[i]})
			out.data[i] = acc[k][0]
		}
	})
	round(u.DType(), out.data)
	return out
}
