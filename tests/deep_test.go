package tests

import (
	"context"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// links are one step each of a program that goes on for long, as a loop of a user makes it.
var links = []struct {
	name string
	n    int // steps
	step func(x, y *tensor.Tensor) *tensor.Tensor
}{
	{"sin", 500, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sin() }},
	{"add itself", 1000, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(x) }},
	{"where", 500, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Lt(y).Where(x, y) }},
	{"where of conditions", 1000, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Lt(y).Where(x.Mul(y), y.Add(x)) }},
	{"permute", 1000, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Permute(1, 0).Flip(0) }},
	{"pad and shrink", 300, func(x, y *tensor.Tensor) *tensor.Tensor {
		return x.Pad([]int{1, 0}, []int{0, 1}).Narrow(0, 0, 3).Narrow(1, 0, 3)
	}},
	{"roll", 150, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Roll([]int{1}, []int{0}) }},
	{"sums", 150, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(x.MeanKeep(1)) }},
	{"products", 100, func(x, y *tensor.Tensor) *tensor.Tensor { return x.MatMul(y) }},
	{"running", 50, func(x, y *tensor.Tensor) *tensor.Tensor { return x.CumSum(0) }},
	{"softmax", 30, func(x, y *tensor.Tensor) *tensor.Tensor { return x.Softmax(0) }},
	{"concat", 30, func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Cat(0, x.Narrow(0, 1, 2), y.Narrow(0, 0, 1)) }},
	{"cast", 500, func(x, y *tensor.Tensor) *tensor.Tensor { return x.To(dtype.I32).To(dtype.F32) }},
}

// Nothing that walks a graph goes as deep as the graph is: a stack that overflows ends the process, and no Try helps.
// So that hundreds of links show it, a stack may have 8 MB, where by default it has a gigabyte.
func TestLong(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(1 << 20))
	for _, device := range []string{"REF", "INTERP"} {
		for _, l := range links {
			t.Run(l.name+" on "+device, func(t *testing.T) {
				b := newBench(t, device, engine.Options{})
				x, y := b.floats(3, 3), b.floats(3, 3)
				z := x
				for range l.n {
					z = l.step(z, y)
				}
				roots := append(z.Sum().Grad(x), z)
				require.NoError(t, tensor.Realize(context.Background(), roots...))
			})
		}
	}
}

// A program that adds one more array each step and reads what comes of it late has one graph over all of them, of more arrays than anybody
// would write down.
func TestManyArrays(t *testing.T) {
	b := newBench(t, "INTERP", engine.Options{})
	const n = 33_000
	sum, want := b.leaf(dtype.F32, bytesOf([]float32{0}), 1), 0
	for i := range n {
		sum = sum.Add(b.leaf(dtype.F32, bytesOf([]float32{float32(i % 7)}), 1))
		want += i % 7
	}
	v, err := tensor.Data[float32](context.Background(), sum)
	require.NoError(t, err)
	require.Equal(t, []float32{float32(want)}, v)
}
