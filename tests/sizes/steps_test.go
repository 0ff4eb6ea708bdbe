package sizes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Batches of ever new sizes share a plan in what training steps often do: to add noise, to pick an element or the largest elements of each row and
// to go back through that.
func TestStepsOfManySizes(t *testing.T) {
	for name, f := range map[string]func(x, w *tensor.Tensor, y []int64) *tensor.Tensor{
		"noise": func(x, w *tensor.Tensor, y []int64) *tensor.Tensor {
			return x.Add(tensor.NewGenerator(5).RandnLike(x)).MatMul(w).Square().Mean().Grad(w)[0]
		},
		"picked": func(x, w *tensor.Tensor, y []int64) *tensor.Tensor {
			return x.MatMul(w).LogSoftmax(1).Gather(1, placed(x.Engine(), y, len(y), 1)).Mean().Grad(w)[0]
		},
		"largest": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			v, _ := x.MatMul(w).TopK(2, 1, true)
			return v.Softmax(1).Square().Mean().Grad(w)[0]
		},
		"a loop of as many steps": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			states, outs := recurrent(x, w, tensor.ScanOptions{})
			last := states[0].Select(0, -1)
			return outs[0].Tanh().Sum().Add(last.Square().Mean()).Grad(w)[0].Add(last)
		},
		"a loop that goes back": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			states, outs := recurrent(x, w, tensor.ScanOptions{Back: true})
			return outs[0].Tanh().Sum().Grad(w)[0].Add(states[0].Select(0, 0)).Add(outs[0].Square().Mean())
		},
		"steps of as many rows": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			states, _ := tensor.Scan(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
				h := s[0].Add(x.MatMul(w)).Sub(s[0].Mean(0)).Tanh()
				return []*tensor.Tensor{h}, nil
			}, []*tensor.Tensor{x.MatMul(w).Mul(0)}, nil, tensor.ScanOptions{Steps: 6})
			return states[0].Square().Mean(1).Sum().Grad(w)[0]
		},
		"steps of as many rows, and as many": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			xs := x.MatMul(w).Unsqueeze(1).Mul(x.MatMul(w).Unsqueeze(0))
			states, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
				return []*tensor.Tensor{s[0].Mul(0.5).Add(in[0]).Div(in[0].Square().Sum(0).Add(1))}, nil
			}, []*tensor.Tensor{x.MatMul(w).Mul(0)}, []*tensor.Tensor{xs}, tensor.ScanOptions{})
			return states[0].Select(0, -1).Sum().Grad(w)[0]
		},
		"parts of an array, from anywhere": func(x, w *tensor.Tensor, y []int64) *tensor.Tensor {
			n := x.Dim(0)
			all := placed(x.Engine(), numbered(30*5), 30, 5)
			return all.Narrow(0, n*7%(31-n), n).MatMul(w).Softmax(0).Square().Sum().Grad(w)[0].Add(all.Narrow(0, 30-n, n).Mean())
		},
		"the beginning of two arrays": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			n := x.Dim(0)
			first, second := placed(x.Engine(), numbered(30*5), 30, 5), placed(x.Engine(), numbered(4*30*3), 4, 30, 3)
			part := second.Narrow(1, 0, n).Add(first.Narrow(0, 0, n).MatMul(w))
			return part.CumSum(1).Tanh().Max(1).Sum().Grad(w)[0].Add(part.Flip(1).Select(1, 0).Mean())
		},
		"sentences whose next words are the targets": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			return nextWords(w, 2+x.Dim(0)%3, x.Dim(0))
		},
		"sentences, one of them at times": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			return nextWords(w, 1+x.Dim(0)%3, x.Dim(0))
		},
		"parts of varying lengths and numbers": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			all := placed(x.Engine(), numbered(9*40*5), 9, 40, 5)
			return all.Narrow(0, 1, 2+x.Dim(0)*3%7).Narrow(1, 3, x.Dim(0)).MatMul(w).Sub(1).Abs().Mean().Grad(w)[0]
		},
		"steps under a mask of half as many": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			n := x.Dim(0)
			mask := tensor.Arange(n).Lt(1 + n/2).To(dtype.F32)
			st, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
				h := s[0].Add(in[0].MatMul(w)).Tanh()
				return []*tensor.Tensor{in[1].Mul(h).Add(s[0].Mul(in[1].Neg().Add(1))), s[1].Add(h.Mul(s[0]))}, nil
			}, []*tensor.Tensor{x.Narrow(0, 0, 1).Reshape(5).Narrow(0, 0, 3), tensor.Zeros(3)}, []*tensor.Tensor{x, mask}, tensor.ScanOptions{Back: true})
			return st[0].Select(0, 0).Sum().Add(st[1].Square().Mean()).Grad(w)[0]
		},
		"a loop in a loop": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			st, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
				inner, _ := tensor.Scan(func(r, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
					return []*tensor.Tensor{r[0].Mul(0.5).Add(in[0].MatMul(w)).Sin()}, nil
				}, []*tensor.Tensor{s[0]}, nil, tensor.ScanOptions{Steps: 5})
				return []*tensor.Tensor{inner[0].Select(0, -1)}, nil
			}, []*tensor.Tensor{x.MatMul(w).Sum(0).Mul(0)}, []*tensor.Tensor{x}, tensor.ScanOptions{})
			return st[0].Square().Sum().Grad(w)[0]
		},
		"tangents of a loop": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			_, m := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				st, _ := tensor.Scan(func(s, e []*tensor.Tensor) (next, out []*tensor.Tensor) {
					return []*tensor.Tensor{s[0].Mul(0.5).Add(e[0].MatMul(in[0])).Tanh()}, nil
				}, []*tensor.Tensor{x.Select(0, 0).Narrow(0, 0, 3)}, []*tensor.Tensor{x}, tensor.ScanOptions{})
				return []*tensor.Tensor{st[0].Square().Sum()}
			}, []*tensor.Tensor{w}, []*tensor.Tensor{w.Sin()})
			return m[0].Grad(w)[0]
		},
		"attention and a convolution": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			h := x.MatMul(w)
			a := h.MatMul(h.T()).Softmax(-1).MatMul(h)
			c := a.T().Unsqueeze(0).Conv(w.Reshape(-1).Narrow(0, 0, 9).Reshape(3, 1, 3), nil, tensor.Conv{Groups: 3, Padding: 1}).Squeeze(0).T()
			return c.Sub(c.Mean(0)).Div(c.Var(0).Add(1e-3).Sqrt()).Square().Tanh().Sum(1).CumSum(0).Mean().Grad(w)[0]
		},
		"sorted": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			v, i := x.MatMul(w).Sort(0, true)
			top, _ := x.MatMul(w).TopK(3, 0, true)
			middle, _ := x.Median(0)
			return v.Mul(i.To(dtype.F32)).CumSum(0).Tanh().Mean().Grad(w)[0].Add(top.Sum(0)).Add(middle.Sum())
		},
		"pictures": func(x, w *tensor.Tensor, _ []int64) *tensor.Tensor {
			high := tensor.Cat(0, x, x.Mul(2), x.Neg(), x.Mul(x)).Reshape(1, 1, -1, 5)
			y := high.Conv(w.Reshape(1, 1, 5, 3), nil, tensor.Conv{Stride: 2, Padding: 1}).GELU() // 5 × 3 pixels make one, of [4n 5] [2n−1 3]
			y = y.Pad([]int{0, 0, 0, 0}, []int{0, 0, 1, 0})
			half := tensor.Pool{Size: []int{2, 1}}
			y = y.MaxPool(half).Add(y.AvgPool(half))
			y = tensor.Cat(1, y.Resize([]int{2 * x.Dim(0), 3}, tensor.Resize{}), y.ConvTranspose(w.Narrow(0, 0, 2).Reshape(1, 1, 2, 3), nil, tensor.Conv{Strides: []int{2, 1}, Paddings: []int{0, 1}}))
			return y.Square().Mean().Grad(w)[0]
		},
		"alignments": func(x, w *tensor.Tensor, y []int64) *tensor.Tensor {
			n := len(y)
			for i := range y { // labels from 1 on, and fewer
				y[i] = 1 + int64(i%2)
			}
			labels := 1 + n/4
			l, err := x.MatMul(w).LogSoftmax(-1).CTC(t.Context(), placed(x.Engine(), y[:labels], labels), placed(x.Engine(), []int64{int64(n)}), placed(x.Engine(), []int64{int64(labels)}), tensor.CTCOptions{})
			require.NoError(t, err)
			return l.Grad(w)[0].Add(l)
		},
	} {
		t.Run(name, func(t *testing.T) {
			const sizes = 20
			var results [2][]float64
			for k, own := range []bool{false, true} {
				e, err := engine.Open("INTERP", engine.Options{OwnSizes: own, EarlySizes: true})
				require.NoError(t, err)
				w := placed(e, numbered(15), 5, 3)
				for i := range sizes {
					n := 3 + i*7%sizes
					y := make([]int64, n)
					for j := range y {
						y[j] = int64(j % 3)
					}
					got, err := tensor.Data[float32](t.Context(), f(placed(e, numbered(n*5), n, 5), w, y))
					require.NoError(t, err)
					for _, v := range got {
						results[k] = append(results[k], float64(v))
					}
				}
				if !own {
					require.Greater(t, e.Stats().Shared, sizes/2)
				}
				require.NoError(t, e.Close())
			}
			require.InDeltaSlice(t, results[1], results[0], 1e-5)
		})
	}
}

// recurrent carries three numbers along the rows of x.
func recurrent(x, w *tensor.Tensor, o tensor.ScanOptions) (states, outs []*tensor.Tensor) {
	return tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		h := s[0].Mul(0.5).Add(in[0].MatMul(w)).Tanh()
		return []*tensor.Tensor{h}, []*tensor.Tensor{h.Mul(in[0].Narrow(0, 0, 3))}
	}, []*tensor.Tensor{placed(x.Engine(), []float32{0, 0, 0}, 3)}, []*tensor.Tensor{x}, o)
}

// nextWords is a step of a model that tells from each of n words the next, of so many sentences.
func nextWords(w *tensor.Tensor, sentences, n int) *tensor.Tensor {
	words := make([]int64, sentences*(n+1))
	for i := range words {
		words[i] = int64(i % 5)
	}
	all := placed(w.Engine(), words, sentences, n+1)
	h := w.Embedding(all.Narrow(1, 0, n), tensor.EmbeddingOptions{}).Tanh()
	return h.Linear(w, nil).CrossEntropy(all.Narrow(1, 1, n), tensor.Loss{ClassAxis: -1}).Grad(w)[0]
}

func numbered(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i%11)/5 - 1
	}
	return list
}
