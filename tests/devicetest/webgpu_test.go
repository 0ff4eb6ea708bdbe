package devicetest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
	need "github.com/weft-ml/weft/tests/require"
)

// ofWEBGPU is of how many cases one is run: a processor that plays WEBGPU takes longer for its compiler than all other devices together.
const ofWEBGPU = 12

func TestWEBGPU(t *testing.T) { RunPart(t, "WEBGPU", ofWEBGPU) }

func TestWEBGPURepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("computes hundreds of cases twenty times")
	}
	RunRepeated(t, "WEBGPU", 20, ofWEBGPU)
}

// The kernels that other adapters get, on the one that is here: those of hardware, which share the memory of workgroups and
// merge within subgroups, and, with 16-bit floats, those for adapters that offer nothing beyond what all do. Cases whose kernels
// are those of TestWEBGPU are left out, and of the others there are half as many: what differs is in the choice of directives.
func TestWEBGPUDialects(t *testing.T) {
	if testing.Short() {
		t.Skip("computes hundreds of cases once more")
	}
	n := each(2 * ofWEBGPU)
	here, err := engine.Open("WEBGPU", engine.Options{})
	need.Device(t, "WEBGPU", err)
	t.Cleanup(func() { require.NoError(t, here.Close()) })
	for _, c := range []struct {
		name, cases string
		change      func(*wgsl.Machine)
	}{
		{"WEBGPU AS HARDWARE", "", func(m *wgsl.Machine) { m.CPUBacked, m.Tile = false, 0 }},
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
			m := wgsl.Machine{Limits: a.Limits, CPUBacked: a.CPUBacked, Tile: a.Tile, Features: a.Features}
			c.change(&m)
			return &engine.Machine{Device: dev, Render: wgsl.Render, Finish: wgsl.Finish, Target: wgsl.Target(m)}, nil
		}})
		t.Run(c.name, func(t *testing.T) {
			whole := os.Getenv("WEFT_CASE") == ""
			if whole {
				t.Setenv("WEFT_CASE", c.cases)
			}
			tried := 0
			run(t, c.name, engine.Options{Poison: true}, n, func(dev *engine.Engine, cases []Case) []Case {
				cases = unlike(dev, here, cases)
				tried += len(cases)
				return cases
			})
			t.Logf("%d cases have other kernels", tried)
			if whole {
				require.Positive(t, tried)
			}
		})
	}
}

func TestWEBGPUParts(t *testing.T) { RunParts(t, "WEBGPU") }
