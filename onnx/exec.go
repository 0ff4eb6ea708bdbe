package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// runner goes through a graph once: to build the graph of a plan, whose arguments have no values then (trace), or to compute it.
type runner struct {
	m         *Model
	ctx       context.Context
	eng       *engine.Engine
	trace     bool
	raws      map[*uop.UOp][]byte // elements of leaves that are known
	slots     map[int]int         // the input for which a stand-in stands
	random    bool                // something random was met
	noDoubles bool                // the device has no float64: see doubles.go
	steps     int
	text      int // bytes of strings that were made
	depth     int
	whole     *scope   // of the graph that it goes through
	scopes    []*scope // of the graphs and functions that are being run, the innermost last
	waits     waits    // of the values of these
}

const (
	mostSteps   = 1 << 20 // nodes that one run goes through
	mostTraced  = 1 << 16 // and one plan
	hostWork    = 1 << 21 // elements that are computed in the program at most, to know a value,
	settledWork = 1 << 10 // and for one integer that nobody has asked for
)

// needValue says that a value decides about a plan which the plan's arguments decide.
type needValue struct {
	inputs []int // these arguments
	most   int   // inputs of so many elements may decide about plans for its sake
	long   bool  // no value is needed, but there are too many nodes for a plan
}

func (*needValue) Error() string { return "BUG: a value is needed" }

// scope are the values of a graph by name, with those of the graphs around it.
type scope struct {
	values map[string]*Value
	outer  *scope
	opsets map[string]int
	attrs  map[string]*attrProto // of the function that is being called
	reads  *reads                // of the graph or function
	init   func(name string) *Value

	at      int      // the node that is being run
	pending []string // names of values that may have to be computed yet, in the order in which they came
}

func (s *scope) get(name string) *Value {
	for ; s != nil; s = s.outer {
		if v, ok := s.values[name]; ok {
			return v
		}
		if s.init == nil {
			continue
		}
		if v := s.init(name); v != nil {
			s.values[name] = v
			return v
		}
	}
	return nil
}

// top runs a graph from a piece on, which is given args.
func (r *runner) top(o *piece, args []*Value) (outs []*Value, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *needValue:
			err = p
		default:
			panic(p)
		}
	}()
	r.whole = r.enter(o, args)
	return r.graph(o.g, r.whole, o.at)
}

// enter makes the values that a piece is given those of its graph.
func (r *runner) enter(o *piece, args []*Value) *scope {
	s := &scope{values: map[string]*Value{}, opsets: r.m.opsets, at: o.at}
	for i, name := range o.ins {
		s.values[name] = args[i]
	}
	r.prepare(o.g, s)
	return s
}

// sub runs a graph that an attribute holds.
func (r *runner) sub(g *graphProto, outer *scope, args []*Value) ([]*Value, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("graphs lie in each other more than %d deep", maxDepth)
	}
	defer func() { r.depth-- }()
	if err := r.step(1); err != nil {
		return nil, err
	}
	if len(args) > len(g.inputs) {
		return nil, fmt.Errorf("graph %.60q takes %d values and is given %d", g.name, len(g.inputs), len(args))
	}
	if o, given := r.inside(g, outer, args); o != nil {
		if outs, ok, err := r.pieces(o, given); ok || err != nil {
			return outs, err
		}
	}
	s := &scope{values: map[string]*Value{}, outer: outer, opsets: outer.opsets, attrs: outer.attrs}
	for i, v := range args {
		s.set(g.inputs[i].name, v)
	}
	return r.graph(g, s, 0)
}

// set gives a name its value.
func (s *scope) set(name string, v *Value) {
	s.values[name] = v
	s.pending = append(s.pending, name)
}

// prepare has a scope know a graph: what its file says of names, and who reads them.
func (r *runner) prepare(g *graphProto, s *scope) {
	s.reads = g.uses()
	s.init = func(name string) *Value {
		switch t := s.reads.init[name].(type) {
		case *tensorProto:
			return r.constant(t, t.is)
		case *sparseProto:
			return r.constant(t, t.is)
		}
		return nil
	}
}

// graph runs a graph from a node on.
func (r *runner) graph(g *graphProto, s *scope, from int) ([]*Value, error) {
	r.prepare(g, s)
	if err := r.nodes(g.nodes, s, from); err != nil {
		return nil, err
	}
	outs := make([]*Value, len(g.outputs))
	for i, out := range g.outputs {
		if outs[i] = s.get(out.name); outs[i] == nil {
			return nil, fmt.Errorf("graph %.60q: its output %.80q has no value", g.name, out.name)
		}
	}
	return outs, nil
}

// reads are where names are read in a graph or function, and in graphs inside. They are found once: a run of hundreds of rounds goes through a loop's
// body as often.
type reads struct {
	once sync.Once
	uses map[string]int // how often
	last map[string]int // the last node that does, behind all nodes where it is a result
	init map[string]any // tensors in the file
}

// uses are the reads of a graph.
func (g *graphProto) uses() *reads {
	return g.reads.of(g.nodes, func() (outs []string) {
		g.reads.init = map[string]any{}
		for _, t := range slices.Backward(g.init) {
			g.reads.init[t.name] = t
		}
		for _, t := range g.sparse {
			if g.reads.init[t.values.name] == nil {
				g.reads.init[t.values.name] = t
			}
		}
		for _, out := range g.outputs {
			outs = append(outs, out.name)
		}
		return outs
	})
}

