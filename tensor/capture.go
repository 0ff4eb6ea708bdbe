package tensor

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Captured is a function whose plan was recorded: Run plays it with other inputs, without building or
// compiling anything. The tensors that the function assigned are updated in place by each run.
//
// Any number of goroutines may run it, at once and beside anything else. Each run is a whole, that no other run and no
// computation on the same device comes between: tensors are as one run left them when the next begins, and each run draws random
// numbers of its own. Runs take their turns in the order in which they came.
//
// What depends neither on inputs nor on what the function assigns, nor is random, is computed at the first run and kept, where that pays:
// norms of weights, products of two of them, and copies of weights in the order in which a kernel walks them. This takes memory besides the
// weights: as much as they take at most, in copies (Schedule shows it). If such a tensor is assigned later, by whomever, the next run
// computes again what comes from it. Weights that change before nearly every run are not kept in other forms after some of these.
type Captured struct {
	eng    *engine.Engine
	plan   *engine.Captured
	shapes []uop.Shape
	types  []dtype.DType
	states []*Tensor    // assigned by the function
	past   []outcome    // of each result
	sizes  [][]uop.Size // of each result with axes that vary
	with   Values       // of variables
	names  names        // of inputs and results, if they have any
}

// capture is what is noted while a function is being recorded.
type capture struct {
	eng    *engine.Engine
	states []assigned
	read   string // where a value was read, which cannot be
}

// assigned is a tensor that the function assigns, and its graph before.
type assigned struct {
	t      *Tensor
	before *uop.UOp
}

// capturing is what the recording under way notes, if there is one. The engine has one function recorded at a time.
var capturing atomic.Pointer[capture]

// recorder is the recording that the caller belongs to: it is called by the function that is being captured.
func recorder() *capture {
	if rec := capturing.Load(); rec != nil && engine.Recording() {
		return rec
	}
	return nil
}

// Capture records what f computes: the tensors that it returns, realizes or assigns. Nothing is computed yet; f is
// called once, with stand-ins of the shapes and types of inputs. What f uses besides its inputs must be
// realized before, and what it assigns must have memory of its own (see Own). Values cannot be read inside f,
// and goroutines that f starts are no part of it.
//
// Tensors may change their devices inside f (On, Shard): then each device plays plans of its own, and values are copied between them in
// each run, also such as never change; move those before. Runs take turns with each other then, and other computations on these devices may
// come between the parts of one. The function runs on the device of its inputs, and its results lie there; without inputs it is that of the
// first result.
//
// Other goroutines go on as ever meanwhile, and change nothing about what is recorded. If one of them captures a function,
// Capture waits until that is done; f must not wait for such a goroutine.
func Capture(ctx context.Context, f func(in ...*Tensor) []*Tensor, inputs ...*Tensor) (*Captured, error) {
	if f == nil {
		return nil, &ArgumentError{Op: "Capture", Reason: "the function is nil", At: caller()}
	}
	if err := missing("Capture", "input", inputs); err != nil {
		return nil, err
	}
	e, err := engineFor(ctx, inputs)
	if err != nil {
		return nil, err
	}
	if recorder() != nil {
		return nil, fmt.Errorf("tensor: Capture: another function is being captured; capture the outer one only")
	}
	c := &Captured{eng: e}
	stand := make([]*Tensor, len(inputs))
	ins := make([]*uop.UOp, len(inputs))
	for i, in := range inputs {
		if in.given().Sizes() != nil {
			return nil, &ArgumentError{Op: "Capture", Reason: fmt.Sprintf("input %d has the sizes %v; give an array with room for the most, and have the function take what counts with Narrow", i, in.Sizes()), At: caller()}
		}
		if ins[i], err = e.StandIn(in.DType(), in.Shape()); err != nil {
			return nil, err
		}
		stand[i] = newTensor(ins[i], e)
		c.shapes, c.types = append(c.shapes, in.shape()), append(c.types, in.DType())
	}
	rec := &capture{eng: e}
	c.plan, err = e.Capture(ctx, ins, func() (outs []*uop.UOp, err error) {
		defer rec.begin()()
		if err := Try(func() { outs = recorded(rec, len(inputs) == 0, f(stand...)) }); err != nil {
			return nil, err
		}
		results := outs[:len(outs)-len(rec.states)]
		c.past = outcomes(results, ins)
		for _, u := range results {
			c.sizes = append(c.sizes, u.Sizes())
		}
		if rec.read != "" {
			return nil, &ArgumentError{Op: "Capture", Reason: "a value is read inside the captured function; return the tensor and read it after Run", At: rec.read}
		}
		return outs, nil
	})
	if err != nil {
		return nil, err
	}
	c.eng = c.plan.Engine()
	for _, s := range rec.states {
		c.states = append(c.states, s.t)
	}
	return c, nil
}

