package engine_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// opened is an engine that has arrays, plans and a captured function, and what was made there.
func opened(t *testing.T, device string) (e *engine.Engine, x, y *uop.UOp, c *engine.Captured) {
	e, err := engine.Open(device, engine.Options{CacheDir: t.TempDir()})
	require.NoError(t, err)
	x = floats(t, e, make([]float32, 1<<18), 1<<18)
	y = x.Mul(x).Add(x)
	require.NoError(t, e.Realize(t.Context(), y))
	if device != "REF" { // which cannot capture
		c, x = doubled(t, e, 1<<18)
		_, err = c.Run(t.Context(), x)
		require.NoError(t, err)
	}
	return e, x, y, c
}

// An engine that was closed gives back all memory, also that of arrays that the program still refers to, and itself when nothing refers
// to it: a program that opens one for each of its tasks, as a test does, would grow without end.
func TestCloseGivesAllBack(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM", "REF"} {
		e, x, y, _ := opened(t, device)
		require.NotZero(t, e.Stats().LiveBytes, device)
		require.NoError(t, e.Close())
		assert.Zero(t, e.Stats().LiveBytes, device)
		goruntime.KeepAlive([]*uop.UOp{x, y})

		gone := weak.Make(e)
		e, x, y = nil, nil, nil
		assert.Eventually(t, func() bool { // the collector tells of arrays when it comes to that
			goruntime.GC()
			return gone.Value() == nil
		}, 10*time.Second, time.Millisecond, "%s: the engine itself", device)
	}
}

// Whatever is asked of an engine that was closed is the same error on each device.
func TestClosed(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM", "REF"} {
		e, x, y, c := opened(t, device)
		require.NoError(t, e.Close())
		ctx := t.Context()
		asks := map[string]func() error{
			"close":   e.Close,
			"realize": func() error { return e.Realize(ctx, x.Mul(y)) },
			"read":    func() error { return e.Read(ctx, y, make([]byte, 4<<18)) },
			"borrow": func() error {
				return e.Borrow(ctx, y, func(runtime.Device, runtime.Mem) error { return errors.New("called") })
			},
			"bytes": func() error { _, err := e.FromBytes(dtype.F32, []int{1}, make([]byte, 4)); return err },
			"empty": func() error { _, err := e.Empty(dtype.F32, []int{0}); return err },
			"sync":  func() error { return e.Sync(ctx) },
			"fill": func() error {
				_, err := e.Fill(ctx, dtype.F32, []int{1}, func(runtime.Device, runtime.Mem) (func(context.Context) error, error) {
					return nil, errors.New("called")
				})
				return err
			},
			"capture": func() error {
				_, err := e.Capture(ctx, nil, func() ([]*uop.UOp, error) { return []*uop.UOp{x.Mul(y)}, nil })
				return err
			},
		}
		if c != nil {
			asks["run"] = func() error { _, err := c.Run(ctx, x); return err }
			asks["ahead"] = func() error { c.Ahead(); return nil }
		}
		for what, ask := range asks {
			err := ask()
			if what == "close" || what == "ahead" {
				assert.NoError(t, err, "%s on %s", what, device)
				continue
			}
			assert.ErrorAs(t, err, new(*runtime.Closed), "%s on %s", what, device)
		}
		e.Discard(y)
		assert.Zero(t, e.Stats().LiveBytes, device)
	}
}

// An engine may be closed while elements are on their way to it.
func TestClosedWhileFilling(t *testing.T) {
	e, _, _, _ := opened(t, "INTERP")
	calls := 0
	_, err := e.Fill(t.Context(), dtype.F32, []int{4}, func(runtime.Device, runtime.Mem) (func(context.Context) error, error) {
		calls++
		return func(context.Context) error { return e.Close() }, nil
	})
	require.ErrorAs(t, err, new(*runtime.Closed))
	require.Equal(t, 1, calls)
	assert.Zero(t, e.Stats().LiveBytes)
}
