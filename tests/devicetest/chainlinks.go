package devicetest

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// T is short for the tensor type in these tables.
type T = *tensor.Tensor

// moves are the links that compute nothing.
var moves = []link{
	func(c *chain, x T) T { return x.Permute(c.r.Perm(x.Rank())...) },
	func(c *chain, x T) T { return x.Flip(c.axis(x)) },
	func(c *chain, x T) T { return x.Reshape(c.refactor(x.Numel())...) },
	func(c *chain, x T) T {
		lo, hi := make([]int, x.Rank()), make([]int, x.Rank())
		for i := range lo {
			lo[i], hi[i] = c.r.IntN(4)-1, c.r.IntN(4)-1
		}
		return x.PadWith(c.r.IntN(2), lo, hi)
	},
	func(c *chain, x T) T {
		a := c.axis(x)
		from := c.r.IntN(x.Dim(a))
		return x.Narrow(a, from, 1+c.r.IntN(x.Dim(a)-from))
	},
	func(c *chain, x T) T {
		a := c.axis(x)
		at := make([]any, a+1)
		for i := range at {
			at[i] = tensor.All
		}
		at[a] = tensor.RS(tensor.Begin, tensor.End, 2+c.r.IntN(2))
		if c.r.IntN(2) == 0 {
			at[a] = tensor.RS(tensor.End, tensor.Begin, -1-c.r.IntN(3))
		}
		return x.At(at...)
	},
	func(c *chain, x T) T { return x.Roll([]int{c.r.IntN(9) - 4}, []int{c.axis(x)}) },
	func(c *chain, x T) T {
		counts := make([]int, x.Rank())
		for i := range counts {
			counts[i] = 1 + c.r.IntN(2)
		}
		return x.Repeat(counts...)
	},
	func(c *chain, x T) T { return x.RepeatInterleave(2, c.axis(x)) },
	func(c *chain, x T) T { return tensor.Cat(c.axis(x), x, c.typed(c.leaf(x.Shape()...), x), x) },
	func(c *chain, x T) T { return tensor.Stack(c.r.IntN(x.Rank()+1), x, c.like(x).Expand(x.Shape()...)) },
	func(c *chain, x T) T {
		a := c.axis(x)
		return x.Unfold(a, 1+c.r.IntN(x.Dim(a)), 1+c.r.IntN(3))
	},
	func(c *chain, x T) T { return x.Tril(c.r.IntN(5) - 2) },
	func(c *chain, x T) T { return x.Triu(c.r.IntN(5) - 2) },
	func(c *chain, x T) T { return x.Diagonal(c.r.IntN(3) - 1) },
	func(c *chain, x T) T { return x.Unsqueeze(c.r.IntN(x.Rank() + 1)) },
	func(c *chain, x T) T { return x.Squeeze() },
	func(c *chain, x T) T { return x.Contiguous() },
	func(c *chain, x T) T {
		a := c.axis(x)
		c.axis(x) // a draw that other chains count on
		return x.IndexSelect(a, c.places(x.Dim(a)))
	},
	func(c *chain, x T) T {
		index := make([]int, x.Rank())
		a := c.axis(x)
		for i := range index {
			index[i] = 1 + c.r.IntN(x.Dim(i))
		}
		index[a] = 1 + c.r.IntN(9)
		return x.Gather(a, tensor.FromNode(c.in.Index(dtype.I64, x.Dim(a), false, index...), c.in.engine))
	},
	func(c *chain, x T) T {
		i, a := c.places(x.Dim(0)), c.axis(x)
		if a == 0 {
			return x.At(i)
		}
		return x.At(i, tensor.FromNode(c.in.Index(dtype.I32, x.Dim(1), false, i.Shape()...), c.in.engine))
	},
	func(c *chain, x T) T {
		lo, hi := make([]int, x.Rank()), make([]int, x.Rank())
		for i := range lo {
			lo[i], hi[i] = c.r.IntN(max(1, min(3, x.Dim(i)))), c.r.IntN(max(1, min(3, x.Dim(i))))
		}
		return x.PadMode([]tensor.PadMode{tensor.Reflect, tensor.Replicate, tensor.Circular}[c.r.IntN(3)], lo, hi)
	},
}

