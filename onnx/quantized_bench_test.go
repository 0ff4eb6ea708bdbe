package onnx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// BenchmarkQuantized runs models as quantisers write them, with bytes between all operators: a product of 128×256 and 256×1024 with GELU by the error
// function, a depthwise convolution 3×3 of 96×64×64 with ReLU, products of one row and of eight with 1024×4096, and a convolution 3×3 of 512×7×7 to 512
// channels.
func BenchmarkQuantized(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	scalar := func(name string, f float32) message { return tensorMsg(name, Float32, floatsValue(nil, f).raw) }
	for name, c := range map[string]struct {
		x, w  []int64
		nodes func(q func(op string, in ...string) string) string // gives the result
	}{
		"GELU": {[]int64{128, 256}, []int64{256, 1024}, func(q func(op string, in ...string) string) string {
			a := q("MatMul", "xf", "wf")
			e := q("Add", q("Erf", q("Div", a, "root")), "one")
			return q("Mul", q("Mul", a, e), "half")
		}},
		"Depthwise": {[]int64{1, 96, 64, 64}, []int64{96, 1, 3, 3}, func(q func(op string, in ...string) string) string {
			return q("Relu", q("Conv", "xf", "wf"))
		}},
		"Row":         {[]int64{1, 1024}, []int64{1024, 4096}, func(q func(op string, in ...string) string) string { return q("MatMul", "xf", "wf") }},
		"Rows":        {[]int64{8, 1024}, []int64{1024, 4096}, func(q func(op string, in ...string) string) string { return q("MatMul", "xf", "wf") }},
		"Convolution": {[]int64{1, 512, 7, 7}, []int64{512, 512, 3, 3}, func(q func(op string, in ...string) string) string { return q("Conv", "xf", "wf") }},
	} {
		b.Run(name, func(b *testing.B) {
			size := func(dims []int64) (n int) {
				n = 1
				for _, d := range ints(dims) {
					n *= d
				}
				return n
			}
			nodes := msgs(nodeMsg("DequantizeLinear", list("x", "sx", "zx"), list("xf")), nodeMsg("DequantizeLinear", list("w", "sw", "zw"), list("wf")))
			n := 0
			y := c.nodes(func(op string, in ...string) string {
				n++
				out := fmt.Sprint("v", n)
				var attrs []message
				if op == "Conv" {
					attrs = msgs(intAttr("group", c.x[1]/c.w[1]), intsAttr("pads", 1, 1, 1, 1))
				}
				nodes = append(nodes, nodeMsg(op, in, list(out+"f"), attrs...), nodeMsg("QuantizeLinear", list(out+"f", "sx", "zx"), list(out+"q")),
					nodeMsg("DequantizeLinear", list(out+"q", "sx", "zx"), list(out)))
				return out
			})
			constants := msgs(scalar("sx", 0.02), tensorMsg("zx", Uint8, []byte{117}), scalar("sw", 0.01), tensorMsg("zw", Int8, []byte{0}), tensorMsg("w", Int8, anyBytes(r, size(c.w)), c.w...),
				scalar("root", 1.4142135), scalar("one", 1), scalar("half", 0.5))
			m, err := Read(modelMsg(graphMsg(nodes, constants, msgs(portMsg("x", Uint8, c.x...)), msgs(portMsg(y, Float32)))), Options{Name: name, Device: "CPU"})
			require.NoError(b, err)
			feed := map[string]*Value{"x": {elem: Uint8, shape: ints(c.x), raw: anyBytes(r, size(c.x))}}
			for b.Loop() {
				out, err := m.Call(context.Background(), feed)
				require.NoError(b, err)
				_, err = tensor.Data[float32](context.Background(), out[y].Tensor())
				require.NoError(b, err)
			}
		})
	}
}
