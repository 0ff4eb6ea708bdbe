package main

import (
	"context"
	"time"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// While the engine waits for the next batch, the worker carries out some by itself (js/errands.js): those that make tensors of numbers, run captured functions
// again, read small results and forget them, where the device needs nobody else for that. The engine says before it waits what the worker has to know, and hears
// afterwards what was done, before it does anything else; so tensors and memory are as if it had done that itself.

// errander is a device whose player can be handed plans and memory, and that takes over memory which the player gave out.
type errander interface {
	// Entrust gives the numbers of the player and of a plan, and how many bytes of memory are left; not while the device itself has to see plays.
	Entrust(p runtime.Loaded) (player, plan int32, room int64, ok bool)
	// Place is where memory lies.
	Place(m runtime.Mem) float64
	// Adopt gives memory that lies there.
	Adopt(at float64, bytes int64) runtime.Mem
}

// recorded is a captured function.
type recorded struct {
	captured *tensor.Captured
	results  []engine.ErrandOutput // when the worker was handed runs
	runs     int
	vain     int // how often in a row the worker was handed some and carried none out
}

// ran is a run of a function.
type ran struct {
	function     wire.Ref
	inputs, outs []wire.Ref
}

// errandsRan takes over what the worker did: how many milliseconds that took, how many bytes of memory it had at most, how often each function ran, the tensors
// that were made of numbers, each [tensor, place, bytes, type, shape], the runs of which there are results, each [function, results, places, inputs] with 0 and nil
// for those that are gone, and what was forgotten.
func errandsRan(ctx context.Context, c *call) (any, error) {
	s := c.server
	s.load.worked += time.Duration(c.number() * float64(time.Millisecond))
	most := int64(c.number())
	for _, v := range c.list() {
		q := &call{server: s, args: v.([]any)}
		if r := s.plays[q.ref()]; r != nil {
			r.vain = 0
			r.captured.Ran(q.integer(), most)
		}
	}
	d, _ := s.engine.Device().(errander)
	for _, v := range c.list() {
		q := &call{server: s, args: v.([]any)}
		ref := q.ref()
		u, err := s.engine.Adopt(d.Adopt(q.number(), int64(q.number())), q.dtype(), q.integers())
		if err != nil {
			return nil, err
		}
		s.tensors[ref] = tensor.FromNode(u, s.engine)
	}
	for _, v := range c.list() {
		q := &call{server: s, args: v.([]any)}
		if err := s.adopt(d, s.plays[q.ref()], q.refs(), q.numbers(), q.list()); err != nil {
			return nil, err
		}
	}
	return dispose(ctx, c)
}

// adopt takes over the results of a run.
func (s *server) adopt(d errander, r *recorded, outs []wire.Ref, places []float64, given []any) error {
	inputs := make([]*tensor.Tensor, len(given))
	for i, v := range given {
		if ref, ok := v.(wire.Ref); ok {
			inputs[i] = s.tensor(ref)
		}
	}
	memory := make([]runtime.Mem, len(outs))
	for i, at := range places {
		if at != 0 {
			memory[i] = d.Adopt(at, r.results[i].Bytes)
		}
	}
	made, err := r.captured.Adopt(memory, inputs...)
	for i, t := range made {
		if t != nil {
			s.tensors[outs[i]], s.sole[outs[i]] = t, true
		}
	}
	return err
}
