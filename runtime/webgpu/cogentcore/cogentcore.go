//go:build cogentcore && cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package cogentcore

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/cogentcore/webgpu/wgpu"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
)

// transport speaks to wgpu. Everything it hands to a submission it holds until the submission is done.
//
// mu is held around every call that may fail: the library collects errors for the whole device, so of two
// calls at once one would get the other's.
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

// The library's objects are given back by hand only: here is where that is.
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

// backends are Vulkan, Metal and Direct3D 12.
const backends = wgpu.InstanceBackendVulkan | wgpu.InstanceBackendMetal | wgpu.InstanceBackendDX12

var kinds = map[wgpu.AdapterType]webgpu.Kind{wgpu.AdapterTypeDiscreteGPU: webgpu.Discrete, wgpu.AdapterTypeIntegratedGPU: webgpu.Integrated,
	wgpu.AdapterTypeUnknown: webgpu.Other}

// Open finds an adapter: a graphics processor before a software renderer.
func Open(o Options) (webgpu.Transport, error) {
	wgpu.SetLogLevel(wgpu.LogLevelOff)
	t := &transport{}
	create := func() { t.instance = wgpu.CreateInstance(nil) } // of a descriptor the library leaves parts undefined
	if o.Headless {
		webgpu.WithoutDesktop(create)
	} else {
		create()
	}
	all := t.instance.EnumerateAdapters(&wgpu.InstanceEnumerateAdapterOptons{Backends: backends})
	found := make([]webgpu.Candidate, len(all))
	for i, a := range all {
		info := a.GetInfo()
		found[i] = webgpu.Candidate{Name: info.DriverDescription, Kind: kinds[info.AdapterType]}
	}
	best, err := webgpu.Choose(found, o.Adapter, o.Number)
	for i, a := range all {
		if err != nil || i != best {
			a.Release()
		}
	}
	if err != nil {
		t.instance.Release()
		return nil, err
	}
	t.adapter = all[best]
	limits := t.adapter.GetLimits().Limits
	limits.MaxPushConstantSize = 0 // the library leaves it undefined
	t.describe(limits)
	if t.device, err = t.adapter.RequestDevice(&wgpu.DeviceDescriptor{RequiredLimits: &wgpu.RequiredLimits{Limits: limits}}); err != nil {
		t.adapter.Release()
		t.instance.Release()
		return nil, fmt.Errorf("%s refuses a device with its own limits: %w", t.info.Name, err)
	}
	t.queue = t.device.GetQueue()
	return t, nil
}

// describe: the library gives the adapter's number as its name, and the name as a description.
func (t *transport) describe(l wgpu.Limits) {
	i := t.adapter.GetInfo()
	t.info = webgpu.Adapter{
		Name: i.DriverDescription, Backend: i.BackendType.String(), CPUBacked: i.AdapterType == wgpu.AdapterTypeCPU,
		Limits: plan.Limits{
			Align:       int(max(4, l.MinStorageBufferOffsetAlignment)),
			MaxBindings: int(min(l.MaxStorageBuffersPerShaderStage, l.MaxBindingsPerBindGroup-1, 64)),
			MaxBytes:    int64(min(l.MaxStorageBufferBindingSize, l.MaxBufferSize, math.MaxInt32&^3)), // offsets are 32 bits
			Groups:      int(l.MaxComputeWorkgroupsPerDimension), Invocations: int(l.MaxComputeInvocationsPerWorkgroup),
			Shared: int64(l.MaxComputeWorkgroupStorageSize),
		},
	}
	t.info.Known()
}

func (t *transport) Adapter() webgpu.Adapter { return t.info }

func (t *transport) Lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// note keeps an error that says that the device is gone: the library has no safe way to be told, and none to
// try it out.
func (t *transport) note(err error) error {
	if err != nil && t.lost == nil {
		if strings.Contains(err.Error(), "device is lost") {
			t.lost = err
		}
	}
	return err
}

func (t *transport) Buffer(bytes int64, use webgpu.Use) (webgpu.Buffer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	usage := wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst
	if use == webgpu.Uniform {
		usage = wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst
	}
	b, err := t.device.CreateBuffer(&wgpu.BufferDescriptor{Usage: usage, Size: uint64(bytes)})
	if err != nil {
		return nil, t.note(err)
	}
	return &buffer{b}, nil
}

var bindings = map[webgpu.Bind]wgpu.BufferBindingType{webgpu.BindUniform: wgpu.BufferBindingTypeUniform,
	webgpu.BindRead: wgpu.BufferBindingTypeReadOnlyStorage, webgpu.BindReadWrite: wgpu.BufferBindingTypeStorage}

func (t *transport) Pipeline(source, entry string, binds []webgpu.Bind) (webgpu.Pipeline, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	module, err := t.device.CreateShaderModule(&wgpu.ShaderModuleDescriptor{Label: entry, WGSLDescriptor: &wgpu.ShaderModuleWGSLDescriptor{Code: source}})
	if err != nil {
		return nil, t.note(err)
	}
	defer module.Release()
	entries := make([]wgpu.BindGroupLayoutEntry, len(binds))
	for i, b := range binds {
		entries[i] = wgpu.BindGroupLayoutEntry{Binding: uint32(i), Visibility: wgpu.ShaderStageCompute}
		entries[i].Buffer.Type = bindings[b]
	}
	layout, err := t.device.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries})
	if err != nil {
		return nil, t.note(err)
	}
	whole, err := t.device.CreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{BindGroupLayouts: []*wgpu.BindGroupLayout{layout}})
	if err != nil {
		layout.Release()
		return nil, t.note(err)
	}
	defer whole.Release()
	p, err := t.device.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: entry, Layout: whole, Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: entry},
	})
	if err != nil {
		layout.Release()
		return nil, t.note(err)
	}
	return &pipeline{p, layout}, nil
}

func (t *transport) Group(p webgpu.Pipeline, entries []webgpu.Entry) (webgpu.Group, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]wgpu.BindGroupEntry, len(entries))
	for i, e := range entries {
		list[i] = wgpu.BindGroupEntry{Binding: uint32(i), Buffer: e.Buffer.(*buffer).b, Offset: uint64(e.At), Size: uint64(e.Size)}
	}
	g, err := t.device.CreateBindGroup(&wgpu.BindGroupDescriptor{Layout: p.(*pipeline).layout, Entries: list})
	if err != nil {
		return nil, t.note(err)
	}
	return &group{g, entries}, nil
}

func (t *transport) Write(b webgpu.Buffer, at int64, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.note(t.queue.WriteBuffer(b.(*buffer).b, uint64(at), data))
}

var errStatus = errors.New("the buffer could not be read")
