package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// Conv are the options of convolutions. The numbers hold for all spatial axes; the lists, where given,
// for each. The zero value is stride 1, no padding, dilation 1, one group.
type Conv struct {
	Stride, Padding, Dilation, Groups int

	Strides, Dilations []int
	Paddings           []int // one number an axis; or two: all befores, then all afters
	OutputPadding      []int // ConvTranspose only: more at the end
	Same               bool  // Conv only: as much padding as makes the result ⌈size/stride⌉ long; of an odd number the rest after
}

// spread gives the options of n axes: stride, dilation, padding before and after.
func (c Conv) spread(op string, n int) (stride, dilation, lo, hi []int) {
	stride, dilation = perAxis(op, "stride", n, c.Strides, orOne(c.Stride)), perAxis(op, "dilation", n, c.Dilations, orOne(c.Dilation))
	lo, hi = bothSides(op, n, c.Paddings, c.Padding)
	if c.Groups < 0 {
		failArg(op, "%d groups", c.Groups)
	}
	for i := range n {
		if stride[i] < 1 || dilation[i] < 1 {
			failArg(op, "stride %d and dilation %d of axis %d", stride[i], dilation[i], i)
		}
		if max(stride[i], dilation[i], lo[i], hi[i]) > uop.MaxElements {
			failArg(op, "stride %d, dilation %d, padding %d and %d of axis %d are larger than any array", stride[i], dilation[i], lo[i], hi[i], i)
		}
		if lo[i] < 0 || hi[i] < 0 {
			failArg(op, "padding %d and %d of axis %d; crop the input with Shrink", lo[i], hi[i], i)
		}
	}
	return stride, dilation, lo, hi
}

// orOne is an option whose zero value stands for 1.
func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return n
}

// Conv slides filters w[out, in/groups, k…] over t[n, in, s…] and adds b[out] (or nil): out is
// [n, out, s'…] with s' = (s + paddings − dilation·(k−1) − 1)/stride + 1. There may be any number of
// spatial axes: three in w make it one-dimensional, five three-dimensional. Without the axis n the
// result has none. Padding is zeros, which add nothing; beside a filter that is not finite they may be NaN.
func (t *Tensor) Conv(w, b *Tensor, o Conv) *Tensor { return t.conv("Conv", w, b, o) }

// Conv2D is Conv.
func (t *Tensor) Conv2D(w, b *Tensor, o Conv) *Tensor { return t.conv("Conv2D", w, b, o) }

func (t *Tensor) conv(op string, w, b *Tensor, o Conv) *Tensor {
	x, n := t.batched(op, w)
	stride, dilation, lo, hi := o.spread(op, n)
	g := max(o.Groups, 1)
	checkConv(op, t, w, b, x.Dim(1), w.Dim(1)*g, w.Dim(0), g)
	if o.Same {
		lo, hi = make([]int, n), make([]int, n)
	}
	ws := make([]window, n)
	for i := range ws {
		in, k := x.Dim(2+i), w.Dim(2+i)
		if o.Same {
			lo[i], hi[i] = same(op, in, k, stride[i], dilation[i], o.Padding != 0 || len(o.Paddings) > 0)
		}
		span := room(in, lo[i], hi[i], dilation[i], k)
		if k < 1 || span < 0 {
			fail(op, shapesOf(t, w), "filters of %d, dilated by %d, do not fit into axis %d of %d with padding %d and %d",
				k, dilation[i], 2+i, in, lo[i], hi[i])
		}
		ws[i] = window{k, stride[i], dilation[i], lo[i], span/stride[i] + 1}
	}
	d := dtype.Promote(t.DType(), w.DType())
	out := convolve(d, x.node(), w.node(), g, ws)
	return finishConv(op, t, w, b, newTensor(out, commonEngine(op, t, w, b)))
}

// batched adds an axis n where t has none, and counts the spatial axes.
func (t *Tensor) batched(op string, w *Tensor) (x *Tensor, n int) {
	n = w.Rank() - 2
	if n < 1 || t.Rank() != w.Rank() && t.Rank() != w.Rank()-1 {
		fail(op, shapesOf(t, w), "needs filters [out, in, k…] and an input [n, in, s…] of as many axes")
	}
	if t.Rank() < w.Rank() {
		return t.Unsqueeze(0), n
	}
	return t, n
}

func checkConv(op string, t, w, b *Tensor, in, want, out, groups int) {
	switch {
	case groups > 1 && (in%groups != 0 || out%groups != 0):
		fail(op, shapesOf(t, w), "%d and %d channels do not divide into %d groups", in, out, groups)
	case in != want:
		fail(op, shapesOf(t, w), "the input has %d channels, the filters take %d", in, want)
	case b != nil && (b.Rank() != 1 || b.Dim(0) != out):
		fail(op, shapesOf(t, w, b), "the bias must have one number for each of %d outputs", out)
	}
}

// finishConv adds the bias and drops the axis n again.
func finishConv(op string, t, w, b, out *Tensor) *Tensor {
	if b != nil {
		s := slices.Repeat([]int{1}, out.Rank())
		s[1] = b.Dim(0)
		out = out.Add(b.Reshape(s...))
	}
	if t.Rank() < w.Rank() {
		out = out.Reshape(out.Shape()[1:]...)
	}
	return out
}

