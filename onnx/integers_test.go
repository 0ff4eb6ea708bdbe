package onnx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Products and convolutions of integers are those of what is left of them without their zero points, known when the plan is made or not, one for all
// or one for each row, column and filter; what a padded window holds beyond the picture adds nothing.
func TestZeroPoints(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bytes := func(n int) []uint8 { return anyBytes(r, n) }
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

// Layers of what stands for narrow integers are those of the numbers that these stand for: known weights take the way of integers, others that of floats.
func TestLayersOfDequantizedNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	scales := func(n int) message {
		list := make([]float32, n)
		for i := range list {
			list[i] = 0.01 + r.Float32()/50
		}
		return floatsMsg("sw", list...)
	}
	scalar := func(name string, f float32) message { return tensorMsg(name, Float32, floatsValue(nil, f).raw) }
	for name, c := range map[string]struct {
		op      string
		x, w    []int64
		axis    int64 // of scales
		scales  int
		attrs   []message
		biases  int
		weights Elem
	}{
		"convolution":                {"Conv", []int64{2, 4, 5, 5}, []int64{6, 4, 3, 3}, 0, 6, msgs(intsAttr("pads", 1, 1, 1, 1)), 6, Int8},
		"convolution of groups":      {"Conv", []int64{1, 4, 5, 5}, []int64{4, 2, 3, 3}, 0, 4, msgs(intAttr("group", 2), intsAttr("pads", 0, 1, 1, 0)), 0, Uint8},
		"product":                    {"MatMul", []int64{2, 3, 20}, []int64{20, 5}, 1, 5, nil, 0, Int8},
		"scales of terms":            {"MatMul", []int64{3, 20}, []int64{20, 5}, 0, 20, nil, 0, Int8},
		"one scale":                  {"MatMul", []int64{3, 20}, []int64{20, 5}, 1, 1, nil, 0, Uint8},
		"linear":                     {"Gemm", []int64{3, 20}, []int64{5, 20}, 0, 5, msgs(intAttr("transB", 1)), 5, Int8},
		"linear, weights not turned": {"Gemm", []int64{3, 20}, []int64{20, 5}, 1, 5, msgs(message{}.text(1, "alpha").float(2, 0.5).num(20, 1)), 5, Uint8},
		"both turned":                {"Gemm", []int64{20, 3}, []int64{5, 20}, 0, 5, msgs(intAttr("transA", 1), intAttr("transB", 1)), 0, Int8},
	} {
		size := func(dims []int64) (n int) {
			n = 1
			for _, d := range dims {
				n *= int(d)
			}
			return n
		}
		x, w := anyBytes(r, size(c.x)), anyBytes(r, size(c.w))
		zeros := []int64{int64(c.scales)}
		in := list("xf", "wf")
		constants := msgs(scalar("sx", 0.02), tensorMsg("zx", Uint8, []byte{117}), scales(c.scales), tensorMsg("zw", c.weights, anyBytes(r, c.scales), zeros...))
		if c.biases > 0 {
			bias := make([]float32, c.biases)
			for i := range bias {
				bias[i] = r.Float32()
			}
			constants, in = append(constants, floatsMsg("b", bias...)), append(in, "b")
		}
		nodes := msgs(nodeMsg("DequantizeLinear", list("x", "sx", "zx"), list("xf")), nodeMsg("DequantizeLinear", list("w", "sw", "zw"), list("wf"), intAttr("axis", c.axis)),
			nodeMsg(c.op, in, list("y"), c.attrs...))
		y := msgs(portMsg("y", Float32))
		feed := map[string]*Value{"x": {elem: Uint8, shape: ints(c.x), raw: x}}
		known := read(t, modelMsg(graphMsg(nodes, append(constants, tensorMsg("w", c.weights, w, c.w...)), msgs(portMsg("x", Uint8, c.x...)), y)))
		got, err := known.Call(context.Background(), feed)
		require.NoError(t, err, name)
		feed["w"] = &Value{elem: c.weights, shape: ints(c.w), raw: w}
		open := read(t, modelMsg(graphMsg(nodes, constants, msgs(portMsg("x", Uint8, c.x...), portMsg("w", c.weights, c.w...)), y)))
		want, err := open.Call(context.Background(), feed)
		require.NoError(t, err, name)
		a, err := tensor.Data[float32](context.Background(), got["y"].Tensor())
		require.NoError(t, err, name)
		b, err := tensor.Data[float32](context.Background(), want["y"].Tensor())
		require.NoError(t, err, name)
		require.InDeltaSlice(t, b, a, 2e-4, name)
	}
}

