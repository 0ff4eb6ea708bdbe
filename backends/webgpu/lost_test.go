//go:build linux && cgo && (amd64 || arm64) && !cogentcore

package webgpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
	"github.com/weft-ml/weft/tests/losses"
)

// The driver takes the device away in many places of a training: it ends with the same bits, and nobody hears of it who
// does not ask.
func TestTrainingSurvivesLosses(t *testing.T) {
	open(t)
	const steps = 5
	calls, lose := 0, 0
	require.NoError(t, losses.Register("WEBGPU", func(d runtime.Device, call int) {
		if calls = call; calls == lose {
			wgpu.Destroy(d.(*webgpu.Device).Transport())
		}
	}))
	var told []*engine.Recovery
	defer engine.Configure(engine.Options{}, "")
	train := func(captured bool) [][]byte {
		engine.Configure(engine.Options{Recovered: func(r *engine.Recovery) { told = append(told, r) }}, losses.Name)
		e, err := engine.Use("")
		require.NoError(t, err)
		seen, err := losses.Train(context.Background(), steps, captured)
		require.NoError(t, err)
		require.NoError(t, e.Close())
		return seen
	}
	for _, captured := range []bool{false, true} {
		begin := calls
		want := train(captured)
		n := calls - begin
		for k := range 6 {
			at := 2 + n*k/7 // checkpoints come with time, so the number of calls is not always the same
			lose = calls + at
			told = nil
			require.Equal(t, want, train(captured), "captured %v, lost in call %d of %d", captured, at, n)
			require.Len(t, told, 1)
			assert.ErrorContains(t, told[0].Why, "WEBGPU: the device was lost")
		}
		t.Logf("captured %v: %d calls; the last: %v", captured, n, told[0])
	}
}
