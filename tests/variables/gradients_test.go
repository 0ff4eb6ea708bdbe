package variables

import (
	"testing"

	"github.com/weft-ml/weft/tensor"
)

// Gradients through sizes that vary are those of fixed ones.
func TestGradientsFollow(t *testing.T) {
	const most = 7
	n := tensor.NewVariable("n", 2, most)
	losses := map[string]func(x, w *T) *T{
		"a factor":  func(x, w *T) *T { return x.Mul(w).Square().Sum() },
		"a mean":    func(x, w *T) *T { return x.Mul(w).Sigmoid().Mean() },
		"a product": func(x, w *T) *T { return x.MatMul(w).Exp().Sum() },
		"attention": func(x, w *T) *T {
			return tensor.ScaledDotProduct(w.Unsqueeze(0), x, x, tensor.Attention{}).Square().Sum()
		},
		"a softmax":   func(x, w *T) *T { return x.Mul(w).Softmax(0).Square().Sum() },
		"a variance":  func(x, w *T) *T { return x.Add(w).Mul(w).Var(1, 0).Sum() },
		"a maximum":   func(x, w *T) *T { return x.Mul(w).Max(0).Sum() },
		"a logsumexp": func(x, w *T) *T { return x.Mul(w).LogSumExp(0).Sum() },
		"a layer":     func(x, w *T) *T { return x.Linear(w.Unsqueeze(0).Expand(2, 6), w.Narrow(0, 0, 2)).Square().Sum() },
		"rows": func(x, w *T) *T {
			return w.Reshape(3, 2).Embedding(ids(x, 3), tensor.EmbeddingOptions{}).Mul(x.Narrow(1, 0, 2)).Square().Sum()
		},
		"joined rows": func(x, w *T) *T { return tensor.Cat(1, x, x.Mul(w)).Square().Sum() },
		"a cosine":    func(x, w *T) *T { return x.CosineSimilarity(w, 1, 1e-8).Sum() },
		"a loss":      func(x, w *T) *T { return x.Mul(w).BCEWithLogits(x.Square().Sigmoid()) },
		"a position":  func(x, w *T) *T { return x.Mul(w).At(-1).Sum() },
	}
	onAll(t, func(b *bench) {
		for name, loss := range losses {
			for _, k := range []int{most, 2, 5} {
				grads := func(x, w *T, view func(*T) *T) (dx, dw *T) {
					g := loss(view(x), w).Grad(x, w)
					return g[0], g[1]
				}
				w := b.numbers(6, 6)
				array, fixed := b.rooms(k, k, most)
				wantX, wantW := grads(array, w, fixed)
				_, bound := b.rooms(k, n.Bind(k), most)
				gotX, gotW := grads(array, w, bound)
				b.equal(wantX.Shape(), b.values(wantX), gotX, "%s of %d, to the array", name, k)
				b.equal(wantW.Shape(), b.values(wantW), gotW, "%s of %d, to the weight", name, k)
			}
		}
	})
}
