package onnx

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func batchNorm(c *call) []*Value {
	v := c.array(0)
	if c.opset < 9 && !c.attrBool("spatial", true) {
		c.notYet("BatchNormalization with a mean for each place of a channel (spatial is 0)")
	}
	x := wide(c.t(0))
	rank := x.Rank()
	at := func(p t) t { return p.To(x.DType()).Reshape(c.along(max(rank, 2), 1, p.Numel())[:rank]...) }
	eps := c.attrFloat("epsilon", 1e-5)
	scale, bias, mean, variance := c.t(1), c.t(2), c.t(3), c.t(4)
	training := c.attrBool("training_mode", false)
	if !training {
		if s := v.conv; s != nil && c.known(1, 2, 3, 4) {
			return c.foldedNorm(s, scale, bias, mean, variance, eps)
		}
		f := wide(scale).To(x.DType()).Div(variance.To(x.DType()).Add(eps).Sqrt())
		return []*Value{c.out(x.Sub(at(mean)).Mul(at(f)).Add(at(bias)), c.elem(0)), c.value(3), c.value(4)}
	}
	axes := []int{0}
	for i := 2; i < rank; i++ {
		axes = append(axes, i)
	}
	now, spread := x.Mean(axes...), x.Var(0, axes...)
	y := x.Sub(at(now)).Mul(at(scale.To(x.DType()).Div(spread.Add(eps).Sqrt()))).Add(at(bias))
	m := c.attrFloat("momentum", 0.9)
	mix := func(old, now t) t { return old.To(x.DType()).Mul(m).Add(now.Mul(1 - m)) }
	return []*Value{c.out(y, c.elem(0)), c.out(mix(mean, now), c.elem(3)), c.out(mix(variance, spread), c.elem(4))}
}

func (c *call) known(list ...int) bool {
	for _, i := range list {
		if c.has(i) && !c.in[i].isKnown() {
			return false
		}
	}
	return true
}

// foldedNorm is a convolution with a normalization in its weights: (w∗x + b − mean)·f + bias = (w·f)∗x + (b − mean)·f + bias.
func (c *call) foldedNorm(s *convSource, scale, bias, mean, variance t, eps float64) []*Value {
	d := wide(s.w).DType()
	f := scale.To(d).Div(variance.To(d).Add(eps).Sqrt())
	b := mean.To(d).Neg()
	if s.b != nil {
		b = b.Add(s.b.To(d))
	}
	own := *s
	own.w = s.w.To(d).Mul(f.Reshape(c.along(s.w.Rank(), 0, f.Numel())...)).To(s.w.DType())
	own.b = b.Mul(f).Add(bias.To(d)).To(s.w.DType())
	return []*Value{c.out(own.compute(), c.elem(0)), c.value(3), c.value(4)}
}

func instanceNorm(c *call) []*Value {
	x := wide(c.t(0))
	axes := []int{}
	for i := 2; i < x.Rank(); i++ {
		axes = append(axes, i)
	}
	at := func(p t) t { return p.To(x.DType()).Reshape(c.along(x.Rank(), 1, p.Numel())...) }
	y := normalized(x, axes, c.attrFloat("epsilon", 1e-5))
	return c.one(y.Mul(at(c.t(1))).Add(at(c.t(2))), c.elem(0))
}

// normalized is x less its mean over its deviation, along axes.
func normalized(x t, axes []int, eps float64) t {
	if len(axes) == 0 {
		return x.Sub(x)
	}
	d := x.Sub(x.MeanKeep(axes...))
	return d.Mul(d.Mul(d).MeanKeep(axes...).Add(eps).Rsqrt())
}

func groupNorm(c *call) []*Value {
	x := wide(c.t(0))
	groups := c.attrInt("num_groups", 0)
	n, ch := x.Dim(0), x.Dim(1)
	if groups < 1 || ch%groups != 0 {
		c.fail("%d groups of %d channels", groups, ch)
	}
	per := x.Numel() / max(1, n*groups)
	y := normalized(x.Reshape(n, groups, per), []int{2}, c.attrFloat("epsilon", 1e-5))
	at := func(p t) t {
		p = p.To(x.DType())
		if c.opset < 21 { // one number for each group
			p = p.RepeatInterleave(ch/groups, 0)
		}
		return p.Reshape(c.along(x.Rank(), 1, ch)...)
	}
	return c.one(y.Reshape(x.Shape()...).Mul(at(c.t(1))).Add(at(c.t(2))), c.elem(0))
}