// common are links that exact and smooth chains take.
var common = []link{
	func(c *chain, x T) T { return x.Neg() },
	func(c *chain, x T) T { return x.ReLU() },
	func(c *chain, x T) T { return x.Maximum(c.other(x)) },
	func(c *chain, x T) T { return x.Minimum(c.other(x)) },
	func(c *chain, x T) T { return c.settle(x.Add(c.like(x))) },
	func(c *chain, x T) T { return c.settle(x.Sub(c.like(x))) },
	func(c *chain, x T) T { return c.settle(x.Mul(c.like(x))) },
	func(c *chain, x T) T { return c.other(x).Gt(1).Where(x, c.like(x)) },
	func(c *chain, x T) T { return c.settle(x.Sum(c.axis(x))) },
	func(c *chain, x T) T { return x.Max(c.axis(x)) },
	func(c *chain, x T) T { return c.settle(x.Sub(x.MaxKeep(c.axis(x)))) },
	func(c *chain, x T) T { return c.settle(x.Sub(x.SumKeep(c.axis(x)))) },
	func(c *chain, x T) T { return c.settle(x.CumSum(c.axis(x))) },
	func(c *chain, x T) T { v, _ := x.CumMax(c.axis(x)); return v },
	func(c *chain, x T) T { v, _ := x.Sort(c.axis(x), c.r.IntN(2) == 0); return v },
	func(c *chain, x T) T {
		a := c.axis(x)
		v, _ := x.TopK(1+c.r.IntN(x.Dim(a)), a, c.r.IntN(2) == 0)
		return v
	},
	func(c *chain, x T) T {
		return c.settle(x.MatMul(c.typed(c.leaf(x.Dim(-1), 1+c.r.IntN(9)), x)))
	},
	func(c *chain, x T) T { return c.settle(x.MatMul(x.T())) },
	func(c *chain, x T) T {
		n := x.Dim(1)
		w := c.typed(c.leaf(1+c.r.IntN(4), n, 1+c.r.IntN(min(3, x.Dim(2))), 1+c.r.IntN(min(3, x.Dim(3)))), x)
		return c.settle(x.Conv2D(w, nil, tensor.Conv{Stride: 1 + c.r.IntN(2), Padding: c.r.IntN(2)}))
	},
	func(c *chain, x T) T {
		w := c.typed(c.leaf(x.Dim(1), 1+c.r.IntN(3), 2, 2), x)
		return c.settle(x.ConvTranspose(w, nil, tensor.Conv{Stride: 1 + c.r.IntN(2)}))
	},
	func(c *chain, x T) T { return x.MaxPool2D(1 + c.r.IntN(3)) },
	func(c *chain, x T) T {
		a := c.axis(x)
		return c.settle(x.IndexAdd(a, c.places(x.Dim(a)), c.typed(c.leaf(c.with(x, a, chainPlaces)...), x), 1))
	},
	func(c *chain, x T) T {
		a := c.axis(x)
		shape := c.with(x, a, 1+c.r.IntN(2*x.Dim(a)))
		index := tensor.FromNode(c.in.Index(dtype.I32, x.Dim(a), false, shape...), c.in.engine)
		return c.settle(x.ScatterAdd(a, index, c.typed(c.leaf(shape...), x)))
	},
	func(c *chain, x T) T { return c.settle(x.WithAt(c.typed(c.leaf(1), x), c.r.IntN(x.Dim(0)))) },
}

