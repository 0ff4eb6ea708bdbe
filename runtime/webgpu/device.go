// Package webgpu is the WEBGPU device: it plays plans on a graphics processor through a Transport, the little of
// WebGPU that it needs. Sub-packages are transports.
//
// It knows plans, buffers and commands. It refuses to know graphs, the language of kernels beyond an entry's
// name, and which machine is behind the transport.
//
//	t, err := wgpu.Open(wgpu.Options{})
//	dev := webgpu.Open(t, webgpu.Options{})
package webgpu

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

// Name is the device's, Target the language of its kernels.
const (
	Name   = "WEBGPU"
	Target = "wgsl"
)

// Options are the settings of the device; the zero value works.
type Options struct {
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
	Poison      bool  // fill fresh memory with 0xA7, for tests

	// Trace, when set, is called after each step with the kernel's name and time; k is nil for a copy. Where the
	// transport has no clock (see Timer) steps are then waited for one by one.
	Trace func(name string, d time.Duration, k *plan.Kernel)
}

// Device plays plans. Not safe for concurrent use, except that Mem.Free may be called from any goroutine.
type Device struct {
	options   Options
	gpu       Transport
	adapter   Adapter
	memory    memory
	pipelines map[pipelineKey]*compiled
	idle      []*compiled // which no loaded plan uses, longest idle first
	nothing   Buffer      // bound where a slot has no bytes
	door      guard.Door[*mem, *loaded]
}

// Open makes a device of a transport, which it closes in the end.
func Open(t Transport, o Options) (*Device, error) {
	d := &Device{options: o, gpu: t, adapter: t.Adapter(), pipelines: map[pipelineKey]*compiled{}}
	d.door = guard.New[*mem, *loaded](Name, d)
	d.memory.init(d)
	var err error
	if d.nothing, err = t.Buffer(nothingBytes, Storage); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return d, nil
}

const nothingBytes = 256

// Adapter describes what is behind the transport.
func (d *Device) Adapter() Adapter { return d.adapter }

// Transport is what the device goes through, for tests.
func (d *Device) Transport() Transport { return d.gpu }

// Info describes the device.
func (d *Device) Info() plan.Info {
	l := d.adapter.Limits
	l.Memory = d.options.MemoryLimit
	return plan.Info{Name: Name, Detail: fmt.Sprintf("%s (%s)", d.adapter.Name, d.adapter.Backend), Target: Target, Threads: 1, Limits: l, Features: d.adapter.Features}
}

// Write copies src to dst, from byte at on. WebGPU writes whole words: at the ragged ends the rest of the word
// is read first.
func (d *Device) Write(dst runtime.Mem, at int64, src []byte) error {
	m, err := d.door.Span("write", dst, at, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	lo, hi := at&^3, (at+int64(len(src))+3)&^3
	if lo == at && (hi == at+int64(len(src)) || at+int64(len(src)) == m.bytes) {
		whole := len(src) &^ 3
		if whole > 0 {
			if err := d.gpu.Write(m.buffer, at, src[:whole]); err != nil {
				return d.failed("write", err)
			}
		}
		if whole < len(src) { // into the padding
			var word [4]byte
			copy(word[:], src[whole:])
			return d.failed("write", d.gpu.Write(m.buffer, at+int64(whole), word[:]))
		}
		return nil
	}
	words := make([]byte, hi-lo)
	if err := d.gpu.Read(context.Background(), words, m.buffer, lo); err != nil {
		return d.failed("write", err)
	}
	copy(words[at-lo:], src)
	return d.failed("write", d.gpu.Write(m.buffer, lo, words))
}

// Read copies from src, from byte at on, to dst, when everything queued is done.
func (d *Device) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := d.door.Span("read", src, at, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	lo, hi := at&^3, (at+int64(len(dst))+3)&^3
	if hi-lo == int64(len(dst)) {
		return d.failed("read", d.gpu.Read(ctx, dst, m.buffer, lo))
	}
	words := make([]byte, hi-lo)
	if err := d.gpu.Read(ctx, words, m.buffer, lo); err != nil {
		return d.failed("read", err)
	}
	copy(dst, words[at-lo:])
	return nil
}

// Sync waits for everything queued.
func (d *Device) Sync(ctx context.Context) error {
	if err := d.door.Open(); err != nil {
		return err
	}
	return d.failed("sync", d.gpu.Wait(ctx))
}

// Close waits and gives the graphics processor back.
func (d *Device) Close() error {
	if d.door.Close() {
		d.memory.close()
		d.nothing.Release()
		for _, p := range d.pipelines {
			if p.pipeline != nil {
				p.pipeline.Release()
				p.pipeline = nil
			}
		}
		d.gpu.Close()
	}
	return nil
}

// failed says what was attempted, and whether the device is gone.
func (d *Device) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	if why := d.gpu.Lost(); why != nil {
		return &runtime.Lost{Device: Name, Why: why}
	}
	return fmt.Errorf("%s: %s: %w", Name, what, err)
}
