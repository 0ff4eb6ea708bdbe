//go:build linux || darwin

package faults

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// open opens a device with a cache of its own.
func open(t *testing.T, device string, o engine.Options) *engine.Engine {
	t.Helper()
	if device == "CPU" {
		need.Compiler(t)
	}
	o.CacheDir = t.TempDir()
	e, err := engine.Open(device, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// until is a context that ends when it was asked so often, or after a time.
type until struct {
	context.Context
	cancel func()
	left   int
}

func (u *until) Err() error {
	if u.left--; u.left == 0 {
		u.cancel()
	}
	return u.Context.Err()
}

// Work that is cancelled at any moment, while it compiles, is played or is read, ends with the error of its context; the same
// work is right afterwards, and so is other work.
func TestCancelledAtAnyMoment(t *testing.T) {
	for _, device := range []string{"CPU", "WASM", "INTERP"} {
		e, r := open(t, device, engine.Options{Poison: true}), rand.New(rand.NewPCG(3, 12))
		asked, timed := 0, 0
		for i := range 24 {
			n := 5 + i
			values := make([]float32, n)
			raw := []byte{}
			for k := range values {
				values[k] = float32(r.IntN(100))
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(values[k]))
			}
			x, err := e.FromBytes(dtype.F32, []int{n}, raw)
			require.NoError(t, err)
			y := x.Mul(x).Add(x).Reduce(uop.MaxOf, 0)
			want := float32(0)
			for _, v := range values {
				want = max(want, v*v+v)
			}
			out := make([]byte, 4)
			work := func(ctx context.Context) error {
				if err := e.Realize(ctx, y); err != nil {
					return err
				}
				if err := e.Sync(ctx); err != nil {
					return err
				}
				return e.Read(ctx, y, out)
			}
			inner, cancel := context.WithCancel(context.Background())
			count := &asked
			ctx := &until{Context: inner, cancel: cancel, left: 1 + i/2}
			if i%2 == 1 { // while the compiler runs, where there is one
				count, ctx.left = &timed, -1
				time.AfterFunc(time.Duration(1+r.IntN(30))*time.Millisecond, cancel)
			}
			if err := work(ctx); err != nil {
				require.True(t, errors.Is(err, context.Canceled), "%s: %v", device, err)
				*count++
			}
			cancel()
			require.NoError(t, work(context.Background()), device)
			require.Equal(t, want, math.Float32frombits(binary.LittleEndian.Uint32(out)), "%s %d", device, i)
		}
		t.Logf("%s: %d of 12 ended when they asked, %d of 12 by time", device, asked, timed)
		require.Positive(t, asked, device)
		if device == "CPU" { // whose compiler takes longer than that
			require.Positive(t, timed, device)
		}
	}
}
