package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// Machine is a device and the compiler for it.
type Machine struct {
	Device runtime.Device
	Target *codegen.Target
	Render func(p *codegen.Program) (plan.Kernel, error)
	Finish func(p *plan.Plan) // may be nil
}

// candidate is a list of directives and the kernel that it makes.
type candidate struct {
	directives []codegen.Directive
	kernel     plan.Kernel
	plan       *plan.Plan
	loaded     runtime.Loaded
	seconds    float64 // of one run, as if measured beside the best ones
	checked    bool    // its results are those of the model's

	measured bool // it stood before the model's kernel
}

// Limits of a candidate beside the model's kernel: what goes beyond them takes long to compile, or memory of each thread.
const (
	moreText     = 8
	leastText    = 64 << 10
	moreScratch  = 4
	leastScratch = 1 << 20
)

// Prepare lowers and writes a kernel; a defect of the compiler that a list of directives brings to light is an error that says BUG.
func (m *Machine) Prepare(spec *codegen.Spec, directives []codegen.Directive) (k plan.Kernel, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("BUG: directives %q: %v", codegen.DirectivesString(directives), r)
		}
	}()
	prog, err := lower.Lower(spec, directives, m.Target)
	if err != nil {
		return k, err
	}
	return m.Render(prog)
}

// Within says why a kernel is too large to stand in for the model's, or nil.
func Within(k, model *plan.Kernel) error {
	if n, most := len(text(k)), max(leastText, moreText*len(text(model))); n > most {
		return fmt.Errorf("its code of %d bytes is longer than %d", n, most)
	}
	if most := max(leastScratch, moreScratch*model.Scratch); k.Scratch > most {
		return fmt.Errorf("its scratch of %d bytes is larger than %d", k.Scratch, most)
	}
	return nil
}

// Limits of kernels whose directives come from outside.
const (
	mostText    = 4 << 20
	mostScratch = 64 << 20 // of each thread
)

// Bearable says why a kernel is too large to be compiled for whoever asks, or nil.
func Bearable(k *plan.Kernel) error {
	if n := len(text(k)); n > mostText || k.Scratch > mostScratch {
		return fmt.Errorf("a kernel of %d bytes of code, with %d bytes of scratch", n, k.Scratch)
	}
	return nil
}

// planOf is a plan of one launch on arrays that are all arguments.
func (m *Machine) planOf(spec *codegen.Spec, k plan.Kernel) *plan.Plan {
	p := &plan.Plan{Version: plan.Version, Target: m.Target.Name, Kernels: []plan.Kernel{k}}
	step := plan.Step{Kind: plan.Launch}
	for i, q := range spec.Params {
		kind := plan.Input
		if q.Write {
			kind = plan.State
		}
		bytes := max(k.Binds[i].Bytes, 4)
		p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: i, Bytes: bytes})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: bytes, DType: q.DType, Dims: q.Dims})
		step.Slots = append(step.Slots, i)
	}
	p.Steps = []plan.Step{step}
	if m.Finish != nil {
		m.Finish(p)
	}
	return p
}

// load compiles candidates, all at once where kernels are the same in any plan, and gives those that work.
func (m *Machine) load(ctx context.Context, list []*candidate, failed func(c *candidate, err error)) (out []*candidate, err error) {
	if m.Finish == nil && len(list) > 1 {
		all := &plan.Plan{Version: plan.Version, Target: m.Target.Name}
		for _, c := range list {
			all.Kernels = append(all.Kernels, c.kernel)
		}
		if l, err := m.Device.Load(ctx, all); err == nil {
			l.Free()
		} else if ends(ctx, err) {
			return nil, err
		}
	}
	for _, c := range list {
		c.loaded, err = m.Device.Load(ctx, c.plan)
		switch {
		case err == nil:
			out = append(out, c)
		case ends(ctx, err):
			return out, err
		default:
			failed(c, err)
		}
	}
	return out, nil
}

// ends says that nothing more can be tried: somebody has had enough, or the device is gone.
func ends(ctx context.Context, err error) bool {
	var lost *runtime.Lost
	var closed *runtime.Closed
	return ctx.Err() != nil || errors.As(err, &lost) || errors.As(err, &closed)
}

// run is how long a candidate takes times over, in seconds.
func (s *scratch) run(ctx context.Context, c *candidate, times int) (float64, error) {
	if s.reused {
		if err := s.fill(0, false); err != nil {
			return 0, err
		}
		if err := s.dev.Sync(ctx); err != nil {
			return 0, err
		}
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	start := s.clock()
	for range times {
		if err := s.dev.Play(c.loaded, s.mems, nil); err != nil {
			return 0, err
		}
	}
	err := s.dev.Sync(ctx)
	return max(s.clock()-start, time.Nanosecond).Seconds(), err
}
