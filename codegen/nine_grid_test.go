package codegen_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
	need "github.com/weft-ml/weft/tests/require"
)

// gridDevice is a graphics processor, perhaps in software, with its target.
func gridDevice(t testing.TB) (*webgpu.Device, *codegen.Target) {
	gpu, err := wgpu.Open(wgpu.Options{Headless: true})
	need.Device(t, "WEBGPU", err)
	dev, err := webgpu.Open(gpu, webgpu.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	a := dev.Adapter()
	return dev, wgsl.Target(wgsl.Machine{Limits: a.Limits, CPUBacked: a.CPUBacked, Tile: a.Tile, Features: a.Features})
}

// prepareGrid is prepare for a graphics processor: a kernel for each nest.
func prepareGrid(t testing.TB, dev *webgpu.Device, target *codegen.Target, s *codegen.Spec, bufs [][]byte) *bench {
	b := &bench{dev: dev}
	p := &plan.Plan{Version: plan.Version, Target: webgpu.Target}
	var slots []int
	for i, data := range bufs {
		m, err := dev.Alloc(int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, data))
		kind := plan.Input
		if s.Params[i].Write {
			kind = plan.State
		}
		p.Memory = append(p.Memory, plan.Memory{Kind: kind, Arg: i, Bytes: int64(len(data))})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: int64(len(data)), DType: s.Params[i].DType, Dims: s.Params[i].Dims})
		slots = append(slots, i)
		b.args = append(b.args, m)
	}
	for i, nest := range lower.Nests(s, target) {
		directives := model.Choose(nest, target)
		if v := os.Getenv("NINE_GRID"); v != "" {
			directives, _ = codegen.ParseDirectives(v)
		}
		prog, err := lower.Lower(nest, directives, target)
		require.NoError(t, err)
		k, err := wgsl.Render(prog)
		require.NoError(t, err)
		b.k.Flops += k.Flops
		b.k.Directives += k.Directives + " | "
		b.k.Source += k.Spelled().Source
		p.Kernels = append(p.Kernels, k)
		p.Steps = append(p.Steps, plan.Step{Kind: plan.Launch, Kernel: i, Slots: slots})
	}
	wgsl.Finish(p)
	var err error
	b.l, err = dev.Load(context.Background(), p)
	require.NoError(t, err)
	return b
}

// The same Specs as on the CPU, with other directives.
func TestNineGrid(t *testing.T) {
	dev, target := gridDevice(t)
	hard := *target
	hard.CPUBacked = false
	cases := slices.Clone(nine)
	cases[0] = oneOfNine{name: "product 512", spec: func() *kit { return productSpec(512, 512, 512) }, c: productC(512, 512, 512)}
	for i, n := range slices.Concat(cases, cases) {
		target, name := target, n.name
		if i >= len(cases) { // as on a graphics processor
			target, name = &hard, name+" in workgroups"
		}
		t.Run(name, func(t *testing.T) {
			k := n.spec()
			data := nineData(k.s)
			start := time.Now()
			b := prepareGrid(t, dev, target, k.s, data)
			load := time.Since(start)
			took := b.play(t)
			if os.Getenv("NINE_TIME") != "" {
				start = time.Now()
				took = b.play(t)
				t.Logf("%.2f GFLOP/s once more", float64(b.k.Flops)/time.Since(start).Seconds()/1e9)
			}
			t.Logf("%.2f GFLOP/s, load %v, %s", float64(b.k.Flops)/took.Seconds()/1e9, load, b.k.Directives)
			if os.Getenv("NINE_SOURCE") != "" {
				t.Log(b.k.Source)
			}
			got, want := unpack(k.s.Params[0].DType, b.read(t, 0)), n.want(t)
			require.Empty(t, differ(k.s.Params[0].DType, got, want, 1e-3), "directives %s", b.k.Directives)
		})
	}
}

func BenchmarkNineGrid(b *testing.B) {
	dev, target := gridDevice(b)
	for _, n := range nine {
		b.Run(n.name, func(b *testing.B) {
			k := n.spec()
			start := time.Now()
			run := prepareGrid(b, dev, target, k.s, nineData(k.s))
			load := time.Since(start)
			run.play(b)
			best := time.Hour
			for b.Loop() {
				best = min(best, run.play(b))
			}
			b.ReportMetric(float64(run.k.Flops)/best.Seconds()/1e9, "GFLOP/s")
			b.ReportMetric(float64(load.Microseconds())/1e3, "load-ms")
		})
	}
}

var _ runtime.Device = (*webgpu.Device)(nil)
