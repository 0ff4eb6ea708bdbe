//go:build !js

package wasm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
	"github.com/weft-ml/weft/runtime"
)

// module is compiled code with an instance for each thread that has needed it. Instances share the memory; an
// instance has its own stack.
type module struct {
	dev       *Device
	compiled  wazero.CompiledModule
	instances []api.Module // of each thread
}

// kernel is a function of a module.
type kernel struct {
	module *module
	entry  string
	calls  []api.Function // of each thread
	stack  [][5]uint64
}

// loaded is a plan whose kernels are compiled.
type loaded struct {
	dev     *Device
	plan    *plan.Plan
	kernels []*kernel
	arena   []int // memories of kind Arena
	table   *mem  // addresses of the slots of all steps, one after the other, then the variables
	first   []int // of each step, in table
	vars    int   // where the variables begin
	mems    []*mem
}

func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }

// Free lets the plan go. Its code stays: other plans have the same kernels.
func (l *loaded) Free() {
	if l.table != nil && !l.table.freed {
		l.table.Free()
	}
	l.dev = nil
}

// Load checks the plan and compiles, in one module, the kernels that no plan before had.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, Name, target); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.compile(ctx, p.Kernels); err != nil {
		return nil, err
	}
	l := &loaded{dev: d, plan: p, mems: make([]*mem, len(p.Memory))}
	var scratch int64
	for _, k := range p.Kernels {
		l.kernels = append(l.kernels, d.kernels[k.Entry])
		scratch = max(scratch, k.Scratch)
	}
	for _, s := range p.Steps {
		l.first = append(l.first, l.vars)
		l.vars += len(s.Slots)
	}
	for i, m := range p.Memory {
		if m.Kind == plan.Arena {
			l.arena = append(l.arena, i)
		}
	}
	if err := d.growScratch(scratch); err != nil {
		return nil, err
	}
	var err error
	l.table, err = d.memory.alloc(int64(4 * (l.vars + len(p.Vars))))
	return l, err
}

// growScratch makes every thread's scratch at least n bytes.
func (d *Device) growScratch(n int64) error {
	d.scratch = append(d.scratch, make([]*mem, d.options.Threads-len(d.scratch))...)
	for i, s := range d.scratch {
		if s != nil && s.n >= n {
			continue
		}
		bigger, err := d.memory.alloc(n)
		if err != nil {
			return err // plans that are loaded keep the scratch they have
		}
		if s != nil {
			s.Free()
		}
		d.scratch[i] = bigger
	}
	return nil
}

func (d *Device) compile(ctx context.Context, kernels []plan.Kernel) error {
	var missing []plan.Kernel
	for _, k := range kernels {
		if d.kernels[k.Entry] == nil {
			if len(k.Code) == 0 || k.Entry == "" {
				return fmt.Errorf("%s: load kernel %s: it has no code", Name, k.Name)
			}
			missing = append(missing, k)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	start := time.Now()
	compiled, found, err := d.cache.compile(ctx, d.engine, wasmmod.Join(missing, wasmmod.Memory{Min: 1}))
	if err != nil {
		return fmt.Errorf("%s: compile %s: %w", Name, names(missing), err)
	}
	m := &module{dev: d, compiled: compiled, instances: make([]api.Module, d.options.Threads)}
	for _, k := range missing {
		if d.kernels[k.Entry] == nil {
			d.kernels[k.Entry] = &kernel{module: m, entry: k.Entry, calls: make([]api.Function, d.options.Threads), stack: make([][5]uint64, d.options.Threads)}
			if found {
				d.stats.FromDisk++
			} else {
				d.stats.Compiled++
			}
		}
	}
	d.stats.Compiling += time.Since(start)
	return nil
}

func names(kernels []plan.Kernel) string {
	var list []string
	for i, k := range kernels {
		if i == 3 {
			return fmt.Sprintf("%s and %d more kernels", strings.Join(list, ", "), len(kernels)-i)
		}
		list = append(list, k.Name)
	}
	return strings.Join(list, ", ")
}

// ready makes a kernel callable by a thread.
func (k *kernel) ready(thread int) error {
	if k.calls[thread] != nil {
		return nil
	}
	m := k.module
	if m.instances[thread] == nil {
		x, err := m.dev.engine.InstantiateModule(context.Background(), m.compiled, wazero.NewModuleConfig().WithName(""))
		if err != nil {
			return fmt.Errorf("%s: instantiate kernels: %w", Name, err)
		}
		m.instances[thread] = x
	}
	k.calls[thread] = m.instances[thread].ExportedFunction(k.entry)
	return nil
}

// call does the iterations lo..hi on a thread.
func (k *kernel) call(thread int, buf, vars, scratch uint32, lo, hi int32) error {
	stack := &k.stack[thread]
	*stack = [5]uint64{uint64(buf), uint64(vars), uint64(scratch), uint64(uint32(lo)), uint64(uint32(hi))}
	return k.calls[thread].CallWithStack(context.Background(), stack[:])
}
