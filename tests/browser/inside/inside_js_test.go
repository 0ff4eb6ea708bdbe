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
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/table"
	"github.com/weft-ml/weft/tests/torchops"
)

// device is the one under test.
var device = os.Getenv("WEFT_DEVICE")

// TestDevice: Chromium's software adapter takes denormal numbers for zero.
func TestDevice(t *testing.T) {
	devicetest.NormalInputs = device == "WEBGPU"
	devicetest.Run(t, device)
}

// TestParts: launches that would keep the adapter busy for long.
func TestParts(t *testing.T) { devicetest.RunParts(t, "WEBGPU") }

// TestTorchOps runs the cases that the worker has put into its memory.
func TestTorchOps(t *testing.T) {
	cases, err := torchops.Load(os.Getenv("WEFT_TORCH_OPS"))
	require.NoError(t, err)
	e, err := engine.Use(device)
	require.NoError(t, err)
	all := len(cases)
	cases = torchops.Part(cases, need.Each(1))
	t.Logf("%s: %s", device, need.PartOf(len(cases), all))
	r := torchops.Run(context.Background(), e, cases)
	fmt.Print(r.Failures())
	require.NoError(t, table.Add(r.Row()))
	if r.Count(torchops.Failed) > 0 {
		t.Fail()
	}
}