func ints(list []int64) (out []int) {
	for _, n := range list {
		out = append(out, int(n))
	}
	return out
}

func anyBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return b
}

// Sums of more products than 32 bits surely hold are made of floats.
func TestLongSumsOfDequantizedNumbers(t *testing.T) {
	const n = 40000
	most := make([]byte, n)
	for i := range most {
		most[i] = 255
	}
	one := tensorMsg("s", Float32, floatsValue(nil, 1).raw)
	nodes := msgs(nodeMsg("DequantizeLinear", list("x", "s"), list("xf")), nodeMsg("DequantizeLinear", list("w", "s"), list("wf")), nodeMsg("MatMul", list("xf", "wf"), list("y")))
	m := read(t, modelMsg(graphMsg(nodes, msgs(one, tensorMsg("w", Uint8, most, n, 1)), msgs(portMsg("x", Uint8, 1, n)), msgs(portMsg("y", Float32)))))
	out, err := m.Call(context.Background(), map[string]*Value{"x": {elem: Uint8, shape: []int{1, n}, raw: most}})
	require.NoError(t, err)
	got, err := tensor.Data[float32](context.Background(), out["y"].Tensor())
	require.NoError(t, err)
	require.InEpsilon(t, 255.*255*n, got[0], 1e-5)
}

// Results of integers are rounded after one factor, as in onnxruntime: where that is a half, each other way of multiplying rounds some otherwise.
func TestOneFactorOfQuantizedSums(t *testing.T) {
	const rows, terms, columns = 9, 16, 12
	r := rand.New(rand.NewPCG(5, 6))
	x, w := anyBytes(r, rows*terms), anyBytes(r, terms*columns)
	for i := range x {
		x[i] /= 32
	}
	for i := range w {
		w[i] /= 32
	}
	sx, sw, sy := float32(0.1), float32(0.05), float32(0.01)
	factor := sx * sw / sy
	scalar := func(name string, f float32) message { return tensorMsg(name, Float32, floatsValue(nil, f).raw) }
	constants := msgs(scalar("sx", sx), scalar("sw", sw), scalar("sy", sy), tensorMsg("zx", Uint8, []byte{3}), tensorMsg("zw", Uint8, []byte{4}), tensorMsg("zy", Uint8, []byte{128}))
	names := list("x", "sx", "zx", "w", "sw", "zw", "sy", "zy")
	sum := func(row, column int) (s int32) {
		for k := range terms {
			s += (int32(x[row*terms+k]) - 3) * (int32(w[k*columns+column]) - 4)
		}
		return s
	}
	for _, c := range []struct {
		node message
		x, w []int64
		raw  []byte // of w
	}{
		{nodeMsg("QLinearMatMul", names, list("y")), []int64{rows, terms}, []int64{terms, columns}, w},
		{inDomain(nodeMsg("QGemm", list("x", "sx", "zx", "w", "sw", "zw", "", "sy", "zy"), list("y")), "com.microsoft"), []int64{rows, terms}, []int64{terms, columns},
			w},
		{inDomain(nodeMsg("QGemm", list("x", "sx", "zx", "w", "sw", "zw", "", "sy", "zy"), list("y"), intAttr("transB", 1)), "com.microsoft"), []int64{rows, terms}, []int64{columns, terms},
			turnedBytes(w, columns)},
		{nodeMsg("QLinearConv", names, list("y")), []int64{rows, terms, 1, 1}, []int64{columns, terms, 1, 1},
			turnedBytes(w, columns)},
	} {
		m := read(t, modelMsg(graphMsg(msgs(c.node), append(constants, tensorMsg("w", Uint8, c.raw, c.w...)), msgs(portMsg("x", Uint8, c.x...)), msgs(portMsg("y", Uint8)))))
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(x, ints(c.x)...))})
		require.NoError(t, err)
		got, err := tensor.Data[uint8](context.Background(), out["y"])
		require.NoError(t, err)
		want := make([]uint8, rows*columns)
		for i := range want {
			want[i] = uint8(max(0, min(255, 128+math.RoundToEven(float64(float32(sum(i/columns, i%columns))*factor)))))
		}
		require.Equal(t, want, got, "%v", c.w)
	}
}

// turnedBytes is the transposed matrix.
func turnedBytes(b []byte, columns int) (out []byte) {
	for i := range columns {
		for j := i; j < len(b); j += columns {
			out = append(out, b[j])
		}
	}
	return out
}
