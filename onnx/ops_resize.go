package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// resizing says how one axis of size in becomes out; scale is the ratio, which rounding may have taken apart from out/in.
type resizing struct {
	mode, coords, nearest string
	in, out               int
	scale                 float64
	scaled                bool // the scale was given, not the size
	roi                   [2]float64
	cubic                 float64
	antialias             bool
	exclude               bool
}

// at is the place in the input that belongs to place i of the output.
func (r *resizing) at(i int) float64 {
	x, in, length := float64(i), float64(r.in), r.scale*float64(r.in)
	switch r.coords {
	case "asymmetric":
		return x / r.scale
	case "align_corners":
		if !r.scaled || r.scale >= 1 { // the tests of ONNX ask for fractions where scales shrink; where they leave it open, onnxruntime has none
			length = float64(r.out)
		}
		if length == 1 || r.out == 1 {
			return 0
		}
		return x * (in - 1) / (length - 1)
	case "pytorch_half_pixel":
		if r.out == 1 {
			return 0
		}
	case "half_pixel_symmetric":
		return in/2*(1-float64(r.out)/length) + (x+0.5)/r.scale - 0.5
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / r.scale
	case "tf_crop_and_resize":
		span := (r.roi[1] - r.roi[0]) * (in - 1)
		if r.out == 1 {
			return r.roi[0]*(in-1) + span/2
		}
		return r.roi[0]*(in-1) + x*span/(float64(r.out)-1)
	}
	return (x+0.5)/r.scale - 0.5
}

// weights are those of the elements around a place that lies ratio behind the first of two neighbours, and how far before that the first is.
func (r *resizing) weights(ratio float64) (list []float64, before int) {
	reach, kernel := 1.0, func(x float64) float64 { return max(0, 1-math.Abs(x)) }
	if r.mode == "cubic" {
		reach = 2
		kernel = func(x float64) float64 { return cubicAt(math.Abs(x), r.cubic) }
	}
	scale := 1.0
	if r.antialias {
		scale = min(1, r.scale)
	}
	start := int(math.Floor(-reach/scale) + 1)
	var sum float64
	for i := start; i < 2-start; i++ {
		w := kernel((float64(i) - ratio) * scale)
		list, sum = append(list, w), sum+w
	}
	if r.antialias {
		for i := range list {
			list[i] /= sum
		}
	}
	return list, -start
}

// cubicAt is the kernel of cubic convolution (Keys, 1981).
func cubicAt(x, a float64) float64 {
	switch {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((x-5)*x+8)*x*a - 4*a
	}
	return 0
}

// taps are, for each element of the output, the elements of the input and their weights, lists by tap.
func (r *resizing) taps() (index [][]int64, weights [][]float64) {
	for i := range r.out {
		x := r.at(i)
		base := math.Ceil(x) - 1
		list, before := r.weights(x - base)
		first := int(base) - before
		if r.exclude {
			var sum float64
			for k := range list {
				if first+k < 0 || first+k >= r.in {
					list[k] = 0
				}
				sum += list[k]
			}
			for k := range list {
				list[k] /= sum
			}
		}
		if index == nil {
			index, weights = make([][]int64, len(list)), make([][]float64, len(list))
		}
		for k, w := range list {
			index[k] = append(index[k], int64(max(0, min(first+k, r.in-1))))
			weights[k] = append(weights[k], w)
		}
	}
	return index, weights
}

// nearestTo is the element of the input for place i.
func (r *resizing) nearestTo(i int) int64 {
	x := r.at(i)
	switch r.nearest {
	case "round_prefer_ceil":
		x = math.Floor(x + 0.5)
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	case "before version 11":
		if r.scale < 1 {
			x = math.Ceil(x)
		}
		x = math.Floor(x)
	default:
		x = math.Ceil(x - 0.5)
	}
	return int64(max(0, min(x, float64(r.in-1))))
}

