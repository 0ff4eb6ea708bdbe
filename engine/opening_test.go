package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/interp"
)

// hanging opens nothing before its context ends.
func hanging(asked chan<- struct{}) func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
	return func(o Options, _ func(*plan.Kernel, float64)) (*Machine, error) {
		asked <- struct{}{}
		<-o.Opening().Done()
		return nil, o.Opening().Err()
	}
}

// Opening ends with the context, of whoever waits for another's opening too, and no worse device is taken for that.
func TestCancelledOpening(t *testing.T) {
	store := &kept{}
	log, _ := world(t, 0, 0, store)
	asked := make(chan struct{}, 9)
	for _, name := range []string{"CPU", ""} {
		Register(Backend{Name: "CPU", Rank: 1, Open: hanging(asked)})
		Register(Backend{Name: "NEXT", Rank: 2, Open: func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
			return nil, errors.New("BUG: nobody is to ask")
		}})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			_, err := UseContext(ctx, name)
			done <- err
		}()
		<-asked
		second, stop := context.WithCancel(context.Background())
		stop()
		require.ErrorIs(t, mu.wait(second), context.Canceled)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
	require.Empty(t, engines)
	require.Empty(t, log.String())
	require.Empty(t, store.text)
}

// A measurement that was cancelled is none: nothing is chosen, nothing written down, and the next one decides.
func TestCancelledMeasuring(t *testing.T) {
	store := &kept{}
	_, closed := world(t, 0, 0, store)
	ctx, cancel := context.WithCancel(context.Background())
	Register(Backend{Name: "WEBGPU", Compare: true, Open: func(Options, func(*plan.Kernel, float64)) (*Machine, error) {
		cancel() // while it opens, so that it is measured with an end
		dev, err := machine.Open(machine.Options{Threads: 1})
		return &Machine{Device: slow{dev, "WEBGPU", 0, closed}, Target: interp.Target(false), Render: interp.Render}, err
	}})
	_, err := UseContext(ctx, "")
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, store.text)
	require.Empty(t, engines)
	require.Nil(t, Decided())
	require.Equal(t, 2, *closed)
	e, err := Use("")
	require.NoError(t, err)
	require.NotNil(t, Decided())
	require.NotEmpty(t, store.text)
	require.NoError(t, e.Close())
}
