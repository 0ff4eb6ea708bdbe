package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/packed"
	"github.com/weft-ml/weft/tensor"
)

// skipNorm normalizes a sum: layer norm, or, simplified, by the root of the mean of squares.
func skipNorm(simplified bool) operator {
	return func(c *call) []*Value {
		x := wide(c.t(0)).Add(wide(c.t(1)))
		shift, extra := 3, 4
		if simplified {
			shift, extra = 99, 3
		}
		if c.has(extra) {
			x = x.Add(wide(c.t(extra)))
		}
		mean := x.MeanKeep(-1)
		d := x
		if !simplified {
			d = x.Sub(mean)
		}
		inv := d.Mul(d).MeanKeep(-1).Add(c.attrFloat("epsilon", 1e-12)).Rsqrt()
		y := d.Mul(inv).Mul(wide(c.t(2)))
		if c.has(shift) {
			y = y.Add(wide(c.t(shift)))
		}
		return []*Value{c.out(y, c.elem(0)), c.out(mean, Float32), c.out(inv, Float32), c.out(x, c.elem(0))}
	}
}

// embedNorm looks words, places and segments up, adds them and normalizes.
func embedNorm(c *call) []*Value {
	ids := c.t(0)
	if ids.Rank() != 2 {
		c.fail("ids %v", ids.Shape())
	}
	b, n := ids.Dim(0), ids.Dim(1)
	look := func(i int, at t) t {
		table := wide(c.t(i))
		return table.IndexSelect(0, at.Reshape(at.Numel())).Reshape(slices.Concat(at.Shape(), []int{table.Dim(1)})...)
	}
	places := tensor.FromNode(tensor.ArangeOf(dtype.I64, 0, n, 1).Node(), c.r.eng).Reshape(1, n)
	if c.has(8) {
		places = c.t(8)
	}
	sum := look(2, ids).Add(look(3, places))
	if c.has(1) && c.has(4) {
		sum = sum.Add(look(4, c.t(1)))
	}
	y := normalized(sum, []int{2}, c.attrFloat("epsilon", 1e-12)).Mul(wide(c.t(5))).Add(wide(c.t(6)))
	mask := c.full(0, Int32, []int{b})
	if c.has(7) {
		mask = c.t(7).To(dtype.I32).SumOf(dtype.I32, 1)
	}
	return []*Value{c.out(y, c.elem(2)), c.out(mask, Int32), c.out(sum, c.elem(2))}
}

// biased is an activation of a sum with a bias, which may be missing.
func biased(f func(c *call, x t) t) operator {
	return func(c *call) []*Value {
		x := wide(c.t(0))
		if c.has(1) {
			x = x.Add(wide(c.t(1)))
		}
		return c.one(f(c, x), c.elem(0))
	}
}

// matMulNBits is a product with weights of few bits: blocks of block_size along K, each with a scale and a zero point.
func matMulNBits(c *call) []*Value {
	k, n, bits, block := c.attrInt("K", 0), c.attrInt("N", 0), c.attrInt("bits", 4), c.attrInt("block_size", 0)
	if k < 1 || n < 1 || block < 1 || bits != 2 && bits != 4 && bits != 8 || k > 1<<30 || block > 1<<20 {
		c.notYet("MatMulNBits of other than 2, 4 or 8 bits in blocks")
	}
	if c.has(4) {
		c.notYet("MatMulNBits with g_idx")
	}
	if block*bits%8 != 0 {
		c.notYet("MatMulNBits of blocks that are no whole bytes")
	}
	blocks := (k + block - 1) / block
	q := c.t(1).Reshape(n, c.t(1).Numel()/n).Narrow(1, 0, blocks*block*bits/8).Reshape(n, blocks, block*bits/8)
	var zero t
	switch {
	case !c.has(3):
	case c.elem(3) == Uint8:
		zero = spreadBits(c.t(3).Reshape(n, c.t(3).Numel()/n), bits).Narrow(1, 0, blocks).Contiguous()
	default:
		zero = wide(c.t(3)).Reshape(n, blocks)
	}
	w, err := packed.Words(bits, q, c.t(2).Reshape(n, blocks), zero)
	if err != nil {
		c.fail("%v", err)
	}
	x := wide(c.t(0))
	if more := blocks*block - k; more > 0 { // what is behind the last element of a row counts as 0, whatever it is
		lo, hi := make([]int, x.Rank()), make([]int, x.Rank())
		hi[x.Rank()-1] = more
		x = x.Pad(lo, hi)
	}
	y := w.Linear(x)
	if c.has(5) {
		y = y.Add(wide(c.t(5)))
	}
	return c.one(y, c.elem(0))
}

