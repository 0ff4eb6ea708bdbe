// Package explain tells how a graph became kernels, a law at a time: the laws that phases of a schedule apply to graphs, how each kernel's
// expression was found and simplified, and what every pass of its lowering made of it. Each step has what there was before and after, as
// text; what is after one is before the next.
//
// It replays what package schedule noted while it scheduled. It refuses to know how anything is decided, devices, and who looks.
package explain

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Limits of what is kept. More is told in a sentence.
const (
	MostLaws  = 1 << 18 // that are noted of one schedule
	MostSteps = 4000    // of one chain
	MostText  = 2 << 20 // bytes of the texts of one chain
	mostNodes = 2000    // of a graph whose steps are told
)

// Step is one step: a law, what it made of what, and the whole before and after.
type Step struct {
	Law string `json:"law"` // its name
	At  string `json:"at"`  // file and line, "symbolic/algebra.go:55"
	// Old and New are what the law saw and what it gave, as a formula; "" where a phase or a pass did more than one thing.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Laws are those that fired within such a phase.
	Laws   []Fired `json:"laws,omitempty"`
	Before string  `json:"-"`
	After  string  `json:"after"`
	Gone   []int   `json:"gone"`  // lines of Before that are not in After
	Fresh  []int   `json:"fresh"` // and of After that are not in Before
}

// Fired is a law within a step.
type Fired struct {
	Law string `json:"law"`
	At  string `json:"at"`
	Old string `json:"old"`
	New string `json:"new"`
}

// Chain is a list of steps, and where it begins where there are none.
type Chain struct {
	Title string `json:"title"`
	First string `json:"first"` // what there is before the first step
	Steps []Step `json:"steps"`
	Left  string `json:"left,omitempty"` // a sentence, where there is more than is told
}

// Last is what the last step leaves.
func (c *Chain) Last() string {
	if len(c.Steps) == 0 {
		return c.First
	}
	return c.Steps[len(c.Steps)-1].After
}

// state is a text with the node that each line is about.
type state struct {
	text  string
	nodes []*uop.UOp
}

// add adds the step to another state; nothing where the text stays the same.
func (c *Chain) add(step Step, from, to state) bool {
	if from.text == to.text {
		return true
	}
	total := len(to.text)
	for i := range c.Steps {
		total += len(c.Steps[i].After)
	}
	if len(c.Steps) >= MostSteps || total > MostText {
		c.Left = fmt.Sprintf("There are more steps than the %d that are kept; a smaller program shows all of them.", len(c.Steps))
		return false
	}
	step.Before, step.After = from.text, to.text
	step.Gone, step.Fresh = missing(from.nodes, to.nodes), missing(to.nodes, from.nodes)
	c.Steps = append(c.Steps, step)
	return true
}

// missing lists the lines of a whose nodes are not in b.
func missing(a, b []*uop.UOp) []int {
	var have uop.Map[bool]
	for _, u := range b {
		if u != nil {
			have.Set(u, true)
		}
	}
	out := []int{}
	for i, u := range a {
		if u == nil {
			continue
		}
		if yes, _ := have.Get(u); !yes {
			out = append(out, i)
		}
	}
	return out
}

// Story is how a schedule came about.
type Story struct {
	h     *schedule.History
	table *uop.Table
	laws  uop.Map[*rewrite.Event]
	final []*uop.UOp   // the graph that was cut into kernels
	name  uop.Map[int] // its nodes, as they are numbered in the last text of the graph
}

// New tells the story of a history.
func New(h *schedule.History) *Story {
	s := &Story{h: h, table: h.Table, final: h.Phases[len(h.Phases)-1].After}
	for i := range h.Laws {
		e := &h.Laws[i]
		if _, known := s.laws.Get(e.Before); !known {
			s.laws.Set(e.Before, e)
		}
	}
	for i, u := range uop.Topo(s.final...) {
		s.name.Set(u, i)
	}
	return s
}

// Kernels is how many kernels there are.
func (s *Story) Kernels() int { return len(s.h.Kernels) }