// begin has calls noted, until what it gives is called.
func (rec *capture) begin() (end func()) {
	capturing.Store(rec)
	return func() {
		capturing.Store(nil)
		for _, s := range rec.states { // nothing has been computed
			s.t.graph.Store(s.before)
		}
	}
}

// recorded lists the nodes to compute: what f returned first, then what it assigned. A free function is one that may as well run where
// its results lie.
func recorded(rec *capture, free bool, outs []*Tensor) []*uop.UOp {
	var list []*uop.UOp
	e := rec.eng
	for i, t := range outs {
		if t == nil {
			failArg("Capture", "result %d of the function is nil", i)
		}
		if on := t.Engine(); free && on != nil {
			e, free = on, false
		}
	}
	for i, t := range outs {
		if on := t.Engine(); on != nil && on != e {
			failArg("Capture", "result %d lies on %s and the captured function runs on %s; move it with On", i, t.Device(), e.Name())
		}
		u := t.node()
		if t.constant() || rec.assigns(u) { // no run's result is another's, so it is a copy
			u = u.Contiguous()
		}
		list = append(list, u)
	}
	for _, s := range rec.states {
		list = append(list, s.t.node())
	}
	return list
}

// assigns reports whether u is memory that each run changes: the buffer of a state, before or after an assignment, or one that
// the function itself made.
func (rec *capture) assigns(u *uop.UOp) bool {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	if u.Op() == uop.After {
		return true
	}
	return slices.ContainsFunc(rec.states, func(s assigned) bool { return bufferOf(s.before).Storage() == u.Storage() && u.Op() == uop.Buffer })
}

// variables are those that computing takes, and those of sizes of results.
func (c *Captured) variables() []uop.VarArg {
	list := slices.Clone(c.plan.Vars())
	for _, sizes := range c.sizes {
		for _, n := range sizes {
			list = append(list, n.Vars()...)
		}
	}
	return list
}

// With is the captured function with these values of its variables, for the runs that it is asked for.
func (c *Captured) With(values Values) *Captured {
	d := *c
	d.with = values
	return &d
}

// Run plays the captured function with these inputs and gives new tensors for what it returned: a copy where that is a
// tensor that the function assigns.
func (c *Captured) Run(ctx context.Context, inputs ...*Tensor) ([]*Tensor, error) {
	if err := c.check("Run", inputs); err != nil {
		return nil, err
	}
	outs, err := c.play(ctx, "Run", append(slices.Clone(c.states), inputs...), nil, inputs)
	if err != nil {
		return nil, err
	}
	ts, from := make([]*Tensor, len(outs)), sources(inputs)
	for i := range ts {
		ts[i] = c.result(i, outs[i], from)
	}
	return ts, nil
}

// play realizes tensors, constants on the captured function's device, and runs the plan. It gives what the function returned.
func (c *Captured) play(ctx context.Context, op string, all, dst, inputs []*Tensor) ([]*uop.UOp, error) {
	var lazy []*Tensor // inputs, and states that assignments are pending for
	for _, u := range c.plan.Pending() {
		if !slices.ContainsFunc(all, func(t *Tensor) bool { return assignment(t.node()) == u }) {
			w := newTensor(u, c.eng)
			w.owned.Store(true) // as the tensor is that was assigned
			lazy = append(lazy, w)
		}
	}
	for _, t := range all {
		if !inMemory(t.node()) {
			lazy = append(lazy, t)
			if err := Try(func() { t.place(op, c.eng) }); err != nil {
				return nil, err
			}
		}
	}
	if len(lazy) > 0 {
		if err := Realize(ctx, lazy...); err != nil {
			return nil, err
		}
	}
	if err := c.with.check(c.variables()); err != nil {
		return nil, &ArgumentError{Op: op, Reason: err.Error(), At: caller()}
	}
	var outs []*uop.UOp
	err := settled(all, func() (err error) {
		outs, err = c.plan.RunWith(ctx, places(dst), nodes(inputs), c.with.bindings())
		return err
	})
	if err != nil {
		return nil, err
	}
	return outs[:len(c.sizes)], nil
}

