package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	_ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// What every version of Weft must show, at the level of tensors: how many kernels things take, that
// nothing depends on threads, order or history, and that nothing piles up.

// compilers are the devices that make kernels.
var compilers = []string{"CPU", "INTERP", "NULL"}

// bench is a device of the test's own, with leaves of reproducible numbers.
type bench struct {
	*engine.Engine
	t   testing.TB
	rng *rand.Rand
}

func newBench(t testing.TB, device string, o engine.Options) *bench {
	t.Helper()
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &bench{e, t, rand.New(rand.NewPCG(1, 2))}
}

// floats is an array of numbers between ±1.
func (b *bench) floats(shape ...int) *tensor.Tensor {
	raw := []byte{}
	for range uop.Shape(shape).Numel() {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(2*b.rng.Float32()-1))
	}
	return b.leaf(dtype.F32, raw, shape...)
}

// ints is an array of numbers below n.
func (b *bench) ints(n int, shape ...int) *tensor.Tensor {
	raw := []byte{}
	for range uop.Shape(shape).Numel() {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(b.rng.IntN(n)))
	}
	return b.leaf(dtype.I32, raw, shape...)
}

func (b *bench) leaf(d dtype.DType, raw []byte, shape ...int) *tensor.Tensor {
	b.t.Helper()
	u, err := b.FromBytes(d, shape, raw)
	require.NoError(b.t, err)
	return tensor.FromNode(u, b.Engine)
}

func (b *bench) plan(ts ...*tensor.Tensor) *engine.View {
	b.t.Helper()
	v, err := tensor.Schedule(ts...)
	require.NoError(b.t, err)
	return v
}

// bytes computes tensors together and reads them.
func (b *bench) bytes(ts ...*tensor.Tensor) [][]byte {
	b.t.Helper()
	require.NoError(b.t, tensor.Realize(context.Background(), ts...))
	out := make([][]byte, len(ts))
	for i, x := range ts {
		raw, err := x.Bytes(context.Background())
		require.NoError(b.t, err)
		out[i] = raw
	}
	return out
}

// kernels is the text of a plan's kernels in order; where a device has no text, the trees.
func kernels(t testing.TB, v *engine.View) string {
	t.Helper()
	var s strings.Builder
	for i, k := range v.Launches() {
		tree, err := v.Tree(i)
		require.NoError(t, err)
		fmt.Fprintln(&s, k.Name, k.Kinds, k.Directives)
		s.WriteString(k.Source + tree)
	}
	return s.String()
}

func TestKernelCounts(t *testing.T) {
	cases := []struct {
		name  string
		most  int
		build func(b *bench) *tensor.Tensor
	}{
		{"softmax", 1, func(b *bench) *tensor.Tensor { return b.floats(64, 1000).Softmax(-1) }},
		{"log softmax", 1, func(b *bench) *tensor.Tensor { return b.floats(64, 1000).LogSoftmax(-1) }},
		{"layer norm", 1, func(b *bench) *tensor.Tensor {
			return b.floats(64, 1000).LayerNorm(b.floats(1000), b.floats(1000), 1e-5, 1000)
		}},
		{"elementwise chain", 1, func(b *bench) *tensor.Tensor {
			x, y := b.floats(33, 100), b.floats(33, 100)
			return x.Add(y).Mul(2).ReLU().Sub(x).Exp().Div(y.Abs().Add(1)).Tanh().Maximum(x.Permute(0, 1)).Sqrt()
		}},
		{"chain through movement", 1, func(b *bench) *tensor.Tensor {
			return b.floats(32, 48).T().Pad([]int{1, 1}, []int{1, 1}).Flip(0).Reshape(25, 68).Add(1)
		}},
		{"arange", 1, func(b *bench) *tensor.Tensor { return b.floats(1).Mul(0).Add(tensor.Arange(1000)) }},
		{"x[idx]", 1, func(b *bench) *tensor.Tensor { return b.floats(1000, 64).At(b.ints(1000, 77)) }},
		{"x[i, j]", 1, func(b *bench) *tensor.Tensor { return b.floats(50, 64).At(b.ints(50, 77), b.ints(64, 77)) }},
		{"embedding gradient", 2, embeddingGradient(1000, 77)},
		{"product with epilogue", 1, func(b *bench) *tensor.Tensor {
			return b.floats(64, 100).Linear(b.floats(33, 100), b.floats(33)).ReLU()
		}},
		{"mean squared error", 2, func(b *bench) *tensor.Tensor { return b.floats(64, 10).MSE(b.floats(64, 10)) }},
	}
	for _, device := range compilers {
		for _, c := range cases {
			t.Run(device+"/"+c.name, func(t *testing.T) {
				b := newBench(t, device, engine.Options{Unchecked: true})
				v := b.plan(c.build(b))
				assert.LessOrEqual(t, len(v.Launches()), c.most, "%v", v.Schedule)
				b = newBench(t, device, engine.Options{})
				v = b.plan(c.build(b))
				assert.LessOrEqual(t, len(v.Launches()), c.most+1, "all checks of values are one launch: %v", v.Schedule)
			})
		}
	}
}

