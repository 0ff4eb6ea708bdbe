package torchops

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

const convArgs = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"

// conv is a row for a convolution over dims axes. The padding "same" keeps sizes, with the odd zero at the end.
func conv(dims int) op {
	return one(convArgs, func(c *call) T {
		w := c.T("weight")
		c.filters(dims)
		o := tensor.Conv{Strides: c.Tuple("stride", dims), Dilations: c.Tuple("dilation", dims), Groups: c.groups()}
		switch v := c.value("padding"); v {
		default:
			if name, ok := v.(string); ok {
				c.refuse("padding %s", name)
			}
			o.Paddings = c.Tuple("padding", dims)
		case "valid":
		case "same":
			if slices.Max(o.Strides) > 1 {
				c.refuse("padding same with strides %v", o.Strides)
			}
			lo, hi := make([]int, dims), make([]int, dims)
			for i := range dims {
				total := o.Dilations[i] * (w.Dim(2+i) - 1)
				lo[i], hi[i] = total/2, total-total/2
			}
			o.Paddings = append(lo, hi...)
		}
		return c.T("input").Conv2D(w, c.OptT("bias"), o)
	})
}

// filters refuses weights of another number of axes than the function's.
func (c *call) filters(dims int) {
	if w := c.T("weight"); w.Rank() != dims+2 {
		panic(&tensor.ShapeError{Op: c.op, Reason: fmt.Sprintf("the weight has %d axes, not %d", w.Rank(), dims+2)})
	}
}

// groups is the number of groups; a 0 that is given is not the default.
func (c *call) groups() int {
	if g := c.Int("groups"); g != 0 {
		return g
	}
	return -1
}

func convTranspose(dims int) op {
	return one("input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1", func(c *call) T {
		c.filters(dims)
		return c.T("input").ConvTranspose(c.T("weight"), c.OptT("bias"), tensor.Conv{Strides: c.Tuple("stride", dims),
			Paddings: c.Tuple("padding", dims), Dilations: c.Tuple("dilation", dims), Groups: c.groups(), OutputPadding: c.Tuple("output_padding", dims)})
	})
}

// pool reads the options of a pool that a signature has.
func (c *call) pool(dims int) tensor.Pool {
	if r := c.T("input").Rank(); r < dims+1 || r > dims+2 {
		panic(&tensor.ShapeError{Op: c.op, Reason: fmt.Sprintf("the input has %d axes, not %d or %d", r, dims+1, dims+2)})
	}
	p := tensor.Pool{Axes: dims, Size: c.Tuple("kernel_size", dims)}
	if !c.None("stride") {
		if s := c.Ints("stride"); len(s) > 0 {
			p.Stride = c.Tuple("stride", dims)
		}
	}
	if _, ok := c.vals["padding"]; ok {
		p.Padding = c.Tuple("padding", dims)
	}
	if _, ok := c.vals["dilation"]; ok {
		p.Dilation = c.Tuple("dilation", dims)
	}
	if _, ok := c.vals["ceil_mode"]; ok {
		p.Ceil = c.Bool("ceil_mode")
	}
	return p
}

func maxPool(dims int) op {
	return op{"input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False", func(c *call) []any {
		if c.Bool("return_indices") {
			v, i := c.T("input").MaxPoolIndex(c.pool(dims))
			return outputs(v, i)
		}
		v, _ := c.T("input").MaxPoolIndex(c.pool(dims)) // torch's gradient goes to one element, not to all ties
		return outputs(v)
	}}
}

func avgPool(dims int) op {
	return one("input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None", func(c *call) T {
		p := c.pool(dims)
		p.ExcludePadding = !c.Bool("count_include_pad")
		if !c.None("divisor_override") {
			if c.Int("divisor_override") == 0 {
				c.refuse("a divisor of 0")
			}
			return c.T("input").SumPool(p).Div(c.Int("divisor_override"))
		}
		return c.T("input").AvgPool(p)
	})
}

func lpPool(dims int) op {
	return one("input, norm_type, kernel_size, stride=None, ceil_mode=False", func(c *call) T {
		return c.T("input").LpPool(c.Float("norm_type"), c.pool(dims))
	})
}

