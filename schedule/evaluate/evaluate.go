// Package evaluate checks schedules: it computes the graph as it was given, node by node (package ref), and after every phase
// of a schedule what there is then: the rewritten graph, each kernel's Spec on what it reads, and in the end all of them in
// their order on one set of buffers. A phase must leave the numbers as they were, write every element, and touch no memory
// that is not there.
//
// It is for tests: nothing that is delivered imports it. It refuses to know how the phases work; what kernels become later is
// codegen/evaluate's.
//
//	check := evaluate.New()
//	check.Schedule(g, c) // is schedule.New, and fails where a phase changes a value
package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Checker checks schedules. Its counters may be read when nothing is being scheduled.
type Checker struct {
	// Most is how many elements the arrays of a graph may have together, and how many ops a kernel may take for each of them;
	// what needs more is passed over.
	Most int
	// Seed chooses the contents of memory.
	Seed uint64

	Graphs, Stages, Kernels, TooLarge atomic.Int64
	Compared, Unsure                  atomic.Int64 // elements; those that rounding may have made anything are not compared
}

// New makes a Checker for graphs of small arrays.
func New() *Checker { return &Checker{Most: 200_000} }

// opsPerElement bounds the work of a kernel.
const opsPerElement = 16

// poison is what memory holds before it is written.
const poison = -30583

// Schedule schedules a graph and checks each phase; it is what engine.Options.Schedule wants.
func (c *Checker) Schedule(g *schedule.Graph, config schedule.Config) (*schedule.Result, error) {
	return schedule.Checked(g, config, c.Graph)
}

// Graph is what schedule.Checked wants.
func (c *Checker) Graph(g *schedule.Graph) func(s schedule.Stage) error {
	c.Graphs.Add(1)
	skip := func(schedule.Stage) error { return nil }
	roots := make([]*uop.UOp, len(g.Roots))
	for i, r := range g.Roots {
		roots[i] = r.Value
	}
	loops := slices.ContainsFunc(uop.Topo(roots...), func(u *uop.UOp) bool { return u.Op() == uop.Loop })
	if loops || !c.small(roots) { // what a step of a loop does is a graph of its own
		return skip
	}
	var fills []*filled
	for kind, name := range []string{"small", "special"} {
		r := rand.New(rand.NewPCG(c.Seed, uint64(kind)))
		w := &filled{checker: c, name: name, roots: roots, values: map[*uop.UOp][]uop.Value{}}
		for _, in := range g.Inputs {
			w.inputs = append(w.inputs, evaluate.Numbers(in.DType, in.N, r, kind == 1))
		}
		fills = append(fills, w)
	}
	return func(s schedule.Stage) error {
		f := s.Form()
		if !c.small(f.Roots) {
			return nil
		}
		c.Stages.Add(1)
		for _, w := range fills {
			if err := w.stage(f); err != nil {
				return fmt.Errorf("schedule: after %q: memory of %s numbers: %w", f.Phase, w.name, err)
			}
		}
		return nil
	}
}

// small says whether a graph can be evaluated in reasonable time.
func (c *Checker) small(roots []*uop.UOp) bool {
	n := 0
	for _, u := range uop.Topo(roots...) {
		if n += u.Shape().Numel(); n > c.Most || u.Shape().Numel() > c.Most {
			c.TooLarge.Add(1)
			return false
		}
	}
	return true
}

// filled is a graph whose inputs have contents.
type filled struct {
	checker *Checker
	name    string
	roots   []*uop.UOp // as given
	inputs  [][]uop.Value
	values  map[*uop.UOp][]uop.Value // of nodes
}

// know computes everything that roots need.
func (w *filled) know(roots []*uop.UOp) {
	var missing []*uop.UOp
	for _, u := range uop.Topo(roots...) {
		if _, ok := w.values[u]; !ok {
			missing = append(missing, u)
		}
	}
	load := func(leaf *uop.UOp) []uop.Value {
		if leaf.Op() == uop.Var {
			return []uop.Value{evaluate.Variable(leaf)}
		}
		return w.inputs[leaf.Arg().(uop.ParamArg).Slot]
	}
	for i, v := range ref.Eval(load, missing...) {
		w.values[missing[i]] = v
	}
}

// stage compares what a phase leaves with the graph as it was given.
func (w *filled) stage(f *schedule.Form) error {
	w.know(w.roots)
	w.know(f.Roots)
	if f.Bufs == nil {
		for i, u := range f.Roots {
			if err := w.compare(u, w.values[u], w.values[w.roots[i]], max(w.errors(nil, u), w.errors(nil, w.roots[i]))); err != nil {
				return fmt.Errorf("root %d, now %v: %w", i, u, err)
			}
		}
		return nil
	}
	if f.Ordered {
		return w.play(f)
	}
	for _, h := range f.Bufs {
		if h.Node != nil {
			w.know([]*uop.UOp{h.Node})
		}
	}
	for i, s := range f.Steps {
		if s.Spec == nil {
			continue
		}
		if err := w.kernel(f, s); err != nil {
			return fmt.Errorf("kernel %d: %w\n%s", i, err, printed(s))
		}
	}
	return nil
}

