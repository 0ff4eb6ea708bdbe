package torchops

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

var lossReductions = map[string]tensor.LossReduction{"mean": tensor.MeanLoss, "sum": tensor.SumLoss, "none": tensor.NoneLoss,
	"batchmean": tensor.BatchMean}

// loss reads the options of a loss that its signature has.
func (c *call) loss() tensor.Loss {
	r, ok := lossReductions[c.Str("reduction")]
	if !ok {
		panic(&tensor.ArgumentError{Op: c.op, Reason: "unknown reduction " + c.Str("reduction")})
	}
	if r == tensor.BatchMean && c.op != functional+"kl_div" {
		c.refuse("batchmean")
	}
	o := tensor.Loss{Reduction: r}
	if _, ok := c.vals["weight"]; ok {
		o.Weight = c.OptT("weight")
	}
	if _, ok := c.vals["ignore_index"]; ok {
		o.Ignore = []int{c.Int("ignore_index")}
	}
	if _, ok := c.vals["label_smoothing"]; ok {
		o.Smoothing = c.Float("label_smoothing")
	}
	return o
}

// targeted is a row for a loss of an input and a target.
func targeted(signature string, f func(c *call, x, y T, o tensor.Loss) T) op {
	return one(signature, func(c *call) T { return f(c, c.T("input"), c.T("target"), c.loss()) })
}

// weighted is the loss of elements; with a weight the mean is weighted too.
func weighted(f func(c *call, x, y T, o tensor.Loss) T) func(c *call, x, y T, o tensor.Loss) T {
	return func(c *call, x, y T, o tensor.Loss) T {
		if o.Weight == nil || o.Reduction != tensor.MeanLoss {
			return f(c, x, y, o)
		}
		o.Reduction = tensor.SumLoss
		return f(c, x, y, o).Div(o.Weight.Sum())
	}
}

var lossOps = map[string]op{
	functional + "multilabel_margin_loss": targeted("input, target, reduction='mean'", func(c *call, x, y T, o tensor.Loss) T { return x.MultiLabelMargin(y, o) }),
	functional + "cross_entropy": targeted("input, target, weight=None, ignore_index=-100, reduction='mean', label_smoothing=0.0",
		func(c *call, x, y T, o tensor.Loss) T { return x.CrossEntropy(y, o) }),
	functional + "nll_loss": targeted("input, target, weight=None, ignore_index=-100, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T { return x.NLL(y, o) }),
	functional + "binary_cross_entropy": targeted("input, target, weight=None, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T { return x.BCE(y, o) }),
	functional + "binary_cross_entropy_with_logits": targeted("input, target, weight=None, reduction='mean', pos_weight=None",
		func(c *call, x, y T, o tensor.Loss) T {
			o.PosWeight = c.OptT("pos_weight")
			return x.BCEWithLogits(y, o)
		}),
	functional + "mse_loss": targeted("input, target, reduction='mean', weight=None",
		weighted(func(c *call, x, y T, o tensor.Loss) T { return x.MSE(y, o) })),
	functional + "l1_loss": targeted("input, target, reduction='mean', weight=None",
		weighted(func(c *call, x, y T, o tensor.Loss) T { return x.L1(y, o) })),
	functional + "smooth_l1_loss": targeted("input, target, reduction='mean', beta=1.0",
		func(c *call, x, y T, o tensor.Loss) T { return x.SmoothL1(y, c.Float("beta"), o) }),
	functional + "huber_loss": targeted("input, target, reduction='mean', delta=1.0, weight=None",
		func(c *call, x, y T, o tensor.Loss) T { return x.Huber(y, c.Float("delta"), o) }),
	functional + "kl_div": targeted("input, target, reduction='mean', log_target=False",
		func(c *call, x, y T, o tensor.Loss) T { return x.KLDiv(y, c.Bool("log_target"), o) }),
	functional + "hinge_embedding_loss": targeted("input, target, margin=1.0, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T { return x.HingeEmbedding(y, c.Float("margin"), o) }),
	functional + "soft_margin_loss": targeted("input, target, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T { return x.SoftMargin(y, o) }),
	functional + "multilabel_soft_margin_loss": targeted("input, target, weight=None, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T { return x.MultiLabelSoftMargin(y, o) }),
	functional + "multi_margin_loss": targeted("input, target, p=1, margin=1.0, weight=None, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T {
			if p := c.Float("p"); p != 1 && p != 2 {
				c.refuse("p is %v", p)
			}
			return x.MultiMargin(y, c.Float("p"), c.Float("margin"), o)
		}),
	functional + "poisson_nll_loss": targeted("input, target, log_input=True, full=False, eps=1e-08, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T {
			return x.PoissonNLL(y, c.Bool("log_input"), c.Bool("full"), c.Float("eps"), o)
		}),
	functional + "gaussian_nll_loss": targeted("input, target, var, full=False, eps=1e-06, reduction='mean'",
		func(c *call, x, y T, o tensor.Loss) T {
			v := tensor.FullLike(x, 1)
			if c.IsTensor("var") {
				v = c.T("var")
			} else {
				if c.Float("var") < 0 {
					c.refuse("a variance of %v", c.Float("var"))
				}
				v = v.Mul(c.Float("var"))
			}
			return x.GaussianNLL(y, v, c.Bool("full"), c.Float("eps"), o)
		}),
	functional + "margin_ranking_loss": one("input1, input2, target, margin=0, reduction='mean'", func(c *call) T {
		return c.T("input1").MarginRanking(c.T("input2"), c.T("target"), c.Float("margin"), c.loss())
	}),
	functional + "cosine_embedding_loss": one("input1, input2, target, margin=0, reduction='mean'", func(c *call) T {
		return c.T("input1").CosineEmbedding(c.T("input2"), c.T("target"), c.Float("margin"), c.loss())
	}),
	functional + "triplet_margin_loss": one("anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, reduction='mean'", func(c *call) T {
		if m := c.Float("margin"); m <= 0 {
			c.refuse("a margin of %v", m)
		}
		if a := c.T("anchor").Rank(); a != c.T("positive").Rank() || a != c.T("negative").Rank() {
			c.refuse("operands of different numbers of axes")
		}
		return c.T("anchor").TripletMargin(c.T("positive"), c.T("negative"),
			tensor.Triplet{Margin: c.Float("margin"), P: c.Float("p"), Eps: c.Float("eps"), Swap: c.Bool("swap")}, c.loss())
	}),
	functional + "ctc_loss": one("log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False", func(c *call) T {
		y, err := c.T("log_probs").CTC(c.dev.ctx, c.T("targets"), c.lengths("input_lengths"), c.lengths("target_lengths"),
			tensor.CTCOptions{Blank: c.Int("blank"), Reduction: c.loss().Reduction, ZeroInfinity: c.Bool("zero_infinity")})
		c.fails(err)
		return y
	}),
}

// lengths is a tensor of integers, or a list of host numbers made one.
func (c *call) lengths(name string) T {
	if c.IsTensor(name) {
		return c.T(name)
	}
	raw := []byte{}
	list := c.Ints(name)
	for _, n := range list {
		raw = append(raw, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return c.dev.input(&Ref{DType: dtype.I32.String(), Shape: []int{len(list)}, Bytes: raw})
}