// resizings are the attributes of a node for each axis that it resizes.
func (c *call) resizings(x t) (plans []resizing, axes []int) {
	rank := x.Rank()
	base := resizing{mode: c.attrString("mode", "nearest"), coords: c.attrString("coordinate_transformation_mode", "half_pixel"),
		nearest: c.attrString("nearest_mode", "round_prefer_floor"), cubic: c.attrFloat("cubic_coeff_a", -0.75),
		antialias: c.attrBool("antialias", false), exclude: c.attrBool("exclude_outside", false)}
	if base.mode == "bilinear" {
		base.mode = "linear"
	}
	axes, ok := c.attrInts("axes")
	if !ok {
		for i := range rank {
			axes = append(axes, i)
		}
	}
	roi, scales, sizes := 1, 2, 3
	if c.opset < 11 || c.node.op == "Upsample" {
		roi, scales, sizes = 99, 1, 99
		base.coords, base.nearest = "asymmetric", "before version 11"
	}
	plans = make([]resizing, len(axes))
	for i, a := range axes {
		plans[i] = base
		plans[i].in = x.Dim(c.axis(a, rank))
		plans[i].roi = [2]float64{0, 1}
	}
	if base.coords == "tf_crop_and_resize" {
		list := c.floats(roi)
		if len(list) != 2*len(axes) {
			c.fail("a region of %d numbers for %d axes", len(list), len(axes))
		}
		for i := range axes {
			plans[i].roi = [2]float64{list[i], list[len(axes)+i]}
		}
	}
	c.resizeSizes(plans, scales, sizes)
	return plans, axes
}

func resize(c *call) []*Value {
	x := c.t(0)
	rank := x.Rank()
	plans, axes := c.resizings(x)
	if len(plans) == 0 {
		return []*Value{c.value(0)}
	}
	base := plans[0]
	var outside t // where the region lies outside of the input
	e := c.elem(0)
	y := x
	if base.mode != "nearest" {
		y = wide(x)
	}
	if last := c.resizeLast(y, plans, axes); last != nil {
		plans, y = nil, last
	}
	for i := range plans {
		a := c.axis(axes[i], rank)
		r := &plans[i]
		if r.out == r.in && r.scale == 1 && base.coords != "tf_crop_and_resize" {
			continue
		}
		if r.in == 0 || r.out == 0 {
			if y = y.Narrow(a, 0, 0); r.out > 0 {
				c.fail("axis %d has no elements", a)
			}
			continue
		}
		y = c.resizeAxis(y, a, r)
		if base.coords == "tf_crop_and_resize" {
			outside = c.outsideOf(outside, rank, a, r)
		}
	}
	if outside != nil {
		y = outside.Where(c.attrFloat("extrapolation_value", 0), y)
	}
	if !e.isFloat() && y.IsFloat() {
		y = y.Round()
		if e != Bool {
			lo, hi := limits(e)
			y = y.Clamp(lo, hi)
		}
	}
	return c.one(y, e)
}

// resizeSizes finds sizes and scales.
func (c *call) resizeSizes(plans []resizing, scales, sizes int) {
	if a := c.attrFloats("scales"); a != nil && c.opset < 9 {
		c.resizeScales(plans, a)
		return
	}
	if c.has(scales) && count(c.array(scales).shape) > 0 {
		c.resizeScales(plans, c.floats(scales))
		return
	}
	list := c.ints(sizes)
	if len(list) != len(plans) {
		c.fail("%d sizes for %d axes", len(list), len(plans))
	}
	for i := range plans {
		if list[i] < 0 {
			c.fail("sizes are %v", list)
		}
		plans[i].out = c.limited(list[i])
		plans[i].scale = float64(list[i]) / float64(plans[i].in)
	}
	policy := c.attrString("keep_aspect_ratio_policy", "stretch")
	if policy == "stretch" {
		return
	}
	scale := plans[0].scale
	for _, p := range plans {
		if policy == "not_larger" {
			scale = min(scale, p.scale)
		} else {
			scale = max(scale, p.scale)
		}
	}
	for i := range plans {
		plans[i].scale = scale
		plans[i].out = int(math.Floor(scale*float64(plans[i].in) + 0.5))
	}
}

func (c *call) resizeScales(plans []resizing, list []float64) {
	if len(list) != len(plans) {
		c.fail("%d scales for %d axes", len(list), len(plans))
	}
	for i := range plans {
		s := list[i]
		if !(s > 0) || s*float64(plans[i].in) > 1<<31 {
			c.fail("scales are %v", list)
		}
		plans[i].scaled, plans[i].scale, plans[i].out = true, s, int(math.Floor(s*float64(plans[i].in)))
	}
}

