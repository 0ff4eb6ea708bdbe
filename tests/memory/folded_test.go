package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// matrix is a tensor of random numbers with memory of its own.
func (b *bench) matrix(r *rand.Rand, shape ...int) *T {
	b.t.Helper()
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(9) - 4) // so that sums are exact in any order
	}
	x := b.floats(v...).Reshape(shape...).Own()
	require.NoError(b.t, x.Realize(ctx))
	return x
}

// launched is how many kernels f launches.
func (b *bench) launched(f func()) int {
	before := b.Stats().Launches
	f()
	return b.Stats().Launches - before
}

// product is a function of its input that uses a product of two weights, and a norm.
func product(w, v *T) func(in ...*T) []*T {
	return func(in ...*T) []*T {
		norm := w.Mul(w).SumKeep(1).Add(1).Sqrt()
		return []*T{in[0].MatMul(w.MatMul(v)).Div(norm.Transpose(0, 1))}
	}
}

// What depends on weights alone is computed by the first run, and not by the second.
func TestConstantsAreComputedOnce(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(1, 2))
		w, v, x := b.matrix(r, 24, 24), b.matrix(r, 24, 24), b.matrix(r, 3, 24)
		f := product(w, v)
		c := b.capture(f, x)
		var out []*T
		run := func() {
			var err error
			out, err = c.Run(ctx, x)
			require.NoError(b.t, err)
		}
		first, second := b.launched(run), b.launched(run)
		assert.Equal(b.t, c.Launches(), second)
		assert.Equal(b.t, 1, second, "%v", c.Schedule())
		assert.Greater(b.t, first, second)
		assert.Equal(b.t, b.values(f(x)[0]), b.values(out[0]))
		text := c.Schedule().String()
		assert.Contains(b.t, text, "at the first run")
		assert.Contains(b.t, text, "reduce of constants")
		assert.Contains(b.t, text, "operations an element, of constants")
	})
}

// Weights that are too large to be kept for nothing, a multiplication away from others, are computed once where a product uses each of them for
// many rows: else each run would write them down.
func TestConstantsThatAProductUsesAreComputedOnce(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(7, 8))
		w, scale := b.matrix(r, 288, 256), b.matrix(r, 256)
		scaled := func(in ...*T) []*T { return []*T{in[0].MatMul(w.Mul(scale))} }
		for _, rows := range []int{1, 32} {
			x := b.matrix(r, rows, 288)
			c := b.capture(scaled, x)
			for range 2 {
				out, err := c.Run(ctx, x)
				require.NoError(b.t, err)
				require.Equal(b.t, b.values(scaled(x)[0]), b.values(out[0]))
			}
			if rows == 1 {
				assert.Nil(b.t, c.Schedule().Once, "read once, it may as well be computed")
				continue
			}
			require.Equal(b.t, 1, c.Launches(), "%v", c.Schedule())
			assert.Len(b.t, c.Schedule().Launches()[0].Binds, 3, "rows, what was computed once, and the result: %v", c.Schedule())
		}
	})
}

// A number that is computed from numbers of the program is one itself, and no array that is computed once.
func TestNumbersOfNumbersAreConstants(t *testing.T) {
	onAll(t, func(b *bench) {
		x := b.matrix(rand.New(rand.NewPCG(3, 4)), 5, 7)
		half := func() *T {
			return tensor.Full(130, dtype.U8).To(dtype.F32).Sub(tensor.Full(2, dtype.U8).To(dtype.F32)).Mul(1.0 / 256)
		}
		c := b.capture(func(in ...*T) []*T { return []*T{in[0].Mul(half()).Exp2()} }, x)
		out, err := c.Run(ctx, x)
		require.NoError(t, err)
		assert.Equal(b.t, b.values(x.Mul(0.5).Exp2()), b.values(out[0]))
		assert.Nil(b.t, c.Schedule().Once, "%v", c.Schedule())
		assert.Len(b.t, c.Schedule().Launches()[0].Binds, 2, "%v", c.Schedule())
	})
}

