package main

import "github.com/weft-ml/weft/tensor"

// linalgCases are algorithms of many small steps. flops are those of the textbook's algorithm (LAPACK's operation counts), for
// the decompositions by Jacobi's method too, that takes more.
var linalgCases = []benchCase{
	{name: "solve-200", about: "200 equations with one right side", flops: 2.0 / 3 * 200 * 200 * 200,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Solve(in[1]) }, []int{200, 200}, []int{200, 1})},
	{name: "cholesky-200", about: "Cholesky factor of a product of 200×200", flops: (2 + 1.0/3) * 200 * 200 * 200,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].MatMul(in[0].T()).Add(tensor.Eye(200)).Cholesky()
		}, []int{200, 200})},
	{name: "qr-64", about: "QR decomposition of 64×64", flops: 8.0 / 3 * 64 * 64 * 64,
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			q, r := in[0].QR(false)
			return []*tensor.Tensor{q, r}
		}, []int{64, 64})},
	{name: "eigh-64", about: "eigenvalues and eigenvectors of a symmetric matrix of 64 rows", flops: 9 * 64 * 64 * 64,
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			w, v := in[0].Eigh(false)
			return []*tensor.Tensor{w, v}
		}, []int{64, 64})},
	{name: "svd-100x40", about: "singular value decomposition of 100×40", flops: 6*100*40*40 + 20*40*40*40,
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			u, s, vt := in[0].SVD(false)
			return []*tensor.Tensor{u, s, vt}
		}, []int{100, 40})},
}
