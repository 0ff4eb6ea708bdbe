package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Fourier transforms. A complex array is a float tensor with a last axis of 2 (real, imaginary); axes are counted
// without it. A length is cut into factors (Cooley and Tukey), which are products with matrices; one that is a large prime is a
// convolution (Bluestein).

const (
	dftDirect  = 64      // the longest transform that is made by one matrix
	fewNumbers = 1 << 14 // a stage more takes longer than larger matrices
)

// FFTNorm says where a transform is scaled.
type FFTNorm uint8

// The scalings. Backward divides the inverse by n, Ortho both by √n, Forward the forward transform by n.
const (
	Backward FFTNorm = 0
	Ortho    FFTNorm = 1
	Forward  FFTNorm = 2
)

func (f FFTNorm) scale(n int, inverse bool) float64 {
	switch {
	case f == Ortho:
		return 1 / math.Sqrt(float64(n))
	case (f == Forward) != inverse:
		return 1 / float64(n)
	}
	return 1
}

// pair is a complex array in two parts; im is nil for a real one.
type pair struct{ re, im *Tensor }

// split takes a complex tensor apart.
func split(op string, x *Tensor) pair {
	last := x.Rank() - 1
	if last < 0 || x.Dim(last) != 2 || !x.IsFloat() {
		fail(op, shapes(x.shape()), "a complex array is a float tensor with a last axis of 2")
	}
	return pair{x.Narrow(last, 0, 1).Squeeze(last), x.Narrow(last, 1, 1).Squeeze(last)}
}

func (p pair) join() *Tensor { return Stack(p.re.Rank(), p.re, p.im) }

func (p pair) each(f func(x *Tensor) *Tensor) pair {
	p.re = f(p.re)
	if p.im != nil {
		p.im = f(p.im)
	}
	return p
}

func (p pair) conj() pair { return pair{p.re, p.im.Neg()} }

// Complex makes a complex array of two parts.
func Complex(re, im *Tensor) *Tensor { return pair{re, im}.join() }

// FFT is the discrete Fourier transform of complex x along an axis, cut or filled with zeros to n (−1: as it is).
func (x *Tensor) FFT(n, axis int, norm FFTNorm) *Tensor {
	return transform("FFT", split("FFT", x), n, axis, norm, false).join()
}

// IFFT is the inverse of FFT.
func (x *Tensor) IFFT(n, axis int, norm FFTNorm) *Tensor {
	return transform("IFFT", split("IFFT", x), n, axis, norm, true).join()
}

// RFFT is the transform of real x along an axis: the n/2+1 terms that are not mirrored, complex.
func (x *Tensor) RFFT(n, axis int, norm FFTNorm) *Tensor {
	return realTransform("RFFT", x, n, axis, norm, false).join()
}

// IRFFT is the inverse of RFFT: complex x holds the first half of a mirrored spectrum; the result is real, of n elements
// (−1: twice as many as x, less 2).
func (x *Tensor) IRFFT(n, axis int, norm FFTNorm) *Tensor {
	return mirrored("IRFFT", split("IRFFT", x), n, axis, norm, true)
}

// HFFT is the transform of a mirrored (Hermitian) signal, of which complex x holds the first half: a real
// spectrum of n elements (−1: twice as many as x, less 2).
func (x *Tensor) HFFT(n, axis int, norm FFTNorm) *Tensor {
	return mirrored("HFFT", split("HFFT", x).conj(), n, axis, norm, false)
}

// IHFFT is the inverse of HFFT for real x: the first n/2+1 terms, complex.
func (x *Tensor) IHFFT(n, axis int, norm FFTNorm) *Tensor {
	return realTransform("IHFFT", x, n, axis, norm, true).conj().join()
}

