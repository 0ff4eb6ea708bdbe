//go:build cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package wgpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/oliverbestmann/webgpu/wgpu"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
)

// transport speaks to wgpu. Everything it hands to a submission it holds until the submission is done.
type transport struct {
	instance *wgpu.Instance
	adapter  *wgpu.Adapter
	device   *wgpu.Device
	queue    *wgpu.Queue
	info     webgpu.Adapter

	staging      *wgpu.Buffer // for reads
	stagingBytes uint64
	inFlight     [][]any // of each submission since the last wait

	mu   sync.Mutex
	lost error
}

type (
	buffer   struct{ b *wgpu.Buffer }
	pipeline struct {
		p      *wgpu.ComputePipeline
		layout *wgpu.BindGroupLayout
	}
	group struct {
		g       *wgpu.BindGroup
		entries []webgpu.Entry // the buffers live as long
	}
)

func (b *buffer) Release()   { b.b.Release() }
func (p *pipeline) Release() { p.p.Release(); p.layout.Release() }
func (g *group) Release()    { g.g.Release() }

// backends are Vulkan, Metal and Direct3D 12 (WGPUInstanceBackend in wgpu.h). OpenGL is left out: it cannot do all
// that kernels need, and looking for it opens windows' libraries.
const backends wgpu.InstanceBackend = 1<<0 | 1<<2 | 1<<3

// Open finds an adapter: a graphics processor before a software renderer.
func Open(o Options) (webgpu.Transport, error) {
	wgpu.SetLogLevel(wgpu.LogLevelOff)
	t := &transport{instance: wgpu.CreateInstance(&wgpu.InstanceDescriptor{Backends: backends})}
	var err error
	if t.adapter, err = t.choose(o); err != nil {
		t.instance.Release()
		return nil, err
	}
	t.describe()
	limits := t.adapter.GetLimits()
	desc := &wgpu.DeviceDescriptor{RequiredLimits: &limits, DeviceLostCallback: func(_ wgpu.DeviceLostReason, message string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.lost == nil {
			t.lost = errors.New(message)
		}
	}}
	for _, f := range t.adapter.GetFeatures() {
		if f == wgpu.FeatureNameShaderF16 || f == wgpu.FeatureNameSubgroups || f == wgpu.FeatureNameTimestampQuery {
			desc.RequiredFeatures = append(desc.RequiredFeatures, f)
		}
	}
	if t.device, err = t.adapter.RequestDevice(desc); err != nil {
		t.adapter.Release()
		t.instance.Release()
		return nil, fmt.Errorf("%s refuses a device with its own limits: %w", t.info.Name, err)
	}
	t.queue = t.device.GetQueue()
	return t, nil
}

func (t *transport) choose(o Options) (*wgpu.Adapter, error) {
	all := t.instance.EnumerateAdapters(&wgpu.InstanceEnumerateAdapterOptons{Backends: backends})
	found := make([]webgpu.Candidate, len(all))
	for i, a := range all {
		info := a.GetInfo()
		found[i] = webgpu.Candidate{Name: info.Device, Kind: kinds[info.AdapterType]}
	}
	best, err := webgpu.Choose(found, o.Adapter)
	for i, a := range all {
		if err != nil || i != best {
			a.Release()
		}
	}
	if err != nil {
		return nil, err
	}
	return all[best], nil
}

var kinds = map[wgpu.AdapterType]webgpu.Kind{wgpu.AdapterTypeDiscreteGPU: webgpu.Discrete, wgpu.AdapterTypeIntegratedGPU: webgpu.Integrated,
	wgpu.AdapterTypeUnknown: webgpu.Other}

func (t *transport) describe() {
	i, l := t.adapter.GetInfo(), t.adapter.GetLimits()
	bytes := min(l.MaxStorageBufferBindingSize, l.MaxBufferSize, math.MaxInt32&^3) // offsets are 32 bits
	t.info = webgpu.Adapter{
		Name: i.Device, Backend: i.BackendType.String(), Software: i.AdapterType == wgpu.AdapterTypeCPU,
		Align: int64(max(4, l.MinStorageBufferOffsetAlignment)),
		Limits: plan.Limits{
			MaxBindings: int(min(l.MaxStorageBuffersPerShaderStage, l.MaxBindingsPerBindGroup-1, 64)), MaxBytes: int64(bytes),
			Groups: int(l.MaxComputeWorkgroupsPerDimension), Invocations: int(l.MaxComputeInvocationsPerWorkgroup),
			Shared: int64(l.MaxComputeWorkgroupStorageSize),
		},
	}
	t.info.Known()
	for _, f := range t.adapter.GetFeatures() {
		t.info.F16 = t.info.F16 || f == wgpu.FeatureNameShaderF16
		t.info.Subgroup = t.info.Subgroup || f == wgpu.FeatureNameSubgroups
	}
}

func (t *transport) Adapter() webgpu.Adapter { return t.info }

func (t *transport) Lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

func (t *transport) Buffer(bytes int64, use webgpu.Use) (webgpu.Buffer, error) {
	usage := wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst
	if use == webgpu.Uniform {
		usage = wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst
	}
	b, err := t.device.TryCreateBuffer(&wgpu.BufferDescriptor{Usage: usage, Size: uint64(bytes)})
	if err != nil {
		return nil, err
	}
	return &buffer{b}, nil
}

