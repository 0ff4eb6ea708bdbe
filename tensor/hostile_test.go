package tensor_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// numbers are those at which arithmetic of sizes goes wrong, and usual ones.
var numbers = []int{0, 1, 2, 3, 4, 5, -1, -2, -3, 1 << 20, 1 << 31, 1<<31 - 1, -1 << 31, 1 << 32, 1 << 33, 1 << 40, 1 << 52, 1 << 53, 1<<53 + 1,
	1 << 61, 1 << 62, -1 << 62, 1<<62 + 1, math.MaxInt, math.MaxInt - 1, math.MinInt, math.MinInt + 1}

// hostile are the operations that take numbers of the caller, three of them at most.
var hostile = map[string]func(x *tensor.Tensor, a, b, c int) *tensor.Tensor{
	"Reshape":          func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Reshape(a, b, c) },
	"Expand":           func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Unsqueeze(0).Expand(a, b, c) },
	"Narrow":           func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Narrow(a%3, b, c) },
	"Unflatten":        func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Unflatten(1, a, b, c) },
	"Diagonal":         func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Diagonal(a) },
	"DiagonalOf":       func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.DiagonalOf(a, b, c) },
	"DiagMatrix":       func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.DiagMatrix(a, b, c) },
	"Tril":             func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Tril(a) },
	"Triu":             func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Triu(a) },
	"Roll":             func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Roll([]int{a, b}, []int{0, 1}) },
	"Repeat":           func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Repeat(a, b, c) },
	"RepeatInterleave": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.RepeatInterleave(a, 1) },
	"Pad":              func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Pad([]int{a, c}, []int{b, 0}) },
	"PadMode": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.PadMode(tensor.PadMode(uint(c)%4), []int{a, 0}, []int{b, 0})
	},
	"Unfold":      func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Unfold(a%3, b, c) },
	"Arange":      func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor { return tensor.ArangeOf(dtype.I64, a, b, c) },
	"Linspace":    func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor { return tensor.Linspace(float64(a), float64(b), c) },
	"Eye":         func(_ *tensor.Tensor, a, b, _ int) *tensor.Tensor { return tensor.Eye(a, b) },
	"Full":        func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor { return tensor.Full(1, dtype.F64, a, b, c) },
	"Rand":        func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor { return tensor.Rand(a, b, c) },
	"RandPerm":    func(_ *tensor.Tensor, a, _, _ int) *tensor.Tensor { return tensor.RandPerm(a) },
	"SplitEvenly": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.SplitEvenly(a%3, b)[0] },
	"SplitEvery":  func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.SplitEvery(a%3, b)[0] },
	"Chunk":       func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Narrow(0, 0, 0).Chunk(a%3, b)[0] },
	"Unbind": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor {
		return append(tensor.Full(1, dtype.U8, a, 1).Unbind(0), x)[0]
	},
	"Diff":        func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Diff(b, a%3) },
	"Vander":      func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Flatten().Vander(a, true) },
	"AtLeast":     func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.AtLeast(a) },
	"MatrixPower": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Narrow(1, 0, 3).MatrixPower(a) },
	"TriangleIndices": func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return tensor.TriangleIndices(a, b, c, true)
	},
	"Select":    func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Select(a, b) },
	"Rot90":     func(x *tensor.Tensor, a, b, c int) *tensor.Tensor { return x.Rot90(a, b, c) },
	"MoveAxis":  func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.MoveAxis(a, b) },
	"Unsqueeze": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Unsqueeze(a) },
	"Flatten":   func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Flatten(a, b) },
	"Index": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.At(tensor.RS(a, b, c))
	},
	"Conv2D": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.Reshape(1, 1, 3, 4).Conv2D(tensor.Ones(2, 1, 2, 2), nil, tensor.Conv{Stride: a, Dilation: b, Padding: c})
	},
	"ConvTranspose": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.Reshape(1, 1, 3, 4).ConvTranspose(tensor.Ones(1, 2, 2, 2), nil, tensor.Conv{Stride: a, Dilation: b, Padding: c})
	},
	"MaxPool": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.MaxPool(tensor.Pool{Size: []int{a, 2}, Stride: []int{b, 1}, Padding: []int{c, 0}})
	},
	"AvgPool": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.AvgPool(tensor.Pool{Size: []int{2, a}, Stride: []int{1, b}, Dilation: []int{1, c}, Ceil: true})
	},
	"Im2Col": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.Unsqueeze(0).Im2Col(tensor.Pool{Size: []int{a}, Stride: []int{b}, Padding: []int{c}, Axes: 1})
	},
	"Fold": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.Fold([]int{a}, tensor.Pool{Size: []int{3}, Stride: []int{b}, Axes: 1})
	},
	"AdaptiveAvgPool": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.AdaptiveAvgPool(a) },
	"Resize":          func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Resize([]int{a, b}, tensor.Resize{}) },
	"PixelShuffle":    func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Reshape(1, 12, 1, 1).PixelShuffle(a) },
	"PixelUnshuffle":  func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Reshape(1, 1, 3, 4).PixelUnshuffle(a) },
	"ChannelShuffle":  func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.Reshape(1, 12, 1).ChannelShuffle(a) },
	"GroupNorm": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor {
		return x.Reshape(1, 12, 1).GroupNorm(a, nil, nil, 1e-5)
	},
	"LocalResponseNorm": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.LocalResponseNorm(a, 1, 0.75, 1) },
	"Bitcast":           func(_ *tensor.Tensor, a, b, _ int) *tensor.Tensor { return tensor.Zeros(a, b).Bitcast(dtype.U8) },
	"FFT":               func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Reshape(3, 2, 2).FFT(a, b, 0) },
	"IRFFT":             func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Reshape(3, 2, 2).IRFFT(a, b, 0) },
	"TopK":              func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { v, _ := x.TopK(a, b, true); return v },
	"KthValue":          func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { v, _ := x.KthValue(a, b); return v },
	"Var":               func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.Var(float64(a), b) },
	"OneHot":            func(_ *tensor.Tensor, a, _, _ int) *tensor.Tensor { return tensor.Of([]int32{0, 1}, 2).OneHot(a) },
	"PadTo":             func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.PadTo(a, b) },
	"ShrinkTo":          func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.ShrinkTo(a, b) },
	"NonZeroSized":      func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor { return x.NonZeroSized(a, b) },
	"MaskedSelectSized": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.MaskedSelectSized(x.Gt(2), a, b)
	},
	"Multinomial": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.Multinomial(a, tensor.Sampling{Replace: b > 0})
	},
	"RandomBits": func(_ *tensor.Tensor, a, b, c int) *tensor.Tensor { return tensor.RandomBits(a, b, c) },
	"EinRepeat": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.EinRepeat("h w -> (h a) w b", map[string]int{"a": a, "b": b})
	},
	"Rearrange": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.Rearrange("(h a) (w b) -> a b h w", map[string]int{"a": a, "b": b})
	},
	"EinReduce": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.EinReduce("(h a) (w b) -> h w", (*tensor.Tensor).Sum, map[string]int{"a": a, "b": b})
	},
	"Pool uneven": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.MaxPool(tensor.Pool{Size: []int{3, 2}, Padding: []int{a, 0, b, 0}, Stride: []int{c, 1}})
	},
	"Pool same": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.AvgPool(tensor.Pool{Size: []int{a, 2}, Stride: []int{b, 1}, Dilation: []int{c, 1}, Same: true})
	},
	"Conv same": func(x *tensor.Tensor, a, b, c int) *tensor.Tensor {
		return x.Reshape(1, 1, 3, 4).Conv2D(tensor.Ones(1, 1, 2, 2), nil, tensor.Conv{Stride: a, Dilation: b, Groups: c, Same: true})
	},
	"ArgMaxKeep": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor { return x.ArgMaxKeep(a) },
	"NewtonSchulz": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor {
		return x.NewtonSchulz(a%20, [3]float64{1, 1, 1}, 1e-7)
	},
	"LayerNormAlong": func(x *tensor.Tensor, a, b, _ int) *tensor.Tensor {
		return x.LayerNormAlong([]int{a, b}, nil, nil, 1e-5)
	},
	"ClassAxis": func(x *tensor.Tensor, a, _, _ int) *tensor.Tensor {
		return x.CrossEntropy(tensor.Of([]int32{0, 1, 2}, 3), tensor.Loss{ClassAxis: a})
	},
}

