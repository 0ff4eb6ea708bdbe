package onnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Known factors of narrow products lie in the order of the machine's words in runs after the first, for any number of rows, one matrix or the other, and
// filters: results are those of integers.
func TestKnownWords(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(what string, node message, shape []int, known message, want func(x []byte) []int32) {
		dims := make([]int64, len(shape))
		for i, n := range shape {
			dims[i] = int64(n)
		}
		b := modelMsg(graphMsg(msgs(node), msgs(known, tensorMsg("a", Uint8, []byte{9})), msgs(portMsg("x", Uint8, dims...)), msgs(portMsg("y", Int32))))
		m, err := Read(b, Options{Name: "words.onnx", Device: "CPU"})
		require.NoError(t, err)
		for range 3 {
			x := anyBytes(r, count(shape))
			out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": tensor.FromBytes(Uint8.DType(), shape, x).On("CPU")})
			require.NoError(t, err, what)
			got, err := tensor.Data[int32](context.Background(), out["y"])
			require.NoError(t, err, what)
			require.Equal(t, want(x), got, what)
		}
	}
	for _, rows := range []int{1, 3, 16} {
		for _, e := range []Elem{Int8, Uint8} {
			for _, k := range []int{256, 130} {
				const n = 160
				w := anyBytes(r, k*n)
				check(fmt.Sprint(rows, e, k), nodeMsg("MatMulInteger", list("x", "w", "a"), list("y")), []int{rows, k}, tensorMsg("w", e, w, int64(k), n), func(x []byte) []int32 {
					out := make([]int32, rows*n)
					for i := range out {
						for j := range k {
							f := int32(w[j*n+i%n])
							if e == Int8 {
								f = int32(int8(w[j*n+i%n]))
							}
							out[i] += (int32(x[i/n*k+j]) - 9) * f
						}
					}
					return out
				})
			}
		}
	}
	const c, f, side = 32, 64, 7
	w := anyBytes(r, f*c*9)
	check("convolution", nodeMsg("ConvInteger", list("x", "w", "a"), list("y"), intsAttr("pads", 1, 1, 1, 1)), []int{2, c, side, side}, tensorMsg("w", Int8, w, f, c, 3, 3), func(x []byte) []int32 {
		out := make([]int32, 2*f*side*side)
		for i := range out {
			b, g, oy, ox := i/(f*side*side), i/(side*side)%f, i/side%side, i%side
			for j := range c * 9 {
				if py, px := oy+j%9/3-1, ox+j%3-1; py >= 0 && py < side && px >= 0 && px < side {
					out[i] += (int32(x[((b*c+j/9)*side+py)*side+px]) - 9) * int32(int8(w[g*c*9+j]))
				}
			}
		}
		return out
	})
}
