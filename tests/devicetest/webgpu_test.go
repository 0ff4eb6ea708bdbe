package devicetest

import (
	"os"
	"testing"

	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
)

func TestWEBGPU(t *testing.T) { Run(t, "WEBGPU") }

func TestWEBGPURepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("computes hundreds of cases fifty times")
	}
	RunRepeated(t, "WEBGPU", 50)
}

// The kernels that other adapters get, on the one that is here: those of hardware, which share the memory of workgroups and
// merge within subgroups, and, with 16-bit floats, those for adapters that offer nothing beyond what all do.
func TestWEBGPUDialects(t *testing.T) {
	if testing.Short() {
		t.Skip("computes all cases once more")
	}
	for _, c := range []struct {
		name, cases string
		change      func(*wgsl.Machine)
	}{
		{"WEBGPU AS HARDWARE", "", func(m *wgsl.Machine) { m.Software, m.Tile = false, 0 }},
		{"WEBGPU PLAIN", "f16", func(m *wgsl.Machine) { m.Features = 0 }},
	} {
		engine.Register(engine.Backend{Name: c.name, Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
			gpu, err := wgpu.Open(wgpu.Options{Headless: true})
			if err != nil {
				return nil, err
			}
			dev, err := webgpu.Open(gpu, webgpu.Options{Poison: o.Poison})
			if err != nil {
				return nil, err
			}
			a := dev.Adapter()
			m := wgsl.Machine{Limits: a.Limits, Software: a.Software, Tile: a.Tile, Features: a.Features}
			c.change(&m)
			return &engine.Machine{Device: dev, Render: wgsl.Render, Finish: wgsl.Finish, Target: wgsl.Target(m)}, nil
		}})
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv("WEFT_CASE") == "" {
				t.Setenv("WEFT_CASE", c.cases)
			}
			Run(t, c.name)
		})
	}
}

func TestWEBGPUParts(t *testing.T) { RunParts(t, "WEBGPU") }
