package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/null"
	"github.com/weft-ml/weft/wasm/wire"
)

// sunk is a device that has sinks, and can be lost.
type sunk struct {
	runtime.Device
	gone *bool
}

func (d *sunk) Sink(runtime.Mem) (int32, error) { return 7, nil }

func (d *sunk) Sync(ctx context.Context) error {
	if *d.gone {
		*d.gone = false
		return &runtime.Lost{Device: "SUNK", Why: errors.New("dropped")}
	}
	return d.Device.Sync(ctx)
}

// What the worker is asked for: bytes as the shape and the type need them, again after a loss, and then they must be the same.
func TestFetch(t *testing.T) {
	gone := false
	engine.Register(engine.Backend{Name: "SUNK", Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
		return &engine.Machine{Device: &sunk{null.Open(null.Options{}), &gone}, MayBeLost: true}, nil
	}})
	engine.Configure(engine.Options{}, "SUNK")
	defer engine.Configure(engine.Options{}, "")
	var asked []source
	fails, lost, sum := error(nil), false, uint32(5)
	defer func(f func(context.Context, source, int32) (uint32, bool, error)) { stream = f }(stream)
	stream = func(_ context.Context, from source, to int32) (uint32, bool, error) {
		assert.Equal(t, int32(7), to)
		asked = append(asked, from)
		was := lost
		if lost {
			lost = false
			return 0, was, errors.New("gone")
		}
		return sum, false, fails
	}
	s := newServer()
	ask := func(args ...any) (err error) {
		asked = nil
		failed := attempt("", func() {
			_, err = fetch(context.Background(), &call{server: s, name: "fetch", answer: 3, outs: []wire.Ref{1}, args: args})
		})
		return errors.Join(failed, err)
	}
	require.NoError(t, ask("a.bin", []any{3., 5.}, wire.Record{{Name: "dtype", Value: "i64"}, {Name: "offset", Value: 8.}}))
	assert.Equal(t, []source{{call: 3, url: "a.bin", offset: 8, n: 120}}, asked)
	require.NoError(t, ask("a.bin", []any{3.}, wire.Record{{Name: "dtype", Value: "bool"}}))
	assert.Equal(t, []source{{call: 3, url: "a.bin", offset: -1, n: 3, mask: 0xfefefefe}}, asked)

	e, err := engine.Use("")
	require.NoError(t, err)
	require.Len(t, s.tensors, 1)
	gone, asked = true, nil
	require.NoError(t, e.Sync(context.Background()))
	assert.Contains(t, asked, source{call: 3, url: "a.bin", offset: -1, n: 3, mask: 0xfefefefe, again: true})
	gone, sum = true, 6
	assert.ErrorContains(t, e.Sync(context.Background()), "fetch a.bin: it has other bytes than before")
	sum = 5
	require.NoError(t, e.Sync(context.Background()))

	lost = true
	require.NoError(t, ask("b.bin", []any{1.}), "lost while it arrives")
	assert.Equal(t, source{call: 3, url: "b.bin", offset: -1, n: 4}, asked[len(asked)-1], "not again: nothing had been there")
	fails = errors.New("404")
	assert.ErrorIs(t, ask("b.bin", []any{1.}), fails)
	require.NoError(t, e.Close())

	engine.Configure(engine.Options{}, "INTERP")
	assert.ErrorContains(t, ask("b.bin", []any{1.}), "INTERP has no memory that a worker could write to")
	assert.ErrorContains(t, ask("b.bin", []any{float64(1 << 40), float64(1 << 40)}), "larger than any memory")
}

// A device that takes no times says so.
func TestProfileNeedsAClock(t *testing.T) {
	c := newClient(t)
	_, err := profile(context.Background(), &call{server: c.server, name: "profile"})
	assert.ErrorIs(t, err, errNotOpen)
	c.engine, err = engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	defer c.engine.Close()
	_, err = profile(context.Background(), &call{server: c.server, name: "profile"})
	assert.ErrorContains(t, err, "INTERP does not take the time of kernels")
	_, err = profiled(context.Background(), &call{server: c.server, name: "profiled"})
	assert.ErrorContains(t, err, "no profile is being taken")
}
