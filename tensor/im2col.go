package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// im2colWindows are the windows of p over axes of these sizes; padding may be of any size.
func (p Pool) im2colWindows(op string, sizes []int) []window {
	n := len(sizes)
	k, s := perAxis(op, "size", n, p.Size, 1), perAxis(op, "stride", n, p.Stride, 1)
	d, q := perAxis(op, "dilation", n, p.Dilation, 1), perAxis(op, "padding", n, p.Padding, 0)
	ws := make([]window, n)
	for i, in := range sizes {
		span := room(in, q[i], q[i], d[i], k[i])
		if k[i] < 1 || s[i] < 1 || d[i] < 1 || q[i] < 0 || span < 0 || max(k[i], s[i], d[i], q[i]) > uop.MaxElements {
			fail(op, shapes(sizes), "windows of %d, stride %d, dilation %d, padding %d on axis %d", k[i], s[i], d[i], q[i], i)
		}
		ws[i] = window{k[i], s[i], d[i], q[i], span/s[i] + 1}
	}
	return ws
}

// Im2Col lays the windows of t[n, c, s…], or of t[c, s…], out as columns: [n, c·window, count]. Without a stride, windows
// are one apart; p.Axes says how many axes s are (0: all after the second).
func (t *Tensor) Im2Col(p Pool) *Tensor {
	n := p.Axes
	if n == 0 {
		n = t.Rank() - 2
	}
	lead := t.Rank() - n
	if n < 1 || lead < 1 || lead > 2 {
		fail("Im2Col", shapes(t.shape()), "needs [n, c, …] or [c, …]")
	}
	ws := p.im2colWindows("Im2Col", t.Shape()[lead:])
	u := t.node()
	order, rows, count := identity(lead), t.Dim(lead-1), 1
	for i, w := range ws {
		u = slide(u, lead+i, w)
		order, rows, count = append(order, lead+n+i), uop.Times(rows, w.size), uop.Times(count, w.out)
	}
	for i := range ws {
		order = append(order, lead+i)
	}
	return t.like(u.Permute(order...).Reshape(append(t.Shape()[:lead-1], rows, count)...))
}

// Fold adds columns [n, c·window, count], as Im2Col makes them, back into arrays [n, c, sizes…], of the type of a Sum.
func (t *Tensor) Fold(sizes []int, p Pool) *Tensor {
	k := t.Rank()
	if k < 2 || k > 3 {
		fail("Fold", shapes(t.shape()), "needs [n, c·window, count] or [c·window, count]")
	}
	ws := p.im2colWindows("Fold", sizes)
	var size, outs []int
	for _, w := range ws {
		size, outs = append(size, w.size), append(outs, w.out)
	}
	c := t.Dim(-2) / prod(size)
	if c*prod(size) != t.Dim(-2) || prod(outs) != t.Dim(-1) {
		fail("Fold", shapes(t.shape(), sizes), "windows of %v at %v places do not make these columns", size, outs)
	}
	x := t.node().Cast(dtype.Accumulator(t.DType()))
	of := t.like(spread(x.Int(0), slices.Concat(t.Shape()[:k-2], []int{c}, sizes)))
	p.Axes = len(sizes)
	out := grad.Transposed(of.Im2Col(p).node(), of.node(), x)
	if t.DType().IsFloat() {
		out = out.Cast(t.DType())
	}
	return t.like(out)
}
