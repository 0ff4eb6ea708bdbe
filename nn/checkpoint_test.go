package nn_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// Training with checkpoints goes as it goes without, captured or not: dropout draws the same numbers again, averages move once a step.
func TestCheckpointedTrainingIsTheSame(t *testing.T) {
	train := func(checkpoint, captured bool) [][]float32 {
		tensor.Seed(5)
		var blocks []nn.Sequential
		for range 3 {
			product := nn.NewLinear(6, 6)
			product.Bias = nil // the norm takes it away: its gradient would be rounding alone
			blocks = append(blocks, nn.Sequential{product, nn.NewBatchNorm(6), (*tensor.Tensor).Tanh, &nn.Dropout{P: 0.3}})
		}
		opt, err := nn.NewAdamW(ctx, blocks, nn.AdamOptions{Rate: 0.05})
		require.NoError(t, err)
		step := func(in ...*tensor.Tensor) []*tensor.Tensor {
			x := in[0]
			for _, b := range blocks {
				f := func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{b.Forward(in[0], true)} }
				if checkpoint {
					x = tensor.Checkpoint(f, x)[0]
				} else {
					x = f(x)[0]
				}
			}
			loss := x.Sub(in[0]).Square().Mean()
			opt.Update(loss)
			return []*tensor.Tensor{loss}
		}
		x := ramp(8, 6)
		require.NoError(t, x.Realize(ctx))
		var out [][]float32
		var c *tensor.Captured
		for range 4 {
			var loss *tensor.Tensor
			if captured {
				if c == nil {
					c, err = tensor.Capture(ctx, step, x)
					require.NoError(t, err)
				}
				ls, err := c.Run(ctx, x)
				require.NoError(t, err)
				loss = ls[0]
			} else {
				loss = step(x)[0]
				require.NoError(t, opt.Realize(ctx, loss))
			}
			out = append(out, values(t, loss))
		}
		for _, s := range nn.State(blocks) {
			out = append(out, values(t, s.Tensor))
		}
		return out
	}
	want := train(false, false)
	for _, captured := range []bool{false, true} {
		got := train(true, captured)
		require.Len(t, got, len(want))
		for i := range want {
			for k := range want[i] {
				assert.InDelta(t, want[i][k], got[i][k], 2e-4, "%d", i)
			}
		}
	}
}