// convolve is Σ over in/groups and k of windows of x[n, in, s…] times w[out, in/groups, k…], all of type d.
func convolve(d dtype.DType, x, w *uop.UOp, g int, ws []window) *uop.UOp {
	if x.Sizes() == nil {
		ws = slices.Clone(ws)
		for i := range ws {
			w, ws[i] = reached(w, 2+i, x.Shape()[2+i], ws[i])
		}
		if out := parted(d, x, w, g, ws); out != nil {
			return out
		}
	}
	return dense(d, x, w, g, ws)
}

// dense is convolve by one sum. The input is spread over all outputs before the windows are cut, by one expansion: its gradient is
// then one sum too.
func dense(d dtype.DType, x, w *uop.UOp, g int, ws []window) *uop.UOp {
	x, w = factor(x, d), factor(w, d)
	n := len(ws)
	s, k := x.Shape()[2:], w.Shape()
	batch, cin, cout := x.Shape()[0], k[1], k[0]/g
	order := []int{0, 1} // [batch, g, in, s…] → [batch, g, s…, in]
	axes, by, o := make([]int, n), make([]int, n), make([]int, n)
	reduced := []int{3 + n}
	for i, w := range ws {
		order = append(order, 3+i)
		axes[i], by[i], o[i] = 3+i, 4+n+i, w.out
		reduced = append(reduced, by[i])
	}
	x = x.Reshape(slices.Concat([]int{batch, g, cin}, s)...).Permute(append(order, 2)...)
	x = x.Reshape(slices.Concat([]int{batch, g, 1}, s, []int{cin}, ones(n))...)
	x = slideAll(x, slices.Concat([]int{batch, g, cout}, s, []int{cin}, k[2:]), axes, by, ws, false)
	w = w.Reshape(slices.Concat([]int{1, g, cout}, ones(n), []int{cin}, k[2:])...)
	out := contract(d, x, spread(w, x.Shape()), reduced...)
	return out.Reshape(append([]int{batch, g * cout}, o...)...)
}

// ConvTranspose is the transpose of the convolution Conv with the same filters w[in, out/groups, k…]: the
// gradient of its input. t is [n, in, s…], the result [n, out, (s−1)·stride − paddings + dilation·(k−1) + 1 +
// output padding …].
func (t *Tensor) ConvTranspose(w, b *Tensor, o Conv) *Tensor {
	const op = "ConvTranspose"
	x, n := t.batched(op, w)
	stride, dilation, lo, hi := o.spread(op, n)
	if o.Same {
		failArg(op, "Same is for Conv2D; name the padding")
	}
	more := perAxis(op, "output padding", n, o.OutputPadding, 0)
	g := max(o.Groups, 1)
	checkConv(op, t, w, b, x.Dim(1), w.Dim(0), w.Dim(1)*g, g)
	in := slices.Clone(x.shape())
	in[1] = w.Dim(1) * g
	for i := range n {
		rows, k := x.Dim(2+i), w.Dim(2+i)
		if more[i] < 0 || more[i] >= max(stride[i], dilation[i]) {
			failArg(op, "output padding %d is not below stride %d or dilation %d", more[i], stride[i], dilation[i])
		}
		in[2+i] = uop.Plus(uop.Plus(uop.Times(rows-1, stride[i]), -lo[i]-hi[i]), uop.Plus(uop.Times(dilation[i], k-1), more[i]+1))
		if in[2+i] < 0 || rows < 1 || k < 1 {
			fail(op, shapesOf(t, w), "axis %d would have the size %d", 2+i, in[2+i])
		}
	}
	ws := make([]window, n)
	for i := range ws {
		ws[i] = window{w.Dim(2 + i), stride[i], dilation[i], lo[i], x.Dim(2 + i)}
	}
	d := dtype.Promote(t.DType(), w.DType())
	out := convolveBack(d, x.node(), w.node(), g, in, ws)
	return finishConv(op, t, w, b, newTensor(out, commonEngine(op, t, w, b)))
}

// convolveBack is the transpose of convolve, of x[n, in, s…] and w[in, out/groups, k…]: of the shape given, it has in each
// place the sum of the products of those windows that hold it. The products are made before they are moved, so that what lies
// in no window adds nothing, infinite or not.
func convolveBack(d dtype.DType, x, w *uop.UOp, g int, shape []int, ws []window) *uop.UOp {
	n := len(ws)
	x, w = factor(x, d), factor(w, d)
	s, k := x.Shape()[2:], w.Shape()
	batch, cin, cout := x.Shape()[0], k[0]/g, k[1]
	axes, by := make([]int, n), make([]int, n)
	for i := range ws {
		axes[i], by[i] = 4+i, 4+n+i
	}
	wide := slices.Concat([]int{batch, g, cin, cout}, s, k[2:])
	x = x.Reshape(slices.Concat([]int{batch, g, cin, 1}, s, ones(n))...)
	w = w.Reshape(slices.Concat([]int{1, g, cin, cout}, ones(n), k[2:])...)
	products := spread(x, wide).Mul(spread(w, wide))
	of := spread(products.Int(0), slices.Concat([]int{batch, g, 1, cout}, shape[2:], ones(n)))
	windows := slideAll(of, slices.Concat([]int{batch, g, cin, cout}, shape[2:], k[2:]), axes, by, ws, false)
	return grad.Transposed(windows, of, products).Cast(d).Reshape(shape...)
}
