package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Weights that kernels walk in another order than they lie in are brought into that order in each run, while they are staged. Where they
// are constants, a copy in that order is one more value that is computed once; the graph of a run reads the copy through the movement
// that takes the order back, so that everything behind sees nothing but a plain load. The copy takes as much memory as the weights,
// which stay: they belong to the program. So there are copies only where a good part of a kernel's time goes (model.Packings), and
// of arrays that all kernels that read them want alike.

// leastPacked is how many bytes an array has that is worth a copy.
const leastPacked = 16 << 10

// mostOnce is how many bytes copies of arrays may take together that a run reads once.
const mostOnce = 256 << 20

// pack has constants lie in the order in which the kernels of a run want them. It gives the targets of the run.
func (e *Engine) pack(f *folded, targets []target, varies varying) ([]target, error) {
	c := canonicalize(targets)
	constant := map[int][]*uop.UOp{} // by slot: the Buffers of an array that may lie otherwise, one for each version
	for _, u := range uop.Topo(values(targets)...) {
		if _, s := buffer(u); u.Op() == uop.Buffer && !varies[s] && s.bytes >= leastPacked {
			slot := slices.Index(c.inputs, s)
			constant[slot] = append(constant[slot], u)
		}
	}
	if len(constant) == 0 || e.machine.Target.Grid || e.opts.NoOpt {
		return targets, nil
	}
	with := map[*uop.UOp]*uop.UOp{}
	once := int64(0)
	for _, w := range e.wants(c, constant) {
		if w.Once {
			if once += c.inputs[w.Slot].bytes; once > mostOnce {
				continue
			}
		}
		buffers := constant[w.Slot]
		v, order, err := e.packed(f, buffers[0], &w.Packing)
		if err != nil {
			return nil, err
		}
		_, s := buffer(v.stand)
		s.walked = true
		f.values = append(f.values, v)
		for _, b := range buffers {
			with[b] = v.stand.Permute(order...).Reshape(w.Dims...).Flip(w.Flips...).Reshape(b.Shape()...)
		}
	}
	return replacedIn(targets, with), nil
}

// want is the order in which an input is to lie.
type want struct {
	Slot int
	model.Packing
}

// wants says which of the inputs that may lie otherwise are to.
func (e *Engine) wants(c *canonical, may map[int][]*uop.UOp) []want {
	if store := e.plansOf(); store != nil {
		return e.keptWants(store, c, may)
	}
	out, _ := e.newWants(c, may)
	return out
}

// keptWants are those that an earlier run of the program found out, or this one, which keeps them.
func (e *Engine) keptWants(store PlanStore, c *canonical, may map[int][]*uop.UOp) (out []want) {
	text := fmt.Sprintln("packed", slices.Sorted(maps.Keys(may))) + e.planText(c)
	if store.Get(text, &out) {
		return out
	}
	out, steps := e.newWants(c, may)
	if worthKeeping(text, steps) {
		e.keep(text, out)
	}
	return out
}

// newWants finds them out, and gives the number of steps that the plan has without them.
func (e *Engine) newWants(c *canonical, may map[int][]*uop.UOp) (out []want, steps int) {
	r, err := e.scheduled(c, e.opts.StoreAll)
	if err != nil {
		return nil, 0 // the plan's compilation says why
	}
	for slot, p := range e.wanting(r, len(c.inputs), may) {
		if p != nil {
			out = append(out, want{slot, *p})
		}
	}
	if len(out) == 0 {
		e.foreseen = foreseen{e.planText(c), r}
	}
	return out, len(r.Steps)
}

// foreseen is the schedule of a graph that was made to find out how its constants are to lie. If they stay as they are, the plan is made from it.
type foreseen struct {
	text   string
	result *schedule.Result // nil: there is none
}

func values(targets []target) []*uop.UOp {
	out := make([]*uop.UOp, len(targets))
	for i, t := range targets {
		out[i] = t.value
	}
	return out
}