// result is the tensor of result i of a run.
func (c *Captured) result(i int, u *uop.UOp, from *origins) *Tensor {
	if c.plan.Own(i) {
		c.past[i].remember(u, from)
	}
	if sizes := c.sizes[i]; sizes != nil {
		b, now := u, make([]uop.Size, len(sizes))
		for axis, n := range sizes {
			if now[axis] = n; c.with != nil {
				now[axis] = n.With(c.with.bindings())
			}
		}
		u = limited(b, now)
		u.SetRealized(b)
	}
	return newTensor(u, c.eng)
}

func (c *Captured) check(op string, inputs []*Tensor) error {
	if recorder() != nil {
		return &ArgumentError{Op: op, Reason: "a captured function is run inside one that is being captured; call the function itself there", At: caller()}
	}
	if len(inputs) != len(c.shapes) {
		return &ArgumentError{Op: op, Reason: fmt.Sprintf("the captured function takes %d inputs, not %d", len(c.shapes), len(inputs)), At: caller()}
	}
	if err := missing(op, "input", inputs); err != nil {
		return err
	}
	for i, in := range inputs {
		if !uop.Shape(in.Shape()).Equal(c.shapes[i]) {
			return &ShapeError{Op: op, Shapes: shapes(in.Shape()), Reason: fmt.Sprintf("input %d was captured with shape %v", i, []int(c.shapes[i])), At: caller()}
		}
		if in.DType() != c.types[i] {
			return &TypeError{Op: op, Types: []dtype.DType{in.DType()}, Reason: fmt.Sprintf("input %d was captured as %v; use To", i, c.types[i]), At: caller()}
		}
		if on := in.Engine(); on != nil && on != c.eng {
			if on.Name() == c.eng.Name() {
				return &ArgumentError{Op: op, Reason: fmt.Sprintf("the captured function, or input %d, belongs to %s", i, otherEngine(on.Name())), At: caller()}
			}
			return &ArgumentError{Op: op, Reason: fmt.Sprintf("input %d lies on %s, the captured function runs on %s; move it with On", i, in.Device(), c.eng.Name()), At: caller()}
		}
	}
	return nil
}

// Ahead takes the memory of small results of the next run now. It is for whoever waits for that run.
func (c *Captured) Ahead() { c.plan.Ahead() }

// Launches is how many kernels a run launches.
func (c *Captured) Launches() int { return c.plan.Kernels() }

// Own says whether result i of each run has memory of its own, which no other tensor shares.
func (c *Captured) Own(i int) bool { return c.plan.Own(i) }

// noteAssign is told of each assignment before it changes t.
func noteAssign(op string, t *Tensor) {
	rec := recorder()
	if rec == nil || t.born == rec {
		return
	}
	for _, s := range rec.states {
		if s.t == t {
			return
		}
	}
	if t.owned.Load() {
		t.settle() // others may have carried out what was assigned
	}
	if !t.owned.Load() || !inMemory(t.node()) {
		failArg(op, "a tensor from outside a captured function is assigned in it but has no memory of its own yet; call Own and Realize on it before Capture")
	}
	rec.states = append(rec.states, assigned{t, t.node()})
}

// noteRead is told of each reading of a value.
func noteRead() {
	if rec := recorder(); rec != nil && rec.read == "" {
		rec.read = caller()
	}
}

// inMemory reports whether a node is a buffer, perhaps reshaped.
func inMemory(u *uop.UOp) bool {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u.Op() == uop.Buffer
}