// FFTN transforms complex x along several axes (none: all) to the lengths sizes (none: as they are).
func (x *Tensor) FFTN(sizes, axes []int, norm FFTNorm) *Tensor {
	p := split("FFTN", x)
	sizes, axes = transformAxes("FFTN", p.re, sizes, axes)
	return several("FFTN", p, sizes, axes, norm, false).join()
}

// IFFTN is the inverse of FFTN.
func (x *Tensor) IFFTN(sizes, axes []int, norm FFTNorm) *Tensor {
	p := split("IFFTN", x)
	sizes, axes = transformAxes("IFFTN", p.re, sizes, axes)
	return several("IFFTN", p, sizes, axes, norm, true).join()
}

// RFFTN is RFFT along the last of the axes and FFT along the others.
func (x *Tensor) RFFTN(sizes, axes []int, norm FFTNorm) *Tensor {
	sizes, axes = transformAxes("RFFTN", x, sizes, axes)
	k := len(axes) - 1
	p := realTransform("RFFTN", x, sizes[k], axes[k], norm, false)
	return several("RFFTN", p, sizes[:k], axes[:k], norm, false).join()
}

// IRFFTN is the inverse of RFFTN.
func (x *Tensor) IRFFTN(sizes, axes []int, norm FFTNorm) *Tensor {
	p := split("IRFFTN", x)
	given := len(sizes) > 0
	sizes, axes = transformAxes("IRFFTN", p.re, sizes, axes)
	k := len(axes) - 1
	last := sizes[k]
	if !given {
		last = -1
	}
	return mirrored("IRFFTN", several("IRFFTN", p, sizes[:k], axes[:k], norm, true), last, axes[k], norm, true)
}

// transformAxes fills in the axes and lengths that are not given.
func transformAxes(op string, x *Tensor, sizes, axes []int) ([]int, []int) {
	if len(axes) == 0 {
		n := x.Rank()
		if len(sizes) > 0 {
			n = len(sizes)
		}
		if n > x.Rank() {
			fail(op, shapes(x.shape()), "%d lengths for %d axes", n, x.Rank())
		}
		for i := range n {
			axes = append(axes, x.Rank()-n+i)
		}
	}
	if len(sizes) > 0 && len(sizes) != len(axes) {
		fail(op, shapes(x.shape()), "%d lengths for %d axes", len(sizes), len(axes))
	}
	if len(axes) == 0 {
		fail(op, shapes(x.shape()), "no axes")
	}
	axes = slices.Clone(axes)
	full := make([]int, len(axes))
	for i := range axes {
		axes[i] = x.axis(op, axes[i])
		full[i] = x.Dim(axes[i])
		if len(sizes) > 0 && sizes[i] >= 0 {
			full[i] = sizes[i]
		}
	}
	return full, axes
}

// several transforms along each of the axes.
func several(op string, p pair, sizes, axes []int, norm FFTNorm, inverse bool) pair {
	for i := range axes {
		p = transform(op, p, sizes[i], axes[i], norm, inverse)
	}
	return p
}

// transform is the complex transform along one axis.
func transform(op string, p pair, n, axis int, norm FFTNorm, inverse bool) pair {
	axis = p.re.axis(op, axis)
	if n < 0 {
		n = p.re.Dim(axis)
	}
	checkLength(op, p.re, n)
	p = dft(p.each(func(x *Tensor) *Tensor { return x.resized(axis, n) }), axis, inverse)
	return p.scaled(norm.scale(n, inverse))
}

func (p pair) scaled(s float64) pair {
	return p.each(func(x *Tensor) *Tensor { return x.Mul(s) })
}

func checkLength(op string, x *Tensor, n int) {
	if n < 1 {
		fail(op, shapes(x.shape()), "length %d", n)
	}
	checkListed(op, x.shape(), n)
}