// A run sees weights as they are when it begins, whoever has assigned them.
func TestConstantsFollowAssignments(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(3, 4))
		w, v, x := b.matrix(r, 16, 16), b.matrix(r, 16, 16), b.matrix(r, 5, 16)
		f := product(w, v)
		c := b.capture(f, x)
		check := func(how string) {
			b.t.Helper()
			for range 8 { // so that changes stay rare
				out, err := c.Run(ctx, x)
				require.NoError(b.t, err)
				require.Equal(b.t, b.values(f(x)[0]), b.values(out[0]), how)
			}
		}
		check("as captured")
		require.NoError(b.t, w.Assign(w.Mul(2)).Realize(ctx))
		check("after an assignment")
		v.Assign(v.Add(w))
		require.NoError(b.t, tensor.Realize(ctx, v, w.Neg()))
		check("after one beside other work")
		raw, err := w.Mul(3).Bytes(ctx)
		require.NoError(b.t, err)
		require.NoError(b.t, w.AssignBytes(raw).Realize(ctx))
		check("after bytes")
		step := b.capture(func(in ...*T) []*T {
			w.Assign(w.Add(in[0]))
			return nil
		}, b.floats(1))
		_, err = step.Run(ctx, b.floats(2))
		require.NoError(b.t, err)
		check("after another captured function")
		other := b.capture(func(in ...*T) []*T { return []*T{in[0].Neg()} }, w)
		_, err = other.RunInto(ctx, []*T{v}, w)
		require.NoError(b.t, err)
		check("after RunInto")
		assert.Equal(b.t, 1, b.launched(func() {
			_, err := c.Run(ctx, x)
			require.NoError(b.t, err)
		}), "and nothing is computed again for nothing")
	})
}

// Weights that change before each run are used as they are, and after a while nothing is kept of them.
func TestConstantsThatChangeAllTheTime(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(5, 6))
		w, v, x := b.matrix(r, 16, 16), b.matrix(r, 16, 16), b.matrix(r, 5, 16)
		f := product(w, v)
		c := b.capture(f, x)
		for i := range 12 {
			require.NoError(b.t, w.Assign(w.Neg().Add(i%3)).Realize(ctx))
			out, err := c.Run(ctx, x)
			require.NoError(b.t, err)
			require.Equal(b.t, b.values(f(x)[0]), b.values(out[0]))
		}
		assert.Nil(b.t, c.Schedule().Once)
		assert.Positive(b.t, c.Launches())
	})
}

// States and what is made of them are no constants.
func TestStatesAreNoConstants(t *testing.T) {
	onAll(t, func(b *bench) {
		count, w := b.own(1, 2, 3), b.own(4, 5, 6)
		f := b.capture(func(in ...*T) []*T {
			count.Assign(count.Mul(count).Sum().Expand(3))
			return []*T{in[0].Add(w.Mul(w).Sum())}
		}, b.floats(0, 0, 0))
		want := []float32{14, 588, 1037232}
		for i := range 3 {
			outs, err := f.Run(ctx, b.floats(1, 2, 3))
			require.NoError(b.t, err)
			assert.Equal(b.t, []float32{78, 79, 80}, b.values(outs[0]))
			assert.Equal(b.t, want[i], b.values(count)[0])
		}
	})
}

// A tensor that only what is computed once reads is one that the function reads: no result is written there.
func TestResultsAreNotWrittenIntoConstants(t *testing.T) {
	onAll(t, func(b *bench) {
		w := b.own(1, 2, 3)
		c := b.capture(func(in ...*T) []*T { return []*T{w.Mul(w).Sum().Add(in[0])} }, b.floats(1, 2, 3))
		_, err := c.RunInto(ctx, []*T{w}, b.floats(1, 2, 3))
		require.ErrorContains(b.t, err, "the function reads")
		assert.Equal(b.t, []float32{1, 2, 3}, b.values(w))
	})
}

// A thousand runs take no more memory than ten; copies go with the function.
func TestConstantsTakeNoMoreMemory(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(7, 8))
		w, v, x := b.matrix(r, 64, 64), b.matrix(r, 64, 64), b.matrix(r, 8, 64)
		c := b.capture(product(w, v), x)
		outs := []*T{nil}
		var live int64
		for i := range 1000 {
			var err error
			outs, err = c.RunInto(ctx, outs, x)
			require.NoError(b.t, err)
			if i == 10 {
				live = b.Stats().LiveBytes
			}
			if i%400 == 399 {
				require.NoError(b.t, w.Assign(w.Neg()).Realize(ctx))
			}
		}
		assert.InDelta(b.t, live, b.Stats().LiveBytes, 70000, "assigned through one more array at most")
	})
}

// The first run may be many at once.
func TestConstantsOfManyFirstRuns(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(9, 10))
		w, v, x := b.matrix(r, 32, 32), b.matrix(r, 32, 32), b.matrix(r, 8, 32)
		f := product(w, v)
		want := b.values(f(x)[0])
		c := b.capture(f, x)
		var all sync.WaitGroup
		got := make([][]float32, 4)
		for i := range got {
			all.Go(func() {
				out, err := c.Run(ctx, x)
				if assert.NoError(b.t, err) && assert.Positive(b.t, c.Launches()) {
					got[i], err = tensor.Data[float32](ctx, out[0])
					assert.NoError(b.t, err)
				}
			})
		}
		all.Wait()
		for _, g := range got {
			assert.Equal(b.t, want, g)
		}
	})
}

