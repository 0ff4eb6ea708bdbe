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

// Indices of narrow types name rows and classes, and are compared with numbers, beyond what their type holds.
func TestNarrowIndices(t *testing.T) {
	table := tensor.Arange(1500).To(dtype.F32).Reshape(300, 5)
	x := tensor.Arange(1200).To(dtype.F32).Mul(0.37).Sin().Reshape(4, 300)
	grad := func(y, x *tensor.Tensor) *tensor.Tensor { return y.Square().Sum().Grad(x)[0] }
	for name, f := range map[string]func(ids *tensor.Tensor) *tensor.Tensor{
		"OneHot":           func(ids *tensor.Tensor) *tensor.Tensor { return ids.OneHot(300) },
		"MultiMargin":      func(ids *tensor.Tensor) *tensor.Tensor { return x.MultiMargin(ids, 1, 1) },
		"MultiLabelMargin": func(ids *tensor.Tensor) *tensor.Tensor { return x.MultiLabelMargin(ids.Repeat(4, 75)) },
		"Ignore, beyond": func(ids *tensor.Tensor) *tensor.Tensor {
			return x.CrossEntropy(ids, tensor.Loss{Ignore: []int{256 + 3, -256 + 3}})
		},
		"Ignore": func(ids *tensor.Tensor) *tensor.Tensor { return x.CrossEntropy(ids, tensor.Loss{Ignore: []int{3}}) },
		"padding": func(ids *tensor.Tensor) *tensor.Tensor {
			return grad(table.Embedding(ids, tensor.EmbeddingOptions{Padding: []int{256 + 3}}), table)
		},
		"padding of bags": func(ids *tensor.Tensor) *tensor.Tensor {
			return table.EmbeddingBag(ids.Reshape(2, 2), nil, nil, tensor.BagSum, tensor.EmbeddingOptions{Padding: []int{256 + 3}})
		},
	} {
		ids := tensor.From([]int{3, 7, 100, 0})
		want := values(t, f(ids).To(dtype.F64))
		for _, d := range []dtype.DType{dtype.U8, dtype.I8, dtype.I16} {
			assert.InDeltaSlice(t, want, values(t, f(ids.To(d)).To(dtype.F64)), 1e-5, "%s, %v", name, d)
		}
	}
}

// Bags that overlap, or leave ids out, are errors.
func TestOffsetsOfBags(t *testing.T) {
	table, ids := f32(1, 10, 100).Reshape(3, 1), tensor.From([]int{0, 1, 2})
	bags := func(offsets ...int) *tensor.Tensor {
		return table.EmbeddingBag(ids, tensor.From(offsets), nil, tensor.BagSum, tensor.EmbeddingOptions{})
	}
	near(t, []float64{1, 0, 110, 0}, bags(0, 1, 1, 3), 0)
	const order = "is out of order: the first is 0, and none is less than the one before"
	for want, offsets := range map[string][]int{
		"EmbeddingBag: the offset at place 0 " + order:                {1, 2},
		"EmbeddingBag: the offset at place 2 " + order:                {0, 2, 1, 0},
		"EmbeddingBag: offset 7 is out of range for a list of 3 ids":  {0, 7},
		"EmbeddingBag: offset -1 is out of range for a list of 3 ids": {0, -1},
	} {
		_, err := tensor.Data[float32](context.Background(), bags(offsets...))
		var bad *tensor.ValueError
		require.ErrorAs(t, err, &bad)
		assert.ErrorContains(t, err, want, "%v", offsets)
		assert.ErrorContains(t, err, "embedding_test.go:")
	}
}
