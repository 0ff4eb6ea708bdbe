package interp

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// loaded is a plan whose kernels are parsed and checked, and bound to each thread when it first runs them.
type loaded struct {
	dev     *Device
	plan    *plan.Plan
	kernels []*bytecode.Program
	crew    *crew
	bound   [][]step // of each worker, of each kernel; nil until needed
	mems    []*mem   // of each memory, during Play
}

func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }

// Free lets the plan go.
func (l *loaded) Free() { l.dev, l.crew, l.bound = nil, nil, nil }

// Load parses and checks the plan and its kernels.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, Name, "interp"); err != nil {
		return nil, err
	}
	l := &loaded{dev: d, plan: p, mems: make([]*mem, len(p.Memory))}
	var need room
	for i := range p.Kernels {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		k := &p.Kernels[i]
		program, err := bytecode.Parse(k.Source)
		if err == nil {
			err = checkBinds(k, program, len(p.Vars))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: load kernel %s: %w", Name, k.Name, err)
		}
		l.kernels = append(l.kernels, program)
		need.add(program)
	}
	if err := l.checkAlignment(); err != nil {
		return nil, fmt.Errorf("%s: load plan: %w", Name, err)
	}
	l.crew = d.hire(&need)
	return l, nil
}

func checkBinds(k *plan.Kernel, p *bytecode.Program, vars int) error {
	if len(k.Binds) != len(p.Params) {
		return fmt.Errorf("it binds %d buffers and its code uses %d", len(k.Binds), len(p.Params))
	}
	if p.Vars > vars {
		return fmt.Errorf("it uses %d variables of %d", p.Vars, vars)
	}
	for i, b := range k.Binds {
		if need := p.Params[i].N * int64(p.Params[i].DType.Size()); b.Bytes < need || p.Params[i].Write && !b.Write {
			return fmt.Errorf("buffer %d: its code uses %d bytes (written: %v), the plan promises %d (%v)",
				i, need, p.Params[i].Write, b.Bytes, b.Write)
		}
	}
	return nil
}

// checkAlignment sees to it that bytes may be read as elements.
func (l *loaded) checkAlignment() error {
	for _, s := range l.plan.Steps {
		if s.Kind != plan.Launch {
			continue
		}
		for i, slot := range s.Slots {
			size := int64(l.kernels[s.Kernel].Params[i].DType.Size())
			if at := l.plan.Slots[slot].Offset; at%size != 0 {
				return fmt.Errorf("slot %d begins at %d, which is no multiple of %d", slot, at, size)
			}
		}
	}
	return nil
}

// Play runs the steps in order and returns when they are done, or at the first error.
func (d *Device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	defer clear(l.mems)
	if err := d.door.Bind(l.plan, args, vars, l.mems); err != nil {
		return err
	}
	for i, m := range l.plan.Memory {
		if m.Kind == plan.Arena {
			x, err := d.memory.alloc(m.Bytes)
			if err != nil {
				return err
			}
			defer x.Free()
			l.mems[i] = x
		}
	}
	for i := range l.plan.Steps {
		if err := l.traced(&l.plan.Steps[i], vars); err != nil {
			return err
		}
	}
	return nil
}

func (l *loaded) traced(s *plan.Step, vars []int32) error {
	trace := l.dev.options.Trace
	start := time.Now()
	name, k := "copy", (*plan.Kernel)(nil)
	var err error
	if s.Kind == plan.Copy {
		copy(l.part(s.Slots[0]), l.part(s.Slots[1]))
	} else {
		k = &l.plan.Kernels[s.Kernel]
		name = k.Name
		err = l.launch(s, vars)
	}
	if trace != nil {
		trace(name, time.Since(start), k)
	}
	return err
}

// part is the bytes of a slot.
func (l *loaded) part(slot int) []byte {
	at := &l.plan.Slots[slot]
	return l.mems[at.Memory].data[at.Offset : at.Offset+at.Bytes]
}

// worker makes thread i ready for a kernel.
func (l *loaded) worker(i, kernel int) (*worker, step) {
	for len(l.crew.workers) <= i {
		l.crew.workers = append(l.crew.workers, newWorker(&l.crew.room))
	}
	for len(l.bound) <= i {
		l.bound = append(l.bound, make([]step, len(l.kernels)))
	}
	w := l.crew.workers[i]
	if l.bound[i][kernel] == nil {
		l.bound[i][kernel] = bind(w, l.kernels[kernel])
	}
	return w, l.bound[i][kernel]
}

// launch runs one kernel, its iterations dealt out evenly to the threads. The shares do not change results: each
// iteration writes what no other one does.
func (l *loaded) launch(s *plan.Step, vars []int32) error {
	l.dev.launches++
	k, p := &l.plan.Kernels[s.Kernel], l.kernels[s.Kernel]
	threads := min(l.dev.options.Threads, int(k.Threads))
	errs := make([]error, threads)
	var wg sync.WaitGroup
	for i := range threads {
		w, body := l.worker(i, s.Kernel)
		for j, slot := range s.Slots {
			w.bufs[j] = l.part(slot)[:p.Params[j].N*int64(p.Params[j].DType.Size())]
		}
		w.vars = vars
		if l.dev.options.Poison {
			guard.Fill(w.scratch)
		}
		share := func(i int) int64 { return int64(k.Threads) * int64(i) / int64(threads) }
		if threads == 1 {
			errs[0] = w.run(body, 0, int64(k.Threads))
		} else {
			wg.Go(func() { errs[i] = w.run(body, share(i), share(i+1)) })
		}
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: kernel %s: %w", Name, k.Name, err)
		}
	}
	return nil
}
