package tensor

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Captured is a function whose plan was recorded: Run plays it with other inputs, without building or
// compiling anything. The tensors that the function assigned are updated in place by each run.
type Captured struct {
	eng    *engine.Engine
	plan   *engine.Captured
	shapes []uop.Shape
	types  []dtype.DType
	states []*Tensor // assigned by the function
	draws  []draw
	past   []outcome // of each result
	ran    bool
}

// draw is one use of the random numbers: each run needs another key.
type draw struct {
	key   *uop.UOp
	words int
}

// capture is what is noted while a function is being recorded.
type capture struct {
	states []assigned
	draws  []draw
	read   string // where a value was read, which cannot be
}

// assigned is a tensor that the function assigns, and its graph before.
type assigned struct {
	t      *Tensor
	before *uop.UOp
}

// capturing is the recording under way, if there is one. Only one function is recorded at a time.
var capturing atomic.Pointer[capture]

// Capture records what f computes: the tensors that it returns, realizes or assigns. Nothing is computed yet; f is
// called once, with stand-ins of the shapes and types of inputs. What f uses besides its inputs must be
// realized before, and what it assigns must have memory of its own (see Own). Values cannot be read inside f.
// While it runs, no other goroutine may use the device.
func Capture(ctx context.Context, f func(in ...*Tensor) []*Tensor, inputs ...*Tensor) (*Captured, error) {
	e, err := engineFor(inputs)
	if err != nil {
		return nil, err
	}
	c := &Captured{eng: e}
	stand := make([]*Tensor, len(inputs))
	nodes := make([]*uop.UOp, len(inputs))
	for i, in := range inputs {
		if nodes[i], err = e.Empty(in.DType(), in.Shape()); err != nil {
			return nil, err
		}
		stand[i] = newTensor(nodes[i], e)
		c.shapes, c.types = append(c.shapes, in.shape()), append(c.types, in.DType())
	}
	rec := &capture{}
	if !capturing.CompareAndSwap(nil, rec) {
		return nil, fmt.Errorf("tensor: Capture: another function is being captured; capture the outer one only")
	}
	defer func() {
		capturing.Store(nil)
		for _, s := range rec.states { // nothing has been computed
			s.t.graph.Store(s.before)
		}
	}()
	c.plan, err = e.Capture(ctx, nodes, func() (outs []*uop.UOp, err error) {
		if err := Try(func() { outs = recorded(rec, e, f(stand...)) }); err != nil {
			return nil, err
		}
		c.past = outcomes(outs[:len(outs)-len(rec.states)], nodes)
		if rec.read != "" {
			return nil, &ArgumentError{Op: "Capture", Reason: "a value is read inside the captured function; return the tensor and read it after Run", At: rec.read}
		}
		return outs, nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range rec.states {
		c.states = append(c.states, s.t)
	}
	c.draws = rec.draws
	return c, nil
}

// recorded lists the nodes to compute: what f returned first, then what it assigned.
func recorded(rec *capture, e *engine.Engine, outs []*Tensor) []*uop.UOp {
	var nodes []*uop.UOp
	for i, t := range outs {
		if t.eng == nil {
			t.store("Capture", e, t.node())
		}
		if t.eng != e {
			failArg("Capture", "result %d lies on %s and the captured function runs on %s; move it with On", i, t.Device(), e.Name())
		}
		nodes = append(nodes, t.node())
	}
	for _, s := range rec.states {
		nodes = append(nodes, s.t.node())
	}
	return nodes
}

// Run plays the captured function with these inputs and gives new tensors for what it returned.
func (c *Captured) Run(ctx context.Context, inputs ...*Tensor) ([]*Tensor, error) {
	if err := c.check(inputs); err != nil {
		return nil, err
	}
	// Inputs may be lazy, and assignments to the states may be pending.
	if all := append(append([]*Tensor{}, c.states...), inputs...); len(all) > 0 {
		if err := Realize(ctx, all...); err != nil {
			return nil, err
		}
	}
	if c.ran {
		for _, d := range c.draws {
			if err := c.eng.Rewrite(d.key, keyBytes(d.words)); err != nil {
				return nil, err
			}
		}
	}
	nodes := make([]*uop.UOp, len(inputs))
	for i, in := range inputs {
		nodes[i] = in.node()
	}
	outs, err := c.plan.Run(ctx, nodes...)
	if err != nil {
		return nil, err
	}
	c.ran = true
	for _, t := range c.states {
		t.graph.Store(engine.Current(t.node()))
	}
	ts := make([]*Tensor, len(outs)-len(c.states))
	for i := range ts {
		ts[i] = newTensor(outs[i], c.eng)
		if c.plan.Own(i) {
			c.past[i].remember(outs[i], nodes)
		}
	}
	return ts, nil
}

func (c *Captured) check(inputs []*Tensor) error {
	if len(inputs) != len(c.shapes) {
		return &ArgumentError{Op: "Run", Reason: fmt.Sprintf("the captured function takes %d inputs, not %d", len(c.shapes), len(inputs)), At: caller()}
	}
	for i, in := range inputs {
		if !in.shape().Equal(c.shapes[i]) {
			return &ShapeError{Op: "Run", Shapes: shapes(in.shape()), Reason: fmt.Sprintf("input %d was captured with shape %v", i, []int(c.shapes[i])), At: caller()}
		}
		if in.DType() != c.types[i] {
			return &TypeError{Op: "Run", Types: []dtype.DType{in.DType()}, Reason: fmt.Sprintf("input %d was captured as %v; use To", i, c.types[i]), At: caller()}
		}
		if in.eng != nil && in.eng != c.eng {
			return &ArgumentError{Op: "Run", Reason: fmt.Sprintf("input %d lies on %s, the captured function runs on %s; move it with On", i, in.Device(), c.eng.Name()), At: caller()}
		}
	}
	return nil
}

// Launches is how many kernels a run launches.
func (c *Captured) Launches() int { return c.plan.Kernels() }

// Own says whether result i of each run has memory of its own, which no other tensor shares.
func (c *Captured) Own(i int) bool { return c.plan.Own(i) }

// noteAssign is told of each assignment before it changes t.
func noteAssign(op string, t *Tensor) {
	rec := capturing.Load()
	if rec == nil || t.born == rec {
		return
	}
	for _, s := range rec.states {
		if s.t == t {
			return
		}
	}
	if !t.owned || !inMemory(t.node()) {
		failArg(op, "a tensor from outside a captured function is assigned in it but has no memory of its own yet; call Own and Realize on it before Capture")
	}
	rec.states = append(rec.states, assigned{t, t.node()})
}

// noteRead is told of each reading of a value.
func noteRead() {
	if rec := capturing.Load(); rec != nil && rec.read == "" {
		rec.read = caller()
	}
}

// noteDraw is told of each key for random numbers.
func noteDraw(key *uop.UOp, words int) {
	if rec := capturing.Load(); rec != nil {
		rec.draws = append(rec.draws, draw{key, words})
	}
}

// inMemory reports whether a node is a buffer, perhaps reshaped.
func inMemory(u *uop.UOp) bool {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u.Op() == uop.Buffer
}
