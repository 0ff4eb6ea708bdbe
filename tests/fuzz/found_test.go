package fuzz

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// found are programs that were wrong or fatal once, on some device.
var found = []Pasted{
	{Name: "a gradient through a Stack that is narrowed and expanded", Build: func(ctx context.Context) []T {
		x, b := tensor.Of([]float32{2}, 1).Reshape(), tensor.Of([]float32{.5}, 1).Reshape()
		idx := tensor.Of([]int32{0, 1, 0}, 3)
		z := x.Mul(tensor.Stack(0, x, x)).Narrow(0, 0, 1).Expand(2).Add(b).Gather(0, idx)
		return z.Sum().Grad(x, b)
	}},
	{Name: "a softmax of something repeated and turned, rolled by more than a period", Build: func(ctx context.Context) []T {
		r := tensor.Of([]float32{1, -2, .5, 3, -1, 2, .25, -3}, 8).Repeat(2).Flip(0)
		return []T{r.Softmax(0).Roll([]int{9}, []int{0})}
	}},
	{Name: "a sum of something repeated and turned, rolled by more than a period", Build: func(ctx context.Context) []T {
		r := tensor.Of([]float32{1, -2, .5, 3, -1, 2, .25, -3}, 8).Repeat(2).Flip(0)
		return []T{r.Softplus(1).Sub(r.Softplus(1).Sum()).Roll([]int{9}, []int{0})}
	}},
	{Name: "an array of one element that takes long, and is merged into", Build: func(ctx context.Context) []T {
		data := make([]float32, 2*9*13*2)
		for i := range data {
			data[i] = float32(i % 7)
		}
		x := tensor.Of(data, 2, 9, 13, 2).PadMode(tensor.Replicate, []int{1, 2, 1, 0}, []int{1, 2, 0, 1})
		loss := x.MSE(tensor.Of(data[:13], 1, 13, 1, 1), tensor.Loss{Reduction: tensor.SumLoss})
		return []T{loss.Reshape(1).IndexCopy(0, tensor.Of([]int32{0, 0}, 2), tensor.Of([]float32{1, 2}, 2))}
	}},
	{Name: "a scan of a scan, rolled", Build: func(ctx context.Context) []T {
		m, _ := tensor.Of([]float32{1, -2, .5, 3, -1}, 5).Sin().CumMax(0)
		return []T{m.CumProd(0).Roll([]int{2}, []int{0})}
	}},
	{Name: "a product of something costly, rolled", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1, 2, 3, 4}, 4)
		return []T{v0.Exp().CumProd(0).Roll([]int{1}, []int{0})}
	}},
	{Name: "a product of a tiny number and others, rounded more coarsely than by digits", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1.75, 3.5, .25, 0, -1, -.75, 1.25, -3, -2, -2, 3, -3.5}, 12)
		return []T{v0.NextAfter(-1.).CumProd(0)}
	}},
	{Name: "a sum of something repeated and turned", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
		return []T{v0.Repeat(1, 3).Flip(1).Sum(1)}
	}},
	{Name: "gradients for both factors of something narrowed, expanded and gathered", Build: func(ctx context.Context) []T {
		v0 := tensor.FromBytes(dtype.F32, []int{}, []byte{0, 0, 128, 63})
		v1 := tensor.Of([]float32{1, 2}, 2)
		v5 := tensor.FromBytes(dtype.F32, []int{}, []byte{0, 0, 128, 63})
		v6 := v0.Mul(v1).Narrow(0, 0, 1).Expand(2).Add(v5)
		v9 := v6.Gather(0, tensor.Of([]int64{1, 0}, 2)).Sum()
		g := v9.Grad(v0, v5, v6)
		return []T{g[1], g[0]}
	}},
	{Name: "a gradient that cancels, sorted", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1, 2}, 2)
		v4 := v0.Sub(tensor.Stack(0, v0, v0)).Narrow(0, 0, 1).Expand(2, 2)
		v7 := v4.Gather(-1, tensor.Of([]int64{0, 0}, 2, 1))
		v10, _ := v7.Sum().Grad(v0, v4)[0].Sort(0, false)
		return []T{v10}
	}},
	{Name: "a gradient through a triangle, rolled over two periods of an axis", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
		v1 := v0.Tril(-1)
		v2 := v1.Roll([]int{0, -3}, []int{0, 0})
		return []T{v2.GradWith(v2, v1)[0], v1}
	}},
	{Name: "a gradient through a narrowed product, for two of its factors", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{2}, 1).Reshape()
		v3 := v0.Mul(tensor.Of([]float32{-1, -1}, 2)).Narrow(0, 0, 1)
		g := v3.Maximum(tensor.Of([]float32{-4, 1.75}, 2)).Sum().Grad(v0, v3)
		return []T{g[1], g[0]}
	}},
	{Name: "a running sum of something costly, rolled backwards", Build: func(ctx context.Context) []T {
		return []T{tensor.Of([]float32{1, 2, 3, 4}, 4).Sigmoid().CumSum(0).Roll([]int{-14}, []int{-1})}
	}},
	{Name: "a gradient through a mirrored edge", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{1, 2, 3}, 3)
		v1 := v0.Lerp(v0, 0.25)
		v2 := v1.PadMode(tensor.Reflect, []int{1}, []int{0})
		return []T{v2.GradWith(v2, v0)[0], v1}
	}},
	{Name: "a greatest of something repeated, every second backwards", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]float32{-2, -2, 1, 0, -2, 1, -1, 2, 2, 1, -2, -1}, 3, 4)
		return []T{v0.Repeat(2, 1).At(tensor.RS(tensor.End, tensor.Begin, -2)).MaxKeep(-2)}
	}},
	{Name: "the middle of whole numbers of 64 bits, which is found by bits that indices of 32 bits do not reach", Build: func(ctx context.Context) []T {
		numbers := make([]int64, 130)
		for i := range numbers {
			numbers[i] = int64(i) << 40
		}
		v := tensor.Of(numbers, 65, 2)
		_, at := v.MedianKeep(-2)
		return []T{at, tensor.Arange(16).To(dtype.I64).Mul(int64(1) << 52), tensor.Arange(16).To(dtype.I64).Lt(int64(1) << 40)}
	}},
	{Name: "a loop of bytes that lie beside each other, so many that one invocation cannot do them all", Build: func(ctx context.Context) []T {
		v0 := tensor.Arange(301).Mod(7).To(dtype.I8)
		v1, _ := tensor.Scan(func(s, _ []T) (next, out []T) { return []T{s[0].Mul(3).Add(1)}, nil }, []T{v0}, nil, tensor.ScanOptions{Steps: 250})
		return []T{v1[0].Select(0, -1), v1[0].Select(0, 7)}
	}},
	{Name: "a clone and a view of it, realized together", Build: func(ctx context.Context) []T {
		v0 := tensor.Of([]uint32{1}, 1, 1)
		v1 := v0.Clone()
		return []T{v1.Reshape(1, 1, 1), v1}
	}},
	{Name: "several loops with so many values that few vector registers are left behind them", Numbers: true, Build: func(ctx context.Context) []T {
		twelve := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		v0 := tensor.Of(twelve, 12)
		v4 := tensor.Stack(0, v0, v0).NormKeep(2.).AvgPool(tensor.Pool{Size: []int{2}, Stride: []int{2}, Padding: []int{1, 1, 1, 1}, Axes: 2, Ceil: true})
		v7 := tensor.Of(twelve, 12).Scatter(-1, tensor.Of([]int32{8, 9, 4, 8, 6, 3, 3, 2, 1, 7, 0, 10}, 12), tensor.Of(twelve, 12))
		return []T{v7.FloorDiv(tensor.Of(twelve, 1, 12)), v4}
	}},
}

func init() { Pastes = found }

// Every program that was wrong once is right on every device, unless its defect is in the list of Open ones.
func TestFound(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			w := worker(t)
			for i, p := range found {
				what, text, err := w.Paste(device, i)
				need(t, device, err)
				require.NoError(t, err)
				if open := known(&Finding{Device: device, What: what, Text: text}); what != Right && open != "" {
					t.Logf("%s: open: %s", p.Name, open)
					continue
				}
				assert.Equal(t, Right.String(), what.String(), "%s: %s", p.Name, text)
			}
		})
	}
}
