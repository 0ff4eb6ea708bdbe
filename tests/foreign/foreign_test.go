// Package foreign tests kernels that programs give as text in the language of a device (tensor.CustomUnsafe).
package foreign

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime/native"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

type (
	T  = tensor.Tensor
	ts = []*tensor.Tensor
)

var ctx = context.Background()

// The kernel of these tests: the sums and the largest of neighbours, x[i] + y[i+1] around the end, and the whole numbers i.
const (
	inC = `
#define N 5
static float next(const float *y, int i) { return y[(i + 1) % N]; }
void kernel(const float *in0, const float *in1, float *out0, int32_t *out1, int32_t lo, int32_t hi) {
	for (int i = lo; i < hi; i++) {
		out0[i] = in0[i] + next(in1, i);
		out1[i] = i;
	}
}`
	inWGSL = `
fn next(i: u32) -> f32 { return in1[(i + 1) % 5]; }
fn kernel(group: u32, lane: u32) {
	let i = group * 2 + lane;
	if (i < 5) {
		out0[i] = in0[i] + next(i);
		out1[i] = i32(i);
	}
}`
)

func options() tensor.UnsafeOptions {
	return tensor.UnsafeOptions{
		C:    tensor.UnsafeSource{Text: inC, Threads: 5},
		WGSL: tensor.UnsafeSource{Text: inWGSL, Threads: 3, Group: 2},
	}
}

func same(in ...*T) ts {
	return ts{in[0].Add(in[1].Roll([]int{-1}, []int{0})), tensor.Arange(5).To(dtype.I32)}
}

func results(shape ...int) []tensor.UnsafeResult {
	return []tensor.UnsafeResult{{DType: dtype.F32, Shape: shape}, {DType: dtype.I32, Shape: shape}}
}

func call(o tensor.UnsafeOptions, in ...*T) ts { return tensor.CustomUnsafe("next", results(5), in, o) }

func on(t *testing.T, device string) func(v ...float32) *T {
	_, err := engine.Use(device)
	need.Device(t, device, err)
	return func(v ...float32) *T { return tensor.Of(v, len(v)).On(device) }
}

func floats(t *testing.T, x *T) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](ctx, x)
	require.NoError(t, err)
	return v
}

func TestText(t *testing.T) {
	for _, device := range []string{"CPU", "WEBGPU"} {
		t.Run(device, func(t *testing.T) {
			of := on(t, device)
			x, y := of(1, 2, 3, 4, 5), of(10, 20, 30, 40, 50)
			out := call(options(), x, y)
			require.Equal(t, []float32{21, 32, 43, 54, 15}, floats(t, out[0]))
			n, err := tensor.Data[int32](ctx, out[1])
			require.NoError(t, err)
			require.Equal(t, []int32{0, 1, 2, 3, 4}, n)

			// Arguments that are computed, permuted, the same, constants; results that are used further, and one that nobody uses.
			w := of(5, 4, 3, 2, 1).Flip(0).Mul(2)
			require.Equal(t, []float32{6, 10, 14, 18, 12}, floats(t, call(options(), w, w)[0]))
			require.Equal(t, []float32{3, 5, 7, 9, 6}, floats(t, call(options(), x, x)[0]))
			require.Equal(t, []float32{6, 6, 6, 6, 6}, floats(t, call(options(), tensor.Full(5, dtype.F32, 5), tensor.Full(1, dtype.F32, 5).Add(x.Mul(0)))[0]))
			both := call(options(), x, call(options(), y, x)[0].Add(1))
			require.Equal(t, []float32{1 + 24, 2 + 35, 3 + 46, 4 + 52, 5 + 13}, floats(t, both[0].Add(both[1]).Sub(both[1])))
			grid := of(0, 5, 1, 6, 2, 7, 3, 8, 4, 9).Reshape(5, 2).Transpose(0, 1)
			require.Equal(t, []float32{0 + 6, 1 + 7, 2 + 8, 3 + 9, 4 + 5}, floats(t, call(options(), grid.At(0), grid.At(1))[0]))

			// What it is written over is read before: an assignment.
			state := of(1, 2, 3, 4, 5).Own()
			state.Assign(call(options(), state, state)[0])
			require.Equal(t, []float32{3, 5, 7, 9, 6}, floats(t, state))

			// Captured, with other inputs.
			c, err := tensor.Capture(ctx, func(in ...*T) ts { return call(options(), in[0], y) }, x)
			require.NoError(t, err)
			for range 2 {
				out, err := c.Run(ctx, of(0, 0, 0, 0, 1))
				require.NoError(t, err)
				require.Equal(t, []float32{20, 30, 40, 50, 11}, floats(t, out[0]))
			}
			require.Equal(t, 1, c.Launches())
			var file strings.Builder
			require.ErrorContains(t, c.Save(ctx, &file), "the kernel next is given as text, and a file holds no code")
		})
	}
}

