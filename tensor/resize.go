package tensor

import (
	"math"
	"slices"
)

// ResizeMode says how Resize finds values between elements.
type ResizeMode uint8

// The modes of Resize.
const (
	ResizeNearest      ResizeMode = 0 // the element at ⌊i·scale⌋
	ResizeNearestExact ResizeMode = 1 // the element nearest to the centre
	ResizeLinear       ResizeMode = 2 // linear along each axis
	ResizeCubic        ResizeMode = 3 // cubic convolution along each axis, A = −0.75, with Antialias −0.5
	ResizeArea         ResizeMode = 4 // the mean of the covered elements
)

// Resize says how an array is resized.
type Resize struct {
	Mode         ResizeMode
	AlignCorners bool      // the first and last elements meet their counterparts (linear and cubic)
	Antialias    bool      // widen the filter when shrinking (linear and cubic)
	Scales       []float64 // new over old size, by axis; 0 or none: the ratio of the sizes
}

// taps are the elements and weights that make up each element of a resized axis, width of them each.
type taps struct {
	width   int
	index   []int32
	weights []float64
}

// Resize changes the sizes of the last len(sizes) axes by interpolation. Integers and bools become floats, but where the nearest elements are taken.
func (t *Tensor) Resize(sizes []int, o Resize) *Tensor {
	if len(sizes) > t.Rank() {
		fail("Resize", shapes(t.shape()), "%d sizes for %d axes", len(sizes), t.Rank())
	}
	if len(o.Scales) > 0 && len(o.Scales) != len(sizes) {
		fail("Resize", shapes(t.shape()), "%d sizes and %d scales", len(sizes), len(o.Scales))
	}
	x, d := t.wide()
	if o.Mode == ResizeNearest || o.Mode == ResizeNearestExact {
		if d = t.DType(); !d.IsFloat() {
			x = t // elements are taken as they are
		}
	}
	first := t.Rank() - len(sizes)
	for i, n := range sizes {
		in := t.Dim(first + i)
		if n < 1 || in < 1 {
			fail("Resize", shapes(t.shape()), "axis %d of size %d cannot become %d", first+i, in, n)
		}
		checkListed("Resize", t.shape(), n)
		given := 0.
		if len(o.Scales) > 0 {
			given = o.Scales[i]
		}
		w := o.taps(in, n, given)
		if y := x.evenly(first+i, n, w); y != nil {
			x = y
			continue
		}
		y, few := x.inPhases(first+i, n, w), w.width <= 2
		if y == nil {
			y, few = x.tapped(first+i, n, w), false
		}
		if x = y; !few && i+1 < len(sizes) {
			x = x.Contiguous() // else the next axis would compute each of its taps anew
		}
	}
	return x.To(d)
}

// evenly repeats each element of an axis, or takes one of so many, when that is all that the taps do; else it is nil.
func (t *Tensor) evenly(axis, n int, w taps) *Tensor {
	if w.width > 1 || w.weights != nil {
		return nil
	}
	in := t.Dim(axis)
	times, step := n/in, in/n
	for i, at := range w.index {
		switch {
		case times*in == n && int(at) == i/times:
		case step*n == in && int(at) == i*step:
		default:
			return nil
		}
	}
	if times > 0 {
		return t.RepeatInterleave(times, axis)
	}
	return t.Unflatten(axis, n, step).Narrow(axis+1, 0, 1).Squeeze(axis + 1)
}

// mostPhases is how many sets of weights are written out, and how far apart they may begin anew; fewPhases where there are several of both. Of more
// nearly each pair of sizes would have kernels of its own.
const (
	mostPhases = 8
	fewPhases  = 4
)

// cycle says that taps are those of a few elements, the phases, again and again, step elements further each time, if beyond the ends the
// first and the last element are repeated lo and hi times.
type cycle struct{ times, phases, step, lo, hi int }

// cycle finds out whether they are; the phases are those of the element in the middle and what follows it.
func (w taps) cycle(in, n int) (c cycle, ok bool) {
	for c.times = min(in, n); n%c.times != 0 || in%c.times != 0; {
		c.times--
	}
	c.phases, c.step = n/c.times, in/c.times
	if most := max(c.phases, c.step); w.weights == nil || c.times == 1 || most > mostPhases || most > fewPhases && min(c.phases, c.step) > 1 {
		return c, false
	}
	for i := range n {
		rest := map[int]float64{} // by element, of its weights
		for k := range w.width {
			from, weight := w.phase(c, i%c.phases, k)
			from += i / c.phases * c.step
			c.lo, c.hi = max(c.lo, -from), max(c.hi, from+1-in)
			rest[min(max(from, 0), in-1)] += weight
			rest[int(w.index[i*w.width+k])] -= w.weights[i*w.width+k]
		}
		for _, r := range rest {
			if math.Abs(r) > 1e-6 {
				return c, false
			}
		}
	}
	return c, c.lo+c.hi <= in
}

// phase is a tap of a phase, as if it were that of an element at the beginning.
func (w taps) phase(c cycle, phase, k int) (from int, weight float64) {
	at := (c.times/2*c.phases+phase)*w.width + k
	return int(w.index[at]) - c.times/2*c.step, w.weights[at]
}

