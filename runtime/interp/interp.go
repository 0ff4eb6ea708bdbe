// Package interp is the INTERP device: it plays plans whose kernels are byte code (package plan/bytecode), in Go,
// on vector registers of 512 lanes. It is the executable definition of what kernels mean, and what runs
// where no machine code can be made.
//
// It knows plans, bytes and byte code. It refuses to know expressions, and it never crashes on a plan: what
// reaches outside of a buffer is an error that names the kernel.
package interp

import (
	"context"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/bytecode"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Name is the device's, and the target's of its plans.
const Name = "INTERP"

// Options are the settings of the device; the zero value works.
type Options struct {
	Threads     int   // 0 is one for each processor
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
	// Poison fills fresh memory, arenas and scratch with 0xA7, so that reading what nobody wrote shows. For tests.
	Poison bool
	// Trace, when set, is called after each step with the kernel's name and time; k is nil for a copy.
	Trace func(name string, d time.Duration, k *plan.Kernel)
}

// Stats are counts since Open.
type Stats struct {
	Live, Peak int64 // bytes handed out now and at most
	Launches   int64
}

// Device plays plans. Play returns when its steps are done, so Read and Sync never wait. Not safe for concurrent
// use, except that Mem.Free may be called from any goroutine.
type Device struct {
	options  Options
	memory   memory
	crew     *crew
	launches int64
	door     guard.Door[*mem, *loaded]
}

// Open makes a device.
func Open(o Options) (runtime.Device, error) {
	if o.Threads < 0 || o.MemoryLimit < 0 {
		return nil, fmt.Errorf("%s: %d threads and a memory limit of %d bytes: neither may be negative", Name, o.Threads, o.MemoryLimit)
	}
	if o.Threads == 0 {
		o.Threads = goruntime.NumCPU()
	}
	d := &Device{options: o}
	d.memory.init(d, o.MemoryLimit, o.Poison)
	d.door = guard.New[*mem, *loaded](Name, d)
	return d, nil
}

// Info describes the device.
func (d *Device) Info() plan.Info {
	return plan.Info{Name: Name, Detail: fmt.Sprintf("byte code in Go, %d lanes, %d threads: slow, runs everywhere", bytecode.Lanes, d.options.Threads),
		Target: "interp", Threads: d.options.Threads, Limits: plan.Limits{Memory: d.options.MemoryLimit}}
}

// Stats returns counts since Open.
func (d *Device) Stats() Stats {
	d.memory.Lock()
	defer d.memory.Unlock()
	return Stats{Live: d.memory.live, Peak: d.memory.peak, Launches: d.launches}
}

// Alloc returns memory of undefined contents.
func (d *Device) Alloc(bytes int64) (runtime.Mem, error) {
	if err := d.door.Alloc(bytes); err != nil {
		return nil, err
	}
	m, err := d.memory.alloc(bytes)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Write copies src to dst, from byte at on.
func (d *Device) Write(dst runtime.Mem, at int64, src []byte) error {
	m, err := d.door.Span("write", dst, at, len(src))
	if err == nil {
		copy(m.data[at:], src)
	}
	return err
}

// Read copies from src, from byte at on, to dst.
func (d *Device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := d.door.Span("read", src, at, len(dst))
	if err == nil {
		copy(dst, m.data[at:])
	}
	return err
}

// Sync has nothing to wait for.
func (d *Device) Sync(ctx context.Context) error { return d.door.Sync(ctx) }

// Close ends the device; memory goes when it is freed.
func (d *Device) Close() error {
	if d.door.Close() {
		d.memory.Lock()
		defer d.memory.Unlock()
		d.memory.spare.Trim(0)
		d.crew = nil // which has the arrays of the last play at hand
	}
	return nil
}