// Devices of other kinds run what is said to be the same, or say what is missing.
func TestOtherDevices(t *testing.T) {
	for _, device := range []string{"INTERP", "WASM", "REF"} {
		t.Run(device, func(t *testing.T) {
			of := on(t, device)
			x, y := of(1, 2, 3, 4, 5), of(10, 20, 30, 40, 50)
			err := tensor.Realize(ctx, call(options(), x, y)...)
			require.ErrorContains(t, err, "the kernel next is text in c, wgsl, and "+device)
			require.ErrorContains(t, err, "state what is the same in operations of tensors")
			o := options()
			o.Same = same
			require.Equal(t, []float32{21, 32, 43, 54, 15}, floats(t, call(o, x, y)[0]))
		})
	}
	of := on(t, "CPU")
	err := tensor.Realize(ctx, tensor.CustomUnsafe("shader", results(5), ts{of(1, 2, 3, 4, 5), of(1, 2, 3, 4, 5)}, tensor.UnsafeOptions{WGSL: options().WGSL})...)
	require.ErrorContains(t, err, "the kernel shader is text in wgsl, and CPU runs c")
}

func TestDerivatives(t *testing.T) {
	of := on(t, "CPU")
	x, y := of(1, 2, 3, 4, 5), of(10, 20, 30, 40, 50)
	require.ErrorContains(t, tensor.Try(func() { call(options(), x, y)[0].Sum().Grad(x) }), "nothing is known of the derivatives of the kernel next")
	o := options()
	o.Same = same
	weights := of(1, 10, 100, 1000, 10000)
	g := call(o, x, y)[0].Mul(weights).Sum().Grad(x, y)
	require.Equal(t, []float32{1, 10, 100, 1000, 10000}, floats(t, g[0]))
	require.Equal(t, []float32{10000, 1, 10, 100, 1000}, floats(t, g[1]))
	_, moved := tensor.JVP(func(in ...*T) ts { return call(o, in...)[:1] }, ts{x, y}, ts{of(1, 0, 0, 0, 0), of(0, 1, 0, 0, 0)})
	require.Equal(t, []float32{2, 0, 0, 0, 0}, floats(t, moved[0]))
	many := tensor.Vmap(func(in ...*T) ts { return call(o, in[0], y)[:1] }, tensor.VmapOptions{})(of(1, 2, 3, 4, 5, 0, 0, 0, 0, 0).Reshape(2, 5))
	require.Equal(t, []float32{21, 32, 43, 54, 15, 20, 30, 40, 50, 10}, floats(t, many[0]))

	o.Same, o.Gradient = nil, func(in, out, seeds ts) ts { return ts{seeds[0].Mul(3), nil} }
	g = call(o, x, y)[0].Sum().Grad(x, y)
	require.Equal(t, []float32{3, 3, 3, 3, 3}, floats(t, g[0]))
	require.Equal(t, []float32{0, 0, 0, 0, 0}, floats(t, g[1]))
}

