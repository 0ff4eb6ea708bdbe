//go:build !wasm

package native

import (
	"context"
	"fmt"
	goruntime "runtime"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Device plays plans on this machine's processor. Play returns when its steps are done, so
// Read and Sync never wait. Not safe for concurrent use, except that Mem.Free may be called
// from any goroutine.
type Device struct {
	options Options
	cc      *compiler
	build   *builder
	memory  memory
	pool    *pool
	stats   Stats
	door    guard.Door[*mem, *loaded]
	fence   fence
}

// Open is OpenContext without an end.
func Open(options Options) (runtime.Device, error) { return OpenContext(context.Background(), options) }

// OpenContext finds the compiler and the cache folder and starts the threads. Without any compiler
// the error is a *NoCompiler, with one that does not work a *CompileError. Asking the compiler what it is ends with ctx.
func OpenContext(ctx context.Context, options Options) (runtime.Device, error) {
	if options.Threads < 0 || options.MemoryLimit < 0 {
		return nil, fmt.Errorf("CPU: %d threads and a memory limit of %d bytes: neither may be negative", options.Threads, options.MemoryLimit)
	}
	if options.Threads > MostThreads {
		return nil, fmt.Errorf("CPU: %d threads: at most %d are possible; 0 is one for each processor", options.Threads, MostThreads)
	}
	if options.Threads == 0 {
		options.Threads = min(goruntime.NumCPU(), MostThreads)
	}
	grantTiles() // kernels that need them are made where Describe says that they may be used
	cc, err := findCompiler(ctx, options.CC)
	if err != nil {
		return nil, err
	}
	cache, err := openCache(options.CacheDir, options.Log)
	if err != nil {
		return nil, &runtime.Misconfigured{Err: err}
	}
	d := &Device{options: options, cc: cc}
	d.door = guard.New[*mem, *loaded](deviceName, d)
	d.memory.init(d, options.MemoryLimit, options.Poison)
	d.build = newBuilder(cc, cache, options.Prelude, &d.stats)
	d.pool = newPool(options.Threads)
	return d, nil
}

// Info describes the device: processor, threads, compiler.
func (d *Device) Info() plan.Info {
	detail := fmt.Sprintf("%s, %d threads, %s", processor(), d.options.Threads, d.cc.name)
	if d.options.Threads == 1 {
		detail = fmt.Sprintf("%s, 1 thread, %s", processor(), d.cc.name)
	}
	return plan.Info{Name: deviceName, Detail: detail, Target: "c", Threads: d.options.Threads,
		Limits: plan.Limits{Memory: d.options.MemoryLimit}}
}

// Stats returns counts since Open. Live includes the threads' scratch.
func (d *Device) Stats() Stats {
	d.memory.Lock()
	defer d.memory.Unlock()
	s := d.stats
	s.Live, s.Peak, s.Cached = d.memory.live, d.memory.peak, d.memory.cached()
	return s
}

// Alloc returns memory of undefined contents, 64-byte aligned.
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
	if err != nil {
		return err
	}
	copy(m.data[at:], src)
	return nil
}

// Read copies from src, from byte at on, to dst.
func (d *Device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := d.door.Span("read", src, at, len(dst))
	if err != nil {
		return err
	}
	copy(dst, m.data[at:])
	return nil
}

// Sync has nothing to wait for: Play returns when its work is done.
func (d *Device) Sync(ctx context.Context) error { return d.door.Sync(ctx) }

// Close ends the threads and returns the memory that is not live. The folder of compiled
// kernels stays, and so does loaded code: other devices of the process may use it.
func (d *Device) Close() error {
	if !d.door.Close() {
		return nil
	}
	d.pool.close()
	d.build.closeAhead()
	d.fence.close()
	d.build.cache.close()
	d.memory.close()
	return nil
}
