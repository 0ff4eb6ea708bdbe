package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	machine "github.com/weft-ml/weft/runtime/interp"
	"github.com/weft-ml/weft/tests/losses"
	"github.com/weft-ml/weft/uop"
)

var closedNarrow int

// narrow is INTERP for small arrays only.
type narrow struct {
	runtime.Device
	full error // for any array
}

const narrowest = 400 // bytes

func (d narrow) Alloc(bytes int64) (runtime.Mem, error) {
	if bytes > narrowest {
		return nil, &runtime.TooLarge{Device: "NARROW", Asked: bytes, Max: narrowest}
	}
	if d.full != nil {
		return nil, d.full
	}
	return d.Device.Alloc(bytes)
}

func (d narrow) Close() error {
	closedNarrow++
	return d.Device.Close()
}

var narrowFull error // of the devices NARROW that are opened

func init() {
	engine.Register(engine.Backend{Name: "NARROW", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
		dev, err := machine.Open(machine.Options{Threads: 1, Poison: true})
		return &engine.Machine{Device: narrow{dev, narrowFull}, Target: interp.Target(false), Render: interp.Render}, err
	}})
	engine.Register(engine.Backend{Name: "POOR", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
		dev, err := machine.Open(machine.Options{Threads: 1, Poison: true})
		return &engine.Machine{Device: dev, Target: interp.Target(false), Render: func(p *codegen.Program) (plan.Kernel, error) {
			for _, q := range p.Params {
				if q.DType.Size() == 8 {
					return plan.Kernel{}, &legal.Unsupported{Target: "POOR", Op: uop.Load, DType: q.DType}
				}
			}
			return interp.Render(p)
		}}, err
	}})
}

// An engine that goes from one device to another and back, step by step, trains to the same bits, and does after losses too.
func TestMovesChangeNothing(t *testing.T) {
	const steps = 7
	ctx := context.Background()
	for _, captured := range []bool{false, true} {
		var want [][]byte
		in(t, &slot{}, func(*engine.Engine) { want = trained(t, steps, captured) })
		lost := []int{3, 0, 4}
		if testing.Short() {
			lost = lost[:1]
		}
		for _, lost := range lost {
			s, drop := &slot{}, false
			s.lose = func(int) bool { d := drop; drop = false; return d }
			in(t, s, func(e *engine.Engine) {
				names := []string{"FRAGILE", "NARROW"} // at losses it is on the first
				got, err := losses.TrainWith(ctx, steps, captured, func(step int) error {
					if step == lost && step > 0 {
						drop = true
					}
					if step == 3 {
						return nil // more than one step on a device
					}
					err := e.Move(ctx, names[step%2])
					assert.Equal(t, names[step%2], e.Name())
					return err
				})
				require.NoError(t, err)
				require.Equal(t, want, got, "captured %v, lost at %d", captured, lost)
				if lost > 0 {
					assert.Equal(t, 1, e.Stats().Losses)
				}
			})
		}
	}
}

// What the other device cannot do has the engine go back, as if it had never left; that it went is told.
func TestGoesBack(t *testing.T) {
	ctx := context.Background()
	for _, captured := range []bool{false, true} {
		var want [][]byte
		in(t, &slot{}, func(*engine.Engine) { want = trained(t, 4, captured) })
		for _, to := range []string{"NARROW", "POOR"} {
			var told []string
			current = &slot{}
			engine.Configure(engine.Options{Returned: func(device string, why error) { told = append(told, device+": "+why.Error()) }}, "FRAGILE")
			e, err := engine.Use("")
			require.NoError(t, err)
			got, err := losses.TrainWith(ctx, 4, captured, func(step int) error {
				switch step {
				case 1:
					return e.Move(ctx, to)
				case 3:
					require.Equal(t, to, e.Name())
					x := floats(t, e, make([]float32, 200), 200)  // too large for the one
					y := x.Cast(dtype.F64).Mul(x.Cast(dtype.F64)) // too wide for the other
					return e.Realize(ctx, y)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, want, got, "captured %v, %s", captured, to)
			require.Equal(t, "FRAGILE", e.Name())
			require.Len(t, told, 1)
			assert.Contains(t, told[0], "FRAGILE: ")
			require.NoError(t, e.Close())
			current = nil
			engine.Configure(engine.Options{}, "")
		}
	}
}

// A move that fails leaves everything where it was, and nothing open.
func TestMoveFails(t *testing.T) {
	ctx := context.Background()
	in(t, &slot{}, func(e *engine.Engine) {
		x := floats(t, e, []float32{1, 2, 3}, 3)
		narrowFull = errors.New("out of order")
		before := closedNarrow
		require.ErrorContains(t, e.Move(ctx, "NARROW"), "move from FRAGILE to NARROW: out of order")
		narrowFull = nil
		require.Equal(t, before+1, closedNarrow)
		large := floats(t, e, make([]float32, 200), 200)
		require.ErrorContains(t, e.Move(ctx, "NARROW"), "NARROW")
		require.ErrorContains(t, e.Move(ctx, "ABACUS"), "ABACUS")
		require.Equal(t, "FRAGILE", e.Name())
		y := x.Mul(x)
		require.NoError(t, e.Realize(ctx, y, large.Mul(large)))
		_, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) {
			require.ErrorIs(t, e.Move(ctx, "NARROW"), engine.ErrBusy)
			return []*uop.UOp{x.Add(x)}, nil
		})
		require.NoError(t, err)
	})
}
