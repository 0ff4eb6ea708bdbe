package tensor

import "github.com/weft-ml/weft/dtype"

// Frames are the options of STFT and ISTFT: how a signal is cut into windows of n samples.
type Frames struct {
	Hop        int     // samples from one window to the next; 0 means n/4
	Window     *Tensor // weights of the samples of a window, at most n of them, in the middle of the n; nil means 1
	Uncentred  bool    // the first window begins at the first sample; else its middle lies there, and the signal is mirrored at both ends
	ZeroPadded bool    // zeros stand beyond the ends instead
	Normalized bool    // divide by √n
	TwoSided   bool    // all n frequencies; else the n/2+1 that a real signal is known by
	Length     int     // of the result of ISTFT, which STFT does not look at; 0: all that the frames cover
}

func (o Frames) hop(op string, n int) int {
	if o.Hop == 0 {
		o.Hop = n / 4
	}
	if n < 1 || o.Hop < 1 {
		failArg(op, "windows of %d samples every %d", n, o.Hop)
	}
	return o.Hop
}

func (o Frames) norm() FFTNorm {
	if o.Normalized {
		return Ortho
	}
	return Backward
}

// window is the window of n samples in type d.
func (o Frames) window(op string, n int, d dtype.DType) *Tensor {
	w := o.Window
	if w == nil {
		return newTensor(spread(Full(1, d).node(), []int{n}), nil)
	}
	if w.Rank() != 1 || w.Dim(0) > n {
		fail(op, shapes(w.shape()), "the window must have one axis of at most %d samples", n)
	}
	lo := (n - w.Dim(0)) / 2
	return w.To(d).Pad([]int{lo}, []int{n - w.Dim(0) - lo})
}

// STFT is the Fourier transform of windows of n samples along the last axis of a real signal: [samples] gives [frequencies, windows, 2], the
// last axis real and imaginary part, [rows, samples] gives that for each row.
func (t *Tensor) STFT(n int, o Frames) *Tensor {
	const op = "STFT"
	hop := o.hop(op, n)
	if t.Rank() < 1 || t.Rank() > 2 {
		fail(op, shapes(t.shape()), "needs [samples] or [rows, samples]")
	}
	x := t.To(floating(t.DType()))
	if !o.Uncentred {
		mode := Reflect
		if o.ZeroPadded {
			mode = Zero
		}
		x = x.PadMode(mode, []int{n / 2}, []int{n / 2}).Contiguous() // each sample is in several windows
	}
	if x.Dim(-1) < n {
		fail(op, shapes(t.shape()), "%d samples are less than a window of %d", x.Dim(-1), n)
	}
	x = x.Unfold(-1, n, hop).Mul(o.window(op, n, x.DType())).Transpose(-2, -1)
	if o.TwoSided {
		return Complex(x, ZerosLike(x)).FFT(-1, -2, o.norm())
	}
	return x.RFFT(-1, -2, o.norm())
}

// ISTFT is the signal of which t[…, frequencies, windows, 2] is the STFT with the same options: the inverse transforms of all windows, weighted
// and added, over the sum of the squares of their weights. Where that is 0, as at the ends of uncentred windows that begin with 0, so is the
// result.
func (t *Tensor) ISTFT(n int, o Frames) *Tensor {
	const op = "ISTFT"
	hop := o.hop(op, n)
	want := n/2 + 1
	if o.TwoSided {
		want = n
	}
	if t.Rank() < 3 || t.Rank() > 4 || t.Dim(-1) != 2 || t.Dim(-3) != want || t.Dim(-2) < 1 {
		fail(op, shapes(t.shape()), "needs [%d, windows, 2] or [rows, %d, windows, 2]", want, want)
	}
	z := t.Transpose(-2, -3)
	var x *Tensor
	if o.TwoSided {
		x = z.IFFT(-1, -1, o.norm()).Select(-1, 0)
	} else {
		x = z.IRFFT(n, -1, o.norm())
	}
	count := x.Dim(-2)
	length := n + hop*(count-1)
	w := o.window(op, n, x.DType())
	add := func(frames *Tensor) *Tensor { // [rows, windows, n] to [rows, length]
		return frames.Transpose(-1, -2).Fold([]int{length}, Pool{Size: []int{n}, Stride: []int{hop}}).Squeeze(1)
	}
	rows := x.Reshape(-1, count, n)
	sum := add(rows.Mul(w))
	weight := add(w.Square().Expand(1, count, n))
	seen := weight.Gt(1e-11)
	y := seen.Where(sum.Div(seen.Where(weight, 1)), 0)
	start, end := 0, length
	if !o.Uncentred {
		start, end = n/2, length-n/2
	}
	if o.Length > 0 {
		end = start + o.Length
	}
	if end < start {
		fail(op, shapes(t.shape()), "the frames cover no sample")
	}
	y = y.Narrow(-1, start, min(end, length)-start)
	if end > length {
		y = y.Pad([]int{0}, []int{end - length})
	}
	return y.Reshape(append(t.Shape()[:t.Rank()-3], end-start)...)
}