// wanting gives, by input, the one other order that all kernels that read it want, of those that may lie otherwise.
func (e *Engine) wanting(r *schedule.Result, inputs int, may map[int][]*uop.UOp) []*model.Packing {
	want, readers := make([]*model.Packing, inputs), make([]int, inputs)
	type asked struct {
		bufs  []int
		wants []*model.Packing
	}
	last := map[*codegen.Spec]asked{} // steps of a loop ask the same
	for _, st := range r.Steps {
		for _, b := range st.Bufs {
			if buf := r.Bufs[b]; buf.Kind == schedule.InputBuf {
				readers[buf.Index]++
			}
		}
		if st.Spec == nil {
			continue
		}
		a := last[st.Spec]
		if !slices.Equal(a.bufs, st.Bufs) {
			a = asked{st.Bufs, model.Packings(st.Spec, e.machine.Target, func(p int) bool {
				b := r.Bufs[st.Bufs[p]]
				return b.Kind == schedule.InputBuf && may[b.Index] != nil && uop.Shape(st.Spec.Params[p].Dims).Numel() == b.N
			})}
			last[st.Spec] = a
		}
		for _, p := range a.wants {
			slot := r.Bufs[st.Bufs[p.Param]].Index
			if want[slot] == nil {
				want[slot] = p
			}
			if want[slot].Same(p) {
				readers[slot]--
			}
		}
	}
	for slot, n := range readers {
		if n > 0 {
			want[slot] = nil
		}
	}
	return want
}

// packed is the array of b in the order that a kernel wants, and the permutation that takes the order back.
func (e *Engine) packed(f *folded, b *uop.UOp, p *model.Packing) (*foldedValue, []int, error) {
	value := b
	for _, v := range f.values {
		if stand, _ := buffer(v.stand); stand == b {
			value = v.value
		}
	}
	// Blocks of lanes are an axis, and what is within a block is another, behind it; so it is with words of steps.
	var cut []int
	at := make([]int, len(p.Dims)) // where the axes are then
	for a, n := range p.Dims {
		at[a] = len(cut)
		switch {
		case a == p.Lanes:
			cut = append(cut, n/p.Block, p.Block)
		case a == p.Steps && p.Word > 0:
			cut = append(cut, n/p.Word, p.Word)
		default:
			cut = append(cut, n)
		}
	}
	var order []int
	for _, a := range p.Order {
		order = append(order, at[a])
	}
	order = append(order, at[p.Lanes]+1)
	words := ""
	if p.Word > 0 {
		order = append(order, at[p.Steps]+1)
		words = fmt.Sprintf(", %d of axis %d behind each other", p.Word, p.Steps)
	}
	back := make([]int, len(order))
	for i, a := range order {
		back[a] = i
	}
	v, err := e.foldedValue(value.Reshape(p.Dims...).Flip(p.Flips...).Reshape(cut...).Permute(order...),
		fmt.Sprintf("packed, as a kernel walks %v: axes %v, then %d of axis %d%s; saves it %.0f %%", p.Dims, p.Order, p.Block, p.Lanes, words, 100*p.Gain))
	return v, back, err
}

const (
	alikeNodes     = 32      // that need not be compiled again, from which on kernels that differ in constants only are one
	gridSteps      = 1 << 14 // of a loop that an invocation does: drivers stop what takes seconds
	stepIterations = 1 << 7  // of loops within a step, where an invocation may do few in all
)

// scheduled schedules a graph.
func (e *Engine) scheduled(c *canonical, storeAll bool) (*schedule.Result, error) {
	if f := e.foreseen; f.result != nil && storeAll == e.opts.StoreAll && f.text == e.planText(c) {
		return f.result, nil
	}
	limits := e.machine.Target.Limits
	if untoldBy != nil {
		roots := make([]*uop.UOp, len(c.graph.Roots))
		for i, r := range c.graph.Roots {
			roots[i] = r.Value
		}
		if err := untoldBy(e.name, e.machine.Target.Name, e.machine.Target.Name, roots); err != nil {
			return nil, err
		}
	}
	config := schedule.Config{Language: e.machine.Target.Name, StoreAll: storeAll, MaxBindings: limits.MaxBindings, Align: limits.Align, Streams: e.machine.Target.Streams,
		WholeRows: e.machine.Target.WholeRows, Nests: e.machine.Target.Nests, Tables: !e.machine.Target.Grid, Parallel: e.machine.Target.Parallel, Alike: alikeNodes, Lookup: e.machine.Target.Lookup}
	switch {
	case e.opts.OwnConstants:
		config.Alike, config.Lookup = 0, 0
	case storeAll: // any, in tests
		config.Alike = 1
	}
	if e.machine.Target.Grid {
		config.Steps = gridSteps
		if n := limits.Iterations; n > 0 {
			config.Steps = n / stepIterations
		}
	}
	if !e.machine.Target.NoOpt {
		config.Matrix = e.machine.Target.Matrix
	}
	if r := e.record(c.graph, config); r != nil {
		return r, nil
	}
	if e.opts.Schedule == nil {
		return schedule.New(c.graph, config), nil
	}
	return e.opts.Schedule(c.graph, config)
}