// kernel runs one kernel on what the graph's nodes are.
func (w *filled) kernel(f *schedule.Form, s schedule.Step) error {
	memory := make([][]uop.Value, len(s.Bufs))
	known := map[*uop.UOp]bool{}
	for p, b := range s.Bufs {
		if i := slices.Index(s.Bufs[:p], b); i >= 0 { // seen with other dims
			memory[p] = memory[i]
			continue
		}
		h := f.Bufs[b]
		if written(s, b) {
			memory[p] = fresh(h.Buf)
			continue
		}
		if h.Node == nil {
			return fmt.Errorf("p%d is read and holds nothing", p)
		}
		known[h.Node] = true
		memory[p] = slices.Clone(arranged(w.values[h.Node], h))
	}
	if done, err := w.run(s, memory); !done || err != nil {
		return err
	}
	for p, b := range s.Bufs {
		if h := f.Bufs[b]; s.Spec.Params[p].Write {
			if err := w.compare(h.Node, memory[p], arranged(w.values[h.Node], h), w.errors(known, h.Node)); err != nil {
				return fmt.Errorf("p%d%v, which is to hold %v: %w", p, s.Spec.Params[p].Dims, h.Node, err)
			}
		}
	}
	return nil
}

// written says whether a step writes a buffer.
func written(s schedule.Step, buf int) bool {
	for p, b := range s.Bufs {
		if b == buf && s.Spec.Params[p].Write {
			return true
		}
	}
	return false
}

// run runs a kernel; done is false where that takes too long.
func (w *filled) run(s schedule.Step, memory [][]uop.Value) (done bool, err error) {
	w.checker.Kernels.Add(1)
	err = evaluate.Spec(s.Spec, nil, memory, opsPerElement*w.checker.Most)
	if errors.Is(err, evaluate.ErrTooLarge) {
		w.checker.TooLarge.Add(1)
		return false, nil
	}
	return err == nil, err
}

// play runs all steps in their order.
func (w *filled) play(f *schedule.Form) error {
	buffers := make([][]uop.Value, len(f.Bufs))
	for i, b := range f.Bufs {
		switch b.Kind {
		case schedule.InputBuf:
			buffers[i] = slices.Clone(w.inputs[b.Index])
		case schedule.ConstantBuf:
			buffers[i] = f.Constants[b.Index]
		default:
			buffers[i] = fresh(b.Buf)
		}
	}
	for i, s := range f.Steps {
		if s.Spec == nil {
			copy(buffers[s.Bufs[0]], buffers[s.Bufs[1]])
			continue
		}
		memory := make([][]uop.Value, len(s.Bufs))
		for p, b := range s.Bufs {
			memory[p] = buffers[b]
			if s.From != nil {
				memory[p] = memory[p][s.From[p] : s.From[p]+uop.Shape(s.Spec.Params[p].Dims).Numel()]
			}
		}
		if done, err := w.run(s, memory); err != nil {
			return fmt.Errorf("kernel %d: %w\n%s", i, err, printed(s))
		} else if !done {
			return nil
		}
	}
	for i, b := range f.RootBuf {
		u := w.roots[i]
		if err := w.compare(u, buffers[b], w.values[u], max(w.errors(nil, u), w.errors(nil, f.Roots[i]))); err != nil {
			return fmt.Errorf("all steps in their order: root %d, %v: %w", i, u, err)
		}
	}
	return nil
}

// fresh is memory that nothing was written to.
func fresh(b schedule.Buf) []uop.Value {
	v := make([]uop.Value, b.N)
	for i := range v {
		switch {
		case b.DType.IsFloat():
			v[i] = uop.FloatValue(b.DType, poison)
		case b.DType != dtype.Bool:
			v[i] = uop.IntValue(b.DType, poison)
		default:
			v[i] = 1
		}
	}
	return v
}

// arranged are the elements of a node in the order of a buffer.
func arranged(v []uop.Value, h schedule.Held) []uop.Value {
	if h.Order == nil {
		return v
	}
	p := uop.NewArena().Param(0, len(v), h.DType).Reshape(h.Node.Shape()...).Permute(h.Order...)
	return ref.Eval(func(*uop.UOp) []uop.Value { return v }, p)[0]
}

// compare gives the first element that differs by more than rounding may have made. Zeros of both signs are one: a sum of one −0
// is that, or 0 + −0.
func (w *filled) compare(u *uop.UOp, got, want []uop.Value, near float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	if math.IsInf(near, 1) {
		w.checker.Unsure.Add(int64(len(want)))
		return nil
	}
	w.checker.Compared.Add(int64(len(want)))
	d := u.DType()
	for i, x := range want {
		if got[i] == x {
			continue
		}
		if d.IsFloat() {
			a, b := got[i].Float(), x.Float()
			switch {
			case a == b, a != a && b != b, math.Abs(a-b) <= slack*near:
				continue
			case near > 0 && !(finite(a) && finite(b)): // an overflow, or what follows from one
				continue
			}
			return fmt.Errorf("element %d is %v, want %v ± %.3g", i, a, b, slack*near)
		}
		return fmt.Errorf("element %d is %d, want %d", i, got[i].Int(), x.Int())
	}
	return nil
}

// slack is for what the analysis of rounding leaves out.
const slack = 4

func finite(x float64) bool { return x-x == 0 }

// printed is what a kernel computes, for people.
func printed(s schedule.Step) string {
	text := ""
	for i, o := range s.Spec.Outs {
		text += fmt.Sprintf("out %d: p%d%v over %v\n%s", i, o.Param, o.Index, o.Axes, uop.Print(o.Value))
	}
	return text[:min(len(text), 4000)]
}
