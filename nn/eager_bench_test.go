package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// BenchmarkEagerStep is a step of training that captures nothing: a perceptron of 64, 128 and 10 with Adam, 32 rows.
func BenchmarkEagerStep(b *testing.B) {
	model := []*nn.Linear{nn.NewLinear(64, 128), nn.NewLinear(128, 10)}
	opt, err := nn.NewAdam(ctx, model, nn.AdamOptions{})
	require.NoError(b, err)
	x, y := tensor.Randn(32, 64), tensor.Randn(32, 10)
	require.NoError(b, tensor.Realize(ctx, x, y))
	step := func() {
		out := model[1].Forward(model[0].Forward(x).ReLU())
		require.NoError(b, opt.Step(ctx, out.Sub(y).Square().Mean()))
	}
	for range 200 {
		step()
	}
	for b.Loop() {
		step()
	}
}
