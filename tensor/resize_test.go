package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

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
