package engine

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Play is a plan of a captured function, for who plays it elsewhere.
type Play struct {
	Plan *plan.Plan
	Args []PlayArg // of a play
	Vars []uop.VarArg
}

// PlayArg says what an argument of a play is.
type PlayArg struct {
	Kind PlayKind
	N    int
}

// PlayKind is a kind of argument.
type PlayKind uint8

const (
	PlaySlot     PlayKind = iota // N is an input, or from the number of inputs on an array, in the order of Saved
	PlayKept                     // value N of those that are computed once
	PlayTarget                   // target N of those of Saved, in fresh memory
	PlayConstant                 // constant N of the plan
)

// Plays are the plan of a run, and the one that computes what is the same in all runs: nil where there is nothing. arrays are the
// buffers that Restore was given; kept are the bytes of the values that are computed once.
func (c *Captured) Plays(arrays []*uop.UOp) (run, once *Play, kept []int64, err error) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	of := map[*storage]PlayArg{}
	for i, u := range append(append([]*uop.UOp(nil), c.shapes...), arrays...) {
		_, s := buffer(u)
		of[s] = PlayArg{PlaySlot, i}
	}
	args := func(p *compiled, inputs []*storage) (list []PlayArg, err error) {
		for _, s := range inputs {
			a, ok := of[s]
			if i := slices.Index(p.brought, s); i >= 0 {
				a, ok = PlayArg{PlayConstant, i}, true
			}
			if !ok {
				return nil, fmt.Errorf("BUG: a plan reads an array that is none of the function's")
			}
			list = append(list, a)
		}
		return list, nil
	}
	inputs := append([]*storage(nil), c.inputs...)
	if f := c.folded; f != nil {
		once = &Play{Plan: f.plan.plan}
		if once.Args, err = args(f.plan, f.inputs); err != nil {
			return nil, nil, nil, err
		}
		for i, v := range f.values {
			once.Args = append(once.Args, PlayArg{PlayKept, i})
			kept = append(kept, int64(v.value.Shape().Numel()*v.value.DType().Size()))
			_, s := buffer(v.stand)
			of[s] = PlayArg{PlayKept, i}
		}
	}
	run = &Play{Plan: c.plan.plan, Vars: c.vars}
	if run.Args, err = args(c.plan, inputs); err != nil {
		return nil, nil, nil, err
	}
	for i, t := range c.targets {
		if t.dest == nil {
			run.Args = append(run.Args, PlayArg{PlayTarget, i})
		}
	}
	return run, once, kept, nil
}