// Graph is what phases made of the graph before it was cut.
func (s *Story) Graph() *Chain {
	c := &Chain{Title: "Graph"}
	first := s.h.Phases[0].Before
	if n := len(uop.Topo(first...)); n > mostNodes {
		c.First = fmt.Sprintf("The graph has %d nodes.\n", n)
		c.Left = fmt.Sprintf("The steps of graphs of more than %d nodes are not told, and this one has %d.", mostNodes, n)
		return c
	}
	c.First = graphState(first).text
	for p, g := range s.h.Phases {
		var here uop.Map[*rewrite.Event]
		for i := range g.Events {
			here.Set(g.Events[i].Before, &g.Events[i])
		}
		now := g.Before
		for {
			e := next(now, &here)
			if e == nil {
				break
			}
			then := s.replace(now, e.Before, e.After)
			if !c.add(stepOf(e, s), graphState(now), graphState(then)) {
				return c
			}
			now = then
		}
		if !c.add(Step{Law: fmt.Sprintf("phase %v", schedule.Phase(p)), At: "schedule"}, graphState(now), graphState(g.After)) {
			return c
		}
	}
	return c
}

func graphState(roots []*uop.UOp) state { return state{uop.Print(roots...), uop.Topo(roots...)} }

// Kernel is how the i-th kernel's Spec came about; what is after the last step is codegen.PrintSpec of it.
func (s *Story) Kernel(i int) *Chain {
	d := &s.h.Kernels[i]
	c := &Chain{Title: fmt.Sprintf("Kernel %d", i+1)}
	if s.h.Full || len(d.Members) == 0 {
		c.First = codegen.PrintSpec(d.Spec())
		c.Left = fmt.Sprintf("More than %d laws were applied, which is more than are kept; a smaller program shows how its kernels came about.", MostLaws)
		return c
	}
	members := make([]*codegen.Spec, len(d.Members))
	for m := range d.Members {
		members[m] = d.Members[m].Start
	}
	c.First = s.specState(members...).text
	for m := range d.Members {
		if !s.member(c, members, m, &d.Members[m]) {
			return c
		}
	}
	now := s.specState(members...)
	for p := schedule.Group; int(p) < len(d.After); p++ {
		law := schedule.PhaseLaw(p)
		then := s.specState(d.After[p])
		if !c.add(Step{Law: law.Name, At: law.At()}, now, then) {
			return c
		}
		now = then
	}
	return c
}

// member finds the elements of one member.
func (s *Story) member(c *Chain, members []*codegen.Spec, m int, of *schedule.Member) bool {
	var here uop.Map[*rewrite.Event]
	for i := range of.Events {
		here.Set(of.Events[i].Before, &of.Events[i])
	}
	for {
		values := valuesOf(members[m])
		e := next(values, &here, &s.laws)
		if e == nil {
			break
		}
		before := s.specState(members...)
		members[m] = withValues(members[m], s.replace(values, e.Before, e.After))
		if !c.add(stepOf(e, s), before, s.specState(members...)) {
			return false
		}
	}
	for _, to := range []struct {
		law  *rewrite.Rule
		spec *codegen.Spec
	}{{schedule.PhaseLaw(schedule.Lower), of.Found}, {schedule.CompactLaw, of.Spec}} {
		before := s.specState(members...)
		members[m] = to.spec
		if !c.add(Step{Law: to.law.Name, At: to.law.At()}, before, s.specState(members...)) {
			return false
		}
	}
	return true
}

func valuesOf(s *codegen.Spec) []*uop.UOp {
	out := make([]*uop.UOp, len(s.Outs))
	for i, o := range s.Outs {
		out[i] = o.Value
	}
	return out
}

func withValues(s *codegen.Spec, values []*uop.UOp) *codegen.Spec {
	c := *s
	c.Outs = append([]codegen.Out(nil), s.Outs...)
	for i, v := range values {
		c.Outs[i].Value = v
	}
	return &c
}

// specState is the text of Specs, with elements of nodes that are still to be found named.
func (s *Story) specState(specs ...*codegen.Spec) (out state) {
	for _, spec := range specs {
		spec = withValues(spec, s.named(valuesOf(spec)))
		out.text += codegen.PrintSpec(spec)
		out.nodes = append(out.nodes, codegen.SpecNodes(spec)...)
	}
	return out
}

func stepOf(e *rewrite.Event, s *Story) Step {
	return Step{Law: e.Rule.Name, At: e.Rule.At(), Old: s.formula(e.Before), New: s.formula(e.After)}
}
