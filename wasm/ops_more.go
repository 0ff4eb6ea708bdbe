package main

import (
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

// picking takes elements by their place or their order.
var picking = []operation{
	{"at", func(c *call) some { x := c.tensor(); return some{x.At(c.index()...)} }},
	{"setAt", func(c *call) some {
		x, v := c.tensor(), c.operand()
		return some{x.SetAt(v, c.index()...)}
	}},
	{"withAt", func(c *call) some {
		x, v := c.tensor(), c.operand()
		return some{x.WithAt(v, c.index()...)}
	}},
	{"gather", func(c *call) some { x, axis := c.tensor(), c.integer(0); return some{x.Gather(axis, c.tensor())} }},
	{"scatter", func(c *call) some {
		x, axis, at := c.tensor(), c.integer(0), c.tensor()
		return some{x.Scatter(axis, at, c.operand())}
	}},
	{"scatterAdd", func(c *call) some {
		x, axis, at := c.tensor(), c.integer(0), c.tensor()
		return some{x.ScatterAdd(axis, at, c.operand())}
	}},
	{"indexSelect", func(c *call) some { x, axis := c.tensor(), c.integer(0); return some{x.IndexSelect(axis, c.tensor())} }},
	{"take", func(c *call) some { x := c.tensor(); return some{x.Take(c.tensor())} }},
	{"argMax", func(c *call) some { return some{c.tensor().ArgMax(c.integers()...)} }},
	{"argMin", func(c *call) some { return some{c.tensor().ArgMin(c.integers()...)} }},
	{"any", func(c *call) some { return some{c.tensor().Any(c.integers()...)} }},
	{"all", func(c *call) some { return some{c.tensor().All(c.integers()...)} }},
	{"sort", func(c *call) some { x, axis := c.tensor(), c.integer(-1); return two(x.Sort(axis, c.truth(false))) }},
	{"argSort", func(c *call) some { x, axis := c.tensor(), c.integer(-1); return some{x.ArgSort(axis, c.truth(false))} }},
	{"topK", func(c *call) some {
		x, k, axis := c.tensor(), c.integer(1), c.integer(-1)
		return two(x.TopK(k, axis, c.truth(true)))
	}},
	{"where", func(c *call) some { x, a := c.tensor(), c.operand(); return some{x.Where(a, c.operand())} }},
	{"maskedFill", func(c *call) some { x, m := c.tensor(), c.tensor(); return some{x.MaskedFill(m, c.operand())} }},
}

func two(a, b one) some { return some{a, b} }

// index takes all arguments left, each one axis: a number, [from, to] or [from, to, step] (null is the end), a
// tensor, null (all), "..." or "new".
func (c *call) index() []any {
	var out []any
	for c.taken < len(c.args) {
		switch v := c.next().(type) {
		case nil:
			out = append(out, nil)
		case wire.Ref:
			out = append(out, c.server.tensor(v))
		case float64:
			n, ok := whole(v)
			if !ok {
				c.fail("index %d is %v, not an integer", len(out), v)
			}
			out = append(out, n)
		case []any:
			out = append(out, c.span(v))
		case string:
			switch v {
			case "...":
				out = append(out, tensor.Ellipsis)
			case "new":
				out = append(out, tensor.NewAxis)
			default:
				c.fail("index %d is %q; words are \"...\" and \"new\"", len(out), v)
			}
		default:
			c.fail("index %d is %s; it may be a number, [from, to], a tensor, null, \"...\" or \"new\"", len(out), describe(v))
		}
	}
	return out
}

func (c *call) span(v []any) tensor.Range {
	if len(v) < 1 || len(v) > 3 {
		c.fail("a part of an axis is [from, to] or [from, to, step], not a list of %d; numbers to pick are a tensor", len(v))
	}
	sub := &call{server: c.server, name: c.name, args: v}
	r := tensor.Range{From: tensor.Begin, To: tensor.End, Step: 1}
	from, to := sub.end(), sub.end()
	r.Step = sub.integer(1)
	if r.Step < 0 {
		r.From, r.To = tensor.End, tensor.Begin
	}
	if from != nil {
		r.From = *from
	}
	if to != nil {
		r.To = *to
	}
	return r
}

// end takes an integer or null.
func (c *call) end() *int {
	if !c.given() {
		c.taken++
		return nil
	}
	n := c.integer(0)
	return &n
}

// layers is what networks are made of.
var layers = []operation{
	{"matmul", func(c *call) some { x := c.tensor(); return some{x.MatMul(c.tensor())} }},
	{"dot", func(c *call) some { x := c.tensor(); return some{x.Dot(c.tensor())} }},
	{"outer", func(c *call) some { x := c.tensor(); return some{x.Outer(c.tensor())} }},
	{"linear", func(c *call) some { x, w := c.tensor(), c.tensor(); return some{x.Linear(w, c.maybe())} }},
	{"conv2d", func(c *call) some {
		x, w, b := c.tensor(), c.tensor(), c.maybe()
		return some{x.Conv2D(w, b, c.conv())}
	}},
	{"convTranspose2d", func(c *call) some {
		x, w, b := c.tensor(), c.tensor(), c.maybe()
		return some{x.ConvTranspose(w, b, c.conv())}
	}},
	{"maxPool2d", func(c *call) some { x := c.tensor(); return some{x.MaxPool(c.pool())} }},
	{"avgPool2d", func(c *call) some { x := c.tensor(); return some{x.AvgPool(c.pool())} }},
	{"softmax", func(c *call) some { return some{c.tensor().Softmax(c.integer(-1))} }},
	{"logSoftmax", func(c *call) some { return some{c.tensor().LogSoftmax(c.integer(-1))} }},
	{"logSumExp", func(c *call) some { return some{c.tensor().LogSumExp(c.integers()...)} }},
	{"layerNorm", func(c *call) some {
		x := c.tensor()
		shape := c.last(x)
		w, b := c.maybe(), c.maybe()
		return some{x.LayerNorm(w, b, c.number(1e-5), shape...)}
	}},
	{"rmsNorm", func(c *call) some {
		x := c.tensor()
		shape := c.last(x)
		w := c.maybe()
		return some{x.RMSNorm(w, c.number(1e-6), shape...)}
	}},
	{"batchNorm", func(c *call) some {
		x, mean, variance := c.tensor(), c.tensor(), c.tensor()
		w, b := c.maybe(), c.maybe()
		return some{x.BatchNorm(mean, variance, w, b, c.number(1e-5))}
	}},
	{"dropout", func(c *call) some { x := c.tensor(); return some{x.Dropout(c.number(0.5))} }},
	{"attention", func(c *call) some {
		q, k, v := c.tensor(), c.tensor(), c.tensor()
		o := c.options().only("mask", "causal")
		return some{tensor.ScaledDotProduct(q, k, v, tensor.Attention{Mask: o.at("mask").maybe(), Causal: o.at("causal").truth(false)})}
	}},
	{"embedding", func(c *call) some { w := c.tensor(); return some{w.Embedding(c.tensor(), tensor.EmbeddingOptions{})} }},
}

// last takes the sizes of the last axes; nothing is the last one.
func (c *call) last(x one) []int {
	if shape := c.integers(); len(shape) > 0 || x.Rank() == 0 {
		return shape
	}
	return []int{x.Dim(-1)}
}

func (c *call) conv() tensor.Conv {
	o := c.options().only("stride", "padding", "dilation", "groups", "outputPadding")
	return tensor.Conv{
		Strides: o.at("stride").integers(), Paddings: o.at("padding").integers(), Dilations: o.at("dilation").integers(),
		OutputPadding: o.at("outputPadding").integers(), Groups: o.at("groups").integer(1),
	}
}

func (c *call) pool() tensor.Pool {
	p := tensor.Pool{Size: c.integers(), Axes: 2}
	o := c.options().only("stride", "padding", "dilation")
	p.Stride, p.Padding, p.Dilation = o.at("stride").integers(), o.at("padding").integers(), o.at("dilation").integers()
	return p
}

// losses measure how wrong something is.
var losses = []operation{
	{"crossEntropy", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.CrossEntropy(y, c.loss())} }},
	{"nll", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.NLL(y, c.loss())} }},
	{"mse", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.MSE(y, c.loss())} }},
	{"l1", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.L1(y, c.loss())} }},
	{"bce", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.BCE(y, c.loss())} }},
	{"bceWithLogits", func(c *call) some { x, y := c.tensor(), c.tensor(); return some{x.BCEWithLogits(y, c.loss())} }},
	{"huber", func(c *call) some {
		x, y := c.tensor(), c.tensor()
		return some{x.Huber(y, c.number(1))}
	}},
}

