//go:build cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package wgpu

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/oliverbestmann/webgpu/wgpu"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// most is how many submissions may be queued before they are waited for.
const most = 256

// Submit records all dispatches between copies in one pass.
func (t *transport) Submit(commands []webgpu.Command) error {
	if err := t.Lost(); err != nil {
		return err
	}
	done, held, err := t.record(commands)
	if err != nil {
		return t.note(err)
	}
	t.queue.Submit(done)
	done.Release() // else until a collection, and drivers take megabytes for some
	t.inFlight = append(t.inFlight, held)
	if len(t.inFlight) >= most {
		return t.Wait(context.Background())
	}
	return nil
}

// record encodes the commands, and gives what they use.
func (t *transport) record(commands []webgpu.Command) (done *wgpu.CommandBuffer, held []any, err error) {
	enc, err := t.device.TryCreateCommandEncoder(nil)
	if err != nil {
		return nil, nil, err
	}
	defer enc.Release()
	var pass *wgpu.ComputePassEncoder
	end := func() error {
		if pass == nil {
			return nil
		}
		err := pass.TryEnd()
		pass.Release()
		pass = nil
		return err
	}
	held = make([]any, 0, 2*len(commands)+1)
	for _, c := range commands {
		if c.Pipeline == nil {
			if err := end(); err != nil {
				return nil, nil, err
			}
			to, from := c.To.(*buffer), c.From.(*buffer)
			if err := enc.TryCopyBufferToBuffer(from.b, uint64(c.FromAt), to.b, uint64(c.ToAt), uint64(c.Bytes)); err != nil {
				return nil, nil, err
			}
			held = append(held, to, from)
			continue
		}
		if pass == nil {
			pass = enc.BeginComputePass(nil)
		}
		p, g := c.Pipeline.(*pipeline), c.Group.(*group)
		pass.SetPipeline(p.p)
		pass.SetBindGroup(0, g.g, nil)
		pass.DispatchWorkgroups(c.Grid[0], c.Grid[1], c.Grid[2])
		held = append(held, p, g)
	}
	if err := end(); err != nil {
		return nil, nil, err
	}
	done, err = enc.TryFinish(nil)
	return done, held, err
}

func (t *transport) Read(ctx context.Context, dst []byte, b webgpu.Buffer, at int64) error {
	size := uint64(len(dst))
	if t.stagingBytes < size {
		if t.staging != nil {
			t.staging.Release()
		}
		t.staging, t.stagingBytes = nil, 0
		staging, err := t.create(wgpu.BufferUsageMapRead|wgpu.BufferUsageCopyDst, max(64<<10, size))
		if err != nil {
			return err
		}
		t.staging, t.stagingBytes = staging, max(64<<10, size)
	}
	if err := t.Submit([]webgpu.Command{{To: &buffer{t.staging}, From: b, FromAt: at, Bytes: int64(size)}}); err != nil {
		return err
	}
	var status wgpu.MapAsyncStatus
	var mapped atomic.Bool
	err := t.staging.TryMapAsync(wgpu.MapModeRead, 0, size, func(s wgpu.MapAsyncStatus) { status = s; mapped.Store(true) })
	if err != nil {
		return t.note(err)
	}
	if err := t.waitFor(ctx, mapped.Load); err != nil {
		t.staging, t.stagingBytes = nil, 0 // perhaps still to be mapped
		return err
	}
	if status != wgpu.MapAsyncStatusSuccess {
		return fmt.Errorf("the buffer could not be read: %v", status)
	}
	copy(dst, t.staging.GetMappedRange(0, uint(size)))
	return t.staging.TryUnmap()
}

// Wait polls until all that was submitted is done, so that a context can end it: work goes on then. The library calls a function when it
// is; that the queue is empty it also says when it is not.
func (t *transport) Wait(ctx context.Context) error {
	var done atomic.Bool
	t.queue.OnSubmittedWorkDone(func(wgpu.QueueWorkDoneStatus) { done.Store(true) })
	return t.waitFor(ctx, done.Load)
}

// How long waiting rests between two looks: a sixteenth of what it has waited, and nothing while that is less than a system wakes anybody after. Nor does
// it let the library wait before, which is woken late as well, but where the work is the processor's.
const (
	restShare = 16
	leastRest = 50 * time.Microsecond
	mostRest  = 2 * time.Millisecond
)

// waitFor waits for what callbacks make true. A poll that waits gives up after some seconds, so one is not enough.
func (t *transport) waitFor(ctx context.Context, done func() bool) error {
	for start := time.Now(); ; {
		rest := min(time.Since(start)/restShare, mostRest)
		waits := ctx.Done() == nil && (t.info.CPUBacked || rest >= leastRest)
		t.device.Poll(waits, nil)
		if done() {
			break
		}
		if err := t.Lost(); err != nil {
			return err
		}
		if waits {
			continue
		}
		if rest < leastRest {
			if err := ctx.Err(); err != nil {
				return err
			}
			runtime.Gosched()
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rest):
		}
	}
	runtime.KeepAlive(t.inFlight)
	t.inFlight = nil
	return t.alive()
}

// alive asks whether the device is there: waiting for one that is lost ends without an error. It asks by an empty layout, which
// costs less than a buffer; what a command buffer holds that is finished and not submitted is never given back by the library.
func (t *transport) alive() error {
	l, err := t.device.TryCreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{})
	if err != nil {
		return t.note(err)
	}
	l.Release()
	return nil
}

func (t *transport) Close() {
	if err := t.Wait(context.Background()); err != nil {
		t.inFlight = nil // nothing runs on a device that is lost
	}
	if t.staging != nil {
		t.staging.Release()
	}
	t.queue.Release()
	t.device.Release()
	t.adapter.Release()
	t.instance.Release()
}