// sizes are what the first axis of some results must have, as whole numbers of any size.
var sizes = map[string]func(a, b, c *big.Int) *big.Int{
	"Repeat": func(a, _, _ *big.Int) *big.Int { return a },
	"Pad":    func(a, b, _ *big.Int) *big.Int { return new(big.Int).Add(big.NewInt(3), a.Add(a, b)) },
	"Eye":    func(a, _, _ *big.Int) *big.Int { return a },
}

// What a caller's numbers do is an error in words, or a shape that they mean; never another panic, and never a size that has
// wrapped around.
func TestHostileNumbers(t *testing.T) {
	engine.Configure(engine.Options{MemoryLimit: 1 << 26}, "INTERP")
	defer engine.Configure(engine.Options{}, "")
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3, 4)
	for name, f := range hostile {
		t.Run(name, func(t *testing.T) {
			own := fnv.New64()
			own.Write([]byte(name))
			r := rand.New(rand.NewPCG(15, own.Sum64())) // maps have no order: each name has numbers of its own
			any := func() int {
				if r.IntN(2) == 0 {
					return r.IntN(9) - 2
				}
				return numbers[r.IntN(len(numbers))]
			}
			made := 0
			for range 800 {
				a, b, c := any(), any(), any()
				var y *tensor.Tensor
				other, err := tried(func() { y = f(x, a, b, c) })
				if !assert.Nil(t, other, "%d, %d, %d", a, b, c) {
					return
				}
				if err != nil {
					continue
				}
				made++
				require.Empty(t, uop.Shape(y.Shape()).TooMany(), "%d, %d, %d: %v", a, b, c, y.Shape())
				for _, n := range y.Shape() {
					require.GreaterOrEqual(t, n, 0, "%d, %d, %d: %v", a, b, c, y.Shape())
				}
				if size := sizes[name]; size != nil {
					want := size(big.NewInt(int64(a)), big.NewInt(int64(b)), big.NewInt(int64(c)))
					require.Equal(t, want.String(), big.NewInt(int64(y.Dim(0))).String(), "%d, %d, %d", a, b, c)
				}
				if testing.Short() || made > 6 || y.Numel() > 200 {
					continue
				}
				var computing error
				other, err = tried(func() { _, computing = y.Bytes(context.Background()) })
				require.Nil(t, other, "computing %d, %d, %d", a, b, c)
				var value *tensor.ValueError // a class that the numbers leave no place for
				if err = errors.Join(err, computing); !errors.As(err, &value) {
					require.NoError(t, err, "computing %d, %d, %d", a, b, c)
				}
			}
			require.Positive(t, made, "nothing could be made, so nothing was tried")
		})
	}
}

