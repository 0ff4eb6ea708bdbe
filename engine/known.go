package engine

import (
	"context"
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/weft-ml/weft/sizes"
	"github.com/weft-ml/weft/uop"
)

// A program that captures nothing makes the same graph at each step, over other arrays. To resolve it and to bring it into the form that plans are
// kept by takes longer than to play the plan of a small model. So the result for a graph is kept: a walk that makes no nodes writes down, as a
// key, all that it depends on, which is how the graph is made, its numbers, and which of its arrays are the same. Where numbers are other ones
// each time, the result is kept by a key without them, see numbered.go.

// sketch is a graph before it is resolved.
type sketch struct {
	asked  []target
	key    keyWriter
	loose  int         // how many bytes of the key are without numbers
	values []uop.Value // the numbers, in the order in which the walk meets them
	arrays []*storage  // in the order in which the walk meets them
	slots  map[*storage]int
	vars   []uop.VarArg // with their values, each once
	fails  bool         // it cannot be resolved, or in a way that only resolving tells

	family *family // whose plan it was found to be played by, with other numbers
	places []place // and its numbers there
}

// sketch writes down what is asked for; nil: it has to be resolved. It is given back by done.
func (e *Engine) sketch(asked []target) *sketch {
	sk := e.eager.spare
	if e.eager.spare = nil; sk == nil {
		sk = &sketch{slots: map[*storage]int{}}
	}
	sk.asked = asked
	for _, t := range asked {
		sk.fails = sk.fails || t.value != nil
	}
	roots := sk.walk(e, func(u *uop.UOp) { sk.node(e, u) })
	if sk.fails {
		e.eager.done(sk)
		return nil
	}
	for i, t := range asked {
		sk.key.int(sk.key.id(roots[i]))
		dest := -1
		if t.dest != nil {
			dest = sk.slots[t.store]
			sk.key.int(assignments(t.node))
		}
		sk.key.int(dest)
		sk.pin(nil, roots[i])
	}
	sk.loose = len(sk.key.buf)
	for _, v := range sk.values {
		sk.key.buf = binary.LittleEndian.AppendUint64(sk.key.buf, uint64(v))
	}
	return sk
}

// walk visits the nodes of what is asked for, to the arrays.
func (sk *sketch) walk(e *Engine, visit func(u *uop.UOp)) (roots []*uop.UOp) {
	operands := func(u *uop.UOp) []*uop.UOp {
		if isArray(u) {
			return nil
		}
		return e.operands(u)
	}
	roots = make([]*uop.UOp, len(sk.asked))
	for i, t := range sk.asked {
		roots[i] = t.node
	}
	uop.WalkBy(roots, operands, func(*uop.UOp) bool { return sk.fails }, visit)
	return roots
}

// isArray says whether a node is in memory.
func isArray(u *uop.UOp) bool {
	if u.Realized() != nil {
		return true
	}
	b, _ := buffer(u)
	return b != nil
}

func (sk *sketch) node(e *Engine, u *uop.UOp) {
	r := u
	if b := u.Realized(); b != nil {
		r = b
	}
	if b, s := buffer(r); b != nil {
		sk.array(e, u, r, b, s)
		return
	}
	switch {
	case u.Op() == uop.Param: // a stand-in
		sk.fails = true
	case u.Op() == uop.Var:
		sk.key.node(u)
		sk.variable(u.Arg().(uop.VarArg))
	case u.Op() == uop.Store: // where it writes, also where what is there now has been read
		sk.key.node(u)
		for v := u.At(0); v.Op() != uop.Buffer && v.Op() != uop.After; v = v.At(0) {
			sk.key.int(int(v.Op()))
			if _, met := sk.key.ids.Get(v); v.Op() != uop.Shrink {
				sk.key.arg(v.Arg())
			} else if !met || isArray(v) {
				sk.shift(v)
			}
		}
		sk.pin(u, u.At(1))
	case isNumber(u):
		sk.key.number(u)
		sk.key.buf = append(sk.key.buf, byte(uop.Const), byte(u.DType()))
		v, _ := u.ConstValue()
		sk.values = append(sk.values, v)
	case u.Op() == uop.Shrink || u.Op() == uop.Pad:
		sk.key.number(u)
		sk.key.buf = append(sk.key.buf, byte(u.Op()), byte(u.DType()))
		sk.key.int(sk.key.id(u.At(0)))
		sk.shift(u)
		sk.pin(u, u.At(0))
	case u.Op() == uop.Detach:
		sk.key.ids.Set(u, sk.key.id(u.At(0)))
		sk.pin(u, u.At(0))
	default:
		sk.key.node(u)
		for _, s := range u.Src() {
			sk.pin(u, s)
		}
		if a, ok := u.Arg().(uop.ExtentArg); ok { // what resolving makes of a size asks its variables
			for _, v := range a.Size.Vars() {
				sk.variable(v)
			}
		}
	}
}

