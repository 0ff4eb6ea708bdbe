package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
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

// Threads share the gradient of a large table, whether or not its rows fill the parts.
func TestEmbeddingGradientsAreShared(t *testing.T) {
	e, err := engine.Open("CPU", engine.Options{})
	need.Device(t, "CPU", err)
	require.NoError(t, e.Close())
	for _, rows := range []int{8192, 5003} {
		const size, taken = 64, 100
		places, want := make([]int32, taken), make([]float32, rows*size)
		for i := range places {
			places[i] = int32(i * i * 7 % rows)
			for j := range size {
				want[int(places[i])*size+j] += float32(i)
			}
		}
		x := tensor.Arange(taken).To(dtype.F32).Unsqueeze(1).Expand(taken, size).Contiguous().On("CPU")
		g := tensor.Zeros(rows, size).On("CPU").IndexAdd(0, tensor.Of(places, taken).On("CPU"), x, 1)
		view, err := g.Schedule()
		require.NoError(t, err)
		shared := false
		for _, k := range view.Plan.Kernels {
			shared = shared || k.Threads > 1 && k.Binds[0].Bytes == int64(4*rows*size)
		}
		assert.True(t, shared, "%d rows", rows)
		got, err := tensor.Data[float32](context.Background(), g)
		require.NoError(t, err)
		assert.Equal(t, want, got, "%d rows", rows)
	}
}
