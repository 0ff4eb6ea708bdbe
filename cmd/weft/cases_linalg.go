package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// linalgCases are Fourier transforms and factorisations.
var linalgCases = slices.Concat([]benchCase{fftCase(1 << 16), fftCase(1009)}, factorCases(64), factorCases(200), []benchCase{svdCase(100, 40)})

func fftCase(n int) benchCase {
	return benchCase{name: fmt.Sprintf("fft-%d", n), about: fmt.Sprintf("Fourier transform of %d complex numbers", n),
		flops:   5 * float64(n) * math.Log2(float64(n)),
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].FFT(-1, 0, tensor.Backward) }, []int{n, 2})}
}

func factorCases(n int) []benchCase {
	cube := float64(n) * float64(n) * float64(n)
	about := func(what string) string { return fmt.Sprintf("%s of a matrix of %d×%d", what, n, n) }
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, n) }
	return []benchCase{
		{name: name("cholesky"), about: about("Cholesky factor"), flops: cube / 3,
			prepare: definiteCase(n, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Cholesky()} })},
		{name: name("solve"), about: about("solution of a system"), flops: cube * 2 / 3,
			prepare: definiteCase(n, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Solve(in[1])} })},
		{name: name("qr"), about: about("QR decomposition"), flops: cube * 8 / 3,
			prepare: definiteCase(n, func(in ...*tensor.Tensor) []*tensor.Tensor {
				q, r := in[0].QR(false)
				return []*tensor.Tensor{q, r}
			})},
		{name: name("eigh"), about: about("eigenvalues and eigenvectors"),
			prepare: definiteCase(n, func(in ...*tensor.Tensor) []*tensor.Tensor {
				w, v := in[0].Eigh(false)
				return []*tensor.Tensor{w, v}
			})},
	}
}

func svdCase(m, n int) benchCase {
	return benchCase{name: fmt.Sprintf("svd-%dx%d", m, n), about: fmt.Sprintf("singular value decomposition of a matrix of %d×%d", m, n),
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			u, s, vt := in[0].SVD(false)
			return []*tensor.Tensor{u, s, vt}
		}, []int{m, n})}
}

// definiteCase measures f of a symmetric matrix whose eigenvalues lie between 1 and about 5, and a column.
func definiteCase(n int, f func(in ...*tensor.Tensor) []*tensor.Tensor) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		x := tensor.Randn(n, n)
		in := []*tensor.Tensor{x.MatMul(x.Transpose(0, 1)).Mul(1 / float64(n)).Add(tensor.Eye(n)), tensor.Randn(n, 1)}
		return &work{f: f, in: in}, tensor.Realize(ctx, in...)
	}
}
