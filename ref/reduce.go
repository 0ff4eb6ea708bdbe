package ref

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// merger runs the merge of a monoid, whose meaning the table gives as a graph, on values, or a step of a recurrence.
type merger struct {
	types  []dtype.DType // of the parts, as given
	start  []uop.Value
	code   []instruction
	result []int // registers of the merged parts
	regs   []uop.Value
}

// instruction computes one node of the merge graph into register dst.
type instruction struct {
	op       uop.Op
	from, to dtype.DType
	dst      int
	src      [3]int // what the op does not take is register 0
}

// newMerger carries parts that are floats in float64.
func newMerger(monoid uop.Monoid, types ...dtype.DType) *merger {
	wide := slices.Clone(types)
	var start []uop.Value
	for i, d := range wide {
		if d.IsFloat() {
			wide[i] = dtype.F64
		}
		start = append(start, monoid.Info().Identity(wide[i], i))
	}
	return merging(monoid.Info().Merge, start, types, wide, wide)
}

// newStep does a step of a recurrence with elements of some types; what each operation gives is rounded as ever.
func newStep(a uop.ScanArg, parts []dtype.DType) *merger {
	types := make([]dtype.DType, a.Results())
	for i, u := range a.Step.Next {
		types[i] = u.DType()
	}
	return merging(a.Merge, make([]uop.Value, len(types)), types, types, parts)
}

// merging is made of a graph that merges values of the types held with elements of the types of parts.
func merging(merged func(a, b []*uop.UOp) []*uop.UOp, start []uop.Value, types, held, parts []dtype.DType) *merger {
	m := &merger{types: types, start: start}
	t := uop.NewArena()
	var a, b []*uop.UOp
	for i, d := range held {
		a = append(a, t.Make(uop.Reg, d, uop.RegArg{ID: i}))
	}
	for i, d := range parts {
		b = append(b, t.Make(uop.Reg, d, uop.RegArg{ID: len(held) + i}))
	}
	roots := merged(a, b)
	reg := map[*uop.UOp]int{}
	m.regs = make([]uop.Value, len(a)+len(b))
	for _, u := range uop.Topo(roots...) {
		switch u.Op() {
		case uop.Reg:
			reg[u] = u.Arg().(uop.RegArg).ID
			continue
		case uop.Const:
			v, _ := u.ConstValue()
			reg[u] = len(m.regs)
			m.regs = append(m.regs, v)
			continue
		}
		in := instruction{op: u.Op(), from: u.At(0).DType(), to: u.DType(), dst: len(m.regs)}
		for i, s := range u.Src() {
			in.src[i] = reg[s]
		}
		reg[u] = in.dst
		m.regs = append(m.regs, 0)
		m.code = append(m.code, in)
	}
	for _, r := range roots {
		m.result = append(m.result, reg[r])
	}
	return m
}

// into merges item, later, into acc.
func (m *merger) into(acc, item []uop.Value) {
	copy(m.regs, acc)
	copy(m.regs[len(acc):], item)
	for _, in := range m.code {
		m.regs[in.dst] = uop.Apply(in.op, in.from, in.to, m.regs[in.src[0]], m.regs[in.src[1]], m.regs[in.src[2]])
	}
	for i, r := range m.result {
		acc[i] = m.regs[r]
	}
}

// finish rounds carried values of part 0 to their type.
func (m *merger) finish(v []uop.Value) { round(m.types[0], v) }

func round(d dtype.DType, v []uop.Value) {
	if d.IsFloat() {
		for i, x := range v {
			v[i] = uop.FloatValue(d, x.Float())
		}
	}
}

func (e *evaluator) reduce(u *uop.UOp) []array {
	arg := u.Arg().(uop.ReduceArg)
	if len(u.Src()) != arg.Parts {
		panic("BUG: ref: a reduction over loop ranges")
	}
	in := u.At(0).Shape()
	types := make([]dtype.DType, arg.Parts)
	srcs := make([]array, arg.Parts, 2*arg.Parts)
	for i, s := range u.Src() {
		types[i], srcs[i] = s.DType(), e.src(u, i)
		if len(s.Shape()) == 0 {
			srcs[i].strides = make([]int, len(in))
		}
	}
	m := newMerger(arg.Monoid, types...)
	out := make([]array, arg.Parts)
	for i := range out {
		out[i] = newArray(u.Shape())
		for k := range out[i].data {
			out[i].data[k] = m.start[i]
		}
	}
	// where each input element goes: the output strides, 0 on reduced axes
	dst := array{strides: make([]int, len(in))}
	axes, k := arg.Axes.Slice(), 0
	for i := range in {
		if !slices.Contains(axes, i) {
			dst.strides[i] = out[0].strides[k]
			k++
		}
	}
	acc, item := make([]uop.Value, arg.Parts), make([]uop.Value, arg.Parts)
	walk(in, append(srcs, dst), func(at []int) {
		p := at[len(at)-1]
		for i := range acc {
			acc[i], item[i] = out[i].data[p], srcs[i].data[at[i]]
		}
		m.into(acc, item)
		for i := range acc {
			out[i].data[p] = acc[i]
		}
	})
	for i := range out {
		round(types[i], out[i].data)
	}
	return out
}
