// Package numbers tests that Go numbers that change from call to call compile one plan, with the values of REF.
package numbers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	_ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

func open(t testing.TB, device string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// devices compile what they play.
var devices = []string{"CPU", "WASM", "WEBGPU", "INTERP"}

// leaf is an array of small numbers, the same on each device.
func leaf(t testing.TB, e *engine.Engine, d dtype.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7+3)%23) / 4
	}
	u, err := e.FromBytes(dtype.F32, shape, raw(v))
	require.NoError(t, err)
	x := tensor.FromNode(u, e).To(d)
	require.NoError(t, tensor.Realize(context.Background(), x))
	return x
}

func raw(v []float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func bytes(t testing.TB, x *tensor.Tensor) []byte {
	t.Helper()
	raw, err := x.Bytes(context.Background())
	require.NoError(t, err)
	return raw
}

// loops are programs with a number that changes; most is how many plans they may compile.
var loops = []struct {
	name  string
	dtype dtype.DType
	most  int
	build func(x *tensor.Tensor, i int) *tensor.Tensor
}{
	{"factor", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i)) }},
	{"summand", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Add(i) }},
	{"divisor", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Div(float32(i)) }},
	{"quotient", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return tensor.FullLike(x, i).Div(x) }},
	{"comparison", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Lt(float32(i)/10).Where(x, i) }},
	{"two numbers", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i)).Add(float32(i*i) + 0.5) }},
	{"full", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Add(tensor.FullLike(x, float32(i))) }},
	{"int8", dtype.I8, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i).Add(3 * i) }},
	{"uint8", dtype.U8, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Sub(2 * i) }},
	{"int16", dtype.I16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(321 * i) }},
	{"int32", dtype.I32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i << 24).Add(i) }},
	{"uint32", dtype.U32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i << 25).Maximum(i) }},
	{"int64", dtype.I64, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(int64(i) << 55).Add(math.MaxInt64 - i) }},
	{"bfloat16", dtype.BF16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i) / 3) }},
	{"float16", dtype.F16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i) / 3) }},
	{"float64", dtype.F64, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float64(i) / 3).Add(i) }},
	{"narrow", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Narrow(0, i%40, 1).Mul(2) }},
	{"narrow inside", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Add(1).Narrow(0, i%30, 11).Narrow(1, i%3, 2).Sum(0)
	}},
	{"select", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Select(0, i%40).Exp() }},
	{"at", dtype.I32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.At(i%40, tensor.R(1, 4)).Add(1) }},
	{"pad", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Pad([]int{i, 0}, []int{100 - i, 0}).Add(1).Sum(1)
	}},
	{"roll", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Roll([]int{i}, []int{0}).Sub(x) }},
	{"write", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.WithAt(x.Narrow(0, 0, 3).Mul(i), tensor.R(i%37, i%37+3))
	}},
	{"gradient", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Mul(float32(i)).Sigmoid().Narrow(0, i%33, 8).Mul(x.Narrow(0, 0, 8)).Sum().Grad(x)[0]
	}},
}

func TestLoopsCompileOnce(t *testing.T) {
	for _, device := range devices {
		for _, c := range loops {
			if device == "WEBGPU" && c.dtype == dtype.F64 { // has none
				continue
			}
			t.Run(device+"/"+c.name, func(t *testing.T) {
				e, ref := open(t, device, engine.Options{}), open(t, "REF", engine.Options{})
				x, y := leaf(t, e, c.dtype, 40, 5), leaf(t, ref, c.dtype, 40, 5)
				before := e.Stats().Compiled
				for i := range 50 {
					got, want := c.build(x, i), c.build(y, i)
					equal(t, want, got, "number %d", i)
				}
				assert.LessOrEqual(t, e.Stats().Compiled-before, c.most)
			})
		}
	}
}

// equal compares by bits, floats of sums and functions with the last places of their type left out.
func equal(t *testing.T, want, got *tensor.Tensor, format string, args ...any) {
	t.Helper()
	require.Equal(t, want.Shape(), got.Shape(), format, args)
	require.Equal(t, want.DType(), got.DType(), format, args)
	if !want.DType().IsFloat() {
		require.Equal(t, bytes(t, want), bytes(t, got), fmt.Sprintf(format, args...))
		return
	}
	a, b := float64s(t, want), float64s(t, got)
	for i := range a {
		if math.IsNaN(a[i]) && math.IsNaN(b[i]) || a[i] == b[i] && math.Signbit(a[i]) == math.Signbit(b[i]) {
			continue
		}
		require.LessOrEqual(t, math.Abs(a[i]-b[i]), 3e-6*max(1, math.Abs(a[i])), "element %d: %v and %v; %s", i, a[i], b[i], fmt.Sprintf(format, args...))
	}
}

