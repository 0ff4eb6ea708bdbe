//go:build !js

package wasm

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/plan/wasmmod"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Device plays plans on this machine's processor. Play returns when its steps are done, so Read and Sync never wait.
// Not safe for concurrent use, except that Mem.Free may be called from any goroutine.
type Device struct {
	options Options
	engine  wazero.Runtime
	cache   *cache
	pages   *pages
	memory  memory
	kernels map[string]*kernel // by entry
	scratch []*mem             // of each thread
	stats   Stats
	door    guard.Door[*mem, *loaded]
}

// Open starts the engine and makes the memory.
func Open(o Options) (runtime.Device, error) {
	if o.Threads < 0 || o.MemoryLimit < 0 {
		return nil, fmt.Errorf("%s: %d threads and a memory limit of %d bytes: neither may be negative", Name, o.Threads, o.MemoryLimit)
	}
	if o.Threads == 0 {
		o.Threads = goruntime.NumCPU()
	}
	d := &Device{options: o, kernels: map[string]*kernel{}}
	d.door = guard.New[*mem, *loaded](Name, d)
	var err error
	if d.cache, err = openCache(o.CacheDir, o.Log); err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithCompilationCache(d.cache.engine)
	ctx := context.Background() // nothing below waits
	d.engine = wazero.NewRuntimeWithConfig(ctx, config)
	if err := d.makeMemory(ctx); err != nil {
		if d.pages != nil {
			d.pages.release()
		}
		return nil, errors.Join(err, d.engine.Close(ctx), d.cache.close(ctx))
	}
	return d, nil
}

// makeMemory instantiates the module that owns the memory. It is not marked as shared: that would make every access
// load its size anew, and it grows only between plays.
func (d *Device) makeMemory(ctx context.Context) error {
	var err error
	if d.pages, err = reserve(); err != nil {
		return fmt.Errorf("%s: the system has no room for a WebAssembly memory: %w", Name, err)
	}
	own := experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(
		func(_, _ uint64) experimental.LinearMemory { return d.pages }))
	module := wasmmod.Owner(wasmmod.Memory{Min: 1, Max: uint32(len(d.pages.all) / wasmmod.PageBytes)})
	compiled, _, err := d.cache.compile(ctx, d.engine, module)
	var owner api.Module
	if err == nil {
		owner, err = d.engine.InstantiateModule(own, compiled, wazero.NewModuleConfig().WithName(wasmmod.ImportModule))
	}
	if err != nil {
		return fmt.Errorf("%s: make the memory: %w", Name, err)
	}
	d.memory = memory{dev: d, limit: d.options.MemoryLimit, poison: d.options.Poison, pages: d.pages, wasm: owner.ExportedMemory(wasmmod.ImportName)}
	return nil
}

// Info describes the device.
func (d *Device) Info() plan.Info {
	limit := int64(len(d.pages.all))
	if d.options.MemoryLimit > 0 {
		limit = min(limit, d.options.MemoryLimit)
	}
	return plan.Info{Name: Name, Detail: fmt.Sprintf("WebAssembly with 128-bit vectors by wazero, %d threads", d.options.Threads),
		Target: target, Threads: d.options.Threads, Limits: plan.Limits{Memory: limit, MaxBytes: limit}}
}

// Stats returns counts since Open. Live includes the threads' scratch.
func (d *Device) Stats() Stats {
	d.memory.Lock()
	defer d.memory.Unlock()
	s := d.stats
	s.Live, s.Peak, s.Memory = d.memory.live, d.memory.peak, int64(len(d.pages.used))
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
	if err == nil {
		copy(m.data()[at:], src)
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
		copy(dst, m.data()[at:])
	}
	return err
}

// Sync has nothing to wait for: Play returns when its work is done.
func (d *Device) Sync(ctx context.Context) error { return d.door.Sync(ctx) }

// Close ends the engine and returns the memory. Buffers are lost.
func (d *Device) Close() error {
	if !d.door.Close() {
		return nil
	}
	ctx := context.Background()
	err := errors.Join(d.engine.Close(ctx), d.cache.close(ctx))
	d.memory.close()
	return err
}
