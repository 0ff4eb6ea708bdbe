// Package null is the NULL device: it checks plans, counts memory and writes down what a device would do, but has no
// memory and runs nothing. Tests and benchmarks use it to compile without a machine and to compare plans.
//
// It knows plans. It refuses to know what kernels say, and to give results.
package null

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Name is the device's.
const Name = "NULL"

// Options are the settings of the device; the zero value works.
type Options struct {
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
}

// NoData is returned by Read: there is nothing to read.
type NoData struct{ Bytes int }

func (e *NoData) Error() string {
	return fmt.Sprintf("%s: cannot read %d bytes: this device compiles and never runs; use another one to get values", Name, e.Bytes)
}

// Device is the NULL device. Not safe for concurrent use, except that Mem.Free may be called from any goroutine.
type Device struct {
	mu         sync.Mutex
	limit      int64
	live, peak int64
	trace      strings.Builder
	door       guard.Door[*mem, *loaded]
}

type mem struct {
	of    *Device
	bytes int64
	freed bool
}

func (m *mem) Bytes() int64 { return m.bytes }
func (m *mem) Owner() any   { return m.of }
func (m *mem) Freed() bool  { return m.freed }

// Free gives the bytes back to the count.
func (m *mem) Free() {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.freed {
		panic("BUG: runtime/null: memory freed twice")
	}
	m.freed = true
	m.of.live -= m.bytes
}

// Open makes a device.
func Open(o Options) *Device {
	d := &Device{limit: o.MemoryLimit}
	d.door = guard.New[*mem, *loaded](Name, d)
	return d
}

// Info describes the device.
func (d *Device) Info() plan.Info {
	return plan.Info{Name: Name, Detail: "compiles and never runs", Threads: 1, Limits: plan.Limits{Memory: d.limit}}
}

// Live is the bytes handed out now, Peak the most there ever were, arenas included.
func (d *Device) Live() (live, peak int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live, d.peak
}

// Alloc counts bytes.
func (d *Device) Alloc(bytes int64) (runtime.Mem, error) {
	if err := d.door.Alloc(bytes); err != nil {
		return nil, err
	}
	if err := d.count(bytes); err != nil {
		return nil, err
	}
	return &mem{of: d, bytes: bytes}, nil
}

func (d *Device) count(bytes int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && bytes > d.limit-d.live {
		return &runtime.OutOfMemory{Device: Name, Asked: bytes, Live: d.live, Max: d.limit}
	}
	d.live += bytes
	d.peak = max(d.peak, d.live)
	return nil
}

// Write checks where it would write and forgets the data.
func (d *Device) Write(dst runtime.Mem, at int64, src []byte) error {
	_, err := d.door.Span("write", dst, at, len(src))
	return err
}

// Read always fails with a *NoData.
func (d *Device) Read(_ context.Context, dst []byte, _ runtime.Mem, _ int64) error {
	return &NoData{len(dst)}
}

type loaded struct {
	dev  *Device
	plan *plan.Plan
}

func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }
func (l *loaded) Free()            { l.dev = nil }

// Load checks the plan, whatever its target.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	var target string
	if p != nil {
		target = p.Target
	}
	if err := d.door.Load(p, target); err != nil {
		return nil, err
	}
	return &loaded{d, p}, ctx.Err()
}

// Play checks the arguments and adds a line for each step to the trace.
func (d *Device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	p := l.plan
	if err := d.door.Bind(p, args, vars, make([]*mem, len(p.Memory))); err != nil {
		return err
	}
	arena := int64(0)
	for _, m := range p.Memory {
		if m.Kind == plan.Arena {
			arena += m.Bytes
		}
	}
	if err := d.count(arena); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live -= arena
	d.record(p, vars)
	return nil
}

// record writes the steps: kind, kernel, and each slot as memory[offset+bytes], written ones with a star.
func (d *Device) record(p *plan.Plan, vars []int32) {
	w := &d.trace
	fmt.Fprintf(w, "play %d steps, arena %d", len(p.Steps), p.Peak)
	for i, v := range p.Vars {
		fmt.Fprintf(w, ", %s = %d", v.Name, vars[i])
	}
	w.WriteByte('\n')
	slot := func(i int, written bool) {
		s := p.Slots[i]
		m := p.Memory[s.Memory]
		star, name := "", m.Kind.String()
		if written {
			star = "*"
		}
		if m.Kind != plan.Arena {
			name = fmt.Sprintf("%s%d", name, m.Arg)
		}
		fmt.Fprintf(w, " %s%s[%d+%d]", star, name, s.Offset, s.Bytes)
	}
	for _, s := range p.Steps {
		if s.Kind == plan.Copy {
			w.WriteString("copy")
			slot(s.Slots[0], true)
			slot(s.Slots[1], false)
		} else {
			d.launch(&p.Kernels[s.Kernel], func(i int, written bool) { slot(s.Slots[i], written) })
			continue
		}
		w.WriteByte('\n')
	}
}

// launch writes one, or each of the parts that it is cut into.
func (d *Device) launch(k *plan.Kernel, slot func(i int, written bool)) {
	parts := k.Parts
	if parts == nil {
		parts = make([]plan.Part, 1)
	}
	for _, part := range parts {
		fmt.Fprintf(&d.trace, "launch %s ×%d", k.Name, k.Threads)
		if k.Parts != nil {
			fmt.Fprintf(&d.trace, " part %d×%d×%d from %d", part.Grid[0], part.Grid[1], part.Grid[2], part.First)
		}
		for i, b := range k.Binds {
			slot(i, b.Write)
		}
		d.trace.WriteByte('\n')
	}
}

// Trace is what was played since the last call.
func (d *Device) Trace() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.trace.String()
	d.trace.Reset()
	return s
}

// Sync has nothing to wait for.
func (d *Device) Sync(ctx context.Context) error { return d.door.Sync(ctx) }

// Close ends the device.
func (d *Device) Close() error {
	d.door.Close()
	return nil
}
