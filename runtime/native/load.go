//go:build !wasm

package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// loaded is a plan with its machine code.
type loaded struct {
	dev       *Device
	plan      *plan.Plan
	functions []uintptr // of each kernel
	args      int       // how many Play must get
	arena     []int     // memories of kind Arena
	table     []uintptr // the slots' addresses of all steps, one after the other
	first     []int     // of each step, in table
	vars      []int32
	mems      []*mem // of each memory, during Play
}

func (l *loaded) Plan() *plan.Plan { return l.plan }

// Free lets the plan go. Machine code stays in the process.
func (l *loaded) Free() { l.dev = nil }

// Load checks the plan and makes its kernels callable, compiling what is in no cache.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if d.closed {
		return nil, errClosed
	}
	if err := check(p); err != nil {
		return nil, fmt.Errorf("CPU: load plan: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	functions, err := d.build.functions(ctx, p.Kernels)
	if err != nil {
		return nil, err
	}
	l := &loaded{dev: d, plan: p, functions: functions}
	var scratch int64
	for _, k := range p.Kernels {
		scratch = max(scratch, k.Scratch)
	}
	if err := d.pool.grow(&d.memory, scratch); err != nil {
		return nil, err
	}
	slots := 0
	for _, s := range p.Steps {
		l.first = append(l.first, slots)
		slots += len(s.Slots)
	}
	for i, m := range p.Memory {
		if m.Kind == plan.Arena {
			l.arena = append(l.arena, i)
		} else {
			l.args = max(l.args, m.Arg+1)
		}
	}
	// One more than needed: the address of an empty slice is nobody's.
	l.table = make([]uintptr, slots, slots+1)
	l.vars = make([]int32, len(p.Vars), len(p.Vars)+1)
	l.mems = make([]*mem, len(p.Memory))
	return l, nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check says what is wrong with a plan: a kernel runs without any net, so everything that can
// be known before is known before.
func check(p *plan.Plan) error {
	if p == nil {
		return errors.New("no plan")
	}
	if p.Version != plan.Version {
		return fmt.Errorf("it has version %d and this program plays version %d: compile it again with this version of Weft", p.Version, plan.Version)
	}
	if p.Target != deviceName && p.Target != "c" {
		return fmt.Errorf("its kernels were written for %q, not for the CPU", p.Target)
	}
	for _, v := range p.Vars {
		if v.Lo > v.Hi {
			return fmt.Errorf("variable %s has the empty range %d…%d", v.Name, v.Lo, v.Hi)
		}
	}
	if err := checkKernels(p.Kernels); err != nil {
		return err
	}
	for i, m := range p.Memory {
		if m.Kind > plan.State || m.Bytes < 0 || m.Kind != plan.Arena && (m.Arg < 0 || m.Arg > math.MaxInt16) {
			return fmt.Errorf("memory %d (kind %d, argument %d, %d bytes) makes no sense", i, m.Kind, m.Arg, m.Bytes)
		}
	}
	for i, s := range p.Slots {
		if s.Memory < 0 || s.Memory >= len(p.Memory) {
			return fmt.Errorf("slot %d lies in memory %d of %d", i, s.Memory, len(p.Memory))
		}
		if m := p.Memory[s.Memory]; s.Offset < 0 || s.Bytes < 0 || s.Offset > m.Bytes || s.Bytes > m.Bytes-s.Offset {
			return fmt.Errorf("slot %d (%d bytes at %d) does not lie within memory %d of %d bytes", i, s.Bytes, s.Offset, s.Memory, m.Bytes)
		}
	}
	for i, s := range p.Steps {
		if err := checkStep(p, s); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

func checkKernels(kernels []plan.Kernel) error {
	sources := map[string]string{}
	for i, k := range kernels {
		switch {
		case !identifier.MatchString(k.Entry):
			return fmt.Errorf("kernel %d (%s): entry %q is no C name", i, k.Name, k.Entry)
		case k.Source == "":
			return fmt.Errorf("kernel %s has no source", k.Name)
		case k.Threads < 1 || k.Scratch < 0:
			return fmt.Errorf("kernel %s: %d iterations and %d bytes of scratch make no sense", k.Name, k.Threads, k.Scratch)
		}
		if other, ok := sources[k.Entry]; ok && other != k.Source {
			return fmt.Errorf("kernel %s: two kernels with different text are called %s", k.Name, k.Entry)
		}
		sources[k.Entry] = k.Source
	}
	return nil
}

func checkStep(p *plan.Plan, s plan.Step) error {
	for _, slot := range s.Slots {
		if slot < 0 || slot >= len(p.Slots) {
			return fmt.Errorf("slot %d of %d", slot, len(p.Slots))
		}
	}
	readOnly := func(slot int) bool { return p.Memory[p.Slots[slot].Memory].Kind == plan.Input }
	switch s.Kind {
	case plan.Launch:
		if s.Kernel < 0 || s.Kernel >= len(p.Kernels) {
			return fmt.Errorf("kernel %d of %d", s.Kernel, len(p.Kernels))
		}
		k := &p.Kernels[s.Kernel]
		if len(s.Slots) != len(k.Binds) {
			return fmt.Errorf("kernel %s takes %d buffers and gets %d", k.Name, len(k.Binds), len(s.Slots))
		}
		for i, b := range k.Binds {
			if n := p.Slots[s.Slots[i]].Bytes; n < b.Bytes {
				return fmt.Errorf("kernel %s: buffer %d needs %d bytes and slot %d has %d", k.Name, i, b.Bytes, s.Slots[i], n)
			}
			if b.Write && readOnly(s.Slots[i]) {
				return fmt.Errorf("kernel %s: buffer %d is written, but slot %d lies in an input", k.Name, i, s.Slots[i])
			}
		}
	case plan.Copy:
		if len(s.Slots) != 2 {
			return fmt.Errorf("a copy has 2 slots, not %d", len(s.Slots))
		}
		to, from := p.Slots[s.Slots[0]].Bytes, p.Slots[s.Slots[1]].Bytes
		if to != from {
			return fmt.Errorf("copy of %d bytes to a slot of %d", from, to)
		}
		if readOnly(s.Slots[0]) {
			return fmt.Errorf("copy into slot %d, which lies in an input", s.Slots[0])
		}
	default:
		return fmt.Errorf("unknown kind %d: compile the plan again with this version of Weft", s.Kind)
	}
	return nil
}
