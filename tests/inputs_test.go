package tests

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

type lists = []*tensor.Tensor

// looks are views [4, 4] of an array [8, 8]: turned, stepped, repeated, overlapping, padded, of other views.
var looks = []struct {
	name string
	of   func(x *tensor.Tensor) *tensor.Tensor
}{
	{"corner", func(x *tensor.Tensor) *tensor.Tensor { return x.Shrink([]int{3, 2}, []int{7, 6}) }},
	{"transposed", func(x *tensor.Tensor) *tensor.Tensor { return x.T().Shrink([]int{1, 0}, []int{5, 4}) }},
	{"flipped", func(x *tensor.Tensor) *tensor.Tensor { return x.Flip(0, 1).Shrink([]int{1, 2}, []int{5, 6}) }},
	{"stepped", func(x *tensor.Tensor) *tensor.Tensor { return x.At(tensor.RS(7, -9, -2), tensor.RS(1, 8, 2)) }},
	{"repeated rows", func(x *tensor.Tensor) *tensor.Tensor { return x.Shrink([]int{2, 1}, []int{3, 5}).Expand(4, 4) }},
	{"repeated columns", func(x *tensor.Tensor) *tensor.Tensor { return x.Shrink([]int{2, 1}, []int{6, 2}).Expand(4, 4) }},
	{"overlapping", func(x *tensor.Tensor) *tensor.Tensor { return x.Select(0, 3).Narrow(0, 0, 7).Unfold(0, 4, 1) }},
	{"padded", func(x *tensor.Tensor) *tensor.Tensor {
		return x.Shrink([]int{0, 5}, []int{2, 8}).Pad([]int{1, 0}, []int{1, 1})
	}},
	{"rolled", func(x *tensor.Tensor) *tensor.Tensor {
		return x.Roll([]int{3}, []int{1}).Shrink([]int{0, 1}, []int{4, 5})
	}},
	{"reshaped", func(x *tensor.Tensor) *tensor.Tensor {
		return x.T().Reshape(16, 4).Narrow(0, 5, 4).T()
	}},
	{"diagonals", func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(4, 4, 4).Diagonal(0).Flip(0) }},
	{"joined", func(x *tensor.Tensor) *tensor.Tensor {
		return tensor.Cat(1, x.Shrink([]int{0, 0}, []int{4, 1}), x.T().Shrink([]int{4, 4}, []int{8, 7}))
	}},
}

