package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Plays are repeated after a loss with the values of variables that they had.
func TestLossesKeepValuesOfVariables(t *testing.T) {
	ctx := context.Background()
	n := tensor.NewVariable("n", 0, 7)
	whole := &slot{}
	run := func(e *engine.Engine) (v []float32) {
		x := tensor.Zeros(8).On("FRAGILE").Own()
		require.NoError(t, x.Realize(ctx))
		f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			x.SetAt(in[0].Add(x.Narrow(0, 0, n.Plus(1)).Sum()), n)
			return nil
		}, tensor.Of([]float32{1}, 1).Reshape().On("FRAGILE"))
		require.NoError(t, err)
		for _, i := range []int{3, 1, 6, 0} {
			_, err := f.With(tensor.Values{n: i}).Run(ctx, tensor.Of([]float32{float32(i)}, 1).Reshape())
			require.NoError(t, err)
		}
		x.SetAt(5, n.Bind(2))
		v, err = tensor.Data[float32](ctx, x)
		require.NoError(t, err)
		return v
	}
	in(t, whole, func(e *engine.Engine) { require.Equal(t, []float32{0, 1, 5, 3, 0, 0, 10, 0}, run(e)) })
	for at := 1; at <= whole.calls; at++ {
		for _, silent := range []bool{false, true} {
			s := &slot{silent: silent, lose: func(c int) bool { return c == at }}
			in(t, s, func(e *engine.Engine) {
				require.Equal(t, []float32{0, 1, 5, 3, 0, 0, 10, 0}, run(e), "lost in call %d, silent %v", at, silent)
			})
		}
	}
}
