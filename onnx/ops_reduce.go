package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// reduction is an operator that reduces over axes: before f works on each element and after on each result. Over no axes only those are left.
type reduction struct {
	before func(x t) t
	reduce func(x t, axes ...int) t
	after  func(x t) t
	inputs int // the version from which axes are an input
}

func (d reduction) run(c *call) []*Value {
	x := c.t(0)
	list, _ := c.attrInts("axes")
	if c.opset >= d.inputs && c.has(1) {
		list = c.ints(1)
	}
	axes := make([]int, 0, x.Rank())
	for _, a := range list {
		axes = append(axes, c.axis(a, x.Rank()))
	}
	none := len(axes) == 0 && c.attrBool("noop_with_empty_axes", false)
	if len(axes) == 0 && !none {
		for a := range x.Rank() {
			axes = append(axes, a)
		}
	}
	if x.DType() == dtype.Bool {
		x = x.To(dtype.U8)
	}
	if x.DType().IsNarrow() {
		x = x.To(dtype.F32)
	}
	if d.before != nil {
		x = d.before(x)
	}
	shape := x.Shape()
	if !none && x.Rank() > 0 {
		x = d.reduce(x, axes...)
		slices.Sort(axes)
		for i := len(axes) - 1; i >= 0; i-- {
			if shape[axes[i]] = 1; !c.attrBool("keepdims", true) {
				shape = slices.Delete(shape, axes[i], axes[i]+1)
			}
		}
		x = x.Reshape(shape...)
	}
	if d.after != nil {
		x = d.after(x)
	}
	return c.one(x, c.elem(0))
}

func sumWithin(x t, axes ...int) t  { return x.SumOf(x.DType(), axes...) }
func prodWithin(x t, axes ...int) t { return x.ProdOf(x.DType(), axes...) }

func meanWithin(x t, axes ...int) t {
	if x.IsFloat() {
		return x.Mean(axes...)
	}
	n := 1
	for _, a := range axes {
		n *= x.Dim(a)
	}
	return x.SumOf(x.DType(), axes...).TruncDiv(max(1, n))
}

func logSumExp(x t, axes ...int) t {
	return wide(x).LogSumExp(axes...)
}

// arg finds the place of the largest or smallest element of an axis.
func arg(first, last func(x t, axis int) t) operator {
	return func(c *call) []*Value {
		x := c.t(0)
		axis := c.axis(c.attrInt("axis", 0), x.Rank())
		var at t
		if c.attrBool("select_last_index", false) {
			at = last(x, axis)
		} else {
			at = first(x, axis)
		}
		if c.attrBool("keepdims", true) {
			at = at.Unsqueeze(axis)
		}
		return c.one(at, Int64)
	}
}

func lastOf(f func(x t, axis int) t) func(x t, axis int) t {
	return func(x t, axis int) t { return f(x.Flip(axis), axis).RSub(x.Dim(axis) - 1) }
}

func argMax(x t, axis int) t { return x.ArgMax(axis) }
func argMin(x t, axis int) t { return x.ArgMin(axis) }

// running is CumSum or CumProd.
func running(f func(x t, d dtype.DType, axis int) t, none int) operator {
	return func(c *call) []*Value {
		x := c.t(0)
		axis := c.axis(c.int(1), x.Rank())
		if c.attrBool("reverse", false) {
			x = x.Flip(axis)
		}
		d := x.DType()
		if d.IsNarrow() {
			d = dtype.F32
		}
		y := f(x, d, axis)
		if n := x.Dim(axis); c.attrBool("exclusive", false) && n > 0 {
			lo, hi := make([]int, x.Rank()), make([]int, x.Rank())
			lo[axis], hi[axis] = 1, -1
			y = y.PadWith(none, lo, hi)
		}
		if c.attrBool("reverse", false) {
			y = y.Flip(axis)
		}
		return c.one(y, c.elem(0))
	}
}

func topK(c *call) []*Value {
	x := c.t(0)
	axis := c.axis(c.attrInt("axis", -1), x.Rank())
	k := c.attrInt("k", -1)
	if c.opset >= 10 {
		k = c.int(1)
	}
	if k < 0 || k > x.Dim(axis) {
		c.fail("it wants %d of %d elements", k, x.Dim(axis))
	}
	v, i := x.TopK(k, axis, c.attrBool("largest", true))
	return []*Value{c.out(v, c.elem(0)), c.out(i, Int64)}
}

func lpNormalization(c *call) []*Value {
	x := wide(c.t(0))
	axis := c.axis(c.attrInt("axis", -1), x.Rank())
	var norm t
	switch p := c.attrInt("p", 2); p {
	case 1:
		norm = x.Abs().SumKeep(axis)
	case 2:
		norm = x.Mul(x).SumKeep(axis).Sqrt()
	default:
		c.fail("its norm is %d; it must be 1 or 2", p)
	}
	return c.one(norm.Eq(0).Where(tensor.ZerosLike(x), x.Div(norm)), c.elem(0))
}

func init() {
	abs := func(x t) t { return x.Abs() }
	square := func(x t) t { return x.Mul(x) }
	root := func(x t) t { return wide(x).Sqrt() }
	log := func(x t) t { return wide(x).Log() }
	for name, d := range map[string]reduction{
		"ReduceSum":       {reduce: sumWithin, inputs: 13},
		"ReduceMean":      {reduce: meanWithin, inputs: 18},
		"ReduceProd":      {reduce: prodWithin, inputs: 18},
		"ReduceMax":       {reduce: t.Max, inputs: 18},
		"ReduceMin":       {reduce: t.Min, inputs: 18},
		"ReduceL1":        {before: abs, reduce: sumWithin, inputs: 18},
		"ReduceL2":        {before: square, reduce: sumWithin, after: root, inputs: 18},
		"ReduceSumSquare": {before: square, reduce: sumWithin, inputs: 18},
		"ReduceLogSum":    {reduce: sumWithin, after: log, inputs: 18},
		"ReduceLogSumExp": {reduce: logSumExp, inputs: 18},
	} {
		register("", map[string]operator{name: d.run})
	}
	register("", map[string]operator{
		"ArgMax": arg(argMax, lastOf(argMax)), "ArgMin": arg(argMin, lastOf(argMin)),
		"CumSum":  running(func(x t, d dtype.DType, axis int) t { return x.CumSumOf(d, axis) }, 0),
		"CumProd": running(func(x t, d dtype.DType, axis int) t { return x.CumProdOf(d, axis) }, 1),
		"TopK":    topK, "LpNormalization": lpNormalization,
	})
}