// resizeLast resizes axes linearly as package tensor does, where those that change are the last ones and it knows how; else it is nil.
func (c *call) resizeLast(x t, plans []resizing, axes []int) t {
	sizes, scales := x.Shape(), make([]float64, x.Rank())
	o := tensor.Resize{Mode: tensor.ResizeLinear}
	first, whole := x.Rank(), true
	for i := range plans {
		r := &plans[i]
		if r.out == r.in && r.scale == 1 {
			continue
		}
		if !r.plain() || r.in == 0 || r.out == 0 {
			return nil
		}
		c.listed(r.out, 2)
		o.AlignCorners = r.coords == "align_corners"
		a := c.axis(axes[i], x.Rank())
		sizes[a], scales[a], first, whole = r.out, r.scale, min(first, a), whole && r.out%r.in == 0 && !o.AlignCorners
	}
	if first == x.Rank() || slices.Contains(scales[first:], 0) {
		return nil
	}
	o.Scales = scales[first:]
	if x = x.Resize(sizes[first:], o); !whole {
		x = x.Contiguous() // taps that are looked up are not to be so as often as a convolution reads them
	}
	return x
}

// plain says that the axis is resized linearly as package tensor would do it.
func (r *resizing) plain() bool {
	if r.mode != "linear" || r.antialias || r.exclude {
		return false
	}
	switch r.coords {
	case "half_pixel":
		return true
	case "pytorch_half_pixel":
		return r.out > 1
	case "align_corners":
		return !r.scaled || r.scale >= 1
	}
	return false
}

func (c *call) resizeAxis(x t, axis int, r *resizing) t {
	c.listed(r.out, 1+int(4/min(1, max(r.scale, 1e-9))))
	if r.mode == "nearest" {
		index := make([]int64, r.out)
		for i := range index {
			index[i] = r.nearestTo(i)
		}
		return c.pick(x, axis, index)
	}
	if r.mode != "linear" && r.mode != "cubic" {
		c.fail("its mode is %.40q", r.mode)
	}
	index, weights := r.taps()
	var sum t
	for k := range index {
		w := &Value{elem: Float64, shape: c.along(x.Rank(), axis, r.out), raw: rawOf(dtype.F64, weights[k]), known: true}
		if x.DType() == dtype.F32 {
			w.elem, w.raw = Float32, rawOf(dtype.F32, weights[k])
		}
		part := c.pick(x, axis, index[k]).Mul(c.r.tensor(w))
		if sum == nil {
			sum = part
		} else {
			sum = sum.Add(part)
		}
	}
	return sum
}

// outsideOf adds the places of an axis that lie outside of the input.
func (c *call) outsideOf(before t, rank, axis int, r *resizing) t {
	raw := make([]byte, r.out)
	for i := range raw {
		if x := r.at(i); x < 0 || x > float64(r.in-1) {
			raw[i] = 1
		}
	}
	here := c.r.tensor(&Value{elem: Bool, shape: c.along(rank, axis, r.out), raw: raw, known: true})
	if before == nil {
		return here
	}
	return before.LogicalOr(here)
}

var sampleModes = map[string]tensor.ResizeMode{
	"linear": tensor.ResizeLinear, "bilinear": tensor.ResizeLinear, "nearest": tensor.ResizeNearest, "cubic": tensor.ResizeCubic,
	"bicubic": tensor.ResizeCubic,
}

var samplePaddings = map[string]tensor.SamplePadding{
	"zeros": tensor.SampleZeros, "border": tensor.SampleBorder, "reflection": tensor.SampleReflection,
}

func gridSample(c *call) []*Value {
	mode, ok := sampleModes[c.attrString("mode", "linear")]
	padding, known := samplePaddings[c.attrString("padding_mode", "zeros")]
	if !ok || !known {
		c.fail("its mode is %.40q and its padding %.40q", c.attrString("mode", ""), c.attrString("padding_mode", ""))
	}
	x := wide(c.t(0))
	o := tensor.Sample{Mode: mode, Padding: padding, AlignCorners: c.attrBool("align_corners", false)}
	return c.one(x.GridSample(wide(c.t(1)), o), c.elem(0))
}

func affineGrid(c *call) []*Value {
	theta := wide(c.t(0))
	return c.one(tensor.AffineGrid(theta, c.ints(1), c.attrBool("align_corners", false)), c.elem(0))
}

func init() {
	register("", map[string]operator{"Resize": resize, "Upsample": resize, "GridSample": gridSample, "AffineGrid": affineGrid})
}
