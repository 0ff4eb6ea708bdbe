package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A convolution whose windows reach far beyond its input, by their dilation or because the input is small, multiplies mostly padding. Of such
// windows those elements that lie in the padding of every one are left out, and where a good part of the rest is still padding, each of them is a
// product of its own for the windows that it lies inside of.

const (
	worthLeaving = 0.75    // of the products, what is left where it is worth parting them
	worthParting = 1 << 25 // products, below which more kernels take longer
	fewPlaces    = 64      // of windows: for fewer it takes as long to read an element of the filters as for so many
	mostTaps     = 32      // elements of a window: each is a kernel to compile
)

// inside are the windows, from the first to before the second, whose element t lies within an axis of n.
func (w window) inside(n, t int) (from, to int) {
	at := t*w.dilation - w.lo // of the first window
	if at < 0 {
		from = (-at + w.stride - 1) / w.stride
	}
	if last := n - 1 - at; last >= 0 {
		to = min(last/w.stride+1, w.out)
	}
	return min(from, w.out), max(to, min(from, w.out))
}

// reached leaves out what of an axis of filters lies in the padding of all windows of an axis of n.
func reached(f *uop.UOp, axis, n int, w window) (*uop.UOp, window) {
	first, last := w.size, 0
	for t := range w.size {
		if from, to := w.inside(n, t); from < to {
			first, last = min(first, t), t
		}
	}
	if first > last || last-first+1 == w.size {
		return f, w
	}
	w.lo -= first * w.dilation
	w.size = last - first + 1
	return cut(f, axis, first, last+1), w
}

// parted is a convolution as a sum of products, one for each element of the windows, or nil where that gains nothing.
func parted(d dtype.DType, x, f *uop.UOp, g int, ws []window) *uop.UOp {
	in, n := x.Shape()[2:], len(ws)
	filters, places := float64(f.Shape()[0])*float64(f.Shape()[1]), float64(x.Shape()[0])
	inside := []float64{places} // of the windows, for each element of them
	apart, parts := false, 1
	for i, w := range ws {
		if parts *= w.size; parts > mostTaps {
			return nil
		}
		apart = apart || w.dilation > 1 && w.size > 1
		var more []float64
		for t := range w.size {
			from, to := w.inside(in[i], t)
			for _, n := range inside {
				more = append(more, n*float64(to-from))
			}
		}
		inside = more
		places *= float64(w.out)
	}
	all, left := places*float64(parts), 0.0
	for _, n := range inside {
		if n > 0 {
			left += max(n, fewPlaces)
		}
	}
	if !apart || left > worthLeaving*all || filters*all < worthParting {
		return nil
	}
	wide := dtype.Accumulator(d)
	x, f = x.Cast(d), f.Cast(d)
	var out *uop.UOp
	for at := make([]int, n); at != nil; at = next(at, ws) {
		part, of, one := x, f, make([]window, n)
		lo, hi := make([]int, 2+n), make([]int, 2+n)
		empty := false
		for i, w := range ws {
			from, to := w.inside(in[i], at[i])
			if empty = empty || from == to; empty {
				break
			}
			first := from*w.stride + at[i]*w.dilation - w.lo
			part = cut(part, 2+i, first, first+(to-from-1)*w.stride+1)
			of = cut(of, 2+i, at[i], at[i]+1)
			one[i] = window{1, w.stride, 1, 0, to - from}
			lo[2+i], hi[2+i] = from, w.out-to
		}
		if empty {
			continue
		}
		products := dense(wide, part, of, g, one).Pad(lo, hi)
		if out != nil {
			products = out.Add(products)
		}
		out = products
	}
	if out == nil {
		return nil
	}
	return out.Cast(d)
}

// next is the element of windows behind one, or nil.
func next(at []int, ws []window) []int {
	for i, w := range slices.Backward(ws) {
		if at[i]++; at[i] < w.size {
			return at
		}
		at[i] = 0
	}
	return nil
}
