package sizes

import (
	"testing"

	"github.com/stretchr/testify/require"

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

func numbered(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(i%11)/5 - 1
	}
	return list
}
