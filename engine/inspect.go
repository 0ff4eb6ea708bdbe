package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// View is a plan to look at: what Realize of the same nodes would play.
type View struct {
	Plan     *plan.Plan
	Schedule *schedule.Result
	// Once is what a captured function computes at its first run, and again when an array that it comes from was assigned; nil: nothing.
	Once *View
	// Kept says of each value that Once computes what it is and why it is kept.
	Kept   []string
	engine *Engine
	stages fmt.Stringer // see Stages; nil: there is one device
}

// Plan schedules nodes and writes their kernels, but compiles and computes nothing. Nodes that are in memory
// already are left out.
func (e *Engine) Plan(nodes ...*uop.UOp) (*View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.viewed(nodes)
}

// viewed is Plan, by who holds the engine.
func (e *Engine) viewed(nodes []*uop.UOp) (*View, error) {
	if e.machine.Evaluate != nil {
		return nil, fmt.Errorf("%s evaluates graphs and has no plans; use another device", e.name)
	}
	targets, err := e.targets(nodes, nil)
	if err != nil {
		return nil, err
	}
	if e.several != nil {
		v, err := e.several.plan(targets)
		if err != nil {
			return nil, err
		}
		return v.(*View), nil
	}
	p, err := e.build(context.Background(), canonicalize(targets), false)
	if err != nil {
		return nil, err
	}
	return &View{Plan: p.plan, Schedule: p.result(), engine: e}, nil
}

// View is the plan of a run, and what is computed once, to look at. On several devices it is that of the last run, as it depends on how inputs
// are cut.
func (c *Captured) View() *View {
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.plan.graph != nil {
		return e.several.ran(c.plan.graph).(*View)
	}
	v := &View{Plan: c.plan.plan, Schedule: c.plan.result(), engine: e}
	if f := c.folded; f != nil {
		v.Once, v.Kept = &View{Plan: f.plan.plan, Schedule: f.plan.result(), engine: e}, f.reasons()
	}
	return v
}

// Launches lists the kernels in the order in which they run; copies are left out.
func (v *View) Launches() []*plan.Kernel {
	var out []*plan.Kernel
	for _, s := range v.Plan.Steps {
		if s.Kind == plan.Launch {
			out = append(out, &v.Plan.Kernels[s.Kernel])
		}
	}
	return out
}

// Flops is the number of arithmetic operations of one play.
func (v *View) Flops() int64 {
	n := int64(0)
	for _, k := range v.Launches() {
		n += k.Flops
	}
	return n
}

// Tree is the i-th launch as a tree of statements, one op a line: what its language spells.
func (v *View) Tree(i int) (string, error) {
	prog, err := v.lower(i)
	if err != nil {
		return "", err
	}
	return codegen.Dump(prog), nil
}

func (v *View) lower(i int) (*codegen.Program, error) {
	return v.lowerWith(i, func(t *codegen.Target) *codegen.Target { return t })
}

func (v *View) lowerWith(i int, target func(*codegen.Target) *codegen.Target) (*codegen.Program, error) {
	for _, s := range v.Schedule.Steps {
		if s.Spec == nil {
			continue
		}
		if i == 0 {
			v.engine.mu.Lock()
			defer v.engine.mu.Unlock()
			return lower.Lower(s.Spec, v.engine.directives(specKey(s.Spec), s.Spec), target(v.engine.machine.Target))
		}
		i--
	}
	return nil, fmt.Errorf("the plan has %d launches", len(v.Launches()))
}

// String prints the schedule with its reasons, then every kernel.
func (v *View) String() string {
	if v.stages != nil {
		return v.stages.String()
	}
	var b strings.Builder
	if v.Once != nil {
		fmt.Fprintf(&b, "at the first run, and when what they come from has changed:\n")
		for _, line := range v.Kept {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		fmt.Fprintf(&b, "%v\nin each run:\n", v.Once)
	}
	fmt.Fprintf(&b, "%d launches, arena %d bytes\n%v", len(v.Launches()), v.Plan.Peak, v.Schedule)
	for i := range v.Plan.Kernels {
		k := &v.Plan.Kernels[i]
		fmt.Fprintf(&b, "\n// %s, %d flops, %d bytes\n", k.Name, k.Flops, k.Bytes)
		if k.Made != "" {
			fmt.Fprintf(&b, "// of %s\n", k.Made)
		}
		if k.Directives != "" {
			fmt.Fprintf(&b, "// directives: %s\n", k.Directives)
		}
		b.WriteString(k.Source)
	}
	return b.String()
}

var watchers struct {
	sync.Mutex
	list []*func(device string, k *plan.Kernel, tree string)
}

// Watch has f called with every kernel that any engine writes, until stop is called: the device, the kernel, and its
// tree of statements. Tests collect kernels with it.
func Watch(f func(device string, k *plan.Kernel, tree string)) (stop func()) {
	watchers.Lock()
	defer watchers.Unlock()
	watchers.list = append(watchers.list, &f)
	return func() {
		watchers.Lock()
		defer watchers.Unlock()
		watchers.list = slices.DeleteFunc(watchers.list, func(p *func(string, *plan.Kernel, string)) bool { return p == &f })
	}
}

// watching says that somebody watches.
func watching() bool {
	watchers.Lock()
	defer watchers.Unlock()
	return len(watchers.list) > 0
}

func watched(device string, prog *codegen.Program, k *plan.Kernel) {
	watchers.Lock()
	defer watchers.Unlock()
	if len(watchers.list) == 0 {
		return
	}
	tree, spelled := codegen.Dump(prog), k.Spelled()
	for _, f := range watchers.list {
		(*f)(device, &spelled, tree)
	}
}