// An index outside of its axis is found in what is computed once too, and told by every run.
func TestConstantsTellOfWrongIndices(t *testing.T) {
	onAll(t, func(b *bench) {
		table, at := b.own(1, 2, 3), b.ints(0, 7).Own()
		require.NoError(b.t, at.Realize(ctx))
		c := b.capture(func(in ...*T) []*T { return []*T{in[0].Add(table.At(at).Mul(table.At(at)).Sum())} }, b.floats(0))
		for range 2 {
			out, err := c.Run(ctx, b.floats(1))
			require.NoError(b.t, err)
			_, err = tensor.Data[float32](ctx, out[0])
			require.ErrorContains(b.t, err, "7")
		}
		require.NoError(b.t, at.Assign(b.ints(0, 2)).Realize(ctx))
		out, err := c.Run(ctx, b.floats(1))
		require.NoError(b.t, err)
		assert.Equal(b.t, []float32{11}, b.values(out[0]))
	})
}

// Where there is no memory for copies, runs do without.
func TestConstantsWithoutMemory(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP", "WASM"} {
		t.Run(device, func(t *testing.T) {
			b := open(t, device, engine.Options{MemoryLimit: 700 << 10})
			v := make([]float32, 512*256)
			for i := range v {
				v[i] = float32(i%7 - 3)
			}
			w, x := b.floats(v...).Reshape(512, 256), b.floats(v[:16*256]...).Reshape(16, 256)
			f := func(in ...*T) []*T { return []*T{linear(in[0], w)} }
			c := b.capture(f, x)
			if device == "CPU" {
				assert.NotNil(b.t, c.Schedule().Once)
			}
			for range 2 {
				out, err := c.Run(ctx, x)
				require.NoError(b.t, err)
				assert.Equal(b.t, b.values(f(x)[0]), b.values(out[0]))
			}
			assert.Nil(b.t, c.Schedule().Once)
		})
	}
}

// packs are functions of an input and of weights that some kernel walks in another order than they lie in, some not.
var packs = []struct {
	name string
	x, w []int
	f    func(x, w *T) *T
}{
	{"conv", []int{1, 64, 7, 7}, []int{64, 64, 3, 3}, conv(tensor.Conv{Padding: 1})},
	{"conv-odd", []int{1, 37, 9, 5}, []int{53, 37, 3, 3}, conv(tensor.Conv{Padding: 1})},
	{"conv-many", []int{8, 32, 7, 7}, []int{96, 32, 3, 3}, conv(tensor.Conv{Padding: 1})},
	{"conv-groups", []int{2, 64, 8, 8}, []int{128, 16, 3, 3}, conv(tensor.Conv{Padding: 1, Groups: 4})},
	{"conv-stride", []int{1, 48, 14, 14}, []int{80, 48, 3, 3}, conv(tensor.Conv{Padding: 1, Stride: 2})},
	{"conv-1x1", []int{1, 130, 6, 6}, []int{72, 130, 1, 1}, conv(tensor.Conv{})},
	{"conv1d", []int{2, 40, 33}, []int{56, 40, 5}, conv(tensor.Conv{Padding: 2, Dilation: 1})},
	{"conv-transposed", []int{1, 64, 8, 8}, []int{64, 48, 4, 4}, func(x, w *T) *T {
		return x.ConvTranspose(w, nil, tensor.Conv{Stride: 2, Padding: 1})
	}},
	{"linear", []int{16, 96}, []int{160, 96}, linear},
	{"linear-prime", []int{13, 101}, []int{211, 101}, linear},
	{"linear-tiny", []int{3, 5}, []int{7, 5}, linear},
	{"linear-row", []int{1, 256}, []int{512, 256}, linear},
	{"product", []int{64, 100}, []int{100, 192}, func(x, w *T) *T { return x.MatMul(w) }},
	{"product-of-flat", []int{49, 1024}, []int{1024 * 512}, func(x, w *T) *T { return x.MatMul(w.Reshape(1024, 512)) }},
	{"product-narrow", []int{64, 200}, []int{200, 40}, func(x, w *T) *T { return x.MatMul(w) }},
	{"products", []int{4, 8, 64}, []int{4, 64, 48}, func(x, w *T) *T { return x.MatMul(w) }},
	{"part", []int{16, 64}, []int{200, 64}, func(x, w *T) *T { return linear(x, w.Shrink([]int{8, 0}, []int{136, 64})) }},
	{"twice", []int{32, 128}, []int{128, 128}, func(x, w *T) *T { return linear(linear(x, w).Tanh().Round(), w) }},
}

