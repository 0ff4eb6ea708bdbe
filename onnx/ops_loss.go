package onnx

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// picked is the loss of scores [n, c, …] for classes [n, …]: minus the score of each class, weighted and reduced.
func (c *call) picked(x t) t {
	target := c.t(1).To(dtype.I64)
	classes := x.Dim(1)
	at := target.Unsqueeze(1)
	live := tensor.Full(true, dtype.Bool, target.Shape()...)
	if c.attr("ignore_index") != nil {
		live = target.Ne(c.attrInt("ignore_index", 0))
		at = live.Unsqueeze(1).Where(at, 0).To(dtype.I64)
	}
	loss := x.Gather(1, counted(at, classes)).Squeeze(1).Neg()
	weight := live.To(x.DType())
	if c.has(2) {
		w := wide(c.t(2)).To(x.DType())
		weight = weight.Mul(w.IndexSelect(0, at.Reshape(at.Numel())).Reshape(target.Shape()...))
	}
	loss = live.Where(loss.Mul(weight), 0.0).To(x.DType())
	switch how := c.attrString("reduction", "mean"); how {
	case "none":
		return loss
	case "sum":
		return loss.Sum()
	case "mean":
		return loss.Sum().Div(weight.Sum())
	default:
		c.fail("its reduction is %.40q", how)
	}
	return nil
}

func nllLoss(c *call) []*Value { return c.one(c.picked(wide(c.t(0))), c.elem(0)) }

func softmaxLoss(c *call) []*Value {
	p := wide(c.t(0)).LogSoftmax(1)
	return []*Value{c.out(c.picked(p), c.elem(0)), c.out(p, c.elem(0))}
}

// The optimizers of ai.onnx.preview.training: inputs are the rate, the step, and then all weights, all gradients, all states.

// groups are the tensors of each of n weights.
func (c *call) groups(kinds int) [][]t {
	rest := len(c.in) - 2
	if rest <= 0 || rest%kinds != 0 {
		c.fail("it has %d inputs", len(c.in))
	}
	n := rest / kinds
	out := make([][]t, n)
	for i := range n {
		for k := range kinds {
			out[i] = append(out[i], wide(c.t(2+k*n+i)))
		}
	}
	return out
}

// updated are the outputs of an optimizer, all of one kind after the other.
func (c *call) updated(list [][]t) []*Value {
	var outs []*Value
	for k := range list[0] {
		for i := range list {
			outs = append(outs, c.out(list[i][k], c.elem(2+i)))
		}
	}
	return outs
}

func adagrad(c *call) []*Value {
	step := c.t(1).To(wide(c.t(0)).DType()).Reshape()
	rate := wide(c.t(0)).Reshape().Div(step.Mul(c.attrFloat("decay_factor", 0)).Add(1))
	var list [][]t
	for _, g := range c.groups(3) {
		x, grad, sum := g[0], g[1].Add(g[0].Mul(c.attrFloat("norm_coefficient", 0))), g[2]
		sum = sum.Add(grad.Mul(grad))
		list = append(list, []t{x.Sub(rate.Mul(grad).Div(sum.Sqrt().Add(c.attrFloat("epsilon", 0)))), sum})
	}
	return c.updated(list)
}

func adam(c *call) []*Value {
	step := c.t(1).To(wide(c.t(0)).DType()).Reshape()
	rate := wide(c.t(0)).Reshape()
	alpha, beta := c.attrFloat("alpha", 0.9), c.attrFloat("beta", 0.999)
	corrected := step.RPow(beta).RSub(1).Sqrt().Div(step.RPow(alpha).RSub(1)).Mul(rate)
	rate = step.Gt(0).Where(corrected, rate)
	var list [][]t
	for _, g := range c.groups(4) {
		x, grad := g[0], g[1].Add(g[0].Mul(c.attrFloat("norm_coefficient", 0)))
		v, h := g[2].Mul(alpha).Add(grad.Mul(1-alpha)), g[3].Mul(beta).Add(grad.Mul(grad).Mul(1-beta))
		x = x.Sub(rate.Mul(v).Div(h.Sqrt().Add(c.attrFloat("epsilon", 1e-6))))
		list = append(list, []t{x.Mul(1 - c.attrFloat("norm_coefficient_post", 0)), v, h})
	}
	return c.updated(list)
}

func momentum(c *call) []*Value {
	rate, step := wide(c.t(0)).Reshape(), c.t(1).To(wide(c.t(0)).DType()).Reshape()
	alpha := c.attrFloat("alpha", 0.9)
	beta := step.Gt(0).Where(c.attrFloat("beta", 1), 1.0).To(rate.DType())
	var list [][]t
	for _, g := range c.groups(3) {
		x, grad := g[0], g[1].Add(g[0].Mul(c.attrFloat("norm_coefficient", 0)))
		v := g[2].Mul(alpha).Add(grad.Mul(beta))
		if c.attrString("mode", "standard") == "nesterov" {
			x = x.Sub(rate.Mul(grad.Add(v.Mul(alpha))))
		} else {
			x = x.Sub(rate.Mul(v))
		}
		list = append(list, []t{x, v})
	}
	return c.updated(list)
}

// gradientOp differentiates a value of the graph that was computed before by others.
func gradientOp(c *call) []*Value {
	y := c.scope.get(c.attrString("y", ""))
	xs := c.attrStrings("xs")
	if y == nil || y.t == nil || !slices.Equal(xs, c.node.in[:min(len(xs), len(c.node.in))]) {
		c.notYet("the gradient of what the graph has not computed as a tensor, or at other values than its own")
	}
	var ws []t
	for i := range xs {
		ws = append(ws, c.t(i))
	}
	var outs []*Value
	for i, g := range y.t.Sum().Grad(ws...) {
		outs = append(outs, c.out(g, c.elem(i)))
	}
	return outs
}

func init() {
	register("", map[string]operator{"NegativeLogLikelihoodLoss": nllLoss, "SoftmaxCrossEntropyLoss": softmaxLoss})
	register("ai.onnx.preview.training", map[string]operator{
		"Adagrad": adagrad, "Adam": adam, "Momentum": momentum, "Gradient": gradientOp,
	})
}
