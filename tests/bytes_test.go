package tests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// quantity is what bytes stand for, and quantity's inverse what is rounded to bytes.
type quantity struct {
	scale float64
	zero  int
	of    dtype.DType
}

func (q quantity) number(x *tensor.Tensor) *tensor.Tensor {
	return x.To(dtype.F32).Sub(q.zero).Mul(q.scale)
}

func (q quantity) bytes(x *tensor.Tensor) *tensor.Tensor {
	lo, hi := 0, 255
	if q.of == dtype.I8 {
		lo, hi = -128, 127
	}
	return x.Div(q.scale).Round().Add(q.zero).Clamp(lo, hi).To(q.of)
}

// byteResults computes functions of bytes, drawn at random: of those of an array, of sums of products, of a part of an array and of neighbours, through one byte
// or several, stored as bytes and as floats. All that is computed with them is exact but for the last step of a rounding.
func byteResults(t *testing.T, device string, o engine.Options) map[string][]float32 {
	b := newBench(t, device, o)
	r := rand.New(rand.NewPCG(7, 11))
	drawn := func() quantity {
		q := quantity{[]float64{1.0 / 64, 1.0 / 32, 1.0 / 16}[r.IntN(3)], r.IntN(40) - 20, dtype.I8}
		if r.IntN(2) == 0 {
			q.of, q.zero = dtype.U8, q.zero+128
		}
		return q
	}
	// Steps far from the middle between two bytes, whatever an exponential is rounded to, on all devices.
	functions := []func(x *tensor.Tensor) *tensor.Tensor{
		func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x.Add(3).Clamp(0, 6)).Div(8) },
		func(x *tensor.Tensor) *tensor.Tensor { return x.Lt(0).Where(x.Div(8), x).Square().Sqrt().Sub(1) },
		func(x *tensor.Tensor) *tensor.Tensor {
			return x.Mul(x).Add(0.25).Mul(x.Clamp(-1, 1)).Sub(x.Square().Div(16))
		},
		func(x *tensor.Tensor) *tensor.Tensor {
			return x.Round().Add(x.Floor()).Mul(x.Sign()).Div(4).Add(x.Div(2).Exp().Mul(0))
		},
	}
	function := func(x *tensor.Tensor, q quantity) (*tensor.Tensor, quantity) {
		for range 1 + r.IntN(3) {
			f, g, by, to := functions[r.IntN(len(functions))], functions[r.IntN(len(functions))], drawn(), drawn()
			y := q.number(x)
			x, q = to.bytes(f(y).Add(by.number(by.bytes(g(y).Exp2().Add(1).Log2().Round())))), to
		}
		return x, q
	}
	out := map[string]*tensor.Tensor{}
	for i, s := range [][]int{{70, 70}, {64, 128}, {5, 31, 33}, {8192}, {3, 1, 1777}, {4, 4, 17, 19}} {
		for j := range 3 {
			q := drawn()
			x := b.ints(256, s...).Sub(map[dtype.DType]int{dtype.I8: 128}[q.of]).To(q.of)
			y, p := function(x, q)
			name := fmt.Sprint(s, j)
			switch (i + j) % 4 {
			case 0:
				out["bytes "+name] = y
			case 1:
				out["floats "+name] = p.number(y)
			case 2:
				z, n := function(x.Flip(-1), q)
				out["of two "+name] = drawn().bytes(p.number(y).Add(n.number(z)))
			default:
				z, n := function(drawn().bytes(p.number(y).Sub(q.number(x.Flip(-1)))), p)
				out["behind two "+name] = n.number(z).Mul(p.number(y))
			}
		}
	}
	for _, s := range [][3]int{{64, 32, 96}, {37, 50, 131}, {100, 7, 65}} {
		q, to := drawn(), drawn()
		x := b.ints(256, s[0], s[1]).Sub(map[dtype.DType]int{dtype.I8: 128}[q.of]).To(q.of)
		w := b.ints(256, s[1], s[2]).Sub(128).To(dtype.I8)
		sums := x.To(dtype.I32).Sub(q.zero).MatMul(w.To(dtype.I32)).To(dtype.F32).Div(1024)
		y, n := function(to.bytes(sums), to)
		out[fmt.Sprint("behind sums ", s)], out[fmt.Sprint("rows ", s)] = y, n.number(y).Max(1)
		out[fmt.Sprint("turned ", s)] = y.T().Contiguous()
	}
	got := map[string][]float32{}
	for name, x := range out {
		v, err := tensor.Data[float32](context.Background(), x.To(dtype.F32))
		require.NoError(t, err, name)
		got[name] = v
	}
	return got
}

// Functions of bytes that kernels look up in tables are what they are when they are computed.
func TestFunctionsOfBytes(t *testing.T) {
	want := byteResults(t, "REF", engine.Options{})
	for _, o := range []struct {
		device  string
		options engine.Options
	}{
		{"INTERP", engine.Options{}}, {"CPU", engine.Options{Threads: 1}}, {"CPU", engine.Options{Threads: 3, Fence: true}}, {"CPU", engine.Options{NoOpt: true}}, {"WASM", engine.Options{}},
	} {
		t.Run(fmt.Sprintf("%s %+v", o.device, o.options.Threads), func(t *testing.T) {
			for name, v := range byteResults(t, o.device, o.options) {
				require.Len(t, v, len(want[name]), name)
				for i := range v {
					if v[i] != want[name][i] {
						assert.Failf(t, name, "element %d is %v, and must be %v", i, v[i], want[name][i])
						break
					}
				}
			}
		})
	}
}

// Arrays of 256 elements of a byte, of whatever type, hold what they hold at places that are bytes, as tables of functions do.
func TestTablesOfBytes(t *testing.T) {
	lookUp := func(device string, o engine.Options) map[string][]float32 {
		b := newBench(t, device, o)
		got := map[string][]float32{}
		for _, shape := range [][]int{{70, 70}, {3, 4099}, {33}} {
			place := b.ints(256, shape...).To(dtype.U8)
			for _, d := range []dtype.DType{dtype.Bool, dtype.F8E4M3, dtype.F8E5M2, dtype.I8, dtype.U8} {
				table := b.ints(256, 256).Sub(128)
				switch d {
				case dtype.Bool:
					table = table.Gt(3)
				case dtype.U8:
					table = table.Add(128)
				}
				table = table.To(d).Own()
				x := table.IndexSelect(0, place.Reshape(-1)).Reshape(shape...)
				for name, y := range map[string]*tensor.Tensor{"itself": x.Contiguous(), "a float": x.To(dtype.F32).Mul(3), "an integer": x.To(dtype.I32).Add(1), "chosen": x.To(dtype.F32).Gt(0).Where(x, x.To(dtype.I32).To(d))} {
					v, err := tensor.Data[float32](context.Background(), y.To(dtype.F32))
					require.NoError(t, err, name)
					got[fmt.Sprint(shape, d, name)] = v
				}
			}
		}
		return got
	}
	want := lookUp("REF", engine.Options{})
	for _, o := range []engine.Options{{}, {NoOpt: true}, {Fence: true}} {
		assert.Equal(t, want, lookUp("CPU", o), "%+v", o)
	}
	assert.Equal(t, want, lookUp("WASM", engine.Options{}))
}
