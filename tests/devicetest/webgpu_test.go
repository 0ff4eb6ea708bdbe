package devicetest

import (
	"testing"

	_ "github.com/weft-ml/weft/backends/webgpu"
)

func TestWEBGPU(t *testing.T) { Run(t, "WEBGPU") }
