package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// phased is a fragile device that is lost in a kind of call.
type phased struct {
	*fragile
	at func(phase string) bool
}

func (d *phased) now(phase string) { d.slot.lose = func(int) bool { return d.at(phase) } }

func (d *phased) Alloc(n int64) (runtime.Mem, error) {
	d.now("alloc")
	return d.fragile.Alloc(n)
}

func (d *phased) Write(dst runtime.Mem, at int64, src []byte) error {
	d.now("write")
	return d.fragile.Write(dst, at, src)
}

func (d *phased) Read(ctx context.Context, dst []byte, src runtime.Mem, at int64) error {
	d.now("read")
	return d.fragile.Read(ctx, dst, src, at)
}

func (d *phased) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	d.now("load")
	return d.fragile.Load(ctx, p)
}

func (d *phased) Play(l runtime.Loaded, args []runtime.Mem, vars []int32) error {
	d.now("play")
	return d.fragile.Play(l, args, vars)
}

func (d *phased) Sync(ctx context.Context) error {
	d.now("sync")
	return d.fragile.Sync(ctx)
}

func (d *phased) Close() error {
	d.now("close")
	if err := d.lost(true); err != nil {
		_ = d.fragile.Close()
		return err
	}
	return d.fragile.Close()
}

// A device may be lost in every phase of its life, the first time or later, and in two of them one after the other. What
// follows is right, and an engine that is closed on a lost device is closed.
func TestLostInEachPhase(t *testing.T) {
	phases := []string{"alloc", "write", "load", "play", "read", "sync", "close"}
	for i, first := range phases {
		for j, second := range phases {
			lostIn(t, first, second, (i+j)%3, false)
			lostIn(t, first, second, (i+2*j)%3, true)
		}
	}
}

// lostIn has a device be lost in the nth call of one phase, from 0 on, and then in the next of another.
func lostIn(t *testing.T, first, second string, nth int, silent bool) {
	ctx, what := context.Background(), fmt.Sprintf("%s then %s, call %d, silent %v", first, second, nth, silent)
	todo, seen, later := []string{first, second}, 0, false
	if first == "close" { // nothing comes after it
		todo = todo[:1]
	}
	s := &slot{silent: silent}
	at := func(phase string) bool {
		if len(todo) == 0 || phase != todo[0] {
			return false
		}
		if seen++; !later && seen <= nth && phase != "close" {
			return false
		}
		todo, later = todo[1:], true
		return true
	}
	b := engine.Backend{Name: "FRAGILE", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := s.open(o)
		if err == nil {
			m.Device = &phased{m.Device.(*fragile), at}
		}
		return m, err
	}}
	e, err := engine.New(b, engine.Options{})
	require.NoError(t, err)
	for i := range 4 {
		x := floats(t, e, []float32{1, 2, 3}, 3)
		y := x.Mul(x)
		for range i { // another plan each time
			y = y.Add(x)
		}
		require.NoError(t, e.Realize(ctx, y))
		require.NoError(t, e.Sync(ctx))
		f := float32(i)
		require.Equal(t, []float32{1 + f, 4 + 2*f, 9 + 3*f}, read(t, e, y), what)
	}
	if first != "close" { // which comes at the end, or when a lost device is replaced
		require.Positive(t, e.Stats().Losses, what)
	}
	_ = e.Close() // whatever a lost device has to say
	_, err = e.FromBytes(dtype.F32, []int{1}, make([]byte, 4))
	require.ErrorAs(t, err, new(*runtime.Closed), what)
	require.Empty(t, todo, what)
	_ = e.Close()
}
