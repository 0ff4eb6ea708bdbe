package main

import (
	"context"

	"github.com/weft-ml/weft/tensor"
)

// orderCases put elements in order, find the greatest, or take and add rows by number.
var orderCases = []benchCase{
	{name: "sort-1m", about: "2²⁰ numbers in order, and where each was", prepare: kernelsCase(sorted, []int{1 << 20})},
	{name: "sort-rows", about: "the rows of 1024×1024 in order, and where each number was", prepare: kernelsCase(sorted, []int{1024, 1024})},
	{name: "sort-i32", about: "100000 integers in order, and where each was", prepare: func(ctx context.Context) (*work, error) {
		in := tensor.RandInt(0, 1<<30, 100000)
		return &work{f: sorted, in: []*tensor.Tensor{in}}, in.Realize(ctx)
	}},
	{name: "topk-1m", about: "the ten greatest of 2²⁰ numbers, and where they are", bytes: 4 << 20, byBytes: true,
		prepare: kernelsCase(greatest(10), []int{1 << 20})},
	{name: "topk-rows", about: "the 40 greatest of each row of 64×50257, and where they are", bytes: 4 * 64 * 50257, byBytes: true,
		prepare: kernelsCase(greatest(40), []int{64, 50257})},
	{name: "argmax-1m", about: "where the greatest of 2²⁰ numbers is", bytes: 4 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].ArgMax() }, []int{1 << 20})},
	{name: "gather-rows", about: "4096 rows of a table of 32768×256", bytes: 8 * 4096 * 256, byBytes: true,
		prepare: rowsCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Embedding(in[1], tensor.EmbeddingOptions{})
		}, 32768, 256, 4096)},
	{name: "gather-along", about: "256 elements of each row of 1024×1024, by their places", bytes: 12 * 1024 * 256, byBytes: true,
		prepare: func(ctx context.Context) (*work, error) {
			in := []*tensor.Tensor{tensor.Randn(1024, 1024), tensor.RandInt(0, 1024, 1024, 256)}
			return &work{f: single(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Gather(1, in[1]) }), in: in}, tensor.Realize(ctx, in...)
		}},
	{name: "embedding-grad", about: "the gradient of a table of 32768×64 of which 4096 rows were taken", bytes: 4 * 64 * (32768 + 3*4096), byBytes: true,
		prepare: rowsCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Embedding(in[1], tensor.EmbeddingOptions{}).Mul(in[2]).Sum().Grad(in[0])[0]
		}, 32768, 64, 4096)},
}

func sorted(in ...*tensor.Tensor) []*tensor.Tensor {
	values, places := in[0].Sort(-1, false)
	return []*tensor.Tensor{values, places}
}

func greatest(k int) func(in ...*tensor.Tensor) []*tensor.Tensor {
	return func(in ...*tensor.Tensor) []*tensor.Tensor {
		values, places := in[0].TopK(k, -1, true)
		return []*tensor.Tensor{values, places}
	}
}

// rowsCase measures f of a table, numbers of its rows, and as many rows.
func rowsCase(f func(in ...*tensor.Tensor) *tensor.Tensor, rows, size, taken int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		in := []*tensor.Tensor{tensor.Randn(rows, size), tensor.RandInt(0, rows, taken), tensor.Randn(taken, size)}
		return &work{f: single(f), in: in}, tensor.Realize(ctx, in...)
	}
}
