package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Stage is a part of what several devices do: each plays its plan, all at once, and then arrays are copied.
type Stage struct {
	Devices []string
	Views   []*View // by device; nil: it has nothing to do
	Moves   []Moved
}

// Moved is a copy from one device to another, of so many bytes.
type Moved struct {
	From, To string
	Bytes    int
}

// stages is what several devices do, one after the other.
type stages []Stage

func (s stages) String() string {
	var b strings.Builder
	for i, st := range s {
		fmt.Fprintf(&b, "stage %d\n%v", i, st)
	}
	return b.String()
}

// Stages, of a View of arrays on several devices, says what is done one after the other, and which device does what. The View itself has
// the kernels of all. Of arrays on one device there are none.
func (v *View) Stages() []Stage {
	s, _ := v.stages.(stages)
	return s
}

func (s Stage) String() string {
	var b strings.Builder
	for i, v := range s.Views {
		if v != nil {
			fmt.Fprintf(&b, "%s: %v\n", s.Devices[i], v)
		}
	}
	for _, m := range s.Moves {
		fmt.Fprintf(&b, "copy %d bytes from %s to %s\n", m.Bytes, m.From, m.To)
	}
	return b.String()
}

// plan makes the plans of all devices without computing anything. Arrays stand for what earlier stages leave.
func (g *group) plan(targets []target) (any, error) {
	p, err := g.spread(targets, nil)
	if err != nil {
		return nil, err
	}
	view := &View{Plan: &plan.Plan{}, Schedule: &schedule.Result{}, engine: g.members[0]}
	var all stages
	known := make([]map[*uop.UOp]*uop.UOp, len(g.members))
	for i := range known {
		known[i] = map[*uop.UOp]*uop.UOp{}
	}
	for _, s := range p.stages() {
		st := Stage{Devices: g.names, Views: make([]*View, len(g.members))}
		for i, m := range g.members {
			if st.Views[i], err = m.planKnown(s.compute[i], known[i]); err != nil {
				return nil, err
			}
			view.add(st.Views[i])
		}
		for _, m := range s.moves {
			st.Moves = append(st.Moves, Moved{g.names[m.From], g.names[m.To], m.Bytes()})
			if known[m.To][m.Node], err = g.members[m.To].StandIn(m.Node.DType(), m.Node.Shape()); err != nil {
				return nil, err
			}
		}
		all = append(all, st)
	}
	view.stages = all
	return view, nil
}

// add takes the kernels of another view in.
func (v *View) add(w *View) {
	if w == nil {
		return
	}
	first := len(v.Plan.Kernels)
	v.Plan.Kernels = append(v.Plan.Kernels, w.Plan.Kernels...)
	for _, s := range w.Plan.Steps {
		if s.Kind == plan.Launch {
			v.Plan.Steps = append(v.Plan.Steps, plan.Step{Kind: plan.Launch, Kernel: first + s.Kernel})
		}
	}
	v.Schedule.Steps = append(v.Schedule.Steps, w.Schedule.Steps...)
}

// planKnown is computeKnown without computing.
func (e *Engine) planKnown(nodes []*uop.UOp, known map[*uop.UOp]*uop.UOp) (*View, error) {
	if e.machine.Evaluate != nil {
		return nil, fmt.Errorf("%s evaluates graphs and has no plans; use another device", e.name)
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var targets []target
	for i, v := range uop.Substitute(nodes[0].Home(), known, nodes...) {
		if b, _ := buffer(v); b != nil || known[nodes[i]] != nil {
			continue
		}
		targets = append(targets, target{node: v, value: v})
		stand, err := e.StandIn(v.DType(), v.Shape())
		if err != nil {
			return nil, err
		}
		known[nodes[i]] = stand
	}
	if len(targets) == 0 {
		return nil, nil
	}
	p, err := e.build(context.Background(), canonicalize(targets), false)
	if err != nil {
		return nil, err
	}
	return &View{Plan: p.plan, Schedule: p.schedule, engine: e}, nil
}