var layerOps = map[string]op{
	functional + "conv1d": conv(1), functional + "conv2d": conv(2), functional + "conv3d": conv(3),
	functional + "conv_transpose1d": convTranspose(1), functional + "conv_transpose2d": convTranspose(2), functional + "conv_transpose3d": convTranspose(3),
	functional + "max_pool1d": maxPool(1), functional + "max_pool2d": maxPool(2), functional + "max_pool3d": maxPool(3),
	functional + "avg_pool1d": avgPool(1), functional + "avg_pool2d": avgPool(2), functional + "avg_pool3d": avgPool(3),
	functional + "lp_pool1d": lpPool(1), functional + "lp_pool2d": lpPool(2), functional + "lp_pool3d": lpPool(3),
	functional + "unfold": one("input, kernel_size, dilation=1, padding=0, stride=1", func(c *call) T {
		p := c.pool(2)
		return c.T("input").Im2Col(p)
	}),
	functional + "fold": one("input, output_size, kernel_size, dilation=1, padding=0, stride=1", func(c *call) T {
		x := c.T("input")
		if x.Rank() != 2 {
			return x.Fold(c.Tuple("output_size", 2), c.pool(2))
		}
		c.vals["input"] = operand{Tensor: x.Unsqueeze(0)} // one picture
		return c.T("input").Fold(c.Tuple("output_size", 2), c.pool(2)).Squeeze(0)
	}),
	functional + "pad": one("input, pad, mode='constant', value=None", pad),
	functional + "layer_norm": one("input, normalized_shape, weight=None, bias=None, eps=1e-05", func(c *call) T {
		return c.T("input").LayerNorm(c.OptT("weight"), c.OptT("bias"), c.Float("eps"), c.Ints("normalized_shape")...)
	}),
	functional + "rms_norm": one("input, normalized_shape, weight=None, eps=None", func(c *call) T {
		x := c.T("input")
		eps, ok := c.OptFloat("eps")
		if !ok {
			eps = map[dtype.DType]float64{dtype.F64: 0x1p-52, dtype.F32: 0x1p-23, dtype.F16: 0x1p-10, dtype.BF16: 0x1p-7}[x.DType()]
		}
		return x.RMSNorm(c.OptT("weight"), eps, c.Ints("normalized_shape")...)
	}),
	functional + "group_norm": one("input, num_groups, weight=None, bias=None, eps=1e-05", func(c *call) T {
		return c.T("input").GroupNorm(c.Int("num_groups"), c.OptT("weight"), c.OptT("bias"), c.Float("eps"))
	}),
	functional + "batch_norm":    one("input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05", batchNorm),
	functional + "instance_norm": one("input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05", instanceNorm),
}

var padModes = map[string]tensor.PadMode{"constant": tensor.Zero, "reflect": tensor.Reflect, "replicate": tensor.Replicate, "circular": tensor.Circular}

// pad turns pairs that begin at the last axis into lists for the last axes.
func pad(c *call) T {
	list := c.Ints("pad")
	n := len(list) / 2
	if len(list)%2 != 0 {
		c.refuse("%d numbers are no pairs", len(list))
	}
	lo, hi := make([]int, n), make([]int, n)
	for i := range n {
		lo[n-1-i], hi[n-1-i] = list[2*i], list[2*i+1]
	}
	m := choice(c, "mode", padModes)
	if m != tensor.Zero {
		if r := c.T("input").Rank(); r != n+1 && r != n+2 {
			c.refuse("%d pairs for %d axes, of which one or two stay", n, r)
		}
		return c.T("input").PadMode(m, lo, hi)
	}
	if c.None("value") {
		return c.T("input").Pad(lo, hi)
	}
	return c.T("input").PadWith(c.Operand("value"), lo, hi)
}

// batchNorm also says what the call leaves in the running statistics.
func batchNorm(c *call) T {
	x, mean, variance := c.T("input"), c.OptT("running_mean"), c.OptT("running_var")
	if c.Bool("training") {
		if x.Rank() > 1 && x.Numel() == x.Dim(1) {
			c.refuse("one value in each channel")
		}
		m, v := x.ChannelMoments(0)
		for _, running := range []T{mean, variance} {
			if running != nil && (running.Rank() != 1 || running.Dim(0) != m.Dim(0)) {
				panic(&tensor.ShapeError{Op: c.op, Reason: "running statistics of another number of channels"})
			}
		}
		if mean != nil {
			_, unbiased := x.ChannelMoments(1)
			c.averages(mean, variance, m, unbiased)
		}
		mean, variance = m, v
	}
	return x.BatchNorm(mean, variance, c.OptT("weight"), c.OptT("bias"), c.Float("eps"))
}

// averages moves running statistics, arguments 1 and 2.
func (c *call) averages(mean, variance, m, v T) {
	k := c.Float("momentum")
	c.after["1"] = mean.Mul(1 - k).Add(m.Mul(k))
	c.after["2"] = variance.Mul(1 - k).Add(v.Mul(k))
}

func instanceNorm(c *call) T {
	x, mean, variance := c.T("input"), c.OptT("running_mean"), c.OptT("running_var")
	if !c.Bool("use_input_stats") {
		return x.BatchNorm(mean, variance, c.OptT("weight"), c.OptT("bias"), c.Float("eps"))
	}
	if x.Rank() > 2 && x.Numel() == x.Dim(0)*x.Dim(1) {
		c.refuse("one value in each channel")
	}
	if mean != nil {
		var axes []int
		for i := 2; i < x.Rank(); i++ {
			axes = append(axes, i)
		}
		c.averages(mean, variance, x.Mean(axes...).Mean(0), x.Var(1, axes...).Mean(0))
	}
	return x.InstanceNorm(c.OptT("weight"), c.OptT("bias"), c.Float("eps"))
}