// variable writes which of the variables of the graph one is: those of one name that have other values are others.
func (sk *sketch) variable(a uop.VarArg) {
	i := slices.Index(sk.vars, a)
	if i < 0 {
		i = len(sk.vars)
		sk.vars = append(sk.vars, a)
	}
	sk.key.int(i)
}

// array writes an array b, which stands at u as r.
func (sk *sketch) array(e *Engine, u, r, b *uop.UOp, s *storage) {
	if s == nil || s.engine != e || s.check(b, nil) != nil {
		sk.fails = true
		return
	}
	s.seenAs(r)
	slot, ok := sk.slots[s]
	if !ok {
		slot = len(sk.arrays)
		sk.slots[s] = slot
		sk.arrays = append(sk.arrays, s)
	}
	w := &sk.key
	w.number(u)
	w.buf = append(w.buf, byte(uop.Buffer), byte(b.DType()))
	w.int(slot)
	w.int(b.Shape().Numel())
	w.int(len(u.Shape()))
	for _, n := range u.Shape() {
		w.int(n)
	}
}

// knownGraph is what a graph was resolved to.
type knownGraph struct {
	graph   *canonical
	inputs  []int    // for each of the graph, its number among the arrays of the sketch, but see wide
	vars    []int    // and for each variable
	targets []target // with stand-ins for their values, and without what belongs to a run; those of flags come last
	numbers []int    // where numbers are left open: for each place of the outline, the number of the sketch that stands there, or −1
	wide    *wide    // nil: it has a plan of its own
}

// wide says of a known graph that it is computed by a plan for many sizes, whose graph is the one that is kept. That one's inputs are numbers among
// what a play brings: the arrays of the instance, in room for the most, and its numbers.
type wide struct {
	family *sizes.Family
	key    string // of its sizes
	x      *sizes.Instance
	inputs []int // of the instance: each its number among the arrays of the sketch
	back   []back
}

// firstPlays is after how many plays graphs are looked for: a program of few steps gains nothing by it, and a page that begins with such a
// program need not load this code.
const firstPlays = 128

// knownGraphs are those that an engine keeps.
type knownGraphs struct {
	graphs map[string]*knownGraph
	loose  map[string]*knownGraph // those whose numbers are left open, by a key without numbers; nil: they cannot be
	nodes  int                    // of all of them
	once   map[uint64]bool        // hashes of those that were made once, and are not kept yet
	spare  *sketch                // an empty one, of which the next one has its memory; nil: there is none
}

// Limits of what is kept: nodes take some hundred bytes each.
const mostKnownNodes, mostKnownOnce = 1 << 16, 1 << 12

var knownSeed = maphash.MakeSeed()

// done keeps the memory of a sketch for the next one.
func (k *knownGraphs) done(sk *sketch) {
	const most = 1 << 15 // nodes
	if sk == nil || sk.key.n > most {
		return
	}
	sk.key.ids.Clear()
	clear(sk.arrays)
	clear(sk.slots)
	clear(sk.key.bodies)
	sk.key.buf, sk.key.bodies, sk.key.n = sk.key.buf[:0], sk.key.bodies[:0], 0
	sk.arrays, sk.values, sk.places = sk.arrays[:0], sk.values[:0], sk.places[:0]
	sk.asked, sk.loose, sk.vars, sk.fails, sk.family = nil, 0, nil, false, nil
	k.spare = sk
}

// find gives what a graph was resolved to, if it is kept and has a plan.
func (k *knownGraphs) find(e *Engine, sk *sketch) *knownGraph {
	if sk == nil {
		return nil
	}
	g := k.graphs[string(sk.key.buf)]
	if g == nil {
		return k.findNumbered(e, sk)
	}
	if e.plans[g.graph.key] == nil && e.families[string(g.graph.outline().w.buf)] == nil {
		return nil
	}
	if g.wide != nil && g.wide.family.Again(g.wide.key) { // these sizes are to have a plan of their own
		return nil
	}
	return g
}

// note keeps what a graph was resolved to that is made a second time; make gives nil where that cannot be kept. If it had other numbers before, these
// are left open, where make's result can be.
func (k *knownGraphs) note(e *Engine, sk *sketch, make func() *knownGraph) {
	if sk == nil {
		return
	}
	if k.met(sk.key.buf) {
		if g := make(); g != nil {
			k.room(sk.key.n)
			k.graphs[string(sk.key.buf)] = g
		}
		return
	}
	if len(sk.values) == 0 || !k.met(sk.key.buf[:sk.loose]) {
		return
	}
	if _, tried := k.loose[string(sk.key.buf[:sk.loose])]; tried {
		return
	}
	g := make()
	if g == nil || g.wide != nil {
		return
	}
	if !g.open(e, sk) {
		g = nil
	}
	k.room(sk.key.n)
	k.loose[string(sk.key.buf[:sk.loose])] = g
}