// inPhases is tapped without looking up what each element is made of, where its taps are a cycle; else it is nil.
func (t *Tensor) inPhases(axis, n int, w taps) *Tensor {
	c, ok := w.cycle(t.Dim(axis), n)
	if !ok {
		return nil
	}
	edges := slices.Repeat([]int{0}, t.Rank())
	padded := t.PadMode(Replicate, with(edges, axis, c.lo), with(edges, axis, c.hi))
	parts := make([]*Tensor, c.phases)
	for j := range parts {
		for k := range w.width {
			from, weight := w.phase(c, j, k)
			x := t.like(stride(padded.node(), axis, from+c.lo, c.times, c.step)).Mul(weight)
			if k > 0 {
				x = parts[j].Add(x)
			}
			parts[j] = x
		}
	}
	return Stack(axis+1, parts...).Flatten(axis, axis+1)
}

// tapped makes an axis of n elements, each the weighted sum of its taps.
func (t *Tensor) tapped(axis, n int, w taps) *Tensor {
	s := slices.Insert(with(t.shape(), axis, n), axis+1, w.width)
	x := t.gather(axis, w.index)
	if w.width == 1 && w.weights == nil {
		return x
	}
	flat := slices.Repeat([]int{1}, len(s))
	flat[axis], flat[axis+1] = n, w.width
	return x.Reshape(s...).Mul(t.floats(w.weights, flat...)).Sum(axis + 1)
}

// scale is old over new size; taken as given unless corners are aligned.
func (o Resize) scale(in, out int, given float64) float64 {
	switch {
	case o.AlignCorners && (o.Mode == ResizeLinear || o.Mode == ResizeCubic):
		if out == 1 {
			return 0
		}
		return float64(in-1) / float64(out-1)
	case given > 0:
		return 1 / given
	}
	return float64(in) / float64(out)
}

func (o Resize) taps(in, out int, given float64) taps {
	scale := o.scale(in, out, given)
	switch {
	case o.Mode == ResizeArea:
		return areaTaps(in, out)
	case o.Antialias && o.Mode == ResizeLinear:
		return filterTaps(in, out, scale, 1, triangle)
	case o.Antialias && o.Mode == ResizeCubic:
		return filterTaps(in, out, scale, 2, func(x float64) float64 { return cubic(x, -0.5) })
	case o.Mode == ResizeLinear:
		return o.linearTaps(in, out, scale)
	case o.Mode == ResizeCubic:
		return o.cubicTaps(in, out, scale)
	}
	w := taps{width: 1}
	s := float32(scale) // the product is taken in float32, as others do, so that ties fall alike
	for i := range out {
		at := float32(i) * s
		if o.Mode == ResizeNearestExact {
			at = (float32(i) + 0.5) * s
		}
		w.index = append(w.index, int32(min(int(math.Floor(float64(at))), in-1)))
	}
	return w
}

// source is the position of element i in the old axis.
func (o Resize) source(i int, scale float64) float64 {
	if o.AlignCorners {
		return float64(i) * scale
	}
	return (float64(i)+0.5)*scale - 0.5
}

func (o Resize) linearTaps(in, out int, scale float64) taps {
	w := taps{width: 2}
	for i := range out {
		at := math.Max(o.source(i, scale), 0)
		lo := min(int(at), in-1)
		part := math.Min(at-float64(lo), 1)
		w.index = append(w.index, int32(lo), int32(min(lo+1, in-1)))
		w.weights = append(w.weights, 1-part, part)
	}
	return w
}

func (o Resize) cubicTaps(in, out int, scale float64) taps {
	w := taps{width: 4}
	for i := range out {
		at := o.source(i, scale)
		lo := int(math.Floor(at))
		for k := lo - 1; k <= lo+2; k++ {
			w.index = append(w.index, int32(min(max(k, 0), in-1)))
			w.weights = append(w.weights, cubic(float64(k)-at, -0.75))
		}
	}
	return w
}

// cubic is the cubic convolution filter of Keys (1981).
func cubic(x, a float64) float64 {
	x = math.Abs(x)
	switch {
	case x < 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

func triangle(x float64) float64 { return math.Max(0, 1-math.Abs(x)) }

// areaTaps are the mean of the elements that each new one covers.
func areaTaps(in, out int) taps {
	w := taps{width: 1}
	for i := range out {
		lo, hi := covered(i, in, out)
		w.width = max(w.width, hi-lo)
	}
	for i := range out {
		lo, hi := covered(i, in, out)
		for k := range w.width {
			v := 0.
			if lo+k < hi {
				v = 1 / float64(hi-lo)
			}
			w.index = append(w.index, int32(min(lo+k, in-1)))
			w.weights = append(w.weights, v)
		}
	}
	return w
}

// covered is the part lo … hi−1 of in elements that belongs to the i-th of out.
func covered(i, in, out int) (lo, hi int) { return i * in / out, ((i+1)*in + out - 1) / out }

// filterTaps samples a filter of a half width, stretched when the axis shrinks, and brings the sum to 1.
func filterTaps(in, out int, scale, half float64, filter func(x float64) float64) taps {
	stretch := math.Max(scale, 1)
	support := half * stretch
	span := func(i int) (lo, hi int, centre float64) {
		centre = scale * (float64(i) + 0.5)
		return max(int(centre-support+0.5), 0), min(int(centre+support+0.5), in), centre
	}
	w := taps{width: 1}
	for i := range out {
		lo, hi, _ := span(i)
		w.width = max(w.width, hi-lo)
	}
	for i := range out {
		lo, hi, centre := span(i)
		sum := 0.
		at := len(w.weights)
		for k := range w.width {
			v := 0.
			if lo+k < hi {
				v = filter((float64(lo+k) - centre + 0.5) / stretch)
			}
			sum += v
			w.index = append(w.index, int32(min(lo+k, in-1)))
			w.weights = append(w.weights, v)
		}
		for k := range w.width {
			w.weights[at+k] /= sum
		}
	}
	return w
}
