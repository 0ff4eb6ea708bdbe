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

// TestTorchOps runs each n-th of the cases that the worker has put into its memory. That each op has one on each device is seen to natively, and in
// pages by TestDevice and by the methods of package browser's TestEveryMethod.
func TestTorchOps(t *testing.T) {
	cases, err := torchops.Load(os.Getenv("WEFT_TORCH_OPS"))
	require.NoError(t, err)
	e, err := engine.Use(device)
	require.NoError(t, err)
	var some []*torchops.Case
	for i := 0; i < len(cases); i += need.Each(1) {
		some = append(some, cases[i])
	}
	t.Logf("%s: %d of %d cases; WEFT_EACH=1 runs all", device, len(some), len(cases))
	r := torchops.Run(context.Background(), e, some)
	fmt.Print(r.Failures())
	require.NoError(t, table.Add(r.Row()))
	if r.Count(torchops.Failed) > 0 {
		t.Fail()
	}
}
