package engine

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Fit is an array that is wanted with another shape of as many axes.
type Fit struct {
	Array *uop.UOp  // in memory, and here
	Count uop.Shape // how many elements of each axis are copied, as many as either has at most
	Shape uop.Shape // of the new array
}

// ErrNoRefit says that the device cannot copy so.
var ErrNoRefit = errors.New("rows of these sizes cannot be copied on this device")

// mostCopies is how many runs of neighbours Refit copies.
const mostCopies = 1 << 14

// Refit copies arrays into new ones of other shapes: the elements that both have, at the same indices. What other elements are is not defined. It
// takes no kernel, so no compiling, whatever the sizes are.
func (e *Engine) Refit(ctx context.Context, fits []Fit) ([]*uop.UOp, error) {
	if err := e.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	return e.refit(ctx, fits, nil)
}

// refit is Refit in the engine's turn. ready are the new arrays, if there are some already.
func (e *Engine) refit(ctx context.Context, fits []Fit, ready []made) ([]*uop.UOp, error) {
	if len(fits) == 0 {
		return nil, nil
	}
	if e.several != nil || e.machine.Evaluate != nil {
		return nil, ErrNoRefit
	}
	var inputs []*storage
	var targets []target
	for i, f := range fits {
		if r := f.Array.Realized(); r != nil {
			fits[i].Array = r
		}
		b, s := buffer(fits[i].Array)
		if s == nil || s.engine != e {
			return nil, errors.New("BUG: Refit of what is not in memory here")
		}
		if err := s.check(b, nil); err != nil {
			return nil, err
		}
		inputs = append(inputs, s)
		targets = append(targets, target{value: uop.NewStandIn(b.DType(), f.Shape...)})
	}
	p, err := e.refitPlan(fits)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, p, inputs, nil, targets, ready)
}

// mostRefits is how many plans of copies are kept. They are made soon, and many where sizes are ever new: those that compute are not to go for them.
const mostRefits = 32

// forgetRefits gives up the plans of copies.
func (e *Engine) forgetRefits() {
	for _, p := range e.refits {
		p.unload()
	}
	e.refits = map[string]*compiled{}
}

// refitPlan finds the plan of copies, or makes it.
func (e *Engine) refitPlan(fits []Fit) (*compiled, error) {
	w := keyWriter{buf: []byte("refit ")}
	for _, f := range fits {
		w.int(f.Array.DType().Size())
		for _, s := range []uop.Shape{f.Array.Shape(), f.Count, f.Shape} {
			w.text(string(uop.MakeInts(s...)))
		}
	}
	key := string(w.buf)
	p := e.refits[key]
	if p == nil {
		p = &compiled{plan: &plan.Plan{Version: plan.Version, Target: e.machine.Target.Name}}
		for i, f := range fits {
			if err := copyRows(p.plan, f, i, len(fits), e.machine.Target.Grid); err != nil {
				return nil, err
			}
			p.reads = append(p.reads, numbers{}.with(i))
		}
		if len(e.refits) >= mostRefits || e.refits == nil {
			e.forgetRefits()
		}
		e.refits[key] = p
	}
	return p, nil
}

// runsOf says which elements are neighbours in both arrays, those of the axes from inner on, how many runs of these there are, and whether the
// device can copy them.
func runsOf(from, count, to uop.Shape, size int, grid bool) (inner, rows int, ok bool) {
	inner = len(from) // the first axis of those that lie together
	for inner > 0 && (inner == len(from) || count[inner] == from[inner] && count[inner] == to[inner]) {
		inner--
	}
	bytes, rows := count[inner:].Numel()*size, count[:inner].Numel()
	if bytes == 0 || rows == 0 {
		return inner, 0, true
	}
	return inner, rows, rows <= mostCopies && (bytes%4 == 0 || !grid)
}

// copyRows adds the copies of the i-th of n arrays to a plan: the longest runs of elements that are neighbours in both.
func copyRows(p *plan.Plan, f Fit, i, n int, grid bool) error {
	from, to, size := f.Array.Shape(), f.Shape, int64(f.Array.DType().Size())
	in, out := len(p.Memory), len(p.Memory)+1
	p.Memory = append(p.Memory,
		plan.Memory{Kind: plan.Input, Arg: i, Bytes: int64(from.Numel()) * size},
		plan.Memory{Kind: plan.Output, Arg: n + i, Bytes: int64(to.Numel()) * size})
	inner, rows, ok := runsOf(from, f.Count, to, int(size), grid)
	if !ok {
		return ErrNoRefit
	}
	bytes := int64(f.Count[inner:].Numel()) * size
	for row := range rows {
		rest, a, b := row, int64(0), int64(0)
		stepA, stepB := int64(from[inner:].Numel())*size, int64(to[inner:].Numel())*size
		for axis := inner - 1; axis >= 0; axis-- {
			at := int64(rest % f.Count[axis])
			rest /= f.Count[axis]
			a, b = a+at*stepA, b+at*stepB
			stepA, stepB = stepA*int64(from[axis]), stepB*int64(to[axis])
		}
		p.Slots = append(p.Slots, plan.Slot{Memory: out, Offset: b, Bytes: bytes}, plan.Slot{Memory: in, Offset: a, Bytes: bytes})
		p.Steps = append(p.Steps, plan.Step{Kind: plan.Copy, Slots: []int{len(p.Slots) - 2, len(p.Slots) - 1}})
	}
	return nil
}
