package engine

import (
	"errors"
	"sync"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// noting is how plans are recorded while somebody wants to know how they came about; nil: nobody does. It is a function, so that programs
// which never ask do not link what records.
var noting struct {
	sync.Mutex
	schedule func(e *Engine, g *schedule.Graph, c schedule.Config) *schedule.Result
	built    func(e *Engine, p *compiled)
}

// Explained is a plan with how its schedule came about.
type Explained struct {
	*View
	History *schedule.History
}

// Explain is Plan, and tells how the schedule came about, up to so many laws.
func (e *Engine) Explain(laws int, nodes ...*uop.UOp) (*Explained, error) {
	if e.several != nil {
		return nil, errors.New(e.name + " is several devices, each of which has plans of its own; explain one of them")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	out := &Explained{}
	before := e.opts.Schedule
	defer func() { e.opts.Schedule = before }()
	e.opts.Schedule = func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		r, h := schedule.Recorded(g, c, laws)
		out.add(h)
		return r, nil
	}
	v, err := e.viewed(nodes)
	if err != nil {
		return nil, err
	}
	out.View = v
	return out, nil
}

// add takes a history. Where a graph is scheduled twice, laws that fired for the first time hold for the second.
func (x *Explained) add(h *schedule.History) {
	if x.History != nil && x.History.Table == h.Table {
		h.Laws = append(x.History.Laws, h.Laws...)
	}
	x.History = h
}

// Record has f told of every plan that an engine of this process makes from now on, until stop is called. It is called while the engine is
// at work, and must not ask it anything.
func Record(laws int, f func(x *Explained)) (stop func()) {
	noting.Lock()
	defer noting.Unlock()
	var mu sync.Mutex
	under := map[*Engine]*Explained{}
	noting.schedule = func(e *Engine, g *schedule.Graph, c schedule.Config) *schedule.Result {
		r, h := schedule.Recorded(g, c, laws)
		mu.Lock()
		defer mu.Unlock()
		x := under[e]
		if x == nil {
			x = &Explained{}
			under[e] = x
		}
		x.add(h)
		return r
	}
	noting.built = func(e *Engine, p *compiled) {
		mu.Lock()
		x := under[e]
		delete(under, e)
		mu.Unlock()
		if x != nil {
			x.View = &View{Plan: p.plan, Schedule: p.schedule, engine: e}
			f(x)
		}
	}
	return func() {
		noting.Lock()
		defer noting.Unlock()
		noting.schedule, noting.built = nil, nil
	}
}

// explaining says whether somebody wants to know how plans came about.
func explaining() bool {
	noting.Lock()
	defer noting.Unlock()
	return noting.schedule != nil
}

// record schedules by what records; nil: nothing does.
func (e *Engine) record(g *schedule.Graph, c schedule.Config) *schedule.Result {
	noting.Lock()
	f := noting.schedule
	noting.Unlock()
	if f == nil {
		return nil
	}
	return f(e, g, c)
}

// recorded tells of a plan.
func (e *Engine) recorded(p *compiled) {
	noting.Lock()
	f := noting.built
	noting.Unlock()
	if f != nil {
		f(e, p)
	}
}

// Passes lowers the i-th kernel of the schedule once more and shows what there is after each pass. It gives the directives.
func (v *View) Passes(i int, see func(l codegen.Lowering)) (string, error) {
	prog, err := v.lowerWith(i, func(t *codegen.Target) *codegen.Target {
		seen := *t
		seen.Check = func(*codegen.Spec) func(codegen.Lowering) error {
			return func(l codegen.Lowering) error {
				see(l)
				return nil
			}
		}
		return &seen
	})
	if err != nil {
		return "", err
	}
	return prog.Directives, nil
}
