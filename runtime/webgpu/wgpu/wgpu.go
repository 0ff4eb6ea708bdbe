//go:build cgo && ((linux && (amd64 || arm64)) || darwin || (windows && (amd64 || arm64)))

package wgpu

import (
	"fmt"
	"math"
	"strings"
	"sync"

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
	t := &transport{}
	create := func() { t.instance = wgpu.CreateInstance(&wgpu.InstanceDescriptor{Backends: backends}) }
	if o.Headless {
		webgpu.WithoutDesktop(create)
	} else {
		create()
	}
	var err error
	if t.adapter, err = t.choose(o); err != nil {
		t.instance.Release()
		return nil, err
	}
	t.describe()
	limits := t.adapter.GetLimits()
	desc := &wgpu.DeviceDescriptor{RequiredLimits: &limits}
	for _, f := range t.adapter.GetFeatures() {
		if f == wgpu.FeatureNameShaderF16 || subgroups(f) || f == wgpu.FeatureNameTimestampQuery {
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
	best, err := webgpu.Choose(found, o.Adapter, o.Number)
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
		Name: i.Device, Backend: i.BackendType.String(), CPUBacked: i.AdapterType == wgpu.AdapterTypeCPU,
		Limits: plan.Limits{
			Align:       int(max(4, l.MinStorageBufferOffsetAlignment)),
			MaxBindings: int(min(l.MaxStorageBuffersPerShaderStage, l.MaxBindingsPerBindGroup-1, 64)), MaxBytes: int64(bytes),
			Groups: int(l.MaxComputeWorkgroupsPerDimension), Invocations: int(l.MaxComputeInvocationsPerWorkgroup),
			Shared: int64(l.MaxComputeWorkgroupStorageSize),
		},
	}
	t.info.Known()
	for _, f := range t.adapter.GetFeatures() {
		if f == wgpu.FeatureNameShaderF16 {
			t.info.Features |= plan.Half
		}
		if subgroups(f) {
			t.info.Features |= plan.Subgroups | plan.Untold
		}
	}
}

// subgroups is the feature under the name that this version of the library gives it, or the standard's.
func subgroups(f wgpu.FeatureName) bool {
	return f == wgpu.NativeFeatureSubgroup || f == wgpu.FeatureNameSubgroups
}

func (t *transport) Adapter() webgpu.Adapter { return t.info }

func (t *transport) Lost() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// note keeps an error that says that the device is gone. The binding's callback for that cannot be used: it is called
// from within calls that the binding declares not to call back, which ends the program.
func (t *transport) note(err error) error {
	if err != nil && strings.Contains(err.Error(), "device is lost") {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.lost == nil {
			t.lost = err
		}
	}
	return err
}

func (t *transport) Buffer(bytes int64, use webgpu.Use) (webgpu.Buffer, error) {
	usage := wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst
	if use == webgpu.Uniform {
		usage = wgpu.BufferUsageUniform | wgpu.BufferUsageCopyDst
	}
	b, err := t.create(usage, uint64(bytes))
	if err != nil {
		return nil, err
	}
	return &buffer{b}, nil
}

func (t *transport) create(usage wgpu.BufferUsage, bytes uint64) (b *wgpu.Buffer, err error) {
	b, err = t.device.TryCreateBuffer(&wgpu.BufferDescriptor{Usage: usage, Size: bytes})
	return b, t.note(err)
}

var bindings = map[webgpu.Bind]wgpu.BufferBindingType{webgpu.BindUniform: wgpu.BufferBindingTypeUniform,
	webgpu.BindRead: wgpu.BufferBindingTypeReadOnlyStorage, webgpu.BindReadWrite: wgpu.BufferBindingTypeStorage}

func (t *transport) Pipeline(source, entry string, binds []webgpu.Bind) (p webgpu.Pipeline, err error) {
	p, err = t.pipeline(source, entry, binds)
	return p, t.note(err)
}

func (t *transport) pipeline(source, entry string, binds []webgpu.Bind) (webgpu.Pipeline, error) {
	module, err := t.device.TryCreateShaderModule(&wgpu.ShaderModuleDescriptor{Label: entry, WGSLSource: &wgpu.ShaderSourceWGSL{Code: source}})
	if err != nil {
		return nil, err
	}
	defer module.Release()
	entries := make([]wgpu.BindGroupLayoutEntry, len(binds))
	for i, b := range binds {
		entries[i] = wgpu.BindGroupLayoutEntry{Binding: uint32(i), Visibility: wgpu.ShaderStageCompute}
		entries[i].Buffer.Type = bindings[b]
	}
	layout, err := t.device.TryCreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries})
	if err != nil {
		return nil, err
	}
	whole, err := t.device.TryCreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{BindGroupLayouts: []*wgpu.BindGroupLayout{layout}})
	if err != nil {
		layout.Release()
		return nil, err
	}
	defer whole.Release()
	p, err := t.device.TryCreateComputePipeline(&wgpu.ComputePipelineDescriptor{
		Label: entry, Layout: whole, Compute: wgpu.ProgrammableStageDescriptor{Module: module, EntryPoint: entry},
	})
	if err != nil {
		layout.Release()
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
		return nil, t.note(err)
	}
	return &group{g, entries}, nil
}

func (t *transport) Write(b webgpu.Buffer, at int64, data []byte) error {
	return t.note(t.queue.TryWriteBuffer(b.(*buffer).b, uint64(at), data))
}