// What is no type that arrays have is refused in words wherever a type is asked for, by its number as well.
func TestTypesThatNoArrayHas(t *testing.T) {
	x := tensor.Of([]float32{1, 2})
	for _, d := range []dtype.DType{dtype.Void, dtype.Index, dtype.F8E5M2 + 1, 255} {
		assert.NotPanics(t, func() { _ = d.String() })
		for name, f := range map[string]func(){
			"To":         func() { x.To(d) },
			"Bitcast":    func() { x.Bitcast(d) },
			"SumOf":      func() { x.SumOf(d) },
			"ProdOf":     func() { x.ProdOf(d) },
			"CumSumOf":   func() { x.CumSumOf(d, 0) },
			"CumProdOf":  func() { x.CumProdOf(d, 0) },
			"FromBytes":  func() { tensor.FromBytes(d, []int{0}, nil) },
			"Empty":      func() { tensor.Empty(d, 2) },
			"Full":       func() { tensor.Full(1, d, 2) },
			"ArangeOf":   func() { tensor.ArangeOf(d, 0, 3, 1) },
			"LinspaceOf": func() { tensor.LinspaceOf(d, 0, 3, 2) },
			"RandOf":     func() { tensor.RandOf(d, 2) },
			"RandIntOf":  func() { tensor.RandIntOf(d, 0, 2, 2) },
			"HannWindow": func() { tensor.HannWindow(3, false, d) },
			"Bartlett":   func() { tensor.BartlettWindow(1, false, d) },
			"FFTFreq":    func() { tensor.FFTFreq(3, 1, d) },
			"RFFTFreq":   func() { tensor.RFFTFreq(3, 1, d) },
		} {
			other, err := tried(f)
			assert.Nil(t, other, "%s of type %d", name, d)
			assert.Error(t, err, "%s of type %d", name, d)
		}
	}
}

// A tensor that is missing where one is needed is told in words.
func TestMissingTensors(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	var none *tensor.Tensor
	for name, f := range map[string]func(){
		"MatMul":       func() { x.MatMul(none) },
		"Linear":       func() { x.Linear(none, nil) },
		"Conv2D":       func() { x.Conv2D(none, nil, tensor.Conv{}) },
		"Gather":       func() { x.Gather(0, none) },
		"Where":        func() { none.Where(x, x) },
		"Add":          func() { none.Add(x) },
		"ReLU":         func() { none.ReLU() },
		"Cat":          func() { tensor.Cat(0, x, none) },
		"Stack":        func() { tensor.Stack(0, none, x) },
		"Einsum":       func() { tensor.Einsum("ij,jk->ik", x, none) },
		"Grad":         func() { x.Sum().Grad(none) },
		"CrossEntropy": func() { x.CrossEntropy(none) },
		"Sum":          func() { new(tensor.Tensor).Sum() },
		"Complex":      func() { tensor.Complex(none, x) },
		"IndexPut":     func() { x.IndexPut([]*tensor.Tensor{none}, x, false) },
		"Broadcast":    func() { tensor.Broadcast(x, none) },
	} {
		other, err := tried(f)
		assert.Nil(t, other, name)
		if assert.Error(t, err, name) {
			assert.Contains(t, err.Error(), "hostile_test.go", name)
		}
	}
}

// tried is Try, and what else f panics with.
func tried(f func()) (other any, err error) {
	defer func() { other = recover() }()
	return nil, tensor.Try(f)
}