func conv(o tensor.Conv) func(x, w *T) *T {
	return func(x, w *T) *T { return x.Conv2D(w, nil, o) }
}

func linear(x, w *T) *T { return x.MatMul(w.Transpose(0, 1)) }

// Packed weights give the same values, and follow the weights.
func TestPackedWeights(t *testing.T) {
	packed := map[string]int{}
	onAll(t, func(b *bench) {
		plain := open(t, b.Name(), engine.Options{Unfolded: true})
		for _, p := range packs {
			x, w := b.matrix(rand.New(rand.NewPCG(1, 1)), p.x...), b.matrix(rand.New(rand.NewPCG(2, 2)), p.w...)
			c := b.capture(func(in ...*T) []*T { return []*T{p.f(in[0], w)} }, x)
			px, pw := plain.matrix(rand.New(rand.NewPCG(1, 1)), p.x...), plain.matrix(rand.New(rand.NewPCG(2, 2)), p.w...)
			pc := plain.capture(func(in ...*T) []*T { return []*T{p.f(in[0], pw)} }, px)
			for range 2 {
				for range 2 {
					out, err := c.Run(ctx, x)
					require.NoError(b.t, err)
					want, err := pc.Run(ctx, px)
					require.NoError(b.t, err)
					require.Equal(b.t, plain.values(want[0]), b.values(out[0]), p.name)
				}
				require.NoError(b.t, tensor.Realize(ctx, w.Assign(w.Neg().Add(1))))
				require.NoError(b.t, tensor.Realize(ctx, pw.Assign(pw.Neg().Add(1))))
			}
			assert.LessOrEqual(b.t, len(c.Schedule().Launches()), len(pc.Schedule().Launches()), "no run brings weights back into their order: %s", p.name)
			if strings.Contains(c.Schedule().String(), "packed") {
				packed[b.Name()]++
			}
		}
	})
	for _, device := range []string{"CPU", "WASM"} {
		if n, ok := packed[device]; ok {
			assert.Greater(t, n, 6, fmt.Sprint(packed))
		}
	}
	t.Log(packed)
}

// A transposed convolution with constant weights is one kernel, of the elements that its padding leaves: no run brings the weights into
// another order, back from the one that they were packed in or otherwise.
func TestPackedTransposed(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(1, 1))
		x, w := b.matrix(r, 1, 256, 8, 8), b.matrix(r, 256*128*4*4)
		for padding := range 2 {
			f := func(x *T) *T {
				return x.ConvTranspose(w.Reshape(256, 128, 4, 4), nil, tensor.Conv{Stride: 2, Padding: padding}).ReLU()
			}
			c := b.capture(func(in ...*T) []*T { return []*T{f(in[0])} }, x)
			assert.Len(b.t, c.Schedule().Launches(), 1, "%v", c.Schedule())
			if b.Name() == "CPU" {
				assert.Contains(b.t, c.Schedule().String(), "packed")
			}
			for range 2 {
				out, err := c.Run(ctx, x)
				require.NoError(b.t, err)
				assert.InDeltaSlice(b.t, b.values(f(x)), b.values(out[0]), 1e-3)
			}
		}
	})
}

// Infinite and missing numbers in packed weights stay what they are.
func TestPackedWeightsThatAreNoNumbers(t *testing.T) {
	onAll(t, func(b *bench) {
		r := rand.New(rand.NewPCG(1, 1))
		x, w := b.matrix(r, 1, 64, 7, 7), b.matrix(r, 64, 64, 3, 3)
		nan := float32(math.NaN())
		v := b.values(w)
		v[0], v[len(v)-1] = nan, float32(math.Inf(1))
		require.NoError(b.t, w.Assign(b.floats(v...).Reshape(64, 64, 3, 3)).Realize(ctx))
		f := func(in ...*T) []*T { return []*T{in[0].Conv2D(w, nil, tensor.Conv{Padding: 1}).IsNaN().To(x.DType())} }
		c := b.capture(f, x)
		out, err := c.Run(ctx, x)
		require.NoError(b.t, err)
		assert.Equal(b.t, b.values(f(x)[0]), b.values(out[0]))
	})
}
