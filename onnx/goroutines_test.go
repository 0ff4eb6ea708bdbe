package onnx

import (
	"context"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tensor"
)

// One model is run by several goroutines at once, each with arrays of ever other sizes, so that plans are made, shared and found by some while others
// play them; each gets its own results.
func TestRunsOfManyGoroutines(t *testing.T) {
	ctx := context.Background()
	m := read(t, cached)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 6 {
				rows := 1 + (3*g+i)%7
				x := make([]float64, 2*rows)
				for k := range x {
					x[k] = math.Sin(float64(k*rows + g))
				}
				want, keys := attended(x, []float64{1, -1, 0.5, 0.25}, [4]float64{0.5, -0.25, 0.75, 1})
				out, err := m.Run(ctx, map[string]*tensor.Tensor{
					"x": on(tensor.Of(floats32(x), 1, rows, 2)), "past": on(tensor.Of([]float32{1, -1, 0.5, 0.25}, 1, 2, 2))})
				if !assert.NoError(t, err) {
					return
				}
				for name, list := range map[string][]float64{"y": want, "keys": keys} {
					got, err := tensor.Data[float32](ctx, out[name])
					if !assert.NoError(t, err) || !assert.InDeltaSlice(t, list, got, 1e-4, "%s of goroutine %d, run %d", name, g, i) {
						return
					}
				}
			}
		})
	}
	all.Wait()
}
