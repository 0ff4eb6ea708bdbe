package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/schedule"
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

// plan makes the plans of all devices without compiling or computing anything.
func (g *group) plan(targets []target) (any, error) {
	c := canonicalize(targets)
	p, err := g.newProgram(c, c.inputs)
	if err != nil {
		return nil, err
	}
	if err := p.make(func(m *Engine, c *canonical) (*compiled, error) { return m.build(context.Background(), c, false) }); err != nil {
		return nil, err
	}
	return p.view(), nil
}

// ran is the program of the last run, empty before the first: how inputs are cut says what is done.
func (g *group) ran(c *canonical) any {
	p, ok := c.ran.(*program)
	if !ok {
		p = &program{group: g}
	}
	return p.view()
}

// launches is how many kernels the last run of a graph launched.
func (g *group) launches(c *canonical) (n int) {
	if p, ok := c.ran.(*program); ok {
		for _, s := range p.stages {
			for _, j := range s.jobs {
				if j != nil {
					n += len(j.plan.plan.Steps)
				}
			}
		}
	}
	return n
}

func (p *program) view() *View {
	g := p.group
	view := &View{Plan: &plan.Plan{}, Schedule: &schedule.Result{}, engine: g.members[0]}
	all := stages{}
	for _, s := range p.stages {
		st := Stage{Devices: g.names, Views: make([]*View, len(g.members))}
		for i, j := range s.jobs {
			if j != nil {
				st.Views[i] = &View{Plan: j.plan.plan, Schedule: j.plan.result(), engine: g.members[i]}
				view.add(st.Views[i])
			}
		}
		for _, m := range s.moves {
			st.Moves = append(st.Moves, Moved{g.names[m.From], g.names[m.To], m.Bytes()})
		}
		all = append(all, st)
	}
	view.stages = all
	return view
}

// add takes the kernels of another view in.
func (v *View) add(w *View) {
	first := len(v.Plan.Kernels)
	v.Plan.Kernels = append(v.Plan.Kernels, w.Plan.Kernels...)
	for _, s := range w.Plan.Steps {
		if s.Kind == plan.Launch {
			v.Plan.Steps = append(v.Plan.Steps, plan.Step{Kind: plan.Launch, Kernel: first + s.Kernel})
		}
	}
	v.Schedule.Steps = append(v.Schedule.Steps, w.Schedule.Steps...)
}
