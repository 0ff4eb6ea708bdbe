package engine

import (
	"slices"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// PlanStore keeps plans, and what else is made of a graph, between runs of a program, by a text that says all that they were made of but the
// program itself and the machine, which are for the store to tell apart. Get fills what into points to with what Put was given.
type PlanStore interface {
	Get(text string, into any) bool
	Put(text string, what any) error
	Close()
}

// worthKeeping says that what a plan is made of, its text, or how many steps it has are worth keeping it; others are made about as fast as they are
// read.
func worthKeeping(text string, steps int) bool { return steps >= 8 || len(text) >= 1<<12 }

// plansOf is the store of plans, or nil: where somebody wants to see how plans are made, or decides on it, they are made.
func (e *Engine) plansOf() PlanStore {
	o := &e.opts
	if o.Debug > 0 || o.Origins || o.Check != nil || o.Schedule != nil || o.Search > 0 || o.Directives != nil || e.machine.Choose != nil || watching() || explaining() {
		return nil
	}
	return e.machine.Plans
}

// planText says all that a plan is made of: the graph and what of the options decides.
func (e *Engine) planText(c *canonical) string {
	var w keyWriter
	roots := make([]*uop.UOp, len(c.graph.Roots))
	for i, r := range c.graph.Roots {
		roots[i] = r.Value
	}
	for _, u := range uop.Topo(roots...) {
		w.node(u)
	}
	for i, r := range c.graph.Roots {
		w.int(r.Dest)
		w.int(w.id(roots[i]))
	}
	w.inputs(c.graph)
	w.int(c.graph.Uniform)
	for _, v := range c.graph.Vars {
		w.arg(v.Arg())
	}
	if e.opts.NoOpt {
		w.int(1)
	}
	if e.opts.StoreAll {
		w.int(2)
	}
	if e.opts.OwnConstants {
		w.int(3)
	}
	w.int(int(e.machine.Target.Limits.MaxBytes))
	return string(w.buf)
}

// known is the plan that an earlier run of the program kept for a graph, or nil.
func (e *Engine) known(c *canonical, text string) *compiled {
	p := &plan.Plan{}
	if !e.machine.Plans.Get(text, p) || p.Version != plan.Version || p.Target != e.machine.Target.Name {
		return nil
	}
	for i := range p.Kernels {
		if k := &p.Kernels[i]; !e.entries[k.Entry] {
			e.entries[k.Entry] = true
			e.stats.Kernels++
		}
	}
	return &compiled{plan: p, later: e.scheduledLater(c.graph, e.opts.StoreAll)}
}

// scheduledLater schedules a graph when somebody asks for it.
func (e *Engine) scheduledLater(g *schedule.Graph, storeAll bool) func() *schedule.Result {
	own := &canonical{graph: g} // without the arrays
	return func() *schedule.Result {
		r, err := e.scheduled(own, storeAll)
		if err != nil {
			return &schedule.Result{}
		}
		return r
	}
}

// letGo gives up the schedule that a plan was made from: who wants to see it has it made again. Nodes of all its kernels hang on it, megabytes
// where the plan has kilobytes.
func (e *Engine) letGo(p *compiled, c *canonical) {
	if p.schedule != nil {
		p.schedule, p.later = nil, e.scheduledLater(c.graph.Apart(), p.storeAll)
	}
}

// planned gives the plan of a graph: from the store and loaded, or made now, so that its kernels are with the compiler.
func (e *Engine) planned(c *canonical, build func() (*compiled, error), load func(p *compiled) error) (*compiled, error) {
	defer func() { e.foreseen = foreseen{} }()
	store, text := e.plansOf(), ""
	if store != nil {
		text = e.planText(c)
		if p := e.known(c, text); p != nil && load(p) == nil {
			return p, nil
		}
	}
	p, err := build()
	if err != nil {
		return nil, err
	}
	if store != nil && worthKeeping(text, len(p.plan.Steps)) && !slices.ContainsFunc(p.plan.Kernels, func(k plan.Kernel) bool { return k.Draft != nil }) {
		e.keep(text, p.plan)
	}
	return p, nil
}

// keep puts something into the store. A store that cannot take it is given up.
func (e *Engine) keep(text string, what any) {
	if err := e.machine.Plans.Put(text, what); err != nil {
		e.Say("%s: plans are not kept and will be made again by the next process (%v)", e.name, err)
		e.closePlans()
	}
}

func (e *Engine) closePlans() {
	if e.machine.Plans != nil {
		e.machine.Plans.Close()
		e.machine.Plans = nil
	}
}

// result is the schedule that a plan was made from.
func (p *compiled) result() *schedule.Result {
	if p.schedule == nil && p.later != nil {
		p.schedule, p.later = p.later(), nil
	}
	return p.schedule
}
