package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
)

// A graphics processor rounds sums of products in other places, so a rectifier now and then is on here and off there. The
// losses are the same all the same.
func TestTrainOnWEBGPU(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a network for two devices")
	}
	engine.Configure(engine.Options{}, "") // not the limits of another test
	_, err := engine.Use("WEBGPU")
	need.Device(t, "WEBGPU", err)
	closeAfter(t, "CPU", "WEBGPU")
	dir := writeDigits(t, 320, 20, 20)
	losses := map[string][]float64{}
	for _, device := range []string{"CPU", "WEBGPU"} {
		code, out, log := weft(nil, "train", "mnist", "--data", dir, "--device", device, "--steps", "20", "--batch", "16", "--test", "1", "--json")
		require.Zero(t, code, log)
		var r trainResult
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		losses[device] = r.Losses
		assert.Len(t, r.Losses, 20)
	}
	assert.InDeltaSlice(t, losses["CPU"], losses["WEBGPU"], 1e-3)
}
