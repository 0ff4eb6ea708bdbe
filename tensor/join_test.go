package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What is zero by name is a tensor like others: joined with others it has a gradient.
func TestGradientOfJoinedZeros(t *testing.T) {
	w, b := tensor.Of([]float32{1, 2}, 2), tensor.Zeros(3)
	g := tensor.Cat(0, w, b).Add(1).Square().Sum().Grad(b, w)
	for i, want := range [][]float32{{2, 2, 2}, {4, 6}} {
		got, err := tensor.Data[float32](t.Context(), g[i])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