// uses are operations of every kind on a view of floats v[4, 4] and one of indices i[4, 4] below 4; w is another array [4, 4].
var uses = []struct {
	name string
	of   func(v, i, w *tensor.Tensor) lists
}{
	{"elementwise", func(v, i, w *tensor.Tensor) lists {
		return lists{v.Add(w).Mul(v.T()).Exp(), v.Lt(w).Where(v, i), v.Pow(2), i.Shl(1), v.Sign()}
	}},
	{"reductions", func(v, i, w *tensor.Tensor) lists {
		a, b := v.MaxIndex(0)
		return lists{v.Sum(0), v.Mean(), v.Prod(1), v.Var(1, 0), v.LogSumExp(1), a, b, v.ArgMin(1), i.Max(), v.Norm(3, 0), v.Softmax(0)}
	}},
	{"scans", func(v, i, w *tensor.Tensor) lists {
		a, b := v.CumMax(0)
		return lists{v.CumSum(0), v.CumProd(1), a, b, v.LogCumSumExp(1), i.CumSum(1)}
	}},
	{"sorts", func(v, i, w *tensor.Tensor) lists {
		a, b := v.Sort(0, true)
		c, d := v.TopK(2, 1, false)
		e, f := v.Median(1)
		return lists{a, b, c, d, e, f, v.ArgSort(1, false), w.Sum(0).CumSum(0).SearchSorted(v, true), v.Quantile([]float64{0.3}, 0, tensor.BetweenLinear, false)}
	}},
	{"picking", func(v, i, w *tensor.Tensor) lists {
		return lists{v.Gather(0, i), v.Gather(1, i), w.Gather(1, i), v.TakeAlong(0, i), v.Take(i), v.IndexSelect(1, i.Select(0, 1)),
			v.At(i.Select(0, 0), i.Select(1, 2)), v.Embedding(i, tensor.EmbeddingOptions{}), i.OneHot(4), v.MaskedSelectSized(v.Gt(0), 9, 0)}
	}},
	{"writing", func(v, i, w *tensor.Tensor) lists {
		return lists{w.ScatterAdd(0, i, v), v.ScatterAdd(1, i, w), v.ScatterReduce(0, i, w, tensor.MergeMax, true), v.IndexAdd(0, i.Select(0, 2), w, 2),
			v.IndexFill(1, i.Select(1, 0), 3), v.WithAt(w.Select(0, 0), i.Select(0, 3)), v.MaskedFill(w.Gt(0), i.To(dtype.F32)),
			w.WithAt(v.Shrink([]int{1, 1}, []int{3, 3}), tensor.R(0, 2), tensor.RS(0, 4, 2))}
	}},
	{"products", func(v, i, w *tensor.Tensor) lists {
		return lists{v.MatMul(w), w.MatMul(v), v.MatMul(v.T()), v.T().MatMul(v), w.Linear(v, v.Select(1, 1)), tensor.Einsum("ij,kj->ik", v, v), v.Kron(w), v.Select(0, 1).Outer(w.Select(1, 2)),
			tensor.ScaledDotProduct(v, w, v.T(), tensor.Attention{Causal: true}), i.MatMul(i.T())}
	}},
	{"convolutions", func(v, i, w *tensor.Tensor) lists {
		x, k := v.Reshape(1, 1, 4, 4), w.Reshape(1, 1, 4, 4)
		return lists{x.Conv(v.Shrink([]int{0, 1}, []int{2, 3}).Reshape(1, 1, 2, 2), nil, tensor.Conv{}), k.Conv(x.Shrink([]int{0, 0, 0, 0}, []int{1, 1, 3, 3}), nil, tensor.Conv{Padding: 1}),
			x.ConvTranspose(k, nil, tensor.Conv{Stride: 2}), x.MaxPool(tensor.Pool{Size: []int{2}}), x.AvgPool(tensor.Pool{Size: []int{3}, Stride: []int{1}, Padding: []int{1}}),
			v.Unsqueeze(0).Conv(w.Reshape(4, 4, 1), nil, tensor.Conv{}), x.Im2Col(tensor.Pool{Size: []int{2}}), x.Resize([]int{7, 3}, tensor.Resize{Mode: tensor.ResizeLinear})}
	}},
	{"matrices", func(v, i, w *tensor.Tensor) lists {
		a := v.MatMul(v.T()).Add(tensor.Eye(4).Mul(3))
		q, r := a.QR(false)
		return lists{a.Inv(), a.Cholesky(), a.Solve(v), a.Det(), q.MatMul(r), a.SolveTriangular(v, true, false), v.Tril(0), v.Triu(1), a.MatrixExp().Log(), v.SingularValues()}
	}},
	{"shapes", func(v, i, w *tensor.Tensor) lists {
		return lists{v.Roll([]int{1, 2}, []int{0, 1}), v.Repeat(2, 1), v.RepeatInterleave(2, 1), v.PadMode(tensor.Reflect, []int{1, 2}, []int{2, 1}), v.Diag(), v.DiagEmbed(),
			tensor.Stack(1, v, w), v.Unfold(0, 2, 1), v.Rot90(1, 0, 1), v.Diff(1, 0), tensor.Cat(0, v, i.To(dtype.F32)), v.Flip(1)}
	}},
	{"transforms", func(v, i, w *tensor.Tensor) lists {
		return lists{v.Reshape(2, 4, 2).FFT(-1, 1, tensor.Backward), v.RFFT(-1, 0, tensor.Backward), v.Bitcast(dtype.U8), v.To(dtype.F16).To(dtype.F32), v.CDist(w, 2), v.Cov(1, nil, nil)}
	}},
	{"norms", func(v, i, w *tensor.Tensor) lists {
		return lists{v.LayerNorm(v.Select(0, 0), w.Select(1, 0), 1e-5, 4), v.RMSNorm(nil, 1e-5, 4), v.Reshape(1, 4, 4).GroupNorm(2, v.Select(1, 0), nil, 1e-5), v.CrossEntropy(i.Select(0, 0)), v.MSE(w)}
	}},
}

// Whatever an operation takes may be a view of anything: values and gradients are those of arrays that hold the same elements.
func TestViewsAsOperands(t *testing.T) {
	ctx := context.Background()
	ref := newBench(t, "REF", engine.Options{})
	for _, device := range []string{"INTERP", "WASM", "CPU"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{Poison: true})
			for n, look := range looks {
				if n%5 != 2 && device != "INTERP" {
					continue // kernels take long to compile
				}
				t.Run(look.name, func(t *testing.T) {
					x, y, w := b.floats(8, 8), b.ints(4, 8, 8), b.floats(4, 4)
					same := func(x *tensor.Tensor) *tensor.Tensor {
						raw, err := x.Bytes(ctx)
						require.NoError(t, err)
						return ref.leaf(x.DType(), raw, x.Shape()...)
					}
					v, i := look.of(x), look.of(y)
					// What the view names, element by element.
					rx, rw := same(x), same(w)
					rv, ri := same(look.of(rx)), same(look.of(same(y)))
					for _, u := range uses {
						got, want := u.of(v, i, w), u.of(rv, ri, rw)
						loss := func(list lists) *tensor.Tensor {
							sum := tensor.Full(0, dtype.F32)
							for _, r := range list {
								if r.IsFloat() {
									sum = sum.Add(r.To(dtype.F32).Sin().Sum())
								}
							}
							return sum
						}
						if u.name != "matrices" && u.name != "transforms" {
							got = append(got, loss(got).Grad(x, w)...)
							g := loss(want).Grad(rv, rw)
							want = append(want, look.of(rx).GradWith(g[0], rx)[0], g[1])
						}
						require.NoError(t, tensor.Realize(ctx, got...), u.name)
						for k := range got {
							a, err := tensor.Data[float64](ctx, got[k].To(dtype.F64))
							require.NoError(t, err)
							c, err := tensor.Data[float64](ctx, want[k].To(dtype.F64))
							require.NoError(t, err)
							require.Len(t, a, len(c))
							for e := range a {
								if !(a[e] == c[e] || a[e] != a[e] && c[e] != c[e]) && !(math.Abs(a[e]-c[e]) <= 2e-3*(1+math.Abs(c[e]))) {
									t.Errorf("%s %d: element %d is %v, want %v", u.name, k, e, a[e], c[e])
									break
								}
							}
						}
					}
				})
			}
		})
	}
}