// spreadBits are the numbers of few bits in bytes [n, m], the lowest first.
func spreadBits(x t, bits int) t {
	if bits == 8 {
		return x
	}
	var parts []t
	for s := 0; s < 8; s += bits {
		parts = append(parts, x.Shr(s).And(1<<bits-1))
	}
	return tensor.Stack(2, parts...).Reshape(x.Dim(0), x.Dim(1)*8/bits)
}

// real is input i as float32, its scale and zero point in the inputs after it.
func (c *call) real(i int) t {
	x := toF32(c.t(i))
	if c.has(i + 2) {
		x = x.Sub(toF32(c.t(i + 2)).Reshape())
	}
	return x.Mul(toF32(c.t(i + 1)).Reshape())
}

// stored is a float32 result as input z, a zero point, and s, a scale, have it.
func (c *call) stored(y t, s int, e Elem) []*Value {
	var zero t
	if c.has(s + 1) {
		zero = c.t(s + 1).Reshape()
	}
	return c.one(quantized(y.Div(toF32(c.t(s)).Reshape()), zero, e), e)
}

func qPair(f func(x, y t) t) operator {
	return func(c *call) []*Value { return c.stored(f(c.real(0), c.real(3)), 6, c.elem(0)) }
}

func qUnary(f func(c *call, x t) t) operator {
	return func(c *call) []*Value { return c.stored(f(c, c.real(0)), 3, c.elem(0)) }
}

// qAverage is an average of a window, or of all axes, whose channels may be last.
func qAverage(c *call, x t, pool func(c *call, x t) t) t {
	if !c.attrBool("channels_last", false) {
		return pool(c, x)
	}
	return pool(c, x.MoveAxis(-1, 1)).MoveAxis(1, -1)
}

func qConcat(c *call) []*Value {
	var list []t
	for i := 2; i+2 < len(c.in); i += 3 {
		list = append(list, c.real(i))
	}
	if len(list) == 0 {
		c.fail("it has no inputs")
	}
	return c.stored(tensor.Cat(c.axis(c.attrInt("axis", 0), list[0].Rank()), list...), 0, c.elem(2))
}

func qSoftmax(c *call, x t) t {
	own := *c
	own.opset = c.attrInt("opset", 13)
	axis := c.attrInt("axis", -1)
	if own.opset >= 13 {
		return x.Softmax(axis)
	}
	rows, columns := matrixAt(c, x.Shape(), axis)
	return x.Reshape(rows, columns).Softmax(1).Reshape(x.Shape()...)
}

// scaledProduct is a product of integers as floats.
func scaledProduct(x, y shifted, sx, sy, bias t) t {
	p := toF32(x.times(y)).Mul(sx).Mul(sy)
	if bias != nil {
		p = p.Add(bias)
	}
	return p
}

func dynamicMatMul(c *call) []*Value {
	q, scale, zero := c.dynamicQuantized(toF32(c.t(0)))
	x := shifted{x: q.To(dtype.I32), zero: zero.To(dtype.I32)}
	return c.one(scaledProduct(x, c.shifted(1, 3, -1), scale, c.perAxis(toF32(c.t(2)), c.t(1).Rank(), -1), c.tOr(4)), Float32)
}