// A text that makes no sense is an error with the words of its compiler and the line in the text, and spoils nothing else.
func TestBadText(t *testing.T) {
	of := on(t, "CPU")
	x := of(1, 2, 3, 4, 5)
	run := func(text string) error {
		y := tensor.CustomUnsafe("bad one", results(5)[:1], ts{x}, tensor.UnsafeOptions{C: tensor.UnsafeSource{Text: text, Threads: 5}})
		return tensor.Realize(ctx, y[0], x.Add(1).Exp())
	}
	err := run("\nvoid kernel(const float *in0, float *out0, int32_t lo, int32_t hi) {\n\tout0[lo] = nonsense;\n}")
	var said *native.CompileError
	require.True(t, errors.As(err, &said), "%v", err)
	require.ErrorContains(t, err, "own_bad_one:3")
	require.ErrorContains(t, err, "nonsense")
	require.NotContains(t, err.Error(), "E_5")
	require.ErrorContains(t, run("void kernel(float *in0, int32_t lo, int32_t hi) {}"), "conflicting types for")
	require.Error(t, run("int other;"), "it defines no kernel")
	require.Error(t, run("#error no"))
	require.Error(t, run("/* never ends"))
	require.Equal(t, []float32{2, 3, 4, 5, 6}, floats(t, x.Add(1)))
	// Names of one text are not those of another, nor of Weft's.
	for _, v := range []string{"1", "2"} {
		y := tensor.CustomUnsafe("same names", results(5)[:1], ts{x}, tensor.UnsafeOptions{C: tensor.UnsafeSource{Threads: 5,
			Text: "#define max_f32 +\n#define sizeof\nstatic const float helper = " + v + ";\nvoid kernel(const float *a, float *b, int32_t lo, int32_t hi) { for (; lo < hi; lo++) b[lo] = a[lo] max_f32 helper; }"}})
		out := floats(t, y[0].Maximum(x).Sin().Mul(0).Add(y[0]))
		require.Equal(t, map[string]float32{"1": 2, "2": 3}[v], out[0])
	}

	gpu := on(t, "WEBGPU")
	shader := func(text string) error {
		y := tensor.CustomUnsafe("bad", results(5)[:1], ts{gpu(1, 2, 3, 4, 5)}, tensor.UnsafeOptions{WGSL: tensor.UnsafeSource{Text: text, Threads: 1}})
		return tensor.Realize(ctx, y[0])
	}
	require.ErrorContains(t, shader("fn kernel(group: u32, lane: u32) { out0[lane] = nonsense; }"), "nonsense")
	require.ErrorContains(t, shader("fn kernel(group: u32, lane: u32) { out0[lane = 1; }"), "kernel own_bad was refused")
	require.Error(t, shader("fn other() {}"))
	require.NoError(t, shader("fn kernel(group: u32, lane: u32) { out0[lane] = in0[lane + 1000000]; }"), "what is outside stays harmless")
	require.Equal(t, []float32{2, 3}, floats(t, gpu(1, 2).Add(1)))
}