func realTransform(op string, x *Tensor, n, axis int, norm FFTNorm, inverse bool) pair {
	if !x.IsFloat() {
		x = x.To(dtype.F32)
	}
	axis = x.axis(op, axis)
	if n < 0 {
		n = x.Dim(axis)
	}
	checkLength(op, x, n)
	x = x.resized(axis, n)
	var p pair
	if n%2 == 0 && n > dftDirect {
		p = halved(x, axis)
	} else {
		p = dft(pair{re: x}, axis, false).each(func(x *Tensor) *Tensor { return x.Narrow(axis, 0, n/2+1) })
	}
	return p.scaled(norm.scale(n, inverse))
}

// halved transforms real numbers along an axis, of even length n, to the first n/2+1 terms: neighbours are the parts of
// n/2 complex numbers, of whose transform z the terms are the half sum of z[k] and conj z[n/2−k], and their half difference
// turned by −i·exp(−2πi·k/n).
func halved(x *Tensor, axis int) pair {
	shape := x.Shape()
	n := shape[axis]
	x = x.Reshape(slices.Concat(shape[:axis], []int{n / 2, 2}, shape[axis+1:])...)
	z := dft(pair{x.Select(axis+1, 0), x.Select(axis+1, 1)}, axis, false)
	return z.each(func(x *Tensor) *Tensor { return Cat(axis, x, x.Narrow(axis, 0, 1)).Mul(0.5) }).folded(axis, n, false)
}

// folded are the sums of each of n/2+1 terms and the conjugate of that at the other end, and the differences turned by
// −i·exp(−2πi·k/n), or back by i·exp(2πi·k/n).
func (p pair) folded(axis, n int, back bool) pair {
	w := twiddles(p.re, 2, n/2+1, n).each(func(x *Tensor) *Tensor { return along(x.Select(0, 1), axis, p.re.Rank()) })
	if back {
		w.re = w.re.Neg()
	}
	q := p.each(func(x *Tensor) *Tensor { return x.Flip(axis) })
	d := pair{p.re.Sub(q.re), p.im.Add(q.im)}.times(w, false)
	return pair{p.re.Add(q.re).Add(d.im), p.im.Sub(q.im).Sub(d.re)}
}

// mirrored completes half a spectrum, transforms it backward, and gives the real part.
func mirrored(op string, p pair, n, axis int, norm FFTNorm, inverse bool) *Tensor {
	axis = p.re.axis(op, axis)
	if n < 0 {
		n = 2 * (p.re.Dim(axis) - 1)
	}
	checkLength(op, p.re, n)
	half := n/2 + 1
	p = p.each(func(x *Tensor) *Tensor { return x.resized(axis, half) })
	if n%2 == 0 && n > dftDirect {
		return p.doubled(axis).Mul(norm.scale(n, inverse))
	}
	if n <= dftDirect {
		return p.synthesised(axis, n).Mul(norm.scale(n, inverse))
	}
	tail := p.conj().each(func(x *Tensor) *Tensor { return x.Narrow(axis, 1, n-half).Flip(axis) })
	full := pair{Cat(axis, p.re, tail.re), Cat(axis, p.im, tail.im)}
	return dft(full, axis, true).re.Mul(norm.scale(n, inverse))
}

// synthesised is the real inverse, unscaled, of a spectrum of which p is the first half along an axis, n/2+1 terms, by a product of each part with
// a matrix. Terms that are mirrored count twice. The imaginary parts of the first and the last term do not count.
func (p pair) synthesised(axis, n int) *Tensor {
	last := p.re.Rank() - 1
	half := p.re.Dim(axis)
	k := arange(half).Unsqueeze(1)
	once := k.Eq(0).Or(k.Mul(2).Eq(n))
	w := twiddles(p.re, half, n, n)
	w = pair{once.Where(w.re, w.re.Mul(2)), once.Where(0, w.im.Mul(2))}
	p = p.each(func(x *Tensor) *Tensor { return x.Transpose(axis, last) })
	return p.re.MatMul(w.re).Add(p.im.MatMul(w.im)).Transpose(axis, last)
}