func (t *transport) Pipeline(source, entry string, binds []webgpu.Bind) (webgpu.Pipeline, error) {
	module, err := t.device.TryCreateShaderModule(&wgpu.ShaderModuleDescriptor{Label: entry, WGSLSource: &wgpu.ShaderSourceWGSL{Code: source}})
	if err != nil {
		return nil, err
	}
	defer module.Release()
	entries := make([]wgpu.BindGroupLayoutEntry, len(binds))
	for i, b := range binds {
		entries[i] = wgpu.BindGroupLayoutEntry{Binding: uint32(i), Visibility: wgpu.ShaderStageCompute}
		entries[i].Buffer.Type = map[webgpu.Bind]wgpu.BufferBindingType{webgpu.BindUniform: wgpu.BufferBindingTypeUniform,
			webgpu.BindRead: wgpu.BufferBindingTypeReadOnlyStorage, webgpu.BindReadWrite: wgpu.BufferBindingTypeStorage}[b]
	}
	layout, err := t.device.TryCreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries})
	if err != nil {
		return nil, err
	}
	whole, err := t.device.TryCreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{BindGroupLayouts: []*wgpu.BindGroupLayout{layout}})
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	p, err := t.device.TryCreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: entry, Layout: whole, Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: entry},
	})
	if err != nil {
		return nil, err
	}
	return &pipeline{p, layout}, nil
}

func (t *transport) Group(p webgpu.Pipeline, entries []webgpu.Entry) (webgpu.Group, error) {
	list := make([]wgpu.BindGroupEntry, len(entries))
	for i, e := range entries {
		list[i] = wgpu.BindGroupEntry{Binding: uint32(i), Buffer: e.Buffer.(*buffer).b, Offset: uint64(e.At), Size: uint64(e.Size)}
	}
	g, err := t.device.TryCreateBindGroup(&wgpu.BindGroupDescriptor{Layout: p.(*pipeline).layout, Entries: list})
	if err != nil {
		return nil, err
	}
	return &group{g, entries}, nil
}

func (t *transport) Write(b webgpu.Buffer, at int64, data []byte) error {
	return t.queue.TryWriteBuffer(b.(*buffer).b, uint64(at), data)
}

// Submit records all dispatches between copies in one pass.
func (t *transport) Submit(commands []webgpu.Command) error {
	if err := t.Lost(); err != nil {
		return err
	}
	enc, err := t.device.TryCreateCommandEncoder(nil)
	if err != nil {
		return err
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
	held := make([]any, 0, 2*len(commands)+1)
	for _, c := range commands {
		if c.Pipeline == nil {
			if err := end(); err != nil {
				return err
			}
			to, from := c.To.(*buffer), c.From.(*buffer)
			if err := enc.TryCopyBufferToBuffer(from.b, uint64(c.FromAt), to.b, uint64(c.ToAt), uint64(c.Bytes)); err != nil {
				return err
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
		return err
	}
	done, err := enc.TryFinish(nil)
	if err != nil {
		return err
	}
	t.queue.Submit(done)
	t.inFlight = append(t.inFlight, append(held, done))
	if len(t.inFlight) >= 256 {
		return t.Wait(context.Background())
	}
	return nil
}

func (t *transport) Read(ctx context.Context, dst []byte, b webgpu.Buffer, at int64) error {
	size := uint64(len(dst))
	if t.stagingBytes < size {
		if t.staging != nil {
			t.staging.Release()
		}
		t.stagingBytes = max(64<<10, size)
		var err error
		t.staging, err = t.device.TryCreateBuffer(&wgpu.BufferDescriptor{Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst, Size: t.stagingBytes})
		if err != nil {
			t.staging, t.stagingBytes = nil, 0
			return err
		}
	}
	if err := t.Submit([]webgpu.Command{{To: &buffer{t.staging}, From: b, FromAt: at, Bytes: int64(size)}}); err != nil {
		return err
	}
	status, mapped := wgpu.MapAsyncStatus(0), false
	err := t.staging.TryMapAsync(wgpu.MapModeRead, 0, size, func(s wgpu.MapAsyncStatus) { status, mapped = s, true })
	if err != nil {
		return err
	}
	if err := t.waitFor(ctx, func() bool { return mapped }); err != nil {
		t.staging, t.stagingBytes = nil, 0 // perhaps still to be mapped
		return err
	}
	if status != wgpu.MapAsyncStatusSuccess {
		return fmt.Errorf("the buffer could not be read: %v", status)
	}
	copy(dst, t.staging.GetMappedRange(0, uint(size)))
	return t.staging.TryUnmap()
}

// Wait polls until the queue is empty, so that a context can end it: work that was submitted goes on. A poll that
// waits gives up after some seconds, so one is not enough.
func (t *transport) Wait(ctx context.Context) error {
	return t.waitFor(ctx, func() bool { return true })
}

// waitFor waits for the queue, and for what its callbacks make true.
func (t *transport) waitFor(ctx context.Context, done func() bool) error {
	pause := 20 * time.Microsecond
	for {
		if t.device.Poll(ctx.Done() == nil, nil) && done() {
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
