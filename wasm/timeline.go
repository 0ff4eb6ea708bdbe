//go:build !lean

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-ml/weft/engine"
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

// timeline takes an expression, computes it on inputs of undefined contents, several times after the first, and tells when each kernel ran,
// how long, and how much memory the plan had in use.
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
	v, bytes, err := s.affordable(roots)
	if err != nil {
		return nil, err
	}
	if err := tensor.Realize(ctx, roots...); err != nil { // compiles
		return nil, err
	}
	runs := &runs{memory: live(v.Plan)}
	d.Watch(runs.launched)
	defer d.Watch(nil)
	for runs.n < mostRuns && runs.seconds < enough.Seconds() && int64(runs.n+2)*bytes <= mostMemory { // what a run leaves is freed later
		again, err := speak(s.engine, text)
		if err != nil {
			return nil, err
		}
		if err := s.engine.Sync(ctx); err != nil {
			return nil, err
		}
		runs.begin()
		if err := tensor.Realize(ctx, again...); err != nil {
			return nil, err
		}
		if err := s.engine.Sync(ctx); err != nil {
			return nil, err
		}
		runs.end()
	}
	return runs.record(), nil
}

// affordable is the plan of what is to be run, and the memory that it takes, if that ends soon.
func (s *server) affordable(roots []*tensor.Tensor) (*engine.View, int64, error) {
	nodes := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		nodes[i] = r.Node()
	}
	v, err := s.engine.Plan(nodes...)
	if err != nil {
		return nil, 0, err
	}
	bytes := v.Plan.Peak
	for _, m := range v.Plan.Memory {
		bytes += m.Bytes
	}
	if v.Flops() > mostWork || 2*bytes > mostMemory || len(v.Launches()) > most {
		return nil, 0, fmt.Errorf("weft: it takes %.3g operations, %.3g MB and %d kernels; at most %.3g, %d MB and %d are run to be looked at", float64(v.Flops()),
			float64(bytes)/1e6, len(v.Launches()), float64(mostWork), mostMemory>>21, most)
	}
	return v, bytes, nil
}

// A browser's clock may tell a tenth of a millisecond and no less, so short runs are repeated and means told.
const (
	mostRuns = 64
	enough   = 100 * time.Millisecond
)

// runs are several runs of a plan.
type runs struct {
	n       int
	seconds float64 // of all
	started time.Time
	clock   string
	at      int // the launch that comes next
	list    []launched
	memory  []int64
}

// launched is a launch, with sums over all runs.
type launched struct {
	kernel         *plan.Kernel
	start, seconds float64
}

func (r *runs) begin() { r.started, r.at = time.Now(), 0 }

func (r *runs) launched(k *plan.Kernel, seconds float64, clock string) {
	r.clock = clock
	if r.at == len(r.list) {
		r.list = append(r.list, launched{kernel: k})
	}
	l := &r.list[r.at]
	l.start += max(0, time.Since(r.started).Seconds()-seconds)
	l.seconds += seconds
	r.at++
}

func (r *runs) end() {
	r.seconds += time.Since(r.started).Seconds()
	r.n++
}

// record tells of a mean run. Launches are put one after the other where the clock does not say when they ran.
func (r *runs) record() wire.Record {
	n, at := float64(r.n), 0.0
	placed := r.clock == "processor" // which tells as soon as a kernel has ended
	out := make([]any, len(r.list))
	for i, l := range r.list {
		start := l.start / n
		if !placed {
			start = at
		}
		at += l.seconds / n
		bytes := int64(0)
		if i < len(r.memory) {
			bytes = r.memory[i]
		}
		out[i] = wire.Record{
			{Name: "kernel", Value: l.kernel.Name}, {Name: "kinds", Value: l.kernel.Kinds}, {Name: "seconds", Value: l.seconds / n},
			{Name: "flops", Value: float64(l.kernel.Flops)}, {Name: "start", Value: start}, {Name: "memory", Value: float64(bytes)},
		}
	}
	return wire.Record{{Name: "launches", Value: out}, {Name: "seconds", Value: r.seconds / n}, {Name: "clock", Value: r.clock}, {Name: "placed", Value: placed}, {Name: "runs", Value: r.n}}
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
