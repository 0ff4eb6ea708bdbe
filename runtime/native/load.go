//go:build !wasm

package native

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"unsafe"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// loaded is a plan with its machine code.
type loaded struct {
	dev       *Device
	plan      *plan.Plan
	functions []uintptr  // of each kernel
	arena     []int      // memories of kind Arena
	table     []uintptr  // the slots' addresses of all steps, one after the other
	first     []int      // of each step, in table
	jobs      []job      // the steps
	copies    [][2]int64 // of steps that are copies: bytes, and those of an iteration
	vars      []int32
	mems      []*mem // of each memory, during Play
}

func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }

// Free lets the plan go. Machine code stays in the process.
func (l *loaded) Free() { l.dev = nil }

// Load checks the plan and makes its kernels callable, compiling what is in no cache.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, deviceName, "c"); err != nil {
		return nil, err
	}
	if err := checkKernels(p.Kernels); err != nil {
		return nil, fmt.Errorf("CPU: load plan: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	functions, err := d.build.functions(ctx, append(slices.Clone(p.Kernels), crewKernel))
	if err != nil {
		return nil, err
	}
	d.pool.start(functions[len(p.Kernels)])
	l := &loaded{dev: d, plan: p, functions: functions}
	var scratch int64
	for _, k := range p.Kernels {
		scratch = max(scratch, k.Scratch)
	}
	if err := d.pool.grow(&d.memory, scratch); err != nil {
		return nil, err
	}
	if d.options.Fence {
		if err := d.fence.grow(d.pool.threads(), scratch); err != nil {
			return nil, err
		}
	}
	slots := 0
	for _, s := range p.Steps {
		l.first = append(l.first, slots)
		slots += len(s.Slots)
	}
	for i, m := range p.Memory {
		if m.Kind == plan.Arena {
			l.arena = append(l.arena, i)
		}
	}
	// One more than needed: the address of an empty slice is nobody's.
	l.table = make([]uintptr, slots, slots+1)
	l.vars = make([]int32, len(p.Vars), len(p.Vars)+1)
	l.mems = make([]*mem, len(p.Memory))
	l.copies = make([][2]int64, len(p.Steps))
	for i, s := range p.Steps {
		if s.Kind == plan.Copy {
			l.jobs = append(l.jobs, job{buf: address(l.table[l.first[i]:]), vars: uintptr(unsafe.Pointer(&l.copies[i]))})
		} else {
			l.jobs = append(l.jobs, d.job(&p.Kernels[s.Kernel], functions[s.Kernel], l.table[l.first[i]:], l.vars))
		}
	}
	return l, nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkKernels says what is wrong with the kernels' text: they run without any net, so everything that can be known
// before is known before.
func checkKernels(kernels []plan.Kernel) error {
	sources := map[string]string{crewKernel.Entry: crewKernel.Source}
	for i, k := range kernels {
		switch {
		case !identifier.MatchString(k.Entry):
			return fmt.Errorf("kernel %d (%s): entry %q is no C name", i, k.Name, k.Entry)
		case k.Source == "":
			return fmt.Errorf("kernel %s has no source", k.Name)
		}
		if other, ok := sources[k.Entry]; ok && other != k.Source {
			return fmt.Errorf("kernel %s: two kernels with different text are called %s", k.Name, k.Entry)
		}
		sources[k.Entry] = k.Source
	}
	return nil
}
