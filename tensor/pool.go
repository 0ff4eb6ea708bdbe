package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Pool are the options of pooling over the last axes. A list holds a number for each of these axes, or one
// for all.
type Pool struct {
	Size           []int
	Stride         []int // none: Size
	Padding        []int // one number an axis, on both sides; or two: all befores, then all afters; none: 0
	Same           bool  // as much padding as makes the result ⌈size/stride⌉ long; of an odd number the rest after
	Dilation       []int // none: 1
	Axes           int   // how many axes; 0: as many as numbers in Size, or, of one number, all after the second
	Ceil           bool  // windows may run over the end, if they begin before it
	ExcludePadding bool  // averages count only elements that exist
}

// MaxPool2D is MaxPool over windows of size×size side by side.
func (t *Tensor) MaxPool2D(size int) *Tensor { return t.MaxPool(Pool{Size: []int{size}, Axes: 2}) }

// AvgPool2D is AvgPool over windows of size×size side by side.
func (t *Tensor) AvgPool2D(size int) *Tensor { return t.AvgPool(Pool{Size: []int{size}, Axes: 2}) }

// poolWindow is a window with what comes after it and where elements end.
type poolWindow struct {
	window
	hi  int // padding after
	end int // past the last index, padding included, that averages count
}

// over is how many of t's last axes there are windows over.
func (p Pool) over(op string, t *Tensor) int {
	n := p.Axes
	if n == 0 {
		n = len(p.Size)
		if n == 1 {
			n = t.Rank() - 2
		}
	}
	if n < 1 || n > t.Rank() {
		fail(op, shapes(t.shape()), "windows over %d axes", n)
	}
	return n
}

// plan resolves the options for t.
func (p Pool) plan(op string, t *Tensor) []poolWindow {
	n := p.over(op, t)
	size := perAxis(op, "size", n, p.Size)
	stride, dilation := perAxis(op, "stride", n, p.Stride, size...), perAxis(op, "dilation", n, p.Dilation, 1)
	lo, hi := bothSides(op, n, p.Padding, 0)
	ws := make([]poolWindow, n)
	for i := range ws {
		k, s, d, q, r, in := size[i], stride[i], dilation[i], lo[i], hi[i], t.Dim(t.Rank()-n+i)
		if min(k, s, d) < 1 || min(q, r) < 0 || max(k, s, d, q, r) > uop.MaxElements || max(q, r) > uop.Times(d, k-1) {
			failArg(op, "size %d, stride %d, dilation %d, padding %d and %d (which must be less than the window)", k, s, d, q, r)
		}
		if p.Same {
			q, r = same(op, in, k, s, d, len(p.Padding) > 0)
		}
		free := room(in, q, r, d, k)
		if p.Ceil {
			free = uop.Plus(free, s-1)
		}
		out := floorDiv(free, s) + 1
		if p.Ceil && (out-1)*s >= in+q {
			out--
		}
		if out < 1 {
			fail(op, shapes(t.shape()), "windows of %d do not fit into axis %d", d*(k-1)+1, t.Rank()-n+i)
		}
		reach := (out-1)*s + d*(k-1) + 1 - q - in
		ws[i] = poolWindow{window{k, s, d, q, out}, max(reach, 0), in + r}
	}
	return ws
}

// bothSides are paddings before and after each of n axes: one number for all, one for each, or all befores and then all afters.
func bothSides(op string, n int, list []int, none int) (lo, hi []int) {
	if len(list) != 2*n || n == 0 {
		list = perAxis(op, "padding", n, list, none)
	}
	return list[:n], list[len(list)-n:]
}

// same is the padding before and after an axis of in elements with which windows give ⌈in/stride⌉ results.
func same(op string, in, k, stride, d int, given bool) (lo, hi int) {
	if given {
		failArg(op, "padding is both given and Same")
	}
	out := uop.Plus(in, stride-1) / stride
	total := max(0, uop.Plus(uop.Plus(uop.Times(out-1, stride), uop.Times(d, k-1)), 1-in))
	if in == 0 {
		total = 0
	}
	return total / 2, total - total/2
}

// perAxis gives a number for each of n axes: those listed, or one for all; none is what an empty list stands for.
func perAxis(op, name string, n int, list []int, none ...int) []int {
	if len(list) == 0 {
		list = none
	}
	if len(list) == 1 {
		list = slices.Repeat(list, n)
	}
	if len(list) != n {
		failArg(op, "%d numbers of %s for %d axes", len(list), name, n)
	}
	return list
}

// room is how far a window of k elements, d apart, can be moved over an axis of in elements with padding lo and hi; less than
// 0 where it does not fit.
func room(in, lo, hi, d, k int) int {
	return uop.Plus(uop.Plus(in, lo), uop.Plus(hi, -uop.Plus(uop.Times(d, k-1), 1)))
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -(uop.Plus(-a, b-1) / b)
	}
	return a / b
}

