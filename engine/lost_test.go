package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tests/losses"
	"github.com/weft-ml/weft/uop"
)

// current is the slot that the registered FRAGILE device opens in.
var current *slot

func init() {
	engine.Register(engine.Backend{Name: "FRAGILE", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
		if current == nil {
			return (&slot{}).open(o)
		}
		return current.open(o)
	}})
}

// in runs f with FRAGILE in a slot as the default device.
func in(t *testing.T, s *slot, f func(e *engine.Engine)) {
	current = s
	engine.Configure(engine.Options{}, "FRAGILE")
	e, err := engine.Use("")
	require.NoError(t, err)
	defer func() {
		current = nil
		engine.Configure(engine.Options{}, "")
		require.NoError(t, e.Close())
	}()
	f(e)
}

// trained is what comes of a training.
func trained(t *testing.T, steps int, captured bool) [][]byte {
	t.Helper()
	seen, err := losses.Train(context.Background(), steps, captured)
	require.NoError(t, err)
	return seen
}

// Whichever call a device is lost in, and whether it says so or not, training ends with the same bits.
func TestLossesChangeNothing(t *testing.T) {
	const steps = 5
	for _, captured := range []bool{false, true} {
		var want [][]byte
		whole := &slot{}
		in(t, whole, func(*engine.Engine) { want = trained(t, steps, captured) })
		stride := 23
		if testing.Short() {
			stride = 71
		}
		for at := 1; at < whole.calls; at += stride {
			for _, silent := range []bool{false, true} {
				s := &slot{silent: silent, lose: func(c int) bool { return c == at }}
				in(t, s, func(e *engine.Engine) {
					if at%2 == 0 { // with checkpoints everywhere
						e.Bound(1, 0)
					}
					require.Equal(t, want, trained(t, steps, captured), "captured %v, silent %v, lost in call %d of %d", captured, silent, at, whole.calls)
					assert.Equal(t, 1, e.Stats().Losses)
				})
			}
		}
	}
}

// Losses may come again and again, while what was on the device is being brought back too.
func TestLossesFollowEachOther(t *testing.T) {
	const steps = 12
	for _, captured := range []bool{false, true} {
		var want [][]byte
		in(t, &slot{}, func(*engine.Engine) { want = trained(t, steps, captured) })
		for _, silent := range []bool{false, true} {
			if testing.Short() && silent != captured {
				continue
			}
			next, apart := 40, 60
			s := &slot{silent: silent, lose: func(c int) bool {
				if c < next {
					return false
				}
				apart += 5 // so that there is progress in the end
				next = c + apart
				return true
			}}
			in(t, s, func(e *engine.Engine) {
				e.Bound(2000, 3600)
				require.Equal(t, want, trained(t, steps, captured), "captured %v, silent %v", captured, silent)
				assert.Greater(t, e.Stats().Losses, 3)
			})
		}
	}
}

// A device that cannot be opened again is an error in words, and what was on it comes back with the call that can.
func TestNoDeviceForAWhile(t *testing.T) {
	ctx := context.Background()
	var log bytes.Buffer
	var told []*engine.Recovery
	s := &slot{}
	e, err := engine.New(s.backend(), engine.Options{Log: &log, Recovered: func(r *engine.Recovery) { told = append(told, r) }})
	require.NoError(t, err)
	x := floats(t, e, []float32{1, 2, 3}, 3)
	y := x.Mul(x)
	require.NoError(t, e.Realize(ctx, y))

	s.lose = func(int) bool { return s.opened == 1 }
	s.refuse = errors.New("no adapter")
	for range 2 {
		_, err = e.FromBytes(dtype.F32, []int{1}, make([]byte, 4))
		require.EqualError(t, err, "FRAGILE: the device was lost (dropped) and cannot be opened again now: no adapter; the next call tries once more, and arrays are kept for it")
	}
	require.Empty(t, told)
	s.refuse = nil
	z := y.Add(x)
	require.NoError(t, e.Realize(ctx, z))
	assert.Equal(t, []float32{2, 6, 12}, read(t, e, z))
	assert.Equal(t, []float32{1, 4, 9}, read(t, e, y))
	require.Len(t, told, 1)
	assert.Equal(t, [2]int{1, 1}, [2]int{told[0].Writes, told[0].Plays})
	assert.Contains(t, log.String(), "weft: FRAGILE: the device was lost (dropped); it was opened again: 1 writes and 1 plays repeated in ")
	require.NoError(t, e.Close())
}

