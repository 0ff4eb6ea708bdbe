package onnx

import (
	"encoding/binary"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// window are the attributes of what slides over axes.
type window struct {
	size, stride, dilation, lo, hi []int
}

// window resolves strides, dilations and paddings for spatial axes of sizes in.
func (c *call) window(size, in []int) window {
	n := len(in)
	w := window{size: size}
	list := func(name string) []int {
		v, ok := c.attrInts(name)
		if !ok || len(v) == 0 {
			return slices.Repeat([]int{1}, n)
		}
		if len(v) != n {
			c.fail("%s has %d numbers for %d axes", name, len(v), n)
		}
		for _, x := range v {
			if x < 1 || x > 1<<31 {
				c.fail("%s are %v", name, v)
			}
		}
		return v
	}
	if len(size) != n {
		c.fail("windows %v over %d axes", size, n)
	}
	w.stride, w.dilation = list("strides"), list("dilations")
	w.lo, w.hi = make([]int, n), make([]int, n)
	switch auto := c.attrString("auto_pad", "NOTSET"); auto {
	case "NOTSET", "":
		if pads, ok := c.attrInts("pads"); ok {
			if len(pads) != 2*n {
				c.fail("%d paddings for %d axes", len(pads), n)
			}
			w.lo, w.hi = pads[:n:n], pads[n:]
			for _, p := range pads {
				c.limited(max(p, -p))
			}
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i := range n {
			out := (in[i] + w.stride[i] - 1) / w.stride[i]
			total := max(0, (out-1)*w.stride[i]+w.dilation[i]*(size[i]-1)+1-in[i])
			w.lo[i], w.hi[i] = total/2, total-total/2
			if auto == "SAME_LOWER" {
				w.lo[i], w.hi[i] = w.hi[i], w.lo[i]
			}
		}
	default:
		c.fail("its auto_pad is %.40q", auto)
	}
	return w
}

// inside crops negative paddings, and gives the others.
func (w *window) inside(x t) t {
	n := len(w.lo)
	lo, hi := make([]int, n), make([]int, n)
	crop := false
	for i := range n {
		lo[i], hi[i] = min(0, w.lo[i]), min(0, w.hi[i])
		crop = crop || lo[i] < 0 || hi[i] < 0
	}
	if !crop {
		return x
	}
	w.lo, w.hi = slices.Clone(w.lo), slices.Clone(w.hi)
	for i := range n {
		w.lo[i], w.hi[i] = max(0, w.lo[i]), max(0, w.hi[i])
	}
	return x.Pad(lo, hi)
}

func (w window) conv(groups int) tensor.Conv {
	return tensor.Conv{Strides: w.stride, Dilations: w.dilation, Paddings: slices.Concat(w.lo, w.hi), Groups: groups}
}

// convSource is a convolution with weights that are known, into which what follows may be folded.
type convSource struct {
	x, w, b t
	o       tensor.Conv
	elem    Elem
}

func (s *convSource) compute() t { return s.x.Conv(s.w, s.b, s.o) }

func conv(c *call) []*Value {
	x, w := c.t(0), c.t(1)
	if x.Rank() < 3 || w.Rank() != x.Rank() {
		c.fail("filters %v over %v", w.Shape(), x.Shape())
	}
	size := w.Shape()[2:]
	if k, ok := c.attrInts("kernel_shape"); ok && !slices.Equal(k, size) {
		c.fail("its kernel_shape is %v and its filters are %v", k, w.Shape())
	}
	win := c.window(size, x.Shape()[2:])
	if q, f := c.quantities(0, -1), c.quantities(1, 0); q != nil && f != nil && c.in[1].known && w.Numel()/max(1, w.Dim(0)) <= mostTerms { // sums are those of integers
		y := toF32(c.integerConv(q.shifted, f.shifted, 0)).Mul(q.scale.Reshape().Mul(c.perAxis(f.scale, x.Rank(), 1)))
		if c.has(2) {
			y = y.Add(c.perAxis(c.t(2), x.Rank(), 1))
		}
		return c.one(y, c.elem(0))
	}
	x = win.inside(x)
	s := &convSource{x: x, w: w, b: c.tOr(2), o: win.conv(c.attrInt("group", 1)), elem: c.elem(0)}
	out := c.out(s.compute(), c.elem(0))
	if c.in[1].known && (!c.has(2) || c.in[2].known) && c.scope.reads.uses[c.node.out[0]] == 1 {
		out.conv = s
	}
	return []*Value{out}
}

func convTranspose(c *call) []*Value {
	x, w := c.t(0), c.t(1)
	if x.Rank() < 3 || w.Rank() != x.Rank() {
		c.fail("filters %v over %v", w.Shape(), x.Shape())
	}
	n := x.Rank() - 2
	win, more := c.transposedWindow(w.Shape()[2:], x.Shape()[2:])
	o := win.conv(c.attrInt("group", 1))
	o.Paddings = slices.Repeat([]int{0}, 2*n)
	y := x.ConvTranspose(w, nil, o)
	lo, hi := make([]int, n), make([]int, n)
	for i := range n { // paddings take away
		lo[i], hi[i] = -win.lo[i], more[i]-win.hi[i]
	}
	y = y.Pad(lo, hi)
	if c.has(2) {
		b := c.t(2)
		y = y.Add(b.Reshape(c.along(y.Rank(), 1, b.Numel())...))
	}
	return c.one(y, c.elem(0))
}

// transposedWindow resolves the paddings of a transposed convolution, and how much more there is at the end of each axis.
func (c *call) transposedWindow(size, in []int) (win window, more []int) {
	n := len(in)
	own := *c
	own.attrs = slices.DeleteFunc(slices.Clone(c.attrs), func(a *attrProto) bool { return a.name == "auto_pad" })
	win = own.window(size, in)
	win.lo, win.hi = slices.Clone(win.lo), slices.Clone(win.hi)
	more, ok := c.attrInts("output_padding")
	if !ok {
		more = make([]int, n)
	}
	want, sized := c.attrInts("output_shape")
	if sized && len(want) > n {
		want = want[len(want)-n:]
	}
	if len(more) != n || sized && len(want) != n {
		c.fail("output_padding %v and output_shape %v for %d axes", more, want, n)
	}
	auto := c.attrString("auto_pad", "NOTSET")
	if auto == "VALID" {
		win.lo, win.hi = make([]int, n), make([]int, n)
	}
	for i := range n {
		length := in[i] * win.stride[i]
		if sized {
			length = c.limited(want[i])
		} else if auto != "SAME_UPPER" && auto != "SAME_LOWER" {
			continue
		}
		total := (in[i]-1)*win.stride[i] + more[i] + (size[i]-1)*win.dilation[i] + 1 - length
		win.lo[i] = max(0, total) / 2
		if auto != "SAME_UPPER" {
			win.lo[i] = (max(0, total) + 1) / 2
		}
		win.hi[i] = total - win.lo[i]
	}
	return win, more
}

// wordOfBytes is how many bytes a word has, whose products machines add at once. Two integers below exactFloats and their sum are float32 numbers.
const wordOfBytes, exactFloats = 4, 1 << 23

// integerConv is a convolution of integers less their zero points, x of input xi, of type int32, or float32 where that represents all sums exactly. The sums of
// products that x's zero point has are those of a picture of ones,
// which are the same for all pictures.
func (c *call) integerConv(x, w shifted, xi int) t {
	at, groups, channels := c.window(w.x.Shape()[2:], c.array(xi).shape[2:]), c.attrInt("group", 1), w.x.Dim(0)
	// Where a window has few channels, words of them would be mostly empty: it is summed in float32, exactly.
	floats := w.x.Dim(1) < wordOfBytes && w.x.Numel()/max(1, channels)*x.most*w.most < exactFloats && x.most*w.most > 0
	conv := func(x, w t) t {
		win := at
		x = win.inside(x)
		return x.Conv(w, nil, win.conv(groups))
	}
	if floats {
		return conv(x.float(), w.float())
	}
	if groups < 1 || channels%groups != 0 || x.zero != nil && x.zero.Numel() != 1 || w.zero != nil && w.zero.Numel() != 1 && w.zero.Numel() != channels {
		return conv(x.difference(), w.difference())
	}
	side := x.x.Shape()[2:]
	if slices.Equal(slices.Concat(at.lo, at.hi), make([]int, 2*len(side))) { // no window reaches over an edge: what one sums, all do
		for i, k := range w.x.Shape()[2:] {
			side[i] = min(side[i], (k-1)*at.dilation[i]+1)
		}
	}
	ones := tensor.Full(1, dtype.I32, slices.Concat([]int{1, x.x.Dim(1)}, side)...)
	y := conv(x.x, w.x)
	if x.zero != nil {
		y = y.Sub(conv(ones, w.x).Mul(x.zero.Reshape()))
	}
	if w.zero != nil {
		window := tensor.Full(1, dtype.I32, slices.Concat([]int{groups}, w.x.Shape()[1:])...)
		sum := conv(x.x, window)
		if x.zero != nil {
			sum = sum.Sub(conv(ones, window).Mul(x.zero.Reshape()))
		}
		zero := w.zero
		if zero.Numel() > 1 {
			zero = zero.Reshape(c.along(y.Rank(), 1, channels)...)
		}
		y = y.Sub(sum.RepeatInterleave(channels/groups, 1).Mul(zero))
	}
	return y
}

func convInteger(c *call) []*Value {
	return c.one(c.integerConv(c.shifted(0, 2, 1), c.shifted(1, 3, 0), 0).To(dtype.I32), Int32)
}

func qLinearConv(c *call) []*Value {
	y := c.integerConv(c.shifted(0, 2, 1), c.shifted(3, 5, 0), 0)
	if c.has(8) {
		b := c.t(8)
		if y.IsFloat() && !c.below(8, exactFloats) {
			y = y.To(dtype.I32)
		}
		b = b.To(y.DType())
		y = y.Add(b.Reshape(c.along(y.Rank(), 1, b.Numel())...))
	}
	scale := toF32(c.t(1)).Reshape().Mul(c.perAxis(toF32(c.t(4)), y.Rank(), 1)).Div(toF32(c.t(6)).Reshape())
	return c.one(quantized(toF32(y).Mul(scale), c.t(7).Reshape(), c.elem(7)), c.elem(7))
}

// below says that the elements of input i, int32, are known, and their magnitudes are less than n.
func (c *call) below(i, n int) bool {
	v := c.array(i)
	if v.raw == nil {
		return false
	}
	for r := v.raw; len(r) >= 4; r = r[4:] {
		if b := int(int32(binary.LittleEndian.Uint32(r))); b >= n || b <= -n {
			return false
		}
	}
	return true
}

// deformConv is a convolution whose elements lie off their places by what an input says (Dai et al., 2017), weighted by a mask.
func deformConv(c *call) []*Value {
	x, w, offset := wide(c.t(0)), wide(c.t(1)), wide(c.t(2))
	if x.Rank() != 4 || w.Rank() != 4 {
		c.notYet("deformable convolution of other than two axes")
	}
	win := c.window(w.Shape()[2:], x.Shape()[2:])
	groups, og := c.attrInt("group", 1), c.attrInt("offset_group", 1)
	n, ch, h, wd := x.Dim(0), x.Dim(1), x.Dim(2), x.Dim(3)
	kh, kw := win.size[0], win.size[1]
	oh, ow := offset.Dim(2), offset.Dim(3)
	if og < 1 || groups < 1 || ch%og != 0 || offset.Dim(1) != 2*og*kh*kw {
		c.fail("offsets %v for %d groups of %v", offset.Shape(), og, x.Shape())
	}
	k := kh * kw
	off := offset.Reshape(n, og, k, 2, oh, ow)
	base := func(axis, size, count, other int) t { // the place of each element without its offset
		at := tensor.ArangeOf(dtype.F32, 0, count, 1).Mul(win.stride[axis]).Sub(win.lo[axis])
		in := tensor.ArangeOf(dtype.F32, 0, size, 1).Mul(win.dilation[axis])
		if axis == 0 {
			return in.Reshape(size, 1, 1, 1).Add(at.Reshape(1, 1, count, 1)).Expand(size, kw, count, other).Reshape(1, 1, k, oh, ow)
		}
		return in.Reshape(1, size, 1, 1).Add(at.Reshape(1, 1, 1, count)).Expand(kh, size, other, count).Reshape(1, 1, k, oh, ow)
	}
	py, px := off.Select(3, 0).Add(base(0, kh, oh, ow).To(off.DType())), off.Select(3, 1).Add(base(1, kw, ow, oh).To(off.DType()))
	flat := x.Reshape(n, og, ch/og, h*wd)
	y0, x0 := py.Floor(), px.Floor()
	var sum t
	for dy := range 2 {
		for dx := range 2 {
			cy, cx := y0.Add(dy), x0.Add(dx)
			weight := py.Sub(cy).Abs().RSub(1).Mul(px.Sub(cx).Abs().RSub(1))
			in := cy.Ge(0).LogicalAnd(cy.Lt(h)).LogicalAnd(cx.Ge(0)).LogicalAnd(cx.Lt(wd))
			at := cy.Clamp(0, h-1).Mul(wd).Add(cx.Clamp(0, wd-1)).To(dtype.I32)
			at = at.Reshape(n, og, 1, k*oh*ow).Expand(n, og, ch/og, k*oh*ow)
			v := flat.TakeAlong(3, at)
			v = v.Mul(in.Where(weight, 0.0).To(x.DType()).Reshape(n, og, 1, k*oh*ow))
			if sum == nil {
				sum = v
			} else {
				sum = sum.Add(v)
			}
		}
	}
	if c.has(4) {
		sum = sum.Mul(wide(c.t(4)).Reshape(n, og, 1, k*oh*ow))
	}
	columns := sum.Reshape(n, groups, ch/groups*k, oh*ow)
	out := w.Reshape(1, groups, w.Dim(0)/groups, ch/groups*k).MatMul(columns).Reshape(n, w.Dim(0), oh, ow)
	if c.has(3) {
		out = out.Add(wide(c.t(3)).Reshape(1, w.Dim(0), 1, 1))
	}
	return c.one(out, c.elem(0))
}

func init() {
	register("", map[string]operator{
		"Conv": conv, "ConvTranspose": convTranspose, "ConvInteger": convInteger, "QLinearConv": qLinearConv, "DeformConv": deformConv,
	})
}
