package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func constant(c *call) []*Value {
	for _, a := range c.attrs {
		switch a.kind {
		case attrTensor:
			return []*Value{c.r.constant(a.t, a.t.is)}
		case attrSparse:
			return []*Value{c.r.constant(a.sparse, a.sparse.is)}
		case attrFloat:
			return []*Value{floatsValue([]int{}, a.f)}
		case attrFloats:
			return []*Value{{elem: Float32, shape: []int{len(a.floats) / 4}, raw: a.floats, known: true}}
		case attrInt:
			return []*Value{intsValue([]int{}, a.i)}
		case attrInts:
			return []*Value{intsValue([]int{len(a.ints)}, a.ints...)}
		case attrString:
			return []*Value{Strings([]int{}, []string{string(a.s)})}
		case attrStrings:
			list := c.attrStrings(a.name)
			return []*Value{Strings([]int{len(list)}, list)}
		}
	}
	c.fail("it has no value")
	return nil
}

func constantOfShape(c *call) []*Value {
	shape := c.ints(0)
	dims := make([]int64, len(shape))
	for i, n := range shape {
		dims[i] = int64(n)
	}
	v := c.attrTensor("value")
	if v == nil {
		v = floatsValue([]int{1}, 0)
	}
	if v.elem == String || count(v.shape) != 1 {
		c.fail("its value is %v; it must be one number", v)
	}
	if _, err := shapeOf(dims, v.elem.bits()); err != nil {
		c.fail("%w", err)
	}
	d := v.elem.DType()
	u := uop.NewConst(d, elementsOf(d, c.r.host(v))[0]).Reshape(slices.Repeat([]int{1}, len(shape))...)
	return c.one(tensor.FromNode(u, c.r.eng).Expand(shape...), v.elem)
}