// What kills every device is given up on; other work goes on.
func TestWorkThatKills(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	e, err := engine.New(s.backend(), engine.Options{})
	require.NoError(t, err)
	x := floats(t, e, []float32{1, 2, 3}, 3)
	s.lose = func(int) bool { return true }
	var lost *runtime.Lost
	err = e.Realize(ctx, x.Neg())
	require.ErrorAs(t, err, &lost)
	assert.ErrorContains(t, err, "4 times in a row")
	assert.Equal(t, 4, s.opened)
	s.lose = nil
	y := x.Add(x)
	require.NoError(t, e.Realize(ctx, y))
	assert.Equal(t, []float32{2, 4, 6}, read(t, e, y))
	require.NoError(t, e.Close())
}

// A context that ends while things are brought back leaves them to the next call.
func TestCancelledRecovery(t *testing.T) {
	s := &slot{}
	e, err := engine.New(s.backend(), engine.Options{})
	require.NoError(t, err)
	x := floats(t, e, []float32{1, 2, 3}, 3)
	y := x.Mul(x)
	require.NoError(t, e.Realize(context.Background(), y))
	s.lose = func(int) bool { return s.opened == 1 }
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, e.Sync(ctx), context.Canceled)
	assert.Equal(t, []float32{1, 4, 9}, read(t, e, y))
	require.NoError(t, e.Close())
}

// Thousands of steps in which a state is assigned: neither the host nor the device keeps their history, and what there
// is to repeat after a loss stays short.
func TestJournalStaysFlat(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	var told []*engine.Recovery
	e, err := engine.New(s.backend(), engine.Options{Recovered: func(r *engine.Recovery) { told = append(told, r) }})
	require.NoError(t, err)
	defer e.Close()
	e.Bound(64<<10, 3600)
	state := floats(t, e, make([]float32, 64), 64)
	inp := floats(t, e, make([]float32, 64), 64)
	step, err := e.Capture(ctx, []*uop.UOp{inp}, func() ([]*uop.UOp, error) {
		next := assign(state, state.Add(inp))
		return []*uop.UOp{next, next.Reduce(uop.Sum, 0)}, nil
	})
	require.NoError(t, err)
	heap := func() int64 {
		uop.EndGeneration()
		uop.EndGeneration()
		goruntime.GC()
		goruntime.GC()
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const steps = 10_000
	one := make([]float32, 64)
	for i := range one {
		one[i] = 1
	}
	var before int64
	for i := range steps {
		if i == steps/10 {
			before = heap()
		}
		_, err := step.Run(ctx, floats(t, e, one, 64))
		require.NoError(t, err)
		require.LessOrEqual(t, e.Stats().Journal, int64(4*64<<10+1024))
	}
	assert.Less(t, heap()-before, int64(1<<20), "heap bytes")
	assert.Less(t, e.Stats().LiveBytes, int64(1<<20), "device bytes")
	s.lose = func(int) bool { return s.opened == 1 }
	assert.Equal(t, float32(steps), read(t, e, engine.Current(state))[63])
	require.Len(t, told, 1)
	t.Log(told[0])
	assert.Less(t, told[0].Plays, 2000)
}

// Devices that cannot be lost keep nothing on the host.
func TestOtherDevicesKeepNothing(t *testing.T) {
	e, err := engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	y := floats(t, e, []float32{1, 2}, 2).Neg()
	require.NoError(t, e.Realize(context.Background(), y))
	assert.Zero(t, e.Stats().Journal, fmt.Sprint(e.Stats()))
}

// So it is with plans for many sizes, whose room is given up after each play.
func TestLossesBetweenManySizes(t *testing.T) {
	ctx := context.Background()
	program := func(e *engine.Engine) (seen [][]byte) {
		kept := floats(t, e, []float32{1}, 1)
		for n := 3; n < 9; n++ {
			list := make([]float32, n)
			for i := range list {
				list[i] = float32(i + n)
			}
			x := floats(t, e, list, n)
			sum := kept
			for range 5 {
				x = x.Mul(x.Float(0.5)).Add(sum.Expand(n))
				sum = x.Reduce(uop.Sum, 0).Reshape(1)
			}
			require.NoError(t, e.Realize(ctx, x, sum))
			kept = sum.Realized()
			raw := make([]byte, 4*n)
			require.NoError(t, e.Read(ctx, x, raw))
			seen = append(seen, raw)
		}
		return seen
	}
	var want [][]byte
	whole := &slot{}
	in(t, whole, func(e *engine.Engine) {
		want = program(e)
		require.Positive(t, e.Stats().Shared)
	})
	for at := 1; at < whole.calls; at += 3 {
		for _, silent := range []bool{false, true} {
			in(t, &slot{silent: silent, lose: func(c int) bool { return c == at }}, func(e *engine.Engine) {
				require.Equal(t, want, program(e), "silent %v, lost in call %d of %d", silent, at, whole.calls)
				assert.Equal(t, 1, e.Stats().Losses)
			})
		}
	}
}
