//go:build cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package wgpu

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/oliverbestmann/webgpu/wgpu"

	"github.com/weft-ml/weft/runtime/webgpu"
)

// stamps is how many a query set has: two a command.
const stamps = 4096

// Times reports whether the adapter has a clock that can be asked.
func (t *transport) Times() bool { return t.device.HasFeature(wgpu.FeatureNameTimestampQuery) }

// Timed gives every dispatch a pass of its own between two stamps; copies are between passes that do nothing.
func (t *transport) Timed(commands []webgpu.Command) (took []time.Duration, err error) {
	if err := t.Lost(); err != nil {
		return nil, err
	}
	for len(commands) > 0 && err == nil {
		n := min(len(commands), stamps/2)
		var part []time.Duration
		part, err = t.timed(commands[:n])
		took, commands = append(took, part...), commands[n:]
	}
	return took, t.note(err)
}

func (t *transport) timed(commands []webgpu.Command) ([]time.Duration, error) {
	set, err := t.device.TryCreateQuerySet(&wgpu.QuerySetDescriptor{Type: wgpu.QueryTypeTimestamp, Count: stamps})
	if err != nil {
		return nil, err
	}
	defer set.Release()
	resolved, err := t.create(wgpu.BufferUsageQueryResolve|wgpu.BufferUsageCopySrc, 8*stamps)
	if err != nil {
		return nil, err
	}
	defer resolved.Release()
	enc, err := t.device.TryCreateCommandEncoder(nil)
	if err != nil {
		return nil, err
	}
	defer enc.Release()
	for i, c := range commands {
		if err := stamped(enc, set, uint32(2*i), c); err != nil {
			return nil, err
		}
	}
	if err := enc.TryResolveQuerySet(set, 0, uint32(2*len(commands)), resolved, 0); err != nil {
		return nil, err
	}
	done, err := enc.TryFinish(nil)
	if err != nil {
		return nil, err
	}
	t.queue.Submit(done)
	done.Release()
	t.inFlight = append(t.inFlight, []any{commands, set, resolved})
	raw := make([]byte, 16*len(commands))
	if err := t.Read(context.Background(), raw, &buffer{resolved}, 0); err != nil {
		return nil, err
	}
	took, tick := make([]time.Duration, len(commands)), float64(t.queue.GetTimestampPeriod())
	for i := range took {
		from, to := binary.LittleEndian.Uint64(raw[16*i:]), binary.LittleEndian.Uint64(raw[16*i+8:])
		took[i] = time.Duration(float64(to-from) * tick)
	}
	return took, nil
}

// stamped encodes a command between stamps at and at+1.
func stamped(enc *wgpu.CommandEncoder, set *wgpu.QuerySet, at uint32, c webgpu.Command) error {
	within := func(from, to uint32, f func(*wgpu.ComputePassEncoder)) error {
		pass := enc.BeginComputePass(&wgpu.ComputePassDescriptor{TimestampWrites: &wgpu.PassTimestampWrites{
			QuerySet: set, BeginningOfPassWriteIndex: from, EndOfPassWriteIndex: to,
		}})
		defer pass.Release()
		f(pass)
		return pass.TryEnd()
	}
	if c.Pipeline != nil {
		return within(at, at+1, func(pass *wgpu.ComputePassEncoder) {
			pass.SetPipeline(c.Pipeline.(*pipeline).p)
			pass.SetBindGroup(0, c.Group.(*group).g, nil)
			pass.DispatchWorkgroups(c.Grid[0], c.Grid[1], c.Grid[2])
		})
	}
	nothing := func(*wgpu.ComputePassEncoder) {}
	if err := within(at, wgpu.QuerySetIndexUndefined, nothing); err != nil {
		return err
	}
	to, from := c.To.(*buffer), c.From.(*buffer)
	if err := enc.TryCopyBufferToBuffer(from.b, uint64(c.FromAt), to.b, uint64(c.ToAt), uint64(c.Bytes)); err != nil {
		return err
	}
	return within(at+1, wgpu.QuerySetIndexUndefined, nothing)
}