func (c *call) loss() tensor.Loss {
	o := c.options().only("reduction", "weight", "ignore", "smoothing", "posWeight")
	l := tensor.Loss{
		Weight: o.at("weight").maybe(), Ignore: o.at("ignore").integers(), Smoothing: o.at("smoothing").number(0), PosWeight: o.at("posWeight").maybe(),
	}
	if how := o.at("reduction"); how.given() {
		switch name := how.text(); name {
		case "mean":
		case "sum":
			l.Reduction = tensor.SumLoss
		case "none":
			l.Reduction = tensor.NoneLoss
		default:
			c.fail("there is no reduction %q; there are mean, sum and none", name)
		}
	}
	return l
}

// more is what fits nowhere else.
var more = []operation{
	{"to", func(c *call) some { x := c.tensor(); return some{x.To(c.dtype(x.DType()))} }},
	{"bitcast", func(c *call) some { x := c.tensor(); return some{x.Bitcast(c.dtype(x.DType()))} }},
	{"clamp", func(c *call) some { x, lo := c.tensor(), c.optional(); return some{x.Clamp(lo, c.optional())} }},
	{"lerp", func(c *call) some { x, end := c.tensor(), c.tensor(); return some{x.Lerp(end, c.operand())} }},
	{"leakyRelu", func(c *call) some { x := c.tensor(); return some{x.LeakyReLU(c.number(0.01))} }},
	{"elu", func(c *call) some { x := c.tensor(); return some{x.ELU(c.number(1))} }},
	{"softplus", func(c *call) some { x := c.tensor(); return some{x.Softplus(c.number(1))} }},
	{"cumSum", func(c *call) some { x := c.tensor(); return some{x.CumSum(c.integer(-1))} }},
	{"cumProd", func(c *call) some { x := c.tensor(); return some{x.CumProd(c.integer(-1))} }},
	{"var", func(c *call) some { return some{spread(c, one.Var, one.VarKeep)} }},
	{"std", func(c *call) some { return some{spread(c, one.Std, one.StdKeep)} }},
	{"norm", func(c *call) some { x, p := c.tensor(), c.number(2); return some{x.Norm(p, c.integers()...)} }},
	{"assign", func(c *call) some { x := c.tensor(); return some{x.Assign(c.operand())} }},
	{"own", func(c *call) some { return some{c.tensor().Own()} }},
	{"grad", func(c *call) some { x := c.tensor(); return x.Grad(c.tensors()...) }},
}

func spread(c *call, f, keep func(one, float64, ...int) one) one {
	x := c.tensor()
	axes, kept, correction := c.axes()
	if kept {
		return keep(x, correction, axes...)
	}
	return f(x, correction, axes...)
}
