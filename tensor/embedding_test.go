package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Every row has a gradient unless it is named: the zero value of the options names none.
func TestEmbeddingGradients(t *testing.T) {
	ids := tensor.Of([]int32{0, 2, 0, 3}, 4)
	for _, c := range []struct {
		padding []int
		want    []float32
	}{
		{nil, []float32{2, 2, 0, 0, 1, 1, 1, 1}},
		{[]int{0}, []float32{0, 0, 0, 0, 1, 1, 1, 1}},
		{[]int{3, 0}, []float32{0, 0, 0, 0, 1, 1, 0, 0}},
	} {
		table := tensor.Ones(4, 2)
		o := tensor.EmbeddingOptions{Padding: c.padding}
		for _, y := range []*tensor.Tensor{table.Embedding(ids, o), table.EmbeddingBag(ids.Reshape(2, 2), nil, nil, tensor.BagSum, o)} {
			got, err := tensor.Data[float32](context.Background(), y.Sum().Grad(table)[0])
			require.NoError(t, err)
			assert.Equal(t, c.want, got, "padding %v", c.padding)
		}
	}
	err := tensor.Try(func() { tensor.Ones(4, 2).Embedding(ids, tensor.EmbeddingOptions{Padding: []int{-1}}) })
	require.ErrorContains(t, err, "padding row -1 of 4")
}
