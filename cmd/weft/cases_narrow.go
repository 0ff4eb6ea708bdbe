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
	return append(out, quantisedCases()...)
}()

// quantisedCases are what networks of bytes multiply: in 32 bits, some less a zero point.
func quantisedCases() []benchCase {
	const n, v = 1024, 4096
	wide := func(f func(x, y *tensor.Tensor) *tensor.Tensor) func(in ...*tensor.Tensor) *tensor.Tensor {
		return func(in ...*tensor.Tensor) *tensor.Tensor { return f(in[0].To(dtype.I32), in[1].To(dtype.I32)) }
	}
	product := func(x, y *tensor.Tensor) *tensor.Tensor { return x.MatMul(y) }
	conv := wide(func(x, w *tensor.Tensor) *tensor.Tensor { return x.Conv2D(w, nil, tensor.Conv{Padding: 1}) })
	plain := func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }
	square := []int{n, n}
	const pixels = 56 * 56
	return []benchCase{
		{name: "matmul-i8-i32", about: "product of two 1024×1024 matrices of int8 in int32", flops: 2 * n * n * n, bytes: 6 * n * n,
			prepare: narrowCase(wide(product), dtype.I8, dtype.I8, square, square)},
		{name: "matmul-u8-i8", about: "product of 1024×1024 matrices of uint8 and int8 in int32", flops: 2 * n * n * n, bytes: 6 * n * n,
			prepare: narrowCase(wide(product), dtype.U8, dtype.I8, square, square)},
		{name: "quantised-product", about: "product of [1024 1024] of uint8 less its zero point with the transpose of [1024 1024] of int8, in int32",
			flops: 2 * n * n * n, bytes: 6 * n * n, prepare: narrowCase(wide(func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(2).MatMul(y.T()) }), dtype.U8, dtype.I8, square, square)},
		{name: "quantised-odd", about: "product of [777 333] of uint8 and [333 555] of uint8, each less a zero point, in int32",
			flops: 2 * 777 * 333 * 555, bytes: 777*333 + 333*555 + 4*777*555,
			prepare: narrowCase(wide(func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(2).MatMul(y.Sub(1)) }), dtype.U8, dtype.U8, []int{777, 333}, []int{333, 555})},
		{name: "quantised-silu", about: "a convolution 1×1 of 1×96×56×56 of uint8 with 192 filters of int8, rounded to bytes, and SiLU of these in bytes",
			flops: 2 * 96 * 192 * pixels, bytes: (96 + 192) * pixels, prepare: narrowCase(quantisedSiLU, dtype.U8, dtype.I8, []int{1, 96, 56, 56}, []int{192, 96, 1, 1})},
		{name: "matvec-i8", about: "product of a row of int8 with a 4096×4096 matrix of int8 in int32", flops: 2 * v * v, bytes: v * v, byBytes: true,
			prepare: narrowCase(wide(product), dtype.I8, dtype.I8, []int{1, v}, []int{v, v})},
		{name: "linear-i8", about: "product of a row of int8 with the transpose of a 4096×4096 matrix of int8 in int32", flops: 2 * v * v, bytes: v * v, byBytes: true,
			prepare: narrowCase(wide(func(x, y *tensor.Tensor) *tensor.Tensor { return x.MatMul(y.T()) }), dtype.I8, dtype.I8, []int{1, v}, []int{v, v})},
		{name: "conv-i8-56", about: "64 filters 3×3 over 1×64×56×56 of int8 in int32", flops: 2 * 64 * 64 * 9 * pixels, bytes: 5 * 64 * pixels,
			prepare: narrowCase(conv, dtype.I8, dtype.I8, []int{1, 64, 56, 56}, []int{64, 64, 3, 3})},
		{name: "conv-u8-14", about: "a convolution 3×3 of 1×256×14×14 of uint8 with 256 filters of int8 in int32", flops: 2 * 256 * 256 * 9 * 14 * 14, bytes: 256 * 256 * 9,
			prepare: narrowCase(conv, dtype.U8, dtype.I8, []int{1, 256, 14, 14}, []int{256, 256, 3, 3})},
		{name: "bf16-odd", about: "product of [777 333] and [333 555] of bfloat16", flops: 2 * 777 * 333 * 555, bytes: 2 * (777*333 + 333*555 + 777*555),
			prepare: narrowCase(plain, dtype.BF16, dtype.BF16, []int{777, 333}, []int{333, 555})},
		{name: "conv-bf16-14", about: "a convolution 3×3 of 8×256×14×14 of bfloat16 to 256 channels", flops: 2 * 8 * 256 * 256 * 9 * 14 * 14, bytes: 2 * 256 * 256 * 9,
			prepare: narrowCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 1}) }, dtype.BF16, dtype.BF16, []int{8, 256, 14, 14}, []int{256, 256, 3, 3})},
		{name: "linear-bf16", about: "product of [64 1024] with the transpose of [1024 1024], of bfloat16", flops: 2 * 64 * n * n, bytes: 2 * n * n,
			prepare: narrowCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1].T()) }, dtype.BF16, dtype.BF16, []int{64, n}, square)},
		{name: "f32-odd", about: "product of [777 333] and [333 555]", flops: 2 * 777 * 333 * 555, bytes: 4 * (777*333 + 333*555 + 777*555),
			prepare: narrowCase(plain, dtype.F32, dtype.F32, []int{777, 333}, []int{333, 555})},
		{name: "bf16-batch", about: "product of [64 64 256] and [64 256 64] of bfloat16", flops: 2 * 64 * 64 * 256 * 64, bytes: 2 * 64 * (2*64*256 + 64*64),
			prepare: narrowCase(plain, dtype.BF16, dtype.BF16, []int{64, 64, 256}, []int{64, 256, 64})},
		{name: "bf16-matvec", about: "product of a 4096×4096 matrix and a column of bfloat16", flops: 2 * v * v, bytes: 2 * v * v, byBytes: true,
			prepare: narrowCase(plain, dtype.BF16, dtype.BF16, []int{v, v}, []int{v, 1})},
		{name: "batch-i8", about: "product of [16 128 256] and [16 256 128] of int8 in int32", flops: 2 * 16 * 128 * 256 * 128, bytes: 16 * 128 * 256 * 4,
			prepare: narrowCase(wide(product), dtype.I8, dtype.I8, []int{16, 128, 256}, []int{16, 256, 128})},
	}
}

// quantisedSiLU is a layer as quantised networks have it: what it computes is rounded to bytes three times, each time with a scale and a zero point.
func quantisedSiLU(in ...*tensor.Tensor) *tensor.Tensor {
	bytes := func(x *tensor.Tensor, scale float64, zero int) *tensor.Tensor {
		return x.Div(scale).Round().Add(zero).Clamp(0, 255).To(dtype.U8)
	}
	number := func(x *tensor.Tensor, scale float64, zero int) *tensor.Tensor {
		return x.To(dtype.F32).Sub(zero).Mul(scale)
	}
	sums := in[0].To(dtype.I32).Sub(2).Conv2D(in[1].To(dtype.I32), nil, tensor.Conv{}).To(dtype.F32)
	y := number(bytes(sums.Mul(0.01), 0.05, 128), 0.05, 128)
	return bytes(y.Mul(number(bytes(y.Sigmoid(), 1.0/256, 0), 1.0/256, 0)), 0.04, 7)
}

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