func (r *reads) of(list []*nodeProto, outs func() []string) *reads {
	r.once.Do(func() {
		r.uses, r.last = map[string]int{}, map[string]int{}
		for i, n := range list {
			uses := map[string]int{}
			countUses([]*nodeProto{n}, uses)
			for name, n := range uses {
				r.uses[name] += n
				r.last[name] = i
			}
		}
		for _, name := range outs() {
			r.uses[name]++
			r.last[name] = len(list)
		}
	})
	return r
}

// countUses counts how often names are read, by graphs inside too.
func countUses(list []*nodeProto, uses map[string]int) {
	for _, n := range list {
		for _, in := range n.in {
			uses[in]++
		}
		for _, a := range n.attrs {
			if a.g == nil {
				continue
			}
			countUses(a.g.nodes, uses)
			for _, out := range a.g.outputs {
				uses[out.name] += 2
			}
		}
	}
}

func (r *runner) nodes(list []*nodeProto, s *scope, from int) error {
	r.scopes = append(r.scopes, s)
	defer func() { r.scopes = r.scopes[:len(r.scopes)-1] }()
	for i, n := range list {
		if s.at = i; i < from {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.step(1); err != nil {
			return err
		}
		if err := r.node(n, s); err != nil {
			var own *Error
			if errors.As(err, &own) {
				return err
			}
			return &Error{File: r.m.name, Node: n.title(), Err: err}
		}
	}
	return nil
}

// step counts what a run does, rounds of loops too, so that a file cannot keep it going forever.
func (r *runner) step(n int) error {
	if r.steps += n; r.steps > mostSteps || n > mostSteps {
		return fmt.Errorf("a run goes through more than %d nodes", mostSteps)
	}
	if r.trace && r.steps > mostTraced {
		panic(&needValue{long: true})
	}
	return r.ctx.Err()
}

func (r *runner) node(n *nodeProto, s *scope) error {
	in := make([]*Value, len(n.in))
	for i, name := range n.in {
		if name == "" {
			continue
		}
		if in[i] = s.get(name); in[i] == nil {
			return fmt.Errorf("its input %.80q has no value", name)
		}
	}
	c := &call{r: r, scope: s, node: n, in: in, opset: s.opsets[n.domain]}
	for _, a := range n.attrs {
		if a.ref != "" {
			name := a.name
			if a = s.attrs[a.ref]; a == nil {
				continue
			}
			own := *a
			own.name = name
			a = &own
		}
		c.attrs = append(c.attrs, a)
	}
	var outs []*Value
	var err error
	if f := r.m.functions[functionKey{n.domain, n.op, n.overload}]; f != nil {
		outs, err = r.function(f, c)
	} else {
		f, ok := operators[opName(n.domain, n.op)]
		if !ok {
			return &UnsupportedError{r.m.name, []Missing{{n.op, n.domain, []string{n.label()}, 1}}}
		}
		if r.noDoubles && !hasGraphs(n) {
			outs, err = c.aroundDoubles(f)
		} else {
			outs, err = c.run(f)
		}
	}
	if err != nil {
		return err
	}
	for i, name := range n.out {
		if name == "" {
			continue
		}
		if i >= len(outs) || outs[i] == nil {
			return fmt.Errorf("it gives no output %d", i)
		}
		s.set(name, outs[i])
	}
	return nil
}

// hasGraphs says that a node's attributes hold graphs, whose nodes are run one by one.
func hasGraphs(n *nodeProto) bool {
	return slices.ContainsFunc(n.attrs, func(a *attrProto) bool { return a.g != nil })
}

// function runs a function that the file defines.
func (r *runner) function(f *functionProto, c *call) ([]*Value, error) {
	if r.depth++; r.depth > 2*maxDepth {
		return nil, fmt.Errorf("functions call each other more than %d deep", 2*maxDepth)
	}
	defer func() { r.depth-- }()
	if len(c.in) > len(f.in) {
		return nil, fmt.Errorf("function %.60q takes %d values and is given %d", f.name, len(f.in), len(c.in))
	}
	opsets, err := opsetsOf(f.opsets)
	if err != nil {
		return nil, err
	}
	s := &scope{values: map[string]*Value{}, opsets: opsets, attrs: map[string]*attrProto{}}
	for i, name := range f.in {
		if s.values[name] = nil; i < len(c.in) {
			s.values[name] = c.in[i]
		}
	}
	for _, a := range f.defaults {
		s.attrs[a.name] = a
	}
	for _, a := range c.attrs {
		s.attrs[a.name] = a
	}
	s.reads = f.reads.of(f.nodes, func() []string { return f.out })
	if err := r.nodesOf(f, s); err != nil {
		return nil, err
	}
	outs := make([]*Value, len(f.out))
	for i, name := range f.out {
		outs[i] = s.get(name)
	}
	return outs, nil
}

// nodesOf runs a function's nodes; an input that was not given is a missing input of those that read it.
func (r *runner) nodesOf(f *functionProto, s *scope) error {
	absent := map[string]bool{}
	for name, v := range s.values {
		if v == nil {
			absent[name] = true
			delete(s.values, name)
		}
	}
	if len(absent) == 0 {
		return r.nodes(f.nodes, s, 0)
	}
	list := make([]*nodeProto, len(f.nodes))
	for i, n := range f.nodes {
		own := *n
		own.in = make([]string, len(n.in))
		for j, name := range n.in {
			if !absent[name] {
				own.in[j] = name
			}
		}
		list[i] = &own
	}
	return r.nodes(list, s, 0)
}
