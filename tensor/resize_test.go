package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Elements by their nearest neighbours, and gradients: how often each is taken.
func TestResizeNearest(t *testing.T) { onEach(t, resizeNearest) }

func resizeNearest(t *testing.T, device string) {
	for in := 1; in < 9; in++ {
		for out := 1; out < 17; out++ {
			for mode, half := range map[tensor.ResizeMode]float32{tensor.ResizeNearest: 0, tensor.ResizeNearestExact: .5} {
				want, taken := make([]float64, out), make([]float64, in)
				for i := range out {
					at := min(int(math.Floor(float64((float32(i)+half)*float32(float64(in)/float64(out))))), in-1)
					want[i] = float64(noise(in)[at])
					taken[at]++
				}
				x := draw(in).On(device)
				y := x.Reshape(1, in).Resize([]int{1, out}, tensor.Resize{Mode: mode})
				name := fmt.Sprintf("%d to %d, mode %d", in, out, mode)
				require.Equal(t, want, values(t, y), name)
				require.Equal(t, taken, values(t, y.Sum().Grad(x)[0]), name)
			}
		}
	}
}

// Where few sets of weights follow each other again and again, nothing is looked up: elements are what they are by the positions, the ends
// are repeated, and both axes of a picture are one kernel.
func TestResizeInPhases(t *testing.T) {
	for _, c := range [][2]int{{5, 10}, {10, 5}, {9, 27}, {8, 12}, {12, 8}, {25, 40}, {3, 6}, {2, 4}, {6, 2}} {
		in, out := c[0], c[1]
		x := make([]float32, in)
		for i := range x {
			x[i] = float32((i*7)%5) - 1.5
		}
		want := make([]float32, out)
		for i := range want {
			at := max((float64(i)+0.5)*float64(in)/float64(out)-0.5, 0)
			lo := int(at)
			part := float32(at - float64(lo))
			want[i] = x[lo]*(1-part) + x[min(lo+1, in-1)]*part
		}
		got, err := tensor.Data[float32](t.Context(), tensor.Of(x, in).Resize([]int{out}, tensor.Resize{Mode: tensor.ResizeLinear}))
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-5, "%d to %d", in, out)
	}
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	picture, err := e.FromBytes(dtype.F32, []int{3, 20, 20}, make([]byte, 4*3*20*20))
	require.NoError(t, err)
	v, err := tensor.FromNode(picture, e).Resize([]int{40, 40}, tensor.Resize{Mode: tensor.ResizeLinear}).Schedule()
	require.NoError(t, err)
	for _, s := range v.Plan.Slots {
		require.Equal(t, dtype.F32, s.DType, "no table of indices")
	}
}
