package onnx

import (
	"math"

	"github.com/weft-ml/weft/tensor"
)

// transform is the discrete Fourier transform along an axis of x, whose last axis is the real part or both parts. It is a product with a matrix
// of cosines and sines, or a fast transform where tensors have one for the size.
func (c *call) transform(x t, axis, n int, inverse, onesided bool) t {
	parts := x.Dim(-1)
	if parts != 1 && parts != 2 {
		c.fail("the last axis of %v is neither real nor complex", x.Shape())
	}
	if size := x.Dim(axis); size != n { // cut or filled with zeros
		hi := make([]int, x.Rank())
		hi[axis] = n - size
		x = x.Pad(make([]int, x.Rank()), hi)
	}
	re := x.Select(-1, 0).MoveAxis(axis, -1)
	var im t
	if parts == 2 {
		im = x.Select(-1, 1).MoveAxis(axis, -1)
	} else {
		im = tensor.ZerosLike(re)
	}
	z := tensor.Complex(re, im)
	if inverse {
		z = z.IFFT(n, -1, tensor.Backward)
	} else {
		z = z.FFT(n, -1, tensor.Backward)
	}
	out := n
	if onesided {
		out = n/2 + 1
	}
	z = z.Narrow(-2, 0, out)
	return z.MoveAxis(-2, axis)
}

func dft(c *call) []*Value {
	x := wide(c.t(0))
	axis := c.attrInt("axis", 1)
	if c.opset >= 20 {
		if axis = -2; c.has(2) {
			axis = c.int(2)
		}
	}
	axis = c.axis(axis, x.Rank())
	if axis == x.Rank()-1 {
		c.fail("its axis is that of the parts")
	}
	inverse, onesided := c.attrBool("inverse", false), c.attrBool("onesided", false)
	n := x.Dim(axis)
	if inverse && onesided {
		n = 2 * (n - 1)
	}
	if c.has(1) {
		n = c.int(1)
	}
	if n < 1 {
		c.fail("a transform of %d", n)
	}
	if inverse && onesided {
		return c.one(c.realInverse(x, axis, n), c.elem(0))
	}
	return c.one(c.transform(x, axis, n, inverse, onesided), c.elem(0))
}

// realInverse makes n real numbers of the first half of their transform.
func (c *call) realInverse(x t, axis, n int) t {
	half := n/2 + 1
	hi := make([]int, x.Rank())
	if hi[axis] = half - x.Dim(axis); x.Dim(-1) == 1 {
		hi[x.Rank()-1] = 1
	}
	x = x.Pad(make([]int, x.Rank()), hi)
	mirror := x.Narrow(axis, 1, n-half).Flip(axis) // of the conjugates
	sign := c.r.tensor(floatsValue(c.along(x.Rank(), x.Rank()-1, 2), 1, -1)).To(x.DType())
	whole := tensor.Cat(axis, x, mirror.Mul(sign))
	y := c.transform(whole, axis, n, true, false)
	return y.Narrow(-1, 0, 1)
}

func stft(c *call) []*Value {
	x := wide(c.t(0))
	step := c.int(1)
	size := 0
	if c.has(3) {
		size = c.int(3)
	}
	var w t
	if c.has(2) {
		if w = wide(c.t(2)); size == 0 {
			size = w.Dim(0)
		}
	}
	if x.Rank() == 2 {
		x = x.Unsqueeze(-1)
	}
	n := x.Dim(1)
	if step < 1 || size < 1 || size > n {
		c.fail("frames of %d every %d of %d", size, step, n)
	}
	frames := x.Unfold(1, size, step) // [b, frames, parts, size]
	if w != nil {
		lo := (size - w.Dim(0)) / 2
		frames = frames.Mul(w.Pad([]int{lo}, []int{size - w.Dim(0) - lo}))
	}
	frames = frames.Permute(0, 1, 3, 2)
	return c.one(c.transform(frames, 2, size, false, c.attrBool("onesided", true)), c.elem(0))
}

// cosines is a window that is a sum of cosines.
func cosines(list ...float64) operator {
	return func(c *call) []*Value {
		n := c.listed(max(0, c.int(0)))
		e := c.elemAttr("output_datatype", Float32)
		span := float64(n)
		if !c.attrBool("periodic", true) {
			span--
		}
		out := make([]float64, max(0, n))
		for i := range out {
			for k, a := range list {
				x := 2 * math.Pi * float64(k*i) / span
				if n == 1 && span == 0 {
					x = 0
				}
				out[i] += a * math.Cos(x)
			}
		}
		return []*Value{{elem: e, shape: []int{len(out)}, raw: rawOf(e.DType(), out), known: true}}
	}
}

// melWeights is a bank of triangular filters over frequencies, of which the corners are even on the mel scale.
func melWeights(c *call) []*Value {
	bins, size, rate := c.int(0), c.int(1), c.int(2)
	lo, hi := c.float(3), c.float(4)
	e := c.elemAttr("output_datatype", Float32)
	if bins < 1 || size < 1 || rate < 1 || bins > 1<<16 || size > 1<<24 {
		c.fail("%d filters over a transform of %d at %d", bins, size, rate)
	}
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	corners := make([]int, bins+2)
	step := (mel(hi) - mel(lo)) / float64(bins+2)
	for i := range corners {
		f := 700 * (math.Pow(10, (mel(lo)+float64(i)*step)/2595) - 1)
		corners[i] = int(math.Floor(float64(size+1) * f / float64(rate)))
	}
	rows := size/2 + 1
	out := make([]float64, c.listed(rows, bins))
	put := func(row, bin int, v float64) {
		if row >= 0 && row < rows {
			out[row*bins+bin] = v
		}
	}
	for i := range bins {
		left, mid, right := corners[i], corners[i+1], corners[i+2]
		if mid == left {
			put(mid, i, 1)
		}
		for j := left; j <= mid && mid > left; j++ {
			put(j, i, float64(j-left)/float64(mid-left))
		}
		for j := mid; j < right; j++ {
			put(j, i, float64(right-j)/float64(right-mid))
		}
	}
	return []*Value{{elem: e, shape: []int{rows, bins}, raw: rawOf(e.DType(), out), known: true}}
}

// det is the determinant of each matrix.
func det(c *call) []*Value { return c.one(wide(c.t(0)).Det(), c.elem(0)) }

func init() {
	register("", map[string]operator{
		"DFT": dft, "STFT": stft, "MelWeightMatrix": melWeights, "Det": det,
		"HannWindow": cosines(0.5, -0.5), "HammingWindow": cosines(25.0/46, -21.0/46), "BlackmanWindow": cosines(0.42, -0.5, 0.08),
	})
}
