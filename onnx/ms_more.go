package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// newest is an operator of another domain that is like the default domain's in its newest version.
func newest(f operator) operator {
	return func(c *call) []*Value {
		own := *c
		own.opset = newestOpset
		return f(&own)
	}
}

// fusedGemm is Gemm with an activation behind it.
func fusedGemm(c *call) []*Value {
	names := []string{"activation_alpha", "activation_beta"}
	y := c.activated("FusedGemm", c.r.tensor(gemm(c)[0]), func(i int, none float64) float64 { return c.attrFloat(names[i], none) })
	return c.one(y, c.elem(0))
}

// qGemm is Gemm of integers with scales and zero points: inputs a, b, a list or one number for each column of b, and a bias of integers. Without
// a scale of the result it is float32.
func qGemm(c *call) []*Value {
	x, y := c.shifted(0, 2, -2), c.shifted(3, 5, -1)
	if c.attrBool("transA", false) {
		x = x.turned()
	}
	if c.attrBool("transB", false) {
		y = c.shifted(3, 5, -2).turned()
	}
	p := x.times(y)
	if c.has(6) {
		p = p.Add(c.t(6).To(dtype.I32))
	}
	scale := toF32(c.t(1)).Reshape().Mul(c.perAxis(toF32(c.t(4)), 2, -1))
	if a := c.attrFloat("alpha", 1); a != 1 {
		scale = scale.Mul(a)
	}
	if !c.has(7) {
		return c.one(toF32(p).Mul(scale), Float32)
	}
	var zero t
	if c.has(8) {
		zero = c.t(8).Reshape()
	}
	return c.one(quantized(toF32(p).Mul(scale.Div(toF32(c.t(7)).Reshape())), zero, c.elem(0)), c.elem(0))
}

// qWhere chooses between two arrays of other scales.
func qWhere(c *call) []*Value {
	return c.stored(c.t(0).Where(c.real(1), c.real(4)), 7, c.elem(1))
}

// nhwcMaxPool is MaxPool with the channels last.
func nhwcMaxPool(c *call) []*Value {
	own := *c
	own.opset = newestOpset
	own.in = []*Value{c.out(c.t(0).MoveAxis(-1, 1), c.elem(0))}
	return c.one(c.r.tensor(maxPool(&own)[0]).MoveAxis(1, -1), c.elem(0))
}

// distances are those of each row of one matrix from each of another.
func distances(c *call) []*Value {
	x, y := wide(c.t(0)), wide(c.t(1))
	if x.Rank() != 2 || y.Rank() != 2 {
		c.fail("arrays %v and %v are no matrices", x.Shape(), y.Shape())
	}
	d := x.Unsqueeze(1).Sub(y.Unsqueeze(0))
	d = d.Mul(d).Sum(2)
	switch how := c.attrString("metric", "sqeuclidean"); how {
	case "sqeuclidean":
	case "euclidean":
		d = d.Sqrt()
	default:
		c.fail("its metric is %.40q", how)
	}
	return c.one(d, c.elem(0))
}

// uniqueInOrder gives what Unique does in the order in which elements come, less their places.
func uniqueInOrder(c *call) []*Value {
	own := *c
	own.attrs = []*attrProto{{name: "sorted", kind: attrInt, i: 0}}
	all := unique(&own)
	return []*Value{all[0], all[2], all[3]}
}

// rangeOf is Range whose step may be missing.
func rangeOf(c *call) []*Value {
	own := *c
	if !c.has(2) {
		own.in = []*Value{c.value(0), c.value(1), {elem: c.elem(0), shape: []int{}, raw: rawOf(c.elem(0).DType(), []float64{1}), known: true}}
	}
	return rangeOp(&own)
}

// The numbers that four bits stand for in MatMulBnb4: floats of four bits, and quantiles of the normal distribution.
var (
	fp4 = []float64{0, 0.005208333333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25,
		-0, -0.005208333333, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25}
	nf4 = []float64{-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
		-0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
		0.5626170039176941, 0.7229568362236023, 1}
)

// matMulBnb4 is a product with weights of four bits, the higher ones first: blocks of them, across rows, have a largest one that is in input 2.
func matMulBnb4(c *call) []*Value {
	k, n, block := c.attrInt("K", 0), c.attrInt("N", 0), c.attrInt("block_size", 0)
	if k < 1 || n < 1 || k > 1<<30 || n > 1<<30 || block < 1 || block > 1<<30 || !c.attrBool("transB", true) {
		c.fail("K is %d, N %d and its blocks have %d elements", k, n, block)
	}
	table := [][]float64{fp4, nf4}[max(0, min(1, c.attrInt("quant_type", 1)))]
	q, largest := c.t(1).Flatten(), c.t(2).Flatten()
	blocks := (n*k + block - 1) / block
	if q.Numel() != (n*k+1)/2 || largest.Numel() != blocks {
		c.fail("%d bytes and %d scales of blocks for %d elements in blocks of %d", q.Numel(), largest.Numel(), n*k, block)
	}
	values := c.r.tensor(floatsOf(table))
	at := tensor.Stack(1, q.Shr(4), q.And(15)).To(dtype.I32).Flatten()
	w := values.IndexSelect(0, at).Narrow(0, 0, n*k)
	w = w.Mul(toF32(largest).RepeatInterleave(block, 0).Narrow(0, 0, n*k)).Reshape(n, k)
	return c.one(wide(c.t(0)).MatMul(w.T()), c.elem(0))
}

func init() {
	register("com.microsoft", map[string]operator{
		"TransposeMatMul": fusedMatMul, "FusedGemm": newest(fusedGemm), "QGemm": qGemm, "QLinearWhere": qWhere, "NhwcMaxPool": nhwcMaxPool,
		"CDist": distances, "MatMulBnb4": matMulBnb4, "Unique": uniqueInOrder, "Range": rangeOf,
		"Trilu": newest(trilu), "GridSample": newest(gridSample), "Pad": newest(pad), "GatherND": newest(moving(gatherND)),
		"Inverse": func(c *call) []*Value { return c.one(wide(c.t(0)).Inv(), c.elem(0)) },
		"ExpandDims": func(c *call) []*Value {
			x := c.t(0)
			axis := c.axis(c.int(1), x.Rank()+1)
			return c.one(x.Reshape(slices.Insert(x.Shape(), axis, 1)...), c.elem(0))
		},
	})
}