// exactLinks may jump: their numbers are the same everywhere.
var exactLinks = append(append(append([]link{}, moves...), common...),
	func(c *chain, x T) T { return x.ArgMax(c.axis(x)).To(dtype.I32).Minimum(4) },
	func(c *chain, x T) T { return x.ArgSort(c.axis(x), false).To(dtype.I32).Minimum(4) },
	func(c *chain, x T) T { _, i := x.CumMin(c.axis(x)); return i.To(dtype.F32).Minimum(4) },
	func(c *chain, x T) T { return x.Gt(c.like(x)).To(x.DType()) },
	func(c *chain, x T) T { return x.Eq(c.like(x)).Any(c.axis(x)).To(dtype.F32) },
	func(c *chain, x T) T { return x.To(dtype.I32) },
	func(c *chain, x T) T { return x.To(dtype.F32) },
	func(c *chain, x T) T { return x.To(dtype.F16) },
	func(c *chain, x T) T { return x.To(dtype.I8) },
	func(c *chain, x T) T { return x.To(dtype.I64) },
	func(c *chain, x T) T { return x.Abs().To(dtype.U8) },
	func(c *chain, x T) T { return x.To(dtype.F32).Floor() },
	func(c *chain, x T) T { return x.Mod(3) },
	func(c *chain, x T) T { return x.FloorDiv(2) },
	func(c *chain, x T) T { return x.Abs() },
	func(c *chain, x T) T { return x.Sign() },
	func(c *chain, x T) T {
		a := c.axis(x)
		return c.settle(x.Narrow(a, 0, min(8, x.Dim(a))).Prod(a)) // exact, and far from overflow
	},
	func(c *chain, x T) T { return x.CountNonZero(c.axis(x)).To(x.DType()).Minimum(4) },
	func(c *chain, x T) T {
		a := c.axis(x)
		shape := c.with(x, a, 1+c.r.IntN(2*x.Dim(a)))
		index := tensor.FromNode(c.in.Index(dtype.I64, x.Dim(a), false, shape...), c.in.engine)
		how := []tensor.Merging{tensor.MergeMax, tensor.MergeMin, tensor.MergeLast}[c.r.IntN(3)]
		return x.ScatterReduce(a, index, c.typed(c.leaf(shape...), x), how, c.r.IntN(2) == 0)
	},
	func(c *chain, x T) T {
		_, i := x.Reshape(x.Numel()).Sort(0, true)
		return x.Flatten().Gather(0, i.To(dtype.I64))
	},
	func(c *chain, x T) T {
		v, i := x.MaxPoolIndex(tensor.Pool{Size: []int{2}, Stride: []int{1 + c.r.IntN(2)}, Padding: []int{c.r.IntN(2)}, Axes: 1})
		if c.r.IntN(2) == 0 {
			return v
		}
		return i.Minimum(4)
	},
)

// smoothLinks have derivatives.
var smoothLinks = append(append(append([]link{}, moves...), common...),
	func(c *chain, x T) T { return x.Sigmoid() },
	func(c *chain, x T) T { return x.Tanh() },
	func(c *chain, x T) T { return x.Clamp(-3, 3).Exp() },
	func(c *chain, x T) T { return x.Square().Add(1).Log() },
	func(c *chain, x T) T { return x.Square().Add(1).Sqrt() },
	func(c *chain, x T) T { return x.Div(c.like(x).Square().Add(1)) },
	func(c *chain, x T) T { return x.Sin() },
	func(c *chain, x T) T { return x.GELU() },
	func(c *chain, x T) T { return x.Softmax(c.axis(x)) },
	func(c *chain, x T) T { return x.LogSoftmax(c.axis(x)) },
	func(c *chain, x T) T { return x.LogSumExp(c.axis(x)) },
	func(c *chain, x T) T { return x.Mean(c.axis(x)) },
	func(c *chain, x T) T { return x.Var(0, c.axis(x)) },
	func(c *chain, x T) T { return x.LayerNorm(nil, nil, 0.1, x.Dim(-1)) },
	func(c *chain, x T) T { return x.AvgPool2D(1 + c.r.IntN(3)) },
	func(c *chain, x T) T { return x.Mul(0.25).Add(1).CumProd(c.axis(x)).Minimum(4) },
	func(c *chain, x T) T {
		return tensor.ScaledDotProduct(x, x, x, tensor.Attention{Causal: c.r.IntN(2) == 0})
	},
)

// chainPlaces is how many places an index names.
const chainPlaces = 5

// places are indices into n elements.
func (c *chain) places(n int) T {
	return tensor.FromNode(c.in.Index(dtype.I64, n, false, chainPlaces), c.in.engine)
}

// with is x's shape with another size of an axis.
func (c *chain) with(x T, axis, n int) []int {
	s := x.Shape()
	s[axis] = n
	return s
}

// refactor is a random shape of n elements.
func (c *chain) refactor(n int) []int {
	shape := make([]int, 1+c.r.IntN(4))
	for i := range shape {
		shape[i] = 1
	}
	for p := 2; n > 1; p++ {
		for ; n%p == 0; n /= p {
			shape[c.r.IntN(len(shape))] *= p
		}
	}
	return shape
}