func float64s(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	v, err := tensor.Data[float32](context.Background(), x.To(dtype.F32))
	require.NoError(t, err)
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

// Numbers that are not finite, zeros with a sign, and the ends of types are passed as they are.
func TestHostileNumbers(t *testing.T) {
	floats := []float64{1, 0, math.Copysign(0, -1), -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-45, 3.4e38, 65504, 1e300, math.Pi}
	ints := []int64{1, 0, -1, 127, 128, -128, -129, 255, 256, 32767, -32768, 65535, math.MaxInt32, math.MinInt32, 1 << 32, math.MaxInt64, math.MinInt64, 1<<53 + 1}
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
				e, ref := open(t, device, engine.Options{}), open(t, "REF", engine.Options{})
				x, y := leaf(t, e, d, 30), leaf(t, ref, d, 30)
				before := e.Stats().Compiled
				for _, v := range floats {
					f := func(x *tensor.Tensor) *tensor.Tensor { return x.Sub(2).Mul(v).Add(tensor.FullLike(x, v)).Maximum(v) }
					equal(t, f(y), f(x), "%v %v", d, v)
				}
				assert.LessOrEqual(t, e.Stats().Compiled-before, 2)
			}
			for _, d := range []dtype.DType{dtype.I8, dtype.U16, dtype.I32, dtype.U32, dtype.I64, dtype.U64} {
				e, ref := open(t, device, engine.Options{}), open(t, "REF", engine.Options{})
				x, y := leaf(t, e, d, 30), leaf(t, ref, d, 30)
				before := e.Stats().Compiled
				for _, v := range ints {
					f := func(x *tensor.Tensor) *tensor.Tensor {
						return x.Sub(2).Mul(v).Add(x.FloorDiv(v)).Sub(x.Mod(v)).Xor(v)
					}
					equal(t, f(y), f(x), "%v %v", d, v)
				}
				assert.LessOrEqual(t, e.Stats().Compiled-before, 2)
			}
		})
	}
}

// Numbers that are equal at first and not later get arguments of their own.
func TestNumbersPartWays(t *testing.T) {
	e := open(t, "INTERP", engine.Options{})
	x := leaf(t, e, dtype.F32, 4)
	before := e.Stats().Compiled
	for i := range 20 {
		y := x.Mul(float32(i)).Add(float32(i * i)).Mul(float32(1 + i/10))
		got := float64s(t, y)
		for k, v := range float64s(t, x) {
			assert.InDelta(t, (v*float64(i)+float64(i*i))*float64(1+i/10), got[k], 1e-3, "number %d", i)
		}
	}
	assert.LessOrEqual(t, e.Stats().Compiled-before, 4)
}

// A captured function keeps the numbers that it was captured with.
func TestCapturedNumbers(t *testing.T) {
	ctx := context.Background()
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			e := open(t, device, engine.Options{})
			x := leaf(t, e, dtype.F32, 8)
			before := e.Stats().Compiled
			var fs []*tensor.Captured
			for i := range 5 {
				f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
					return []*tensor.Tensor{in[0].Mul(float32(i)).Narrow(0, i, 2), in[0].Add(i).Sum()}
				}, x)
				require.NoError(t, err)
				fs = append(fs, f)
			}
			assert.LessOrEqual(t, e.Stats().Compiled-before, 3)
			v := float64s(t, x)
			for range 2 {
				for i, f := range fs {
					out, err := f.Run(ctx, x)
					require.NoError(t, err)
					a, b := float64s(t, out[0]), float64s(t, out[1])
					sum := 0.0
					for _, w := range v {
						sum += w + float64(i)
					}
					assert.Equal(t, []float64{v[i] * float64(i), v[i+1] * float64(i)}, a)
					assert.InDelta(t, sum, b[0], 1e-3)
				}
			}
		})
	}
}

// Goroutines with numbers of their own do not get those of others.
func TestConcurrentNumbers(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			e := open(t, device, engine.Options{})
			x := leaf(t, e, dtype.F32, 16)
			v := float64s(t, x)
			var wait sync.WaitGroup
			for g := range 4 {
				wait.Go(func() {
					for i := range 25 {
						n := g*100 + i
						raw, err := x.Mul(float32(n)).Select(0, i%16).Bytes(context.Background())
						if assert.NoError(t, err) {
							assert.Equal(t, float32(v[i%16])*float32(n), math.Float32frombits(binary.LittleEndian.Uint32(raw)))
						}
					}
				})
			}
			wait.Wait()
		})
	}
}

// What cannot be an argument is named.
func TestDebugNamesGraphsCompiledAgain(t *testing.T) {
	var log strings.Builder
	e := open(t, "INTERP", engine.Options{Debug: 1, Log: &log})
	x := leaf(t, e, dtype.F32, 16)
	for i := range 10 {
		bytes(t, x.Mul(i).Narrow(0, i, 2))
	}
	assert.NotContains(t, log.String(), "the same graph")
	for i := range 4 {
		bytes(t, x.Mul(3).Narrow(0, 0, i+1))
	}
	assert.Contains(t, log.String(), "INTERP plan: the same graph with another constant, compiled 3 times")
}