// embeddingGradient is the gradient of rows that are looked up in a table of n.
func embeddingGradient(n, tokens int) func(b *bench) *tensor.Tensor {
	return func(b *bench) *tensor.Tensor {
		w := b.floats(n, 64)
		y := w.At(b.ints(n, tokens))
		return y.Mul(b.floats(tokens, 64)).Sum().Grad(w)[0]
	}
}

// A grid of numbers is computed from the loop index: no accumulator, no reduction.
func TestArangeCarriesNothing(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	zero := b.ints(1, 1)
	v := b.plan(tensor.Arange(1000).Add(zero), tensor.Eye(33).Add(zero), tensor.ArangeOf(dtype.F32, 3, 99, 2).Add(zero))
	for i := range v.Launches() {
		tree, err := v.Tree(i)
		require.NoError(t, err)
		for _, word := range []string{" set ", " fold ", " reduce"} {
			assert.NotContains(t, tree, word)
		}
	}
}

// Work on an embedding's gradient grows with the tokens, not with tokens times words.
func TestEmbeddingGradientIsLinear(t *testing.T) {
	for _, device := range compilers {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{})
			flops := func(n, tokens int) int64 { return b.plan(embeddingGradient(n, tokens)(b)).Flops() }
			few, many := flops(1000, 100), flops(1000, 1000)
			assert.LessOrEqual(t, many, int64(1000*64*8), "at most 8 operations an element")
			assert.LessOrEqual(t, many-few, int64(900*64*8))
			assert.LessOrEqual(t, flops(10_000, 100)-few, int64(9000*64), "words cost their zero only")
		})
	}
}

// mixed is a graph with most of what kernels are made of.
func mixed(b *bench) []*tensor.Tensor {
	x, w, img := b.floats(33, 65), b.floats(65, 17), b.floats(2, 3, 12, 12)
	filter, ids := b.floats(4, 3, 3, 3), b.ints(33, 40)
	h := x.MatMul(w).Softmax(-1)
	conv := img.Conv2D(filter, nil, tensor.Conv{Padding: 1}).ReLU().MaxPool2D(2)
	loss := h.At(ids).Sum().Add(conv.Mean())
	return append(loss.Grad(x, w, img, filter), loss, h, conv.Sum(1), x.ArgMax(1), h.LayerNorm(nil, nil, 1e-5, 17))
}

// The same graph gives the same kernels, byte for byte: compiled twice, after a thousand others, built in another order.
func TestSameGraphSameKernels(t *testing.T) {
	for _, device := range compilers {
		t.Run(device, func(t *testing.T) {
			build := func() string {
				b := newBench(t, device, engine.Options{})
				return kernels(t, b.plan(mixed(b)...))
			}
			first := build()
			require.NotEmpty(t, first)
			assert.Equal(t, first, build(), "compiled twice")
			other := newBench(t, "NULL", engine.Options{})
			for i := range 1000 {
				x := other.floats(1+i%7, 2+i%5)
				y := x.Mul(x).Sum(i % 2).Add(i)
				if i%100 == 0 {
					other.plan(y)
				}
			}
			uop.EndGeneration()
			assert.Equal(t, first, build(), "after a thousand other graphs")
		})
	}
}