func matMulToFloat(c *call) []*Value {
	x, y := c.shifted(0, 4, -2), c.shifted(1, 5, -1)
	return c.one(scaledProduct(x, y, c.perAxis(toF32(c.t(2)), x.x.Rank(), -2), c.perAxis(toF32(c.t(3)), y.x.Rank(), -1), c.tOr(6)), c.elem(2))
}

// fusedConv is Conv with an activation and, before it, a sum with input 3.
func fusedConv(c *call) []*Value {
	own := *c
	own.in = c.in[:min(3, len(c.in))]
	y := c.r.tensor(conv(&own)[0])
	if c.has(3) {
		y = y.Add(c.t(3))
	}
	p := c.attrFloats("activation_params")
	number := func(i int, none float64) float64 {
		if i < len(p) {
			return p[i]
		}
		return none
	}
	return c.one(c.activated("FusedConv", y, number), c.elem(0))
}

// activated is the activation that an operator has besides what its name says; number gives its parameters, or what they are where none are given.
func (c *call) activated(op string, y t, number func(i int, none float64) float64) t {
	switch f := c.attrString("activation", ""); f {
	case "":
	case "Relu":
		return y.ReLU()
	case "Tanh":
		return y.Tanh()
	case "Sigmoid":
		return y.Sigmoid()
	case "Softplus":
		return y.Softplus(1)
	case "Softsign":
		return y.Softsign()
	case "LeakyRelu":
		return y.LeakyReLU(number(0, 0.01))
	case "Elu":
		return elu(y, number(0, 1))
	case "ThresholdedRelu":
		return y.Gt(number(0, 1)).Where(y, tensor.ZerosLike(y))
	case "Clip":
		return y.Maximum(number(0, 0)).Minimum(number(1, 0))
	case "HardSigmoid":
		return y.Mul(number(0, 0.2)).Add(number(1, 0.5)).Clamp(0, 1)
	default:
		c.notYet(op + " with " + f)
	}
	return y
}

func init() {
	register("", map[string]operator{"SimplifiedLayerNormalization": rmsNorm})
	average := func(c *call, x t) t {
		own := *c
		own.in = []*Value{c.out(x, Float32)}
		return c.r.tensor(averagePool(&own)[0])
	}
	whole := func(_ *call, x t) t {
		axes := []int{}
		for i := 2; i < x.Rank(); i++ {
			axes = append(axes, i)
		}
		return x.MeanKeep(axes...)
	}
	register("com.microsoft", map[string]operator{
		"SkipLayerNormalization": skipNorm(false), "SkipSimplifiedLayerNormalization": skipNorm(true), "EmbedLayerNormalization": embedNorm,
		"BiasGelu": biased(func(_ *call, x t) t { return x.GELU() }), "Gelu": biased(func(_ *call, x t) t { return x.GELU() }),
		"FastGelu":    biased(func(_ *call, x t) t { return x.GELUTanh() }),
		"QuickGelu":   biased(func(c *call, x t) t { return swish(x, c.attrFloat("alpha", 1.702)) }),
		"MatMulNBits": matMulNBits, "FusedConv": fusedConv, "DynamicQuantizeMatMul": dynamicMatMul, "MatMulIntegerToFloat": matMulToFloat,
		"QLinearAdd": qPair(func(x, y t) t { return x.Add(y) }), "QLinearMul": qPair(func(x, y t) t { return x.Mul(y) }),
		"QLinearSigmoid":           qUnary(func(_ *call, x t) t { return x.Sigmoid() }),
		"QLinearLeakyRelu":         qUnary(func(c *call, x t) t { return x.LeakyReLU(c.attrFloat("alpha", 0.01)) }),
		"QLinearGlobalAveragePool": qUnary(func(c *call, x t) t { return qAverage(c, x, whole) }),
		"QLinearAveragePool":       qUnary(func(c *call, x t) t { return qAverage(c, x, average) }),
		"QLinearConcat":            qConcat, "QLinearSoftmax": qUnary(qSoftmax),
	})
}