// The plans of numbers do not pile up, nor do their arrays.
func TestNumbersStayFlat(t *testing.T) {
	e := open(t, "INTERP", engine.Options{})
	x := leaf(t, e, dtype.F32, 4)
	measure := func() int64 {
		uop.EndGeneration()
		uop.EndGeneration()
		runtime.GC()
		runtime.GC()
		return e.Stats().LiveBytes
	}
	var first int64
	for i := range 3000 {
		bytes(t, x.Mul(float32(i)))
		if i == 300 {
			first = measure()
		}
	}
	assert.Less(t, measure()-first, int64(1<<16))
}

// A number gives the same bits as an argument and as a constant.
func TestNumbersChangeNoBit(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			e, all := open(t, device, engine.Options{}), open(t, device, engine.Options{Numbers: true})
			for _, c := range loops {
				if device == "WEBGPU" && c.dtype == dtype.F64 { // has none
					continue
				}
				x, y := leaf(t, e, c.dtype, 40, 5), leaf(t, all, c.dtype, 40, 5)
				for _, i := range []int{0, 1, 29} {
					require.Equal(t, bytes(t, c.build(x, i)), bytes(t, c.build(y, i)), "%s, number %d", c.name, i)
				}
			}
		})
	}
}

// Writing rows at an index that changes compiles one plan, and a row that moves within its own array is read before it is
// overwritten.
func TestAssignAtNumbers(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			e, ref := open(t, device, engine.Options{}), open(t, "REF", engine.Options{})
			x, y := leaf(t, e, dtype.F32, 40, 5), leaf(t, ref, dtype.F32, 40, 5)
			require.NoError(t, tensor.Realize(context.Background(), x, y))
			before := e.Stats().Compiled
			for i := range 30 {
				for _, a := range []*tensor.Tensor{x, y} {
					a.SetAt(a.Narrow(0, (i*7)%35, 4).Add(i), tensor.R(i%36, i%36+4))
					require.NoError(t, a.Realize(context.Background()))
				}
				equal(t, y, x, "round %d", i)
			}
			assert.LessOrEqual(t, e.Stats().Compiled-before, 4)
		})
	}
}

// BenchmarkNumbers is a call with the same number each time, and with another one.
func BenchmarkNumbers(b *testing.B) {
	for _, device := range []string{"CPU", "INTERP"} {
		for name, step := range map[string]int{"same": 0, "other": 1} {
			b.Run(device+"/"+name, func(b *testing.B) {
				e := open(b, device, engine.Options{Threads: 1})
				x, y := leaf(b, e, dtype.F32, 1000, 20), leaf(b, e, dtype.F32, 100, 20)
				i := 0
				run := func() {
					y = x.Mul(float32(i)).Narrow(0, i%900, 100).Sub(y)
					require.NoError(b, tensor.Realize(context.Background(), y))
					i += step
				}
				run()
				run()
				for b.Loop() {
					run()
				}
				require.LessOrEqual(b, e.Stats().Compiled, 5)
			})
		}
	}
}

// An index that takes many steps from a number is looked at once a step, not once a path.
func TestIndexOfManySteps(t *testing.T) {
	e := open(t, "INTERP", engine.Options{Numbers: true})
	x := leaf(t, e, dtype.F32, 40, 5)
	for i := range 3 {
		index := tensor.FullLike(x.To(dtype.I32), i)
		for range 60 {
			index = index.Add(index).And(31).Add(1)
		}
		require.Len(t, float64s(t, x.Gather(0, index)), 200)
		index = tensor.Arange(500).Reshape(100, 5).To(dtype.I32).Add(i)
		for n := 99; n >= 40; n-- { // each step reads the one before at two places
			index = index.Narrow(0, 0, n).Add(index.Narrow(0, 1, n)).And(31)
		}
		require.Len(t, float64s(t, x.Gather(0, index)), 200)
	}
}

// Each step reads the one before at two places, and the numbers that say where are not known.
func TestManyDifferences(t *testing.T) {
	e := open(t, "INTERP", engine.Options{Numbers: true})
	x := leaf(t, e, dtype.F32, 70, 3)
	require.Len(t, float64s(t, x.Diff(60, 0)), 30)
	require.Empty(t, float64s(t, x.Diff(70, 0)))
}

// The same where data says which.
func TestManyGathers(t *testing.T) {
	e := open(t, "INTERP", engine.Options{})
	x := leaf(t, e, dtype.F32, 30)
	for range 40 {
		x = x.Gather(0, leaf(t, e, dtype.I32, 30)).Sub(x.Gather(0, leaf(t, e, dtype.I32, 30)))
	}
	require.Len(t, float64s(t, x), 30)
}
