package torchops

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

var fftNorms = map[any]tensor.FFTNorm{nil: tensor.Backward, "backward": tensor.Backward, "ortho": tensor.Ortho, "forward": tensor.Forward}

// norm is how a transform is scaled.
func (c *call) norm() tensor.FFTNorm {
	n, ok := fftNorms[c.value("norm")]
	if !ok {
		c.refuse("no norm %v", c.value("norm"))
	}
	return n
}

// shift is a row that moves frequencies; the axis of real and imaginary parts stays.
func shift(f func(x T, axes ...int) T) op {
	return op{"input, dim=None", func(c *call) []any {
		x, axes := c.T("input"), c.axesOrAll("dim")
		if !c.Complex("input") {
			return []any{f(x, axes...)}
		}
		n := x.Rank() - 1
		all := make([]int, 0, n)
		for i := range n {
			if c.None("dim") || slices.Contains(axes, i) || slices.Contains(axes, i-n) {
				all = append(all, i)
			}
		}
		return []any{complexTensor{f(x, all...)}}
	}}
}

// asComplex gives a real input an imaginary part of zeros.
func (c *call) asComplex() T {
	x := c.T("input")
	if c.Complex("input") {
		return x
	}
	if !x.IsFloat() {
		x = x.To(dtype.F32)
	}
	return tensor.Complex(x, tensor.ZerosLike(x))
}

type (
	oneAxis  func(x T, n, axis int, norm tensor.FFTNorm) T
	manyAxes func(x T, sizes, axes []int, norm tensor.FFTNorm) T
)

// fft is a row for a transform along one axis. The input is made complex unless it is to be real.
func fft(f oneAxis, realIn, realOut bool) op {
	return op{"input, n=None, dim=-1, norm=None", func(c *call) []any {
		n := -1
		if !c.None("n") {
			if n = c.Int("n"); n < 0 {
				n = 0
			}
		}
		return c.spectrum(f(c.signal(realIn), n, c.Int("dim"), c.norm()), realOut)
	}}
}

func (c *call) signal(real bool) T {
	if real && c.Complex("input") {
		c.refuse("a transform of real numbers")
	}
	if real {
		return c.T("input")
	}
	return c.asComplex()
}

func (c *call) spectrum(x T, real bool) []any {
	if real {
		return []any{x}
	}
	return []any{complexTensor{x}}
}

// fftn is a row for a transform along several axes.
func fftn(signature string, f manyAxes, realIn, realOut bool) op {
	return op{signature, func(c *call) []any {
		axes := c.axesOrAll("dim")
		rank := c.T("input").Rank()
		if c.Complex("input") {
			rank--
		}
		seen := map[int]bool{}
		for _, a := range axes {
			if a < 0 {
				a += rank
			}
			if seen[a] {
				c.refuse("axis %d is named twice", a)
			}
			seen[a] = true
		}
		return c.spectrum(f(c.signal(realIn), c.axesOrAll("s"), axes, c.norm()), realOut)
	}}
}

const (
	plane = "input, s=None, dim=(-2, -1), norm=None"
	space = "input, s=None, dim=None, norm=None"
)

var fftOps = map[string]op{
	"torch.fft.fft": fft(T.FFT, false, false), "torch.fft.ifft": fft(T.IFFT, false, false), "torch.fft.rfft": fft(T.RFFT, true, false),
	"torch.fft.irfft": fft(T.IRFFT, false, true), "torch.fft.hfft": fft(T.HFFT, false, true), "torch.fft.ihfft": fft(T.IHFFT, true, false),
	"torch.fft.fft2": fftn(plane, T.FFTN, false, false), "torch.fft.ifft2": fftn(plane, T.IFFTN, false, false),
	"torch.fft.rfft2": fftn(plane, T.RFFTN, true, false), "torch.fft.irfft2": fftn(plane, T.IRFFTN, false, true),
	"torch.fft.fftn": fftn(space, T.FFTN, false, false), "torch.fft.ifftn": fftn(space, T.IFFTN, false, false),
	"torch.fft.rfftn": fftn(space, T.RFFTN, true, false), "torch.fft.irfftn": fftn(space, T.IRFFTN, false, true),
	"torch.fft.fftfreq":  one("n, d=1.0, *, dtype=None", func(c *call) T { return tensor.FFTFreq(c.Int("n"), c.Float("d"), c.floatType()) }),
	"torch.fft.rfftfreq": one("n, d=1.0, *, dtype=None", func(c *call) T { return tensor.RFFTFreq(c.Int("n"), c.Float("d"), c.floatType()) }),
	"torch.stft": {"input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False, onesided=None, return_complex=None", func(c *call) []any {
		return c.spectrum(c.T("input").STFT(c.Int("n_fft"), c.frames()), false)
	}},
	"torch.istft": one("input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None, return_complex=False", func(c *call) T {
		o := c.frames()
		if !c.None("length") {
			o.Length = c.Int("length")
		}
		return c.asComplex().ISTFT(c.Int("n_fft"), o)
	}),
	"torch.fft.fftshift":  shift(T.FFTShift),
	"torch.fft.ifftshift": shift(T.IFFTShift),
	"torch.hann_window": one("window_length, periodic=True, *, dtype=None", func(c *call) T {
		return tensor.HannWindow(c.Int("window_length"), c.Bool("periodic"), c.floatType())
	}),
	"torch.hamming_window": one("window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, pin_memory=False", func(c *call) T {
		return tensor.HammingWindow(c.Int("window_length"), c.Bool("periodic"), c.Float("alpha"), c.Float("beta"), c.floatType())
	}),
	"torch.blackman_window": one("window_length, periodic=True, *, dtype=None", func(c *call) T {
		return tensor.BlackmanWindow(c.Int("window_length"), c.Bool("periodic"), c.floatType())
	}),
	"torch.bartlett_window": one("window_length, periodic=True, *, dtype=None", func(c *call) T {
		return tensor.BartlettWindow(c.Int("window_length"), c.Bool("periodic"), c.floatType())
	}),
}

// frames are the options of stft and istft.
func (c *call) frames() tensor.Frames {
	o := tensor.Frames{Window: c.OptT("window"), Uncentred: !c.Bool("center"), Normalized: c.Bool("normalized"), TwoSided: c.value("onesided") == false}
	if !c.None("hop_length") {
		o.Hop = c.Int("hop_length")
	}
	if n := c.Int("n_fft"); !c.None("win_length") {
		n = c.Int("win_length")
		if o.Window == nil {
			o.Window = tensor.Ones(n)
		}
		if o.Window.Rank() != 1 || o.Window.Dim(0) != n {
			c.refuse("a window of %v samples for %d", o.Window.Shape(), n)
		}
	} else if o.Window != nil && o.Window.Dim(0) != n {
		c.refuse("a window of %v samples for %d", o.Window.Shape(), n)
	}
	if v, ok := c.vals["pad_mode"]; ok && !o.Uncentred {
		switch v {
		case "constant":
			o.ZeroPadded = true
		case "reflect":
		default:
			c.refuse("padding %v", v)
		}
	}
	return o
}

// floatType is the dtype argument, float32 without one.
func (c *call) floatType() dtype.DType {
	if d, ok := c.DType("dtype"); ok {
		return d
	}
	return dtype.F32
}