func TestBadCalls(t *testing.T) {
	of := on(t, "CPU")
	x := of(1, 2, 3, 4, 5)
	try := func(r []tensor.UnsafeResult, in ts, o tensor.UnsafeOptions) error {
		return tensor.Try(func() { tensor.CustomUnsafe("k", r, in, o) })
	}
	o := options()
	require.ErrorContains(t, try(nil, ts{x}, o), "gives nothing")
	require.ErrorContains(t, try(results(0), ts{x}, o), "result 0 has no elements")
	require.ErrorContains(t, try(results(-1), ts{x}, o), "negative")
	require.ErrorContains(t, try(results(1<<40, 1<<40), ts{x}, o), "k")
	require.ErrorContains(t, try([]tensor.UnsafeResult{{DType: dtype.Index, Shape: []int{1}}}, ts{x}, o), "storage")
	require.ErrorContains(t, try(results(5), ts{of()}, o), "argument 0 has no elements")
	require.ErrorContains(t, try(results(5), ts{x}, tensor.UnsafeOptions{}), "has no text")
	o.C.Threads = 0
	require.ErrorContains(t, try(results(5), ts{x}, o), "0 threads")
	o = options()
	o.WGSL.Group = 257
	require.ErrorContains(t, try(results(5), ts{x}, o), "workgroups of 257")
	o = options()
	o.Same = func(in ...*T) ts { return ts{in[0]} }
	require.ErrorContains(t, try(results(5), ts{x}, o), "gives 1 results")
	o.Same = func(in ...*T) ts { return ts{in[0], in[0]} }
	require.ErrorContains(t, try(results(5), ts{x}, o), "result 1 of what is the same is to be int32 [5]")
	n := tensor.NewVariable("n", 1, 5)
	require.ErrorContains(t, tensor.Try(func() { call(options(), x.Narrow(0, 0, n), x) }), "needs a size that does not vary")
}

// All threads share the iterations, whatever is small or narrow.
func TestThreadsAndTypes(t *testing.T) {
	on(t, "CPU")
	const n = 100_003
	x := tensor.Arange(n).To(dtype.F16).On("CPU")
	k := tensor.CustomUnsafe("bits", []tensor.UnsafeResult{{DType: dtype.F16, Shape: []int{n}}, {DType: dtype.Bool, Shape: []int{n}}}, ts{x},
		tensor.UnsafeOptions{C: tensor.UnsafeSource{Threads: n, Text: `void kernel(const uint16_t *x, uint16_t *y, uint8_t *odd, int32_t lo, int32_t hi) {
			for (int i = lo; i < hi; i++) { y[i] = x[i] ^ 0x8000; odd[i] = i & 1; }
		}`}})
	require.Equal(t, []float32{1, n / 2}, floats(t, tensor.Stack(0, k[0].Eq(x.Neg()).All().To(dtype.F32), k[1].To(dtype.F32).Sum())))
}

// On several devices each runs it, on what it has whole.
func TestShards(t *testing.T) {
	on(t, "CPU:1")
	devices := []string{"CPU:0", "CPU:1"}
	x := tensor.Of([]float32{1, 2, 3, 4, 5}, 5)
	y := tensor.Of([]float32{10, 20, 30, 40, 50}, 5)
	out := call(options(), x.Shard(devices, tensor.Replicated), y.Shard(devices, tensor.Replicated))
	require.Equal(t, []float32{21, 32, 43, 54, 15}, floats(t, out[0]))
	z := tensor.Of(make([]float32, 10), 10).Shard(devices, 0)
	cut := tensor.CustomUnsafe("cut", results(5)[:1], ts{z}, tensor.UnsafeOptions{C: options().C})
	require.ErrorContains(t, tensor.Realize(ctx, cut[0]), "text for whole arrays")
}

// A kernel of the program's own in a step of a loop is one for each step, as nobody can make it one for all.
func TestInSteps(t *testing.T) {
	for _, device := range []string{"CPU", "WEBGPU"} {
		t.Run(device, func(t *testing.T) {
			of := on(t, device)
			w := of(1, 2, 3, 4, 5)
			var v []float32
			for i := range 8 * 5 {
				v = append(v, float32(i))
			}
			x := of(v...).Reshape(8, 5)
			run := func(kernel func(in ...*T) ts) []float32 {
				states, _ := tensor.Scan(func(s, in []*T) (next, out []*T) {
					return ts{s[0].Mul(0.5).Add(kernel(in[0], w)[0])}, nil
				}, ts{w}, ts{x}, tensor.ScanOptions{})
				v, err := tensor.Data[float32](ctx, states[0])
				require.NoError(t, err)
				return v
			}
			o := options()
			require.Equal(t, run(same), run(func(in ...*T) ts { return call(o, in...) }))
		})
	}
}
