package tensor

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// window is how one axis is cut: out windows of size elements, dilation apart, the first lo elements before the
// start, then each stride further. Outside there are zeros.
type window struct{ size, stride, dilation, lo, out int }

// before is by how much an axis is extended so that windows begin at multiples of the stride, or after.
func (w window) before() int { return max(0, uop.Plus(w.lo, w.stride-1)/w.stride) * w.stride }

// windows cuts axes into windows: each has then as many elements as windows, and new last axes, one for each, hold
// the elements of the window.
func windows(u *uop.UOp, axes []int, ws []window) *uop.UOp {
	wide := slices.Clone(u.Shape())
	var by []int
	for _, w := range ws {
		by, wide = append(by, len(wide)), append(wide, w.size)
	}
	return slideAll(u.Reshape(slices.Concat(u.Shape(), ones(len(ws)))...), wide, axes, by, ws, true)
}

// slide is windows on one axis.
func slide(u *uop.UOp, axis int, w window) *uop.UOp {
	return windows(u, []int{axis}, []window{w})
}

// slideAll spreads u, whose axes by have the size 1, to the shape wide in one expansion, so that the gradient is one sum,
// and cuts axes into windows: afterwards the axes by hold their elements.
//
// With phases, strides are taken apart first: with y = stride·a + p and k = stride·b + p, element k of window o is a = o + b. So
// neither windows nor their gradients need a division, and an element meets only the windows that hold it. Without, the elements
// are those of windows at each place, of which every stride-th is taken: the last axes stay whole, for sums that go along them. Their
// gradients are freed of what no window holds later (schedule); an axis of whole strides, which begins with a window, suits them.
func slideAll(u *uop.UOp, wide, axes, by []int, whole []window, phases bool) *uop.UOp {
	wide, whole = slices.Clone(wide), slices.Clone(whole)
	for i, w := range whole {
		if w.out == 1 { // there is no next window
			w.stride, whole[i].stride = 1, 1
		}
		if w.stride == 1 {
			continue
		}
		more := (w.lo%w.stride + w.stride) % w.stride // windows then begin at multiples of the stride
		n := uop.Plus(u.Shape()[axes[i]], more+w.stride-1) / w.stride * w.stride
		switch {
		case w.size == 1: // what no window holds need not be spread
			u = every(resized(u, axes[i], w.lo, uop.Times(w.out, w.stride)), axes[i], w.stride)
			wide[axes[i]], whole[i] = w.out, window{1, 1, 1, 0, w.out}
		case w.dilation%w.stride == 0 && n <= 2*u.Shape()[axes[i]]: // nor what lies between
			u = every(resized(u, axes[i], more, n), axes[i], w.stride)
			wide[axes[i]], whole[i] = n/w.stride, window{w.size, 1, w.dilation / w.stride, (w.lo - more) / w.stride, w.out}
		case !phases && n <= 2*u.Shape()[axes[i]]:
			u = resized(u, axes[i], more, n)
			wide[axes[i]], whole[i].lo = n, w.lo-more
		}
	}
	ws := slices.Clone(whole)
	last := len(wide)
	for i, w := range ws {
		if phases && w.stride > 1 && w.dilation == 1 {
			n := uop.Plus(w.size, w.before()-w.lo+w.stride-1) / w.stride
			ws[i] = window{n, 1, 1, 0, w.out}
			n += w.out - 1
			u = moved(apart(resized(u, axes[i], w.before(), uop.Times(n, w.stride)), axes[i], w.stride), axes[i]+1, len(wide))
			wide[axes[i]], wide[by[i]] = n, ws[i].size
			wide = append(wide, w.stride)
		}
	}
	u = u.Expand(wide...)
	for i, w := range ws {
		u = u.Slide(axes[i], by[i], w.dilation, -w.lo, uop.Times(w.out, w.stride))
	}
	for i, w := range whole {
		ax := by[i]
		switch n := ws[i].stride; {
		case n > 1:
			u = every(u, axes[i], n)
		case w.stride > 1:
			u = moved(u, last, ax+1)
			s := slices.Clone(u.Shape())
			s[ax] *= w.stride
			u = cut(u.Reshape(slices.Delete(s, ax+1, ax+2)...), ax, w.before()-w.lo, w.before()-w.lo+w.size)
		}
	}
	return u
}

// every takes the first of each n elements of an axis.
func every(u *uop.UOp, axis, n int) *uop.UOp {
	s := slices.Clone(u.Shape())
	s[axis] /= n
	return cut(apart(u, axis, n), axis+1, 0, 1).Reshape(s...)
}

// apart makes two axes of one, the inner of n.
func apart(u *uop.UOp, axis, n int) *uop.UOp {
	s := slices.Insert(slices.Clone(u.Shape()), axis+1, n)
	s[axis] /= n
	return u.Reshape(s...)
}

// moved brings an axis to another place.
func moved(u *uop.UOp, from, to int) *uop.UOp {
	order := slices.Delete(identity(len(u.Shape())), from, from+1)
	return u.Permute(slices.Insert(order, to, from)...)
}

// resized puts lo zeros before an axis and makes its size n.
func resized(u *uop.UOp, axis, lo, n int) *uop.UOp {
	u = cut(u, axis, 0, min(u.Shape()[axis], n-lo))
	return extend(u, axis, lo, n-lo-u.Shape()[axis])
}