func rangeOp(c *call) []*Value {
	e := c.elem(0)
	if d := e.DType(); d.IsInt() {
		from, to, step := c.int(0), c.int(1), c.int(2)
		if step == 0 {
			c.fail("its step is 0")
		}
		n := max(0, (to-from+step-sign(step))/step)
		return c.one(tensor.ArangeOf(dtype.I64, 0, c.limited(n), 1).Mul(step).Add(from), e)
	}
	from, to, step := c.float(0), c.float(1), c.float(2)
	n := math.Ceil((to - from) / step)
	if step == 0 || n != n || n > 1<<31 {
		c.fail("there is no range from %v to %v by %v", from, to, step)
	}
	d := dtype.F32
	if e == Float64 {
		d = dtype.F64
	}
	at := tensor.ArangeOf(dtype.I64, 0, c.limited(int(max(0, n))), 1).To(d)
	return c.one(at.Mul(step).Add(from), e)
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// limited bounds the number of elements that a file may ask for.
func (c *call) limited(n int) int {
	if n > 1<<31 {
		c.fail("%d elements are more than any array", n)
	}
	return n
}

func eyeLike(c *call) []*Value {
	s := c.value(0).shape
	if len(s) != 2 {
		c.fail("an array %v is no matrix", s)
	}
	e := c.value(0).elem
	if a := c.attr("dtype"); a != nil {
		e = c.elemAttr("dtype", e)
	}
	k := c.attrInt("k", 0)
	rows := tensor.ArangeOf(dtype.I64, 0, s[0], 1).Reshape(s[0], 1)
	columns := tensor.ArangeOf(dtype.I64, 0, s[1], 1).Reshape(1, s[1])
	return c.one(rows.Add(k).Eq(columns), e)
}

// elemAttr is the type that an attribute names.
func (c *call) elemAttr(name string, none Elem) Elem {
	e := Elem(c.attrInt(name, int(none)))
	if e.DType() == dtype.Void {
		c.fail("its %s is %v, which tensors do not hold", name, e)
	}
	return e
}

var padModes = map[string]tensor.PadMode{"reflect": tensor.Reflect, "edge": tensor.Replicate, "wrap": tensor.Circular}

func pad(c *call) []*Value {
	x := c.t(0)
	rank := x.Rank()
	pads, _ := c.attrInts("pads")
	if c.opset < 2 {
		pads, _ = c.attrInts("paddings")
	}
	value := any(c.attrFloat("value", 0))
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if c.opset >= 11 {
		pads = c.ints(1)
		value = c.padValue()
		if c.has(3) {
			axes = c.ints(3)
		}
	}
	if len(pads) != 2*len(axes) {
		c.fail("%d paddings for %d axes", len(pads), len(axes))
	}
	lo, hi := make([]int, rank), make([]int, rank)
	for i, a := range axes {
		a = c.axis(a, rank)
		lo[a], hi[a] = pads[i], pads[len(axes)+i]
		c.limited(lo[a])
		c.limited(hi[a])
	}
	mode := c.attrString("mode", "constant")
	if mode == "constant" {
		if v, ok := value.(t); ok { // known to the device only
			inside := tensor.Full(true, dtype.Bool, x.Shape()...).PadWith(false, lo, hi)
			return c.one(inside.Where(x.PadWith(0, lo, hi), v), c.elem(0))
		}
		return c.one(x.PadWith(value, lo, hi), c.elem(0))
	}
	m, ok := padModes[mode]
	if !ok {
		c.fail("its mode is %.40q", mode)
	}
	return c.one(c.padAround(x, m, lo, hi), c.elem(0))
}

// padAround pads by what an array holds, again and again where there is more padding than that.
func (c *call) padAround(x t, m tensor.PadMode, lo, hi []int) t {
	for a, n := range x.Shape() {
		if lo[a] == 0 && hi[a] == 0 {
			continue
		}
		total := n + lo[a] + hi[a]
		if total <= 0 {
			x = x.Narrow(a, 0, 0)
			continue
		}
		if n == 0 {
			c.fail("axis %d has no elements to pad with", a)
		}
		index := make([]int64, c.listed(total))
		for i := range index {
			j := i - lo[a]
			switch m {
			case tensor.Replicate:
				j = max(0, min(j, n-1))
			case tensor.Circular:
				j = ((j % n) + n) % n
			default:
				if period := max(1, 2*(n-1)); n > 1 {
					j = ((j % period) + period) % period
					j = min(j, period-j)
				} else {
					j = 0
				}
			}
			index[i] = int64(j)
		}
		x = c.pick(x, a, index)
	}
	return x
}

// padValue is the number to pad with: a Go number, or a tensor where only the device knows it.
func (c *call) padValue() any {
	if !c.has(2) || count(c.array(2).shape) == 0 {
		return 0
	}
	v := c.array(2)
	if !v.isKnown() {
		return c.t(2).Reshape()
	}
	if v.elem.isFloat() {
		return c.float(2)
	}
	if v.elem == Bool {
		return c.bool(2)
	}
	return c.int(2)
}

func depthToSpace(c *call) []*Value {
	x, b := c.t(0), c.attrInt("blocksize", 0)
	s := x.Shape()
	if len(s) != 4 || b < 1 || s[1]%max(1, b*b) != 0 {
		c.fail("blocks of %d of %v", b, s)
	}
	n, ch, h, w := s[0], s[1]/(b*b), s[2], s[3]
	if c.attrString("mode", "DCR") == "CRD" {
		x = x.Reshape(n, ch, b, b, h, w).Permute(0, 1, 4, 2, 5, 3)
	} else {
		x = x.Reshape(n, b, b, ch, h, w).Permute(0, 3, 4, 1, 5, 2)
	}
	x = x.Reshape(n, ch, h*b, w*b)
	if b > 1 {
		x = x.Contiguous() // a convolution after it would read each row from b places, element by element
	}
	return c.one(x, c.elem(0))
}

func spaceToDepth(c *call) []*Value {
	x, b := c.t(0), c.attrInt("blocksize", 0)
	s := x.Shape()
	if len(s) != 4 || b < 1 || s[2]%max(1, b) != 0 || s[3]%max(1, b) != 0 {
		c.fail("blocks of %d of %v", b, s)
	}
	n, ch, h, w := s[0], s[1], s[2]/b, s[3]/b
	x = x.Reshape(n, ch, h, b, w, b)
	if c.attrString("mode", "DCR") == "CRD" {
		x = x.Permute(0, 1, 3, 5, 2, 4)
	} else {
		x = x.Permute(0, 3, 5, 1, 2, 4)
	}
	return c.one(x.Reshape(n, ch*b*b, h, w), c.elem(0))
}

func centerCropPad(c *call) []*Value {
	x := c.t(0)
	sizes := c.ints(1)
	axes, ok := c.attrInts("axes")
	if !ok {
		for i := range x.Rank() {
			axes = append(axes, i)
		}
	}
	if len(axes) != len(sizes) {
		c.fail("%d sizes for %d axes", len(sizes), len(axes))
	}
	for i, a := range axes {
		a = c.axis(a, x.Rank())
		n, want := x.Dim(a), c.limited(max(0, sizes[i]))
		lo, hi := make([]int, x.Rank()), make([]int, x.Rank())
		if want > n {
			lo[a] = (want - n) / 2
			hi[a] = want - n - lo[a]
			x = x.PadWith(0, lo, hi)
		} else {
			x = x.Narrow(a, (n-want)/2, want)
		}
	}
	return c.one(x, c.elem(0))
}

func init() {
	register("", map[string]operator{
		"Constant": constant, "ConstantOfShape": constantOfShape, "Range": rangeOp, "EyeLike": eyeLike, "Pad": pad,
		"DepthToSpace": bytewise(depthToSpace), "SpaceToDepth": bytewise(spaceToDepth), "CenterCropPad": centerCropPad,
	})
}
