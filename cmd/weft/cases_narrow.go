package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// narrowCases are products of types narrower than float32: of two matrices, and of a row with narrow weights as decoders
// compute them.
var narrowCases = func() (out []benchCase) {
	for _, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.F16, dtype.BF16} {
		for _, n := range []int{512, 1024} {
			out = append(out, benchCase{name: fmt.Sprintf("matmul-%s-%d", d.Short(), n), about: fmt.Sprintf("product of two %d×%d matrices of %s", n, n, d),
				flops: 2 * float64(n*n*n), bytes: float64(3 * n * n * d.Size()),
				prepare: narrowCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }, d, d, []int{n, n}, []int{n, n})})
		}
		const n = 4096
		out = append(out, benchCase{name: "weights-" + d.Short(), about: fmt.Sprintf("product of a float32 row with a 4096×4096 matrix of %s", d),
			flops: 2 * n * n, bytes: float64(n * n * d.Size()), byBytes: true,
			prepare: narrowCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1].To(dtype.F32)) }, dtype.F32, d, []int{1, n}, []int{n, n})})
	}
	const n = 1024
	return append(out, benchCase{name: "matmul-i8-i32", about: "product of two 1024×1024 matrices of int8 in int32", flops: 2 * n * n * n, bytes: 6 * n * n,
		prepare: narrowCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].To(dtype.I32).MatMul(in[1].To(dtype.I32)) }, dtype.I8, dtype.I8, []int{n, n}, []int{n, n})})
}()

// narrowCase measures f on random small numbers of types x and y.
func narrowCase(f func(in ...*tensor.Tensor) *tensor.Tensor, x, y dtype.DType, xs, ys []int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		a, b := tensor.RandInt(0, 5, xs...).To(x), tensor.RandInt(0, 5, ys...).To(y)
		if err := tensor.Realize(ctx, a, b); err != nil {
			return nil, err
		}
		return &work{f: single(f), in: []*tensor.Tensor{a, b}}, nil
	}
}
