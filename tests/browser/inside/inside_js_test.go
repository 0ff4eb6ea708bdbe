package inside

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/page"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tests/devicetest"
	"github.com/weft-ml/weft/tests/torchops"
)

// Chromium's software adapter takes denormal numbers for zero.
func TestWEBGPU(t *testing.T) {
	devicetest.NormalInputs = true
	devicetest.Run(t, "WEBGPU")
}

func TestWASM(t *testing.T) { devicetest.Run(t, "WASM") }

// TestTorchOps runs the cases that the worker has put into its memory.
func TestTorchOps(t *testing.T) {
	cases, err := torchops.Load(os.Getenv("WEFT_TORCH_OPS"))
	require.NoError(t, err)
	e, err := engine.Use("WEBGPU")
	require.NoError(t, err)
	r := torchops.Run(context.Background(), e, cases)
	fmt.Print(r.Failures())
	fmt.Println(r.Summary())
	if r.Count(torchops.Failed) > 0 {
		t.Fail()
	}
}