// lastAxes are those from an axis on.
func (c *call) lastAxes(x t) []int {
	var axes []int
	for a := c.axis(c.attrInt("axis", -1), x.Rank()); a < x.Rank(); a++ {
		axes = append(axes, a)
	}
	return axes
}

// stash is x in the type in which a node computes its statistics.
func (c *call) stash(x t) t {
	d := Elem(c.attrInt("stash_type", int(Float32))).DType()
	if !d.IsFloat() || x.DType() == dtype.F64 || d.IsNarrow() {
		return wide(x)
	}
	return x.To(d)
}

func layerNorm(c *call) []*Value {
	x := c.stash(c.t(0))
	axes := c.lastAxes(x)
	mean := x.MeanKeep(axes...)
	d := x.Sub(mean)
	inv := d.Mul(d).MeanKeep(axes...).Add(c.attrFloat("epsilon", 1e-5)).Rsqrt()
	y := d.Mul(inv).Mul(c.t(1).To(x.DType()))
	if c.has(2) {
		y = y.Add(c.t(2).To(x.DType()))
	}
	e := Float32
	if x.DType() == dtype.F64 {
		e = Float64
	}
	return []*Value{c.out(y, c.elem(0)), c.out(mean, e), c.out(inv, e)}
}

func rmsNorm(c *call) []*Value {
	x := c.stash(c.t(0))
	axes := c.lastAxes(x)
	y := x.Mul(x.Mul(x).MeanKeep(axes...).Add(c.attrFloat("epsilon", 1e-5)).Rsqrt())
	if c.has(1) {
		y = y.Mul(c.t(1).To(x.DType()))
	}
	return c.one(y, c.elem(0))
}

func lrn(c *call) []*Value {
	x := wide(c.t(0))
	size := c.attrInt("size", 1)
	if size < 1 || size > 1<<20 || x.Rank() < 2 {
		c.fail("windows of %d channels of %v", size, x.Shape())
	}
	lo := (size - 1) / 2
	before, after := make([]int, x.Rank()), make([]int, x.Rank())
	before[1], after[1] = lo, size-1-lo
	sum := x.Mul(x).Pad(before, after).Unfold(1, size, 1).Sum(-1)
	scale := sum.Mul(c.attrFloat("alpha", 1e-4) / float64(size)).Add(c.attrFloat("bias", 1))
	return c.one(x.Div(scale.Pow(c.attrFloat("beta", 0.75))), c.elem(0))
}

func meanVariance(c *call) []*Value {
	x := wide(c.t(0))
	axes, ok := c.attrInts("axes")
	if !ok {
		axes = []int{0, 2, 3}
	}
	mean := x.MeanKeep(axes...)
	variance := x.Mul(x).MeanKeep(axes...).Sub(mean.Mul(mean))
	return c.one(x.Sub(mean).Div(variance.Sqrt().Add(1e-9)), c.elem(0))
}

func dropout(c *call) []*Value {
	x := c.t(0)
	ratio, training := c.attrFloat("ratio", 0.5), false
	if c.opset >= 12 {
		if ratio = 0.5; c.has(1) {
			ratio = c.float(1)
		}
		training = c.has(2) && c.bool(2)
	} else if c.opset < 7 {
		training = !c.attrBool("is_test", false)
	}
	if !(ratio >= 0 && ratio <= 1) {
		c.fail("its ratio is %v", ratio)
	}
	e := Bool
	if c.opset < 10 {
		e = c.elem(0)
	}
	if !training || ratio == 0 {
		return []*Value{c.value(0), c.out(tensor.Full(true, dtype.Bool, x.Shape()...), e)}
	}
	keep := c.draws(x.Shape()...).Ge(ratio)
	y := keep.Where(x.Mul(1/(1-math.Min(ratio, 1-1e-12))), tensor.ZerosLike(x))
	return []*Value{c.out(y, c.elem(0)), c.out(keep, e)}
}

func init() {
	register("", map[string]operator{
		"BatchNormalization": batchNorm, "InstanceNormalization": instanceNorm, "GroupNormalization": groupNorm,
		"LayerNormalization": layerNorm, "RMSNormalization": rmsNorm, "LRN": lrn, "MeanVarianceNormalization": meanVariance,
		"Dropout": dropout,
	})
}