// doubled is the real inverse, unscaled, of a spectrum of which p is the first half along an axis, n/2+1 terms: halved
// backwards. The imaginary parts of the first and the last term do not count.
func (p pair) doubled(axis int) *Tensor {
	shape := p.re.Shape()
	h := shape[axis] - 1
	k := along(arange(h+1), axis, len(shape))
	p.im = k.Eq(0).LogicalOr(k.Eq(h)).Where(0, p.im)
	z := p.folded(axis, 2*h, true)
	z = dft(z.each(func(x *Tensor) *Tensor { return x.Narrow(axis, 0, h) }), axis, true)
	shape[axis] = 2 * h
	return Stack(axis+1, z.re, z.im).Reshape(shape...)
}

// along gives a list the shape of one that varies along an axis of several.
func along(list *Tensor, axis, rank int) *Tensor {
	shape := make([]int, rank-axis)
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	return list.Reshape(shape...)
}

// resized cuts an axis or fills it with zeros at its end.
func (x *Tensor) resized(axis, n int) *Tensor {
	if have := x.Dim(axis); n > have {
		return x.like(extend(x.node(), axis, 0, n-have))
	}
	return x.Narrow(axis, 0, n)
}

// dft transforms an axis without scaling: Σ x[j]·exp(∓2πi·jk/n). The inverse is the transform with both parts exchanged.
// Of many numbers it is made by butterflies. What is not the last axis is moved there, unless there are lanes enough behind it.
func dft(p pair, axis int, inverse bool) pair {
	last := p.re.Rank() - 1
	f := p.factors(axis)
	switch {
	case inverse && p.im == nil:
		return dft(p, axis, false).conj()
	case inverse:
		p = dft(pair{p.im, p.re}, axis, false)
		return pair{p.im, p.re}
	case f != nil && (axis == last || p.behind(axis) >= leastBehind):
		return p.butterflied(axis, f)
	case axis != last:
		turn := func(x *Tensor) *Tensor { return x.Transpose(axis, last) }
		return dft(p.each(turn), last, false).each(turn)
	}
	return p.products()
}

// products transforms the last axis by products with matrices. Each factor of n is a stage, after which the indices of what is transformed
// lie innermost and in order (Stockham).
func (p pair) products() pair {
	last := p.re.Rank() - 1
	shape := p.re.Shape()
	n := shape[last]
	rest, done := n, 1
	for _, a := range stages(n, p.re.Numel()) {
		rest /= a
		p = p.each(func(x *Tensor) *Tensor { // as r, d, j
			return x.Reshape(append(shape[:last:last], a, rest, done)...).Transpose(last, last+1).Transpose(last+1, last+2)
		})
		if a <= dftDirect {
			p = p.times(twiddles(p.re, a, a, a), true)
		} else {
			p = p.chirp().each(func(x *Tensor) *Tensor { return x.Transpose(last+1, last+2) })
		}
		if rest > 1 { // r, k, d
			w := twiddles(p.re, rest, a, n/done)
			p = p.times(w.each(func(x *Tensor) *Tensor { return x.Unsqueeze(-1) }), false)
		}
		p = p.each(func(x *Tensor) *Tensor { return x.Reshape(shape...) })
		done *= a
	}
	return p
}

// stages are the factors of n that are transformed one after the other: small and about equal ones, and primes above dftDirect.
// Of few numbers the stages are few as well.
func stages(n, numbers int) (out []int) {
	small, most := 1, float64(dftDirect/4)
	if numbers < fewNumbers {
		most = dftDirect / 2
	}
	for f, rest := 2, n; rest > 1; f++ {
		if f*f > rest {
			f = rest
		}
		for ; rest%f == 0; rest /= f {
			if f <= dftDirect {
				small *= f
			} else {
				out = append(out, f)
			}
		}
	}
	for small > dftDirect {
		left := math.Log(float64(small))
		want := left / math.Ceil(left/math.Log(most)-1e-9)
		best := 0
		for f := 2; f <= dftDirect; f++ {
			if small%f == 0 && (best == 0 || math.Abs(math.Log(float64(f))-want) < math.Abs(math.Log(float64(best))-want)) {
				best = f
			}
		}
		out, small = append(out, best), small/best
	}
	if small > 1 || len(out) == 0 {
		out = append(out, small)
	}
	return out
}

