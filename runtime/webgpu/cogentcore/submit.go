//go:build cogentcore && cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package cogentcore

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/cogentcore/webgpu/wgpu"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// most is how many submissions may be queued before they are waited for.
const most = 256

// Submit records all dispatches between copies in one pass.
func (t *transport) Submit(commands []webgpu.Command) error {
	err := t.submit(commands)
	if err == nil && len(t.inFlight) >= most {
		return t.Wait(context.Background())
	}
	return err
}

func (t *transport) submit(commands []webgpu.Command) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost != nil {
		return t.lost
	}
	enc, err := t.device.CreateCommandEncoder(nil)
	if err != nil {
		return t.note(err)
	}
	defer enc.Release()
	held, err := record(enc, commands)
	if err != nil {
		return t.note(err)
	}
	done, err := enc.Finish(nil)
	if err != nil {
		return t.note(err)
	}
	t.queue.Submit(done)
	done.Release()
	t.inFlight = append(t.inFlight, held)
	return nil
}

// record encodes the commands and gives what they use.
func record(enc *wgpu.CommandEncoder, commands []webgpu.Command) (held []any, err error) {
	var pass *wgpu.ComputePassEncoder
	end := func() error {
		if pass == nil {
			return nil
		}
		err := pass.End()
		pass.Release()
		pass = nil
		return err
	}
	for _, c := range commands {
		if c.Pipeline == nil {
			if err := end(); err != nil {
				return nil, err
			}
			to, from := c.To.(*buffer), c.From.(*buffer)
			if err := enc.CopyBufferToBuffer(from.b, uint64(c.FromAt), to.b, uint64(c.ToAt), uint64(c.Bytes)); err != nil {
				return nil, err
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
	return held, end()
}

// Read copies through a buffer that the host can map. The mapping is asked for when the queue is empty, so that it is
// there at once.
func (t *transport) Read(ctx context.Context, dst []byte, b webgpu.Buffer, at int64) error {
	size := uint64(len(dst))
	if err := t.stage(size); err != nil {
		return err
	}
	if err := t.Submit([]webgpu.Command{{To: &buffer{t.staging}, From: b, FromAt: at, Bytes: int64(size)}}); err != nil {
		return err
	}
	if err := t.Wait(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	status, err := t.mapped(size)
	if err != nil {
		return t.note(err)
	}
	if status != wgpu.BufferMapAsyncStatusSuccess {
		return fmt.Errorf("%w: %v", errStatus, status)
	}
	copy(dst, t.staging.GetMappedRange(0, uint(size)))
	return t.note(t.staging.Unmap())
}

// mapped maps the staging buffer. The library keeps the address of a Go variable of its own until it calls back, which
// the garbage collector does not know: it has to wait that long.
func (t *transport) mapped(size uint64) (status wgpu.BufferMapAsyncStatus, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	called := false
	err = t.staging.MapAsync(wgpu.MapModeRead, 0, size, func(s wgpu.BufferMapAsyncStatus) { status, called = s, true })
	for err == nil && !called {
		t.device.Poll(true, nil)
	}
	return status, err
}

// stage sees to a staging buffer of at least size bytes.
func (t *transport) stage(size uint64) error {
	if t.stagingBytes >= size {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.staging != nil {
		t.staging.Release()
		t.staging = nil
	}
	var err error
	t.stagingBytes = max(64<<10, size)
	t.staging, err = t.device.CreateBuffer(&wgpu.BufferDescriptor{Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst, Size: t.stagingBytes})
	if err != nil {
		t.staging, t.stagingBytes = nil, 0
	}
	return t.note(err)
}

// Wait polls until the queue is empty, so that a context can end it: work that was submitted goes on. A poll that
// waits gives up after five seconds, so one is not enough.
func (t *transport) Wait(ctx context.Context) error {
	pause := 20 * time.Microsecond
	for {
		if t.device.Poll(ctx.Done() == nil, nil) {
			break
		}
		if err := t.Lost(); err != nil {
			return err
		}
		if ctx.Done() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Millisecond)
		}
	}
	runtime.KeepAlive(t.inFlight)
	t.inFlight = nil
	return t.Lost()
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
