package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// TestLongSums adds many equal terms, whose roundings all go in the same direction: along rows and columns, in loops that blocks divide and that
// they do not, and in products.
func TestLongSums(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{Poison: true, Fence: device == "CPU"})
			tenths := func(shape ...int) *tensor.Tensor {
				return tensor.Full(float32(0.1), tensor.DefaultFloat(), shape...).On(b.Name()).Contiguous()
			}
			few := 1
			if device == "INTERP" {
				few = 4
			}
			for _, shape := range [][]int{{600000 / few, 3}, {400003 / few, 3}, {262147, 2}, {50000 / few, 40}, {2000000 / few}, {3, 900001 / few}} {
				t.Run(fmt.Sprint(shape), func(t *testing.T) {
					x := tenths(shape...)
					require.NoError(t, x.Realize(context.Background()))
					for axis := range shape {
						got, err := x.Mean(axis).Reshape(-1).Narrow(0, 0, 1).Item(context.Background())
						require.NoError(t, err)
						require.InEpsilon(t, 0.1, got, 2e-5, "along axis %d", axis)
					}
				})
			}
			for _, s := range [][3]int{{8, 200000 / few, 8}, {16, 100003 / few, 5}, {32, 40000 / few, 40}} {
				t.Run(fmt.Sprint("product ", s), func(t *testing.T) {
					x, y := tenths(s[1], s[0]), tenths(s[1], s[2])
					require.NoError(t, tensor.Realize(context.Background(), x, y))
					got, err := x.T().MatMul(y).Reshape(-1).Narrow(0, 0, 1).Item(context.Background())
					require.NoError(t, err)
					require.InEpsilon(t, 0.01*float64(s[1]), got, 4e-5)
				})
			}
		})
	}
}

// TestLongSumsOfAnything compares long sums of random elements, some masked, padded or backwards, with those in float64, which nothing cuts.
func TestLongSumsOfAnything(t *testing.T) {
	ctx := context.Background()
	for _, device := range []string{"CPU", "INTERP", "WASM"} {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{Poison: true, Fence: device == "CPU"})
			r := rand.New(rand.NewPCG(3, 5))
			random := func(shape ...int) *tensor.Tensor {
				n := 1
				for _, d := range shape {
					n *= d
				}
				v := make([]float32, n)
				for i := range v {
					v[i] = r.Float32() + 0.25
				}
				raw, err := binary.Append(nil, binary.LittleEndian, v)
				require.NoError(t, err)
				return b.leaf(dtype.F32, raw, shape...)
			}
			type T = *tensor.Tensor
			sums := map[string]func(x T) T{
				"plain":     func(x T) T { return x.Sum(0) },
				"masked":    func(x T) T { return x.Gt(0.5).Where(x, 0).Sum(0) },
				"padded":    func(x T) T { return x.PadTo(x.Dim(0)+3, x.Dim(1)).Flip(0).Sum(0) },
				"backwards": func(x T) T { return x.Flip(0, 1).Narrow(0, 1, x.Dim(0)-1).Sum(0) },
				"rows":      func(x T) T { return x.T().Sum(1) },
				"all":       func(x T) T { return x.Sum() },
				"two":       func(x T) T { return x.Sum(0).Add(x.Square().Sum(0)) },
				"products":  func(x T) T { return x.T().MatMul(x) },
			}
			for _, shape := range [][2]int{{10007, 3}, {4099, 17}, {5003, 1}, {1229, 40}, {2048, 9}} {
				x := random(shape[0], shape[1])
				for name, f := range sums {
					got, want := f(x), f(x.To(dtype.F64))
					wrong, err := got.To(dtype.F64).Sub(want).Abs().Div(want).Max().Item(ctx)
					require.NoError(t, err)
					require.LessOrEqual(t, wrong, 1e-5, "%s of %v", name, shape)
				}
			}
		})
	}
}