// met says whether a key was met before.
func (k *knownGraphs) met(key []byte) bool {
	h := maphash.Bytes(knownSeed, key)
	if k.once[h] {
		return true
	}
	if k.once == nil || len(k.once) >= mostKnownOnce {
		k.once = map[uint64]bool{}
	}
	k.once[h] = true
	return false
}

// room makes room for a graph of n nodes.
func (k *knownGraphs) room(n int) {
	if k.graphs == nil || k.nodes+n > mostKnownNodes {
		k.graphs, k.loose, k.nodes = map[string]*knownGraph{}, map[string]*knownGraph{}, 0
	}
	k.nodes += n
}

// newKnown is what a graph was resolved to that has a plan of its own.
func newKnown(sk *sketch, c *canonical, targets []target) *knownGraph {
	g := keptGraph(c, targets)
	for _, a := range c.vars {
		g.vars = append(g.vars, slices.Index(sk.vars, a))
	}
	g.graph.vars = nil
	var ok bool
	if g.inputs, ok = sk.numbers(c.inputs); !ok {
		return nil
	}
	return g
}

// knownWide is a graph with room for the most: nodes are those that an instance has for its inputs, and for its numbers.
func knownWide(sk *sketch, w *wide, inputs []*storage, nodes []*uop.UOp, c *canonical, targets []target) *knownGraph {
	g := keptGraph(c, targets)
	var ok bool
	if w.inputs, ok = sk.numbers(inputs); !ok {
		return nil
	}
	for _, s := range c.inputs {
		i := slices.IndexFunc(nodes, func(u *uop.UOp) bool { _, of := buffer(u); return of == s })
		if i < 0 {
			return nil
		}
		g.inputs = append(g.inputs, i)
	}
	w.back = slices.Clone(w.back)
	for i := range w.back {
		w.back[i].node = nil
	}
	g.wide = w
	return g
}

// keptGraph is a graph without its arrays.
func keptGraph(c *canonical, targets []target) *knownGraph {
	kept := *c
	kept.inputs = nil
	g := &knownGraph{graph: &kept}
	for _, t := range targets {
		value := uop.NewStandIn(t.value.DType(), t.value.Shape()...)
		g.targets = append(g.targets, target{value: value, on: t.on, flags: t.flags, checks: t.checks})
	}
	return g
}

// numbers are those of arrays; not ok: one of them is none of the sketch's.
func (sk *sketch) numbers(arrays []*storage) (list []int, ok bool) {
	for _, s := range arrays {
		i, ok := sk.slots[s]
		if !ok {
			return nil, false
		}
		list = append(list, i)
	}
	return list, true
}

// playKnown computes what is asked for by the plan of a known graph. Unless played is set nothing has been computed.
func (e *Engine) playKnown(ctx context.Context, g *knownGraph, sk *sketch, asked []target) (played bool, err error) {
	c := *g.graph
	targets := slices.Clone(g.targets)
	if len(asked) > 1 {
		asked = slices.Clone(asked)
		inOrder(asked)
	}
	for i, t := range asked {
		t.value, t.on = targets[i].value, targets[i].on
		targets[i] = t
	}
	e.stats.Known++
	if g.wide != nil {
		return e.playKnownWide(ctx, g, sk, &c, targets)
	}
	c.inputs = make([]*storage, 0, len(g.inputs)+4) // numbers and constants follow
	for _, i := range g.inputs {
		c.inputs = append(c.inputs, sk.arrays[i])
	}
	for _, i := range g.vars {
		c.vars = append(c.vars, sk.vars[i])
	}
	if f := sk.family; f != nil {
		if e.plans[f.plan] == nil { // it went with a device that was lost
			return false, nil
		}
		c.key, c.numbered = f.plan, f
		if err := e.rebind(&c, f, sk.places); err != nil {
			return true, err
		}
	}
	_, err = e.playExact(ctx, &c, targets, nil)
	return true, err
}

// playKnownWide is playKnown by a plan for many sizes.
func (e *Engine) playKnownWide(ctx context.Context, g *knownGraph, sk *sketch, c *canonical, targets []target) (played bool, err error) {
	var inputs []*storage
	for _, i := range g.wide.inputs {
		inputs = append(inputs, sk.arrays[i])
	}
	nodes, short, err := e.widened(ctx, g.wide.x, inputs)
	defer func() { e.forgetAll(short) }()
	if err != nil {
		return false, err
	}
	for _, i := range g.inputs {
		_, s := buffer(nodes[i])
		c.inputs = append(c.inputs, s)
	}
	list := slices.Clone(g.wide.back)
	for i, b := range list {
		list[i].node, targets[b.target].node = targets[b.target].node, nil
	}
	return e.playWide(ctx, g.wide.x, c, targets, list)
}
