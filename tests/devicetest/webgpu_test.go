package devicetest

import (
	"testing"

	_ "github.com/weft-ml/weft/backends/webgpu"
)

func TestWEBGPU(t *testing.T) { Run(t, "WEBGPU") }

func TestWEBGPURepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("computes hundreds of cases fifty times")
	}
	RunRepeated(t, "WEBGPU", 50)
}