// cutInto makes the windows of t, whose padding has the value v; new last axes hold their elements.
func (t *Tensor) cutInto(ws []poolWindow, v uop.Value) (u *uop.UOp, axes []int) {
	u = t.node()
	first := t.Rank() - len(ws)
	at := make([]int, len(ws))
	in := make([]window, len(ws))
	lo, hi := make([]int, len(ws)), make([]int, len(ws))
	for i, w := range ws {
		lo[i], hi[i] = w.before(), w.hi // whole strides: an element keeps its place in them
		at[i], in[i] = first+i, w.window
		in[i].lo = w.lo - lo[i] // the padding is there
		axes = append(axes, t.Rank()+i)
	}
	u = fillAll(u, at, lo, hi, v)
	return windows(u, at, in), axes
}

// MaxPool is the largest element of each window; NaN if there is one. Ties share the gradient.
func (t *Tensor) MaxPool(p Pool) *Tensor {
	u, axes := t.cutInto(p.plan("MaxPool", t), uop.Least(t.DType()))
	return t.like(u.Reduce(uop.MaxOf, axes...))
}

// MaxPoolIndex is MaxPool and where in the flattened last axes the maximum stands, int32, of several the
// first; the gradient goes there. Of a window that has none of t's elements the index is 2³¹ − 1.
func (t *Tensor) MaxPoolIndex(p Pool) (values, indices *Tensor) {
	ws := p.plan("MaxPoolIndex", t)
	u, axes := t.cutInto(ws, uop.Least(t.DType()))
	first := t.Rank() - len(ws)
	index := u.Home().Int(dtype.I32, 0)
	var padding *uop.UOp
	for i, w := range ws { // position = out·stride + k·dilation − padding
		at := alongAxis(iota(w.out, dtype.I32), first+i, u.Shape())
		k := alongAxis(iota(w.size, dtype.I32), axes[i], u.Shape())
		pos := at.Mul(at.Int(w.stride)).Add(k.Mul(k.Int(w.dilation))).Add(at.Int(-w.lo))
		index = index.Mul(index.Int(t.Dim(first + i))).Add(pos)
		if w.lo > 0 || w.hi > 0 {
			out := pos.Less(pos.Int(0)).Or(pos.Less(pos.Int(t.Dim(first + i))).Not())
			if padding != nil {
				out = padding.Or(out)
			}
			padding = out
		}
	}
	if padding != nil {
		index = padding.Where(index.Int(math.MaxInt32), index) // of equal elements the smallest index wins
	}
	best := u.Home().ReduceParts(uop.ArgMax, axes, u.Detach(), index).Part(1)
	out := best.Shape()
	lead := t.Shape()[:first]
	flat := t.node().Reshape(append(slices.Clone(lead), t.shape()[first:].Numel())...)
	picked := flat.Gather(best.Reshape(append(slices.Clone(lead), out[first:].Numel())...), first).Reshape(out...)
	if padding != nil && slices.ContainsFunc(ws, func(w poolWindow) bool { return w.dilation > 1 }) { // a window may have no element
		picked = best.Equal(best.Int(math.MaxInt32)).Where(picked.Const(uop.Least(picked.DType())), picked)
	}
	return t.like(picked), t.like(best)
}

// AvgPool is the average of each window. Padding counts as zeros, unless ExcludePadding.
func (t *Tensor) AvgPool(p Pool) *Tensor {
	ws := p.plan("AvgPool", t)
	d := floating(t.DType())
	x := t.like(t.node().Cast(dtype.Accumulator(d)))
	u, axes := x.cutInto(ws, 0)
	s := u.Reduce(uop.Sum, axes...)
	first := t.Rank() - len(ws)
	whole := 1.
	for i, w := range ws {
		in := t.Dim(first + i)
		lo, end := -w.lo, w.end
		if p.ExcludePadding {
			lo, end = 0, in
		}
		if first, last := -w.lo, (w.out-1)*w.stride-w.lo+w.dilation*(w.size-1); first >= lo && last < end {
			whole *= float64(w.size)
			continue
		}
		// how many of its elements count differs from window to window
		shape := uop.Shape{w.out, w.size}
		at := alongAxis(iota(w.out, dtype.I32), 0, shape)
		k := alongAxis(iota(w.size, dtype.I32), 1, shape)
		pos := at.Mul(at.Int(w.stride)).Add(k.Mul(k.Int(w.dilation))).Add(at.Int(-w.lo))
		counts := pos.Less(pos.Int(lo)).Not().And(pos.Less(pos.Int(end))).Cast(s.DType()).Reduce(uop.Sum, 1)
		s = s.Div(alongAxis(counts, first+i, s.Shape()))
	}
	if whole != 1 {
		s = s.Div(s.Float(whole))
	}
	return t.like(s.Cast(d))
}