// chirp transforms the last axis, of prime length n, by a convolution (Bluestein): with jk = (j² + k² − (k−j)²)/2 it is a
// product with exp(−πi·j²/n), before and after, and transforms of a power of two.
func (p pair) chirp() pair {
	last := p.re.Rank() - 1
	n := p.re.Dim(last)
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	checkListed("FFT", uop.Shape{n}, m)
	co, si := circle(2 * n)
	re, im := make([]float64, n), make([]float64, n)
	around := make([]complex128, m)
	for j := range n {
		re[j], im[j] = co[j*j%(2*n)], si[j*j%(2*n)]
		around[j] = complex(re[j]/float64(m), -im[j]/float64(m))
		around[(m-j)%m] = around[j]
	}
	spread := pair{p.re.floats(re, n), p.re.floats(im, n)}
	p = p.times(spread, false).each(func(x *Tensor) *Tensor { return x.resized(last, m) })
	around = spectrum(around)
	bRe, bIm := make([]float64, m), make([]float64, m)
	for k, z := range around {
		bRe[k], bIm[k] = real(z), imag(z)
	}
	p = dft(p, last, false).times(pair{p.re.floats(bRe, m), p.re.floats(bIm, m)}, false)
	return dft(p, last, true).each(func(x *Tensor) *Tensor { return x.Narrow(last, 0, n) }).times(spread, false)
}

// spectrum is the transform of numbers on the host; their number is a power of two.
func spectrum(x []complex128) []complex128 {
	co, si := circle(len(x))
	var turn func(x []complex128) []complex128
	turn = func(x []complex128) []complex128 {
		n := len(x)
		if n == 1 {
			return x
		}
		y, half := make([]complex128, n), n/2
		for i := range half {
			y[i], y[half+i] = x[2*i], x[2*i+1]
		}
		even, odd := turn(y[:half:half]), turn(y[half:])
		y = make([]complex128, n)
		for k := range half {
			at := k * len(co) / n
			z := complex(co[at], si[at]) * odd[k]
			y[k], y[k+half] = even[k]+z, even[k]-z
		}
		return y
	}
	return turn(x)
}

// times multiplies by w: element by element, or arrays [r, d, j] as by a matrix [k, j], to [r, k, d].
func (p pair) times(w pair, matrix bool) pair {
	sum := func(x *Tensor) *Tensor { return x }
	if matrix {
		last := p.re.Rank() - 1
		p = p.each(func(x *Tensor) *Tensor { return x.Unsqueeze(last - 1) })
		w = w.each(func(x *Tensor) *Tensor { return x.Unsqueeze(1) })
		sum = func(x *Tensor) *Tensor { return x.Sum(last + 1) }
	}
	if p.im == nil {
		return pair{sum(p.re.Mul(w.re)), sum(p.re.Mul(w.im))}
	}
	return pair{sum(p.re.Mul(w.re).Sub(p.im.Mul(w.im))), sum(p.re.Mul(w.im).Add(p.im.Mul(w.re)))}
}

// FFTShift moves the middle of the axes (none: all) to their front's place: zero frequency to the centre.
func (x *Tensor) FFTShift(axes ...int) *Tensor { return x.shifted("FFTShift", axes, 0) }

// IFFTShift is the inverse of FFTShift.
func (x *Tensor) IFFTShift(axes ...int) *Tensor { return x.shifted("IFFTShift", axes, 1) }

