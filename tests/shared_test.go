package tests

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// An index of quotients and remainders that each view of a view uses twice is spelled once, not once a path.
func TestManyViews(t *testing.T) {
	for _, c := range []struct {
		device string
		links  int
	}{{"WASM", 24}, {"CPU", 12}} {
		b := newBench(t, c.device, engine.Options{})
		z := b.floats(6, 6)
		for range c.links {
			z = z.Add(z.Reshape(4, 9).Permute(1, 0).Reshape(6, 6))
		}
		require.NoError(t, tensor.Realize(context.Background(), z), c.device)
	}
}

// Rolls by Go numbers that change: the index of a load is a sum of many parts, of each of which two facts are known.
func TestManyShiftsByNumbers(t *testing.T) {
	b := newBench(t, "INTERP", engine.Options{Numbers: true})
	x := b.floats(275)
	z := tensor.Stack(1, x, x).Roll([]int{2, 3}, []int{1, 0}).Roll([]int{6}, []int{0})
	z = z.Reshape(22, 5, 5).At(tensor.RS(1, tensor.End, 2), tensor.RS(tensor.Begin, tensor.End, 1), -5)
	require.NoError(t, tensor.Realize(context.Background(), z))
}

// Large reductions to small results go in blocks, whatever the sizes: the first of equal elements is still the first, and what no
// block holds counts too.
func TestLargeReductions(t *testing.T) {
	ctx := context.Background()
	for _, device := range []string{"INTERP", "CPU", "WASM"} {
		b := newBench(t, device, engine.Options{})
		for _, shape := range [][]int{{1 << 16}, {65537}, {65536 + 60}, {3, 40009}, {211, 311}} {
			raw := make([]float32, uop.Shape(shape).Numel())
			var sum, squares float64
			for i := range raw {
				raw[i] = float32(i*7919%1009) / 16
				sum += float64(raw[i])
			}
			mean := sum / float64(len(raw))
			first := slices.Index(raw, slices.Max(raw))
			exp := 0.
			for _, x := range raw {
				squares += (float64(x) - mean) * (float64(x) - mean)
				exp += math.Exp(float64(x) - float64(raw[first]))
			}
			x := b.leaf(dtype.F32, bytesOf(raw), shape...)
			axes := []int{0, 1}[:len(shape)]
			for what, c := range map[string]struct {
				got  *tensor.Tensor
				want float64
			}{
				"sum": {x.Sum(), sum}, "maximum": {x.Max(), float64(raw[first])}, "place": {x.ArgMax(), float64(first)},
				"variance": {x.Var(0), squares / float64(len(raw))}, "logarithm": {x.LogSumExp(axes...), float64(raw[first]) + math.Log(exp)},
				"product": {x.Mul(0).Add(1).Prod(), 1},
			} {
				got, err := tensor.Data[float64](ctx, c.got.To(dtype.F64))
				require.NoError(t, err)
				require.InEpsilon(t, c.want, got[0], 1e-5, "%s of %v on %s", what, shape, device)
			}
		}
	}
}

func bytesOf(x []float32) (out []byte) {
	for _, f := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// Gradients of gradients through a maximum that is reached at several places: fused, the kernel would have hundreds of loops.
func TestMoreLoopsThanAKernelHas(t *testing.T) {
	b := newBench(t, "INTERP", engine.Options{})
	x := b.leaf(dtype.F32, bytesOf([]float32{1, 2, 3}), 1, 1, 3)
	y := x.PadMode(tensor.Replicate, []int{0, 1, 0}, []int{0, 1, 1})
	z := y.MaxKeep()
	g := z.Mul(tensor.Stack(0, z, z)).Sum().Grad(x, z)[0]
	v := g.Gt(-1).Where(tensor.Ones(1, 1, 1), g).Sum()
	require.NoError(t, tensor.Realize(context.Background(), v.Grad(x, y, z)[0]))
}