// The order in which a program builds its graph leaves no trace.
func TestBuildOrderDoesNotMatter(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{})
	x, w := b.floats(33, 65), b.floats(65, 17)
	up := func() *tensor.Tensor { return x.Mul(2).Add(1).MatMul(w) }
	down := func() *tensor.Tensor { return x.Exp().Sum(1) }
	a := up()
	forward := kernels(t, b.plan(a, down()))
	uop.EndGeneration()
	uop.EndGeneration()
	c := down()
	assert.Equal(t, forward, kernels(t, b.plan(up(), c)))
}

// Movement that cancels leaves no trace either.
func TestCancellingMovement(t *testing.T) {
	cancel := []struct {
		name string
		f    func(x *tensor.Tensor) *tensor.Tensor
	}{
		{"nothing", func(x *tensor.Tensor) *tensor.Tensor { return x }},
		{"transposed twice", func(x *tensor.Tensor) *tensor.Tensor { return x.T().T() }},
		{"flipped twice", func(x *tensor.Tensor) *tensor.Tensor { return x.Flip(0, 1).Flip(1).Flip(0) }},
		{"reshaped and back", func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(-1, 3).Reshape(x.Shape()...) }},
		{"flattened and back", func(x *tensor.Tensor) *tensor.Tensor { return x.Flatten().Reshape(x.Shape()...) }},
		{"padded and cut", func(x *tensor.Tensor) *tensor.Tensor {
			s := x.Shape()
			return x.Pad([]int{2, 1}, []int{0, 3}).Shrink([]int{2, 1}, []int{s[0] + 2, s[1] + 1})
		}},
		{"an axis more and less", func(x *tensor.Tensor) *tensor.Tensor { return x.Unsqueeze(1).Squeeze(1) }},
		{"expanded and cut", func(x *tensor.Tensor) *tensor.Tensor {
			return x.Unsqueeze(0).Expand(4, x.Dim(0), x.Dim(1)).At(2)
		}},
	}
	programs := []struct {
		name string
		f    func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor
	}{
		{"of an input", func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return c(x).Exp().Add(1)
		}},
		{"between", func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return c(x.Exp()).Add(1).Sum(1)
		}},
		{"of a sum", func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return c(x.SumKeep(1).Mul(x)).Add(1)
		}},
		{"of the result", func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return c(x.Exp().Add(1))
		}},
		{"in a softmax", func(x *tensor.Tensor, c func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
			return c(x).Softmax(-1)
		}},
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			b := newBench(t, "CPU", engine.Options{})
			x := b.floats(33, 66)
			want := kernels(t, b.plan(p.f(x, cancel[0].f)))
			for _, c := range cancel[1:] {
				assert.Equal(t, want, kernels(t, b.plan(p.f(x, c.f))), c.name)
			}
		})
	}
}

// A sum along rows that all elements of the row need is computed once a row, where the rows cannot be seen as one axis, too.
func TestRowsAreReducedOnce(t *testing.T) {
	b := newBench(t, "CPU", engine.Options{Unchecked: true})
	x, bias := b.floats(16, 32, 64).Permute(1, 0, 2).Add(b.floats(100, 64).At(b.ints(100, 32, 16))), b.floats(64)
	g, scale := b.floats(32, 16, 64), b.floats(64)
	y, z := x.Add(bias), g.Mul(scale)
	z = z.Add(y.Mul(z.Mul(y).SumKeep(2)))
	v := b.plan(z.Sub(z.SumKeep(2)))
	require.Len(t, v.Launches(), 1)
	require.NotContains(t, v.Launches()[0].Directives, "tile", v.Launches()[0].Name)
}

// What follows a sum at the same elements is computed where the sum is, though several arrays come of it; so are moments and
// weights in the kernel of a gradient.
func TestUpdatesJoinTheirGradients(t *testing.T) {
	for _, device := range compilers {
		b := newBench(t, device, engine.Options{})
		x, y := b.floats(50, 30), b.floats(50, 20)
		m, s, w := b.floats(30, 20), b.floats(30, 20).Mul(0).Add(1), b.floats(30, 20)
		require.NoError(t, tensor.Realize(context.Background(), m, s, w))
		g := x.T().MatMul(y)
		first, second := m.Mul(.9).Add(g.Mul(.1)), s.Mul(.99).Add(g.Mul(g).Mul(.01))
		v := b.plan(first, second, w.Sub(first.Div(second.Sqrt().Add(1e-3))))
		require.Len(t, v.Launches(), 1, "%v", v.Schedule)
	}
}
