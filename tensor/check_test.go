package tensor_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/tensor"
)

func TestTmp(t *testing.T) {
	ctx := context.Background()
	w := tensor.Arange(20).To(tensor.Of([]float32{1}).DType()).Reshape(10, 2)
	ids := tensor.Of([]int32{1, 12, 3}, 3)
	_, err := w.Embedding(ids, tensor.EmbeddingOptions{Padding: -1}).ToList(ctx)
	require.Error(t, err)
	t.Log(err)
	_, err = w.CrossEntropy(tensor.Of([]int32{0, 1, 2, 0, 1, 0, -100, 0, 0, 0}, 10)).Item(ctx)
	t.Log(err)
	assert.Error(t, err)
	_ = math.Pi
}