func (x *Tensor) shifted(op string, axes []int, up int) *Tensor {
	_, axes = transformAxes(op, x, nil, axes)
	for _, a := range axes {
		n := x.Dim(a)
		k := (n + up) / 2 // what goes to the end starts where the rest ends
		x = Cat(a, x.Narrow(a, n-k, k), x.Narrow(a, 0, n-k))
	}
	return x
}

// FFTFreq are the frequencies of the n terms of an FFT of samples d apart: 0, 1, …, −2, −1 over n·d.
func FFTFreq(n int, d float64, t dtype.DType) *Tensor {
	checkStored("FFTFreq", t)
	checkWindow("FFTFreq", n)
	i := iota(n, dtype.I32)
	i = i.Less(i.Int((n+1)/2)).Where(i, i.Sub(i.Int(n)))
	return newTensor(i, nil).To(t).Mul(1 / (float64(n) * d))
}

// RFFTFreq are the frequencies of the n/2+1 terms of an RFFT.
func RFFTFreq(n int, d float64, t dtype.DType) *Tensor {
	checkStored("RFFTFreq", t)
	checkWindow("RFFTFreq", n)
	return arange(n/2 + 1).To(t).Mul(1 / (float64(n) * d))
}

// HannWindow is 1/2 − 1/2·cos over n samples. Here and below a periodic window leaves out the last sample of a
// symmetric one of n+1.
func HannWindow(n int, periodic bool, t dtype.DType) *Tensor {
	return cosineWindow("HannWindow", n, periodic, t, 0.5, -0.5)
}

// HammingWindow is alpha − beta·cos over n samples; commonly 0.54 and 0.46.
func HammingWindow(n int, periodic bool, alpha, beta float64, t dtype.DType) *Tensor {
	return cosineWindow("HammingWindow", n, periodic, t, alpha, -beta)
}

// BlackmanWindow is 0.42 − 0.5·cos + 0.08·cos of the double angle over n samples.
func BlackmanWindow(n int, periodic bool, t dtype.DType) *Tensor {
	return cosineWindow("BlackmanWindow", n, periodic, t, 0.42, -0.5, 0.08)
}

// BartlettWindow is the triangle from 0 to 1 to 0 over n samples.
func BartlettWindow(n int, periodic bool, t dtype.DType) *Tensor {
	at, length := phases("BartlettWindow", n, periodic, t)
	return at.Mul(2 / length).Sub(1).Abs().RSub(1)
}

// KaiserWindow is I0(beta·√(1 − x²))/I0(beta) for x from −1 to 1 over n samples.
func KaiserWindow(n int, periodic bool, beta float64, t dtype.DType) *Tensor {
	at, length := phases("KaiserWindow", n, periodic, t)
	x := at.Mul(2 / length).Sub(1)
	return x.Square().RSub(1).Clamp(0, nil).Sqrt().Mul(beta).I0().Div(Full(beta, at.DType()).I0())
}

// cosineWindow is Σ aₖ·cos(2πk·i/length).
func cosineWindow(op string, n int, periodic bool, t dtype.DType, a ...float64) *Tensor {
	i, length := phases(op, n, periodic, t)
	sum := FullLike(i, a[0])
	for k := 1; k < len(a); k++ {
		sum = sum.Add(i.Mul(2 * math.Pi * float64(k) / length).Cos().Mul(a[k]))
	}
	return sum
}

// phases are the samples 0 … n−1 and the length of the period; a single sample is in the middle.
func phases(op string, n int, periodic bool, t dtype.DType) (*Tensor, float64) {
	checkStored(op, t)
	if !t.IsFloat() {
		failType(op, []dtype.DType{t}, "a window is of floats")
	}
	checkWindow(op, n)
	i, length := arange(n).To(floating(t)), float64(n-1)
	if periodic {
		length = float64(n)
	}
	if n == 1 {
		return FullLike(i, 0.5), 1
	}
	return i, length
}

func checkWindow(op string, n int) {
	if n < 0 {
		failArg(op, "%d samples", n)
	}
}
