package main

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/engine"
)

// Pictures of a batch in another order are the same mathematics and other roundings, as on another device. What comes of them
// must not steer the training.
func TestRoundingsDoNotSteer(t *testing.T) {
	if testing.Short() {
		t.Skip("trains two networks")
	}
	engine.Configure(engine.Options{}, "CPU") // not the limits of another test
	e, err := engine.Use("CPU")
	require.NoError(t, err)
	closeAfter(t, "CPU")
	const batch, steps = 32, 20
	train := func(turn func([]int32)) (losses []float64) {
		ctx := context.Background()
		net, err := newDigits(ctx, e, data.Synthetic(1, batch*steps, 0).Train, trainOptions{Seed: 1, Steps: steps})
		require.NoError(t, err)
		batches, numbers := newStream(batch*steps, 1), make([]int32, batch)
		for range steps {
			batches.next(numbers)
			turn(numbers)
			loss, err := net.Step(ctx, numbers)
			require.NoError(t, err)
			losses = append(losses, loss)
		}
		return losses
	}
	as := train(func([]int32) {})
	reversed := train(slices.Reverse[[]int32])
	assert.NotEqual(t, as, reversed, "other roundings")
	assert.InDeltaSlice(t, as, reversed, 1e-3)
	assert.Less(t, as[steps-1], as[0]-0.2, "it learns")
}

func TestLearningRate(t *testing.T) {
	long := learningRate(200)
	assert.InDelta(t, peakRate*1e-4, long(0), 1e-12)
	assert.InDelta(t, peakRate/4, long(49), 1e-12)
	assert.Equal(t, peakRate, long(99))
	assert.Equal(t, peakRate, long(100))
	assert.InDelta(t, peakRate/2, long(150), 1e-12)
	assert.InDelta(t, peakRate/100, long(199), 1e-12)
	for _, steps := range []int{1, 20, 100} { // beginnings of long ones
		for i := range steps {
			assert.Equal(t, long(i), learningRate(steps)(i))
		}
	}
	assert.InDelta(t, peakRate, learningRate(101)(100), 1e-12)
}
