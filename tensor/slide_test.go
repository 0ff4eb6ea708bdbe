package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// naiveWindows lists which elements of n are in each window; padding is left out.
func naiveWindows(n, size, stride, pad, dilation int) (out [][]int) {
	for at := -pad; at+dilation*(size-1) < n+pad; at += stride {
		var in []int
		for k := range size {
			if i := at + k*dilation; i >= 0 && i < n {
				in = append(in, i)
			}
		}
		out = append(out, in)
	}
	return out
}

// Windows and their gradients, of every stride against every size and padding, over one axis and over two.
func TestWindowsOfStrides(t *testing.T) { onEach(t, windowsOfStrides) }

func windowsOfStrides(t *testing.T, device string) {
	for _, c := range []struct{ n, size, stride, pad, dilation int }{
		{8, 3, 2, 1, 1}, {9, 3, 2, 1, 1}, {7, 3, 2, 0, 1}, {11, 5, 2, 2, 1}, {11, 4, 3, 2, 1}, {12, 5, 3, 1, 1}, {10, 2, 3, 1, 1},
		{10, 2, 2, 1, 1}, {9, 1, 2, 0, 1}, {13, 5, 4, 2, 1}, {6, 6, 4, 3, 1}, {5, 3, 9, 1, 1}, {11, 3, 2, 2, 2}, {13, 3, 3, 1, 2}, {12, 3, 1, 1, 1}, {13, 3, 2, 0, 4}, {14, 2, 2, 3, 6},
	} {
		ws := naiveWindows(c.n, c.size, c.stride, c.pad, c.dilation)
		x := tensor.Of(noise(3*c.n), 1, 3, c.n).On(device)
		v, seed := values(t, x), draw(1, 3, len(ws)).On(device)
		s := values(t, seed)
		var most, total []float64
		dmost, dtotal := make([]float64, 3*c.n), make([]float64, 3*c.n)
		for row := range 3 {
			for o, in := range ws {
				best, sum, ties := -inf, 0., 0.
				for _, i := range in {
					best, sum = max(best, v[row*c.n+i]), sum+v[row*c.n+i]
				}
				most, total = append(most, best), append(total, sum)
				g := s[row*len(ws)+o]
				for _, i := range in {
					if v[row*c.n+i] == best {
						ties++
					}
				}
				for _, i := range in {
					dtotal[row*c.n+i] += g
					if v[row*c.n+i] == best {
						dmost[row*c.n+i] += g / ties
					}
				}
			}
		}
		p := tensor.Pool{Size: []int{c.size}, Stride: []int{c.stride}, Padding: []int{c.pad}, Dilation: []int{c.dilation}}
		y, z := x.MaxPool(p), x.SumPool(p)
		require.Equal(t, []int{1, 3, len(ws)}, y.Shape(), c)
		same(t, most, y, c)
		same(t, total, z, c)
		near(t, dmost, y.GradWith(seed, x)[0], 1e-5, c)
		same(t, dtotal, z.GradWith(seed, x)[0], c)
		same(t, dtotal, seed.Reshape(3, 1, len(ws)).Expand(3, c.size, len(ws)).Fold([]int{c.n}, p), c)
		// over two axes a sum is one over each
		q := tensor.Pool{Size: []int{2, c.size}, Stride: []int{3, c.stride}, Padding: []int{1, c.pad}, Dilation: []int{1, c.dilation}}
		square := tensor.Of(noise(2*7*c.n), 2, 1, 7, c.n).On(device)
		one := p
		one.Axes = 1
		rows := tensor.Pool{Size: []int{2}, Stride: []int{3}, Padding: []int{1}, Axes: 1}
		want := square.SumPool(one).Transpose(2, 3).SumPool(rows).Transpose(2, 3)
		got := square.SumPool(q)
		same(t, values(t, want), got, c)
		g := draw(got.Shape()...).On(device)
		same(t, values(t, want.GradWith(g, square)[0]), got.GradWith(g, square)[0], c)
	}
}
