package onnx

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/sizes"
	"github.com/weft-ml/weft/uop"
)

// A model whose values decide what is computed can be no single plan: a detector counts the boxes that it finds. It goes in pieces. The graph up to the first node that
// needs a value which only the device can tell is a plan; that node is run by itself, on what the plan gave; and what comes behind it is the next piece,
// which is given the values that it reads. So each run builds the graph of few nodes only. The graphs of such nodes, as a loop's body, go in pieces, too.

// pieceKey is a graph of the model, and the first node.
type pieceKey struct {
	g  *graphProto
	at int
}

// piece is a graph from a node on, with its plans.
type piece struct {
	m *Model
	pieceKey
	ins []string // what it is given: first of all the graph's inputs and what it reads of the graphs around it; later what nodes before made and others from it on read

	mu       sync.Mutex
	special  map[int]bool             // what it is given whose values decide about the plan,
	read     map[int]readInput        // and what they were last
	plans    []*planned               // last used first
	families map[string]*sizes.Family // by device and ranks of inputs
	owners   map[string]bool          // cases of families that have plans of their own, see own
}

// readInput are the elements of an input that lies on a device.
type readInput struct {
	node *uop.UOp
	raw  []byte
}

// runner is a new one.
func (m *Model) runner(ctx context.Context, e *engine.Engine) *runner {
	return &runner{m: m, ctx: ctx, eng: e, raws: map[*uop.UOp][]byte{}}
}

// whole is the model's graph.
func (m *Model) whole() *piece { return m.piece(m.proto.graph, 0) }

// piece is that of a graph which begins with a node.
func (m *Model) piece(g *graphProto, at int) *piece {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := pieceKey{g, at}
	o := m.pieces[k]
	if o == nil {
		o = &piece{m: m, pieceKey: k, special: map[int]bool{}, read: map[int]readInput{}}
		if g == m.proto.graph {
			for _, p := range m.inputs {
				o.ins = append(o.ins, p.Name)
			}
		} else {
			for _, p := range g.inputs {
				o.ins = append(o.ins, p.name)
			}
			o.ins = append(o.ins, g.around()...)
		}
		if at > 0 {
			o.ins = g.live(o.ins, at)
		}
		m.pieces[k] = o
	}
	return o
}

// behind is the piece of the same graph that begins with a node.
func (o *piece) behind(at int) *piece { return o.m.piece(o.g, at) }

// around are the names that a graph reads of the graphs around it: those that it reads before it makes a value of that name itself, if it does.
func (g *graphProto) around() []string {
	own, read := map[string]bool{"": true}, map[string]bool{}
	reads := func(name string) {
		if !own[name] {
			read[name] = true
		}
	}
	for name := range g.uses().init {
		own[name] = true
	}
	for _, p := range g.inputs {
		own[p.name] = true
	}
	for _, node := range g.nodes {
		for _, name := range node.in {
			reads(name)
		}
		for _, a := range node.attrs {
			if a.g != nil {
				for _, name := range a.g.around() {
					reads(name)
				}
			}
		}
		for _, name := range node.out {
			own[name] = true
		}
	}
	for _, out := range g.outputs {
		reads(out.name)
	}
	return slices.Sorted(maps.Keys(read))
}

// live are the names of the values that exist before a node, some from the beginning on, and that it or others behind it read.
func (g *graphProto) live(given []string, at int) (names []string) {
	last := g.uses().last
	add := func(name string) {
		if n, ok := last[name]; ok && name != "" && n >= at {
			names = append(names, name)
		}
	}
	for _, name := range given {
		add(name)
	}
	for _, node := range g.nodes[:at] {
		for _, name := range node.out {
			add(name)
		}
	}
	return names
}

// inside is the beginning of a graph that an attribute holds, with what it is given; nil: it is to be run node by node.
func (r *runner) inside(g *graphProto, outer *scope, args []*Value) (*piece, []*Value) {
	if r.trace || r.noDoubles || outer.attrs != nil || len(args) != len(g.inputs) { // attributes of functions are others at each call
		return nil, nil
	}
	o := r.m.piece(g, 0)
	var given []*Value
	for _, v := range args { // that a loop begins with a constant makes its first round no other one
		given = append(given, v.loose())
	}
	for _, name := range o.ins[len(args):] {
		v := outer.get(name)
		if v == nil {
			return nil, nil
		}
		given = append(given, v)
	}
	return o, given
}

// pieces runs a graph in pieces from its beginning on. It does not where that has no plan.
func (r *runner) pieces(o *piece, args []*Value) (outs []*Value, ok bool, err error) {
	for {
		if o.at == len(o.g.nodes) {
			outs, err = r.byNode(o, args)
			return outs, true, err
		}
		p, outs, err := o.play(r.ctx, r.eng, args)
		switch {
		case err != nil:
			return nil, false, err
		case p == nil && o.at == 0:
			return nil, false, nil
		case p == nil:
			outs, err = r.byNode(o, args)
			return outs, true, err
		case p.stop == p.end:
			return outs, true, r.step(p.stop - o.at)
		}
		if err := r.step(p.stop - o.at); err != nil {
			return nil, false, err
		}
		if args, err = r.first(o.behind(p.stop), outs); err != nil {
			return nil, false, err
		}
		o = o.behind(p.stop + 1)
	}
}

// play plays the plan for what the piece is given; nil: there can be none.
func (o *piece) play(ctx context.Context, e *engine.Engine, args []*Value) (*planned, []*Value, error) {
	for !slices.ContainsFunc(args, func(v *Value) bool { return v.kind != IsTensor || v.elem == String }) {
		key, err := o.key(ctx, e, args)
		if err != nil {
			return nil, nil, err
		}
		p := o.find(key)
		if p == nil || o.again(p) {
			var need *needValue
			if p, err = o.plan(ctx, e, key, args); errors.As(err, &need) {
				continue // with values in the key
			}
			if err != nil {
				return nil, nil, err
			}
			p.key = key
			o.keep(p)
		}
		if p.plan == nil && p.instance == nil && !p.same {
			break
		}
		outs, err := p.run(ctx, e, args)
		if err != nil && ctx.Err() == nil && o.own(p) {
			continue // its room takes more memory, say: a plan of its own tells what is wrong with it
		}
		return p, outs, err
	}
	return nil, nil, nil
}

// first runs the first node of a piece, and gives what the piece behind it is to be given.
func (r *runner) first(o *piece, args []*Value) ([]*Value, error) {
	s := r.enter(o, copies(args))
	if err := r.nodes(o.g.nodes[:o.at+1], s, o.at); err != nil {
		return nil, err
	}
	made := o.g.nodes[o.at].out
	var outs, fresh []*Value
	for _, name := range o.behind(o.at + 1).ins {
		v := s.values[name]
		if slices.Contains(made, name) {
			own := *v
			own.known = false // other runs find other values
			v = &own
			fresh = append(fresh, v)
		}
		outs = append(outs, v)
	}
	return outs, r.realize(fresh...)
}

// byNode runs a graph node by node.
func (r *runner) byNode(o *piece, args []*Value) ([]*Value, error) {
	outs, err := r.top(o, copies(args))
	if err != nil {
		return nil, err
	}
	return outs, r.realize(outs...)
}

// copies are values that may come to know their elements: those of a caller are not changed.
func copies(vs []*Value) []*Value {
	out := make([]*Value, len(vs))
	for i, v := range vs {
		w := *v
		w.items = copies(v.items)
		out[i] = &w
	}
	return out
}
