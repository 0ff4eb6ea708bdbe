package torchops

import (
	"math"

	"github.com/weft-ml/weft/tensor"
)

var resizeModes = map[string]tensor.ResizeMode{"nearest": tensor.ResizeNearest, "nearest-exact": tensor.ResizeNearestExact,
	"linear": tensor.ResizeLinear, "bilinear": tensor.ResizeLinear, "trilinear": tensor.ResizeLinear, "bicubic": tensor.ResizeCubic,
	"cubic": tensor.ResizeCubic, "area": tensor.ResizeArea}

// resizeDims are the modes of a fixed number of axes.
var resizeDims = map[string]int{"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}

var samplePaddings = map[string]tensor.SamplePadding{"zeros": tensor.SampleZeros, "border": tensor.SampleBorder,
	"reflection": tensor.SampleReflection}

var resizeOps = map[string]op{
	functional + "interpolate": one("input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False", interpolate),
	functional + "grid_sample": one("input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", func(c *call) T {
		return c.T("input").GridSample(c.T("grid"), tensor.Sample{Mode: choice(c, "mode", resizeModes),
			Padding: choice(c, "padding_mode", samplePaddings), AlignCorners: c.value("align_corners") == true})
	}),
	functional + "affine_grid": one("theta, size, align_corners=None", func(c *call) T {
		return tensor.AffineGrid(c.T("theta"), c.Ints("size"), c.value("align_corners") == true)
	}),
	functional + "adaptive_avg_pool1d": one("input, output_size", adaptiveAvg(1)),
	functional + "adaptive_avg_pool2d": one("input, output_size", adaptiveAvg(2)),
	functional + "adaptive_avg_pool3d": one("input, output_size", adaptiveAvg(3)),
	functional + "adaptive_max_pool1d": {"input, output_size, return_indices=False", adaptiveMax(1)},
	functional + "adaptive_max_pool2d": {"input, output_size, return_indices=False", adaptiveMax(2)},
	functional + "adaptive_max_pool3d": {"input, output_size, return_indices=False", adaptiveMax(3)},
	functional + "max_unpool1d":        one(unpool, maxUnpool(1)),
	functional + "max_unpool2d":        one(unpool, maxUnpool(2)),
	functional + "max_unpool3d":        one(unpool, maxUnpool(3)),
	functional + "local_response_norm": one("input, size, alpha=0.0001, beta=0.75, k=1.0", func(c *call) T {
		return c.T("input").LocalResponseNorm(c.Int("size"), c.Float("alpha"), c.Float("beta"), c.Float("k"))
	}),
}

const unpool = "input, indices, kernel_size, stride=None, padding=0, output_size=None"

// interpolate finds the sizes from factors and says which scale counts: the factor as given, unless it is to be
// recomputed from the sizes.
func interpolate(c *call) T {
	x := c.T("input")
	dims := x.Rank() - 2
	if dims < 1 || dims > 3 {
		panic(&tensor.ShapeError{Op: c.op, Reason: "needs [n, c, …] with one to three more axes"})
	}
	if c.None("size") == c.None("scale_factor") {
		c.refuse("needs either sizes or factors")
	}
	if n, only := resizeDims[c.Str("mode")]; only && n != dims {
		c.refuse("mode %s is for %d axes, not %d", c.Str("mode"), n, dims)
	}
	if _, smooth := resizeDims[c.Str("mode")]; !smooth && !c.None("align_corners") {
		c.refuse("align_corners for mode %s", c.Str("mode"))
	}
	if mode := c.Str("mode"); c.Bool("antialias") && mode != "bilinear" && mode != "bicubic" {
		c.refuse("antialias for mode %s", mode)
	}
	if !c.None("size") && c.value("recompute_scale_factor") == true {
		c.refuse("no scale to recompute where sizes are given")
	}
	o := tensor.Resize{Mode: choice(c, "mode", resizeModes), AlignCorners: c.value("align_corners") == true, Antialias: c.Bool("antialias")}
	if !c.None("size") {
		return x.Resize(c.Tuple("size", dims), o)
	}
	factors := c.Floats("scale_factor")
	for len(factors) < dims {
		factors = append(factors, factors[0])
	}
	sizes := make([]int, dims)
	for i := range sizes {
		sizes[i] = int(math.Floor(float64(x.Dim(i+2)) * factors[i]))
	}
	if c.value("recompute_scale_factor") != true {
		o.Scales = factors
	}
	return x.Resize(sizes, o)
}

// poolSizes are the sizes of an adaptive pool; none keeps an axis.
func (c *call) poolSizes(dims int) []int {
	x := c.T("input")
	if r := x.Rank(); r < dims+1 || r > dims+2 {
		c.refuse("the input has %d axes, not %d or %d", r, dims+1, dims+2)
	}
	out := make([]int, dims)
	list, ok := c.value("output_size").([]any)
	if ok && len(list) != dims && len(list) != 1 {
		c.refuse("%d sizes for %d axes", len(list), dims)
	}
	for i := range out {
		v := c.value("output_size")
		if ok {
			v = list[min(i, len(list)-1)]
		}
		switch v := v.(type) {
		case nil:
			out[i] = x.Dim(x.Rank() - dims + i)
		case int:
			out[i] = v
		default:
			c.wrong("output_size", "a list of sizes")
		}
	}
	return out
}

func adaptiveAvg(dims int) func(c *call) T {
	return func(c *call) T { return c.T("input").AdaptiveAvgPool(c.poolSizes(dims)...) }
}

func adaptiveMax(dims int) func(c *call) []any {
	return func(c *call) []any {
		v, i := c.T("input").AdaptiveMaxPool(c.poolSizes(dims)...)
		if c.Bool("return_indices") {
			return outputs(v, i)
		}
		return outputs(v)
	}
}

func maxUnpool(dims int) func(c *call) T {
	return func(c *call) T {
		var sizes []int
		if !c.None("output_size") {
			sizes = c.Ints("output_size")
			sizes = sizes[max(len(sizes)-dims, 0):]
		}
		return c.T("input").MaxUnpool(c.T("indices"), c.pool(dims), sizes...)
	}
}
