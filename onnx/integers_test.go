package onnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Products and convolutions of integers are those of what is left of them without their zero points, known when the plan is made or not, one for all
// or one for each row, column and filter; what a padded window holds beyond the picture adds nothing.
func TestZeroPoints(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bytes := func(n int) []uint8 {
		b := make([]uint8, n)
		for i := range b {
			b[i] = uint8(r.IntN(256))
		}
		return b
	}
	run := func(what string, node message, names []string, shapes [][]int, data [][]uint8, known int, want []int32) {
		var ports, constants []message
		in := map[string]*tensor.Tensor{}
		for i, name := range names {
			var dims []int64
			for _, n := range shapes[i] {
				dims = append(dims, int64(n))
			}
			if i >= known {
				constants = append(constants, tensorMsg(name, Uint8, data[i], dims...))
				continue
			}
			ports = append(ports, portMsg(name, Uint8, dims...))
			in[name] = on(tensor.Of(data[i], shapes[i]...))
		}
		m := read(t, modelMsg(graphMsg(msgs(node), constants, ports, msgs(portMsg("y", Int32)))))
		out, err := m.Run(context.Background(), in)
		require.NoError(t, err, what)
		got, err := tensor.Data[int32](context.Background(), out["y"])
		require.NoError(t, err, what)
		require.Equal(t, want, got, what)
	}
	names := []string{"x", "w", "a", "b"}
	for _, known := range []int{1, 2, 4} { // how many are arguments of the plan
		for _, zeros := range [][]int{{1, 1}, {5, 1}, {1, 7}, {5, 7}} {
			const rows, terms, columns = 5, 33, 7
			data := [][]uint8{bytes(rows * terms), bytes(terms * columns), bytes(zeros[0]), bytes(zeros[1])}
			want := make([]int32, rows*columns)
			for i := range want {
				for k := range terms {
					x, w := data[0][i/columns*terms+k], data[1][k*columns+i%columns]
					want[i] += (int32(x) - int32(data[2][i/columns%zeros[0]])) * (int32(w) - int32(data[3][i%columns%zeros[1]]))
				}
			}
			shapes := [][]int{{rows, terms}, {terms, columns}, {zeros[0]}, {zeros[1]}}
			run(fmt.Sprint("product, zero points ", zeros, ", arguments ", known), nodeMsg("MatMulInteger", names, list("y")), names, shapes, data, known, want)
		}
		for _, groups := range []int{1, 2} {
			for _, filters := range []int{1, 4} { // zero points of filters
				for _, pad := range []int64{0, 1, 2} {
					const batch, channels, side, out, k, stride = 2, 4, 6, 4, 3, 2
					to, each := (side+2*int(pad)-k)/stride+1, channels/groups
					data := [][]uint8{bytes(batch * channels * side * side), bytes(out * each * k * k), bytes(1), bytes(filters)}
					want := make([]int32, batch*out*to*to)
					for i := range want {
						n, f, y, x := i/(out*to*to), i/(to*to)%out, i/to%to, i%to
						for c := range each {
							for d := range k * k {
								py, px := y*stride-int(pad)+d/k, x*stride-int(pad)+d%k
								if py < 0 || py >= side || px < 0 || px >= side {
									continue
								}
								p := data[0][((n*channels+f/(out/groups)*each+c)*side+py)*side+px]
								want[i] += (int32(p) - int32(data[2][0])) * (int32(data[1][(f*each+c)*k*k+d]) - int32(data[3][f%filters]))
							}
						}
					}
					shapes := [][]int{{batch, channels, side, side}, {out, each, k, k}, {1}, {filters}}
					node := nodeMsg("ConvInteger", names, list("y"), intsAttr("pads", pad, pad, pad, pad), intsAttr("strides", stride, stride), intAttr("group", int64(groups)))
					run(fmt.Sprint("convolution of ", groups, " groups, zero points of ", filters, " filters, padding ", pad, ", arguments ", known), node, names, shapes, data, known, want)
				}
			}
		}
	}
}
