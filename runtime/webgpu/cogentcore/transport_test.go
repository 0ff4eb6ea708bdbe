//go:build cogentcore && linux && cgo && (amd64 || arm64)

package cogentcore

import (
	"testing"

	"github.com/weft-ml/weft/runtime/webgpu"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/transporttest"
)

func opened(t *testing.T) webgpu.Transport {
	g, err := Open(Options{Headless: true})
	need.Device(t, "WEBGPU", err)
	t.Cleanup(g.Close)
	return g
}

func TestReleasedWhileRunning(t *testing.T) { transporttest.ReleasedWhileRunning(t, opened(t)) }

func TestWaits(t *testing.T) { transporttest.Waits(t, opened(t)) }

func TestRefused(t *testing.T) { transporttest.Refused(t, opened(t)) }

func TestFlat(t *testing.T) { transporttest.Flat(t, opened(t)) }
