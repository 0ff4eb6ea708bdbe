//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/wasm/wire"
)

func init() { calls["timeline"] = procedure{run: timeline} }

// What is run because somebody looks at it should end soon.
const (
	mostWork   = 2e11    // operations
	mostMemory = 1 << 30 // bytes of inputs, results and what lies between
	most       = 2000    // kernels
)

// timeline takes an expression, computes it twice on inputs of undefined contents, and tells of the second time when each kernel ran, how
// long, and how much memory the plan had in use.
func timeline(ctx context.Context, c *call) (any, error) {
	s := c.server
	text := c.text()
	switch {
	case s.engine == nil:
		return nil, errNotOpen
	case s.profile != nil:
		return nil, errors.New("weft: a profile is being taken already; await it before the next")
	}
	d, ok := s.engine.Device().(watcher)
	if !ok {
		return nil, errors.New("weft: " + s.engine.Name() + " does not take the time of kernels")
	}
	roots, err := speak(s.engine, text)
	if err != nil {
		return nil, err
	}
	nodes := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		nodes[i] = r.Node()
	}
	v, err := s.engine.Plan(nodes...)
	if err != nil {
		return nil, err
	}
	bytes := v.Plan.Peak
	for _, slot := range v.Plan.Slots {
		bytes += slot.Bytes
	}
	if v.Flops() > mostWork || bytes > mostMemory || len(v.Launches()) > most {
		return nil, fmt.Errorf("weft: it takes %.3g operations, %.3g MB and %d kernels; at most %.3g, %d MB and %d are run to be looked at", float64(v.Flops()),
			float64(bytes)/1e6, len(v.Launches()), float64(mostWork), mostMemory>>20, most)
	}
	if err := tensor.Realize(ctx, roots...); err != nil { // compiles
		return nil, err
	}
	if roots, err = speak(s.engine, text); err != nil {
		return nil, err
	}
	if err := s.engine.Sync(ctx); err != nil {
		return nil, err
	}
	var launches []wire.Record
	var clocks []string
	begin := time.Now()
	d.Watch(func(k *plan.Kernel, seconds float64, clock string) {
		start := time.Since(begin).Seconds() - seconds
		clocks = append(clocks, clock)
		launches = append(launches, wire.Record{
			{Name: "kernel", Value: k.Name}, {Name: "kinds", Value: k.Kinds}, {Name: "seconds", Value: seconds}, {Name: "flops", Value: float64(k.Flops)},
			{Name: "start", Value: max(0, start)},
		})
	})
	err = tensor.Realize(ctx, roots...)
	if err == nil {
		err = s.engine.Sync(ctx)
	}
	total := time.Since(begin).Seconds()
	d.Watch(nil)
	if err != nil {
		return nil, err
	}
	return timed(launches, clocks, total, live(v.Plan)), nil
}

// timed puts launches one after the other where the clock does not say when they ran.
func timed(launches []wire.Record, clocks []string, total float64, memory []int64) wire.Record {
	clock, placed := "none", true
	if len(clocks) > 0 {
		clock = clocks[0]
		placed = clock == "processor" // which tells as soon as a kernel has ended
	}
	at := 0.0
	out := make([]any, len(launches))
	for i, l := range launches {
		for f := range l {
			if l[f].Name == "start" && !placed {
				l[f].Value = at
			}
		}
		at += l.Get("seconds").(float64)
		bytes := int64(0)
		if i < len(memory) {
			bytes = memory[i]
		}
		out[i] = append(l, wire.Field{Name: "memory", Value: float64(bytes)})
	}
	return wire.Record{{Name: "launches", Value: out}, {Name: "seconds", Value: total}, {Name: "clock", Value: clock}, {Name: "placed", Value: placed}}
}

// live is how many bytes of the arena hold something that is still needed while each launch runs.
func live(p *plan.Plan) []int64 {
	type life struct{ first, last int }
	lives := map[int]*life{} // by slot
	launch := 0
	for _, s := range p.Steps {
		for _, slot := range s.Slots {
			if p.Memory[p.Slots[slot].Memory].Kind != plan.Arena {
				continue
			}
			if lives[slot] == nil {
				lives[slot] = &life{first: launch}
			}
			lives[slot].last = launch
		}
		if s.Kind == plan.Launch {
			launch++
		}
	}
	out := make([]int64, launch)
	for slot, l := range lives {
		for i := l.first; i <= min(l.last, launch-1); i++ {
			out[i] += p.Slots[slot].Bytes
		}
	}
	return out
}
