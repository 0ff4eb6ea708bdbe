package tensor

import (
	"slices"
)

// affine multiplies by w and adds b, either of which may be nil.
func (t *Tensor) affine(w, b *Tensor) *Tensor {
	if w != nil {
		t = t.Mul(w)
	}
	if b != nil {
		t = t.Add(b)
	}
	return t
}

// lastAxes are the axes of shape at the end of t; w and b, if given, must have that shape.
func (t *Tensor) lastAxes(op string, shape []int, wb ...*Tensor) []int {
	s := t.room()
	for i := range min(len(shape), len(s)) {
		if t.given().Varies(len(s) - 1 - i) {
			t.failVaries()
		}
	}
	if len(shape) == 0 || len(shape) > len(s) || !slices.Equal(s[len(s)-len(shape):], shape) {
		fail(op, shapes(s, shape), "the last axes are not those of the norm")
	}
	for _, w := range wb {
		if w != nil && !slices.Equal(w.shape(), shape) {
			fail(op, shapes(s, w.shape()), "weight and bias must have the shape %v of the norm", shape)
		}
	}
	return identity(len(s))[len(s)-len(shape):]
}

// standard is (t − mean)/√(variance + eps) over axes.
func (t *Tensor) standard(eps float64, axes []int) *Tensor {
	c := t.Sub(t.MeanKeep(axes...))
	return c.Mul(c.Square().MeanKeep(axes...).Add(eps).Rsqrt())
}

// LayerNorm makes mean 0 and variance 1 over the last axes, which have the given shape, then multiplies
// by w and adds b of that shape (or nil).
func (t *Tensor) LayerNorm(w, b *Tensor, eps float64, shape ...int) *Tensor {
	axes := t.lastAxes("LayerNorm", shape, w, b)
	x, d := t.wide()
	return x.standard(eps, axes).affine(w, b).To(d)
}

// RMSNorm divides by the root of the mean square over the last axes, which have the given shape, and
// multiplies by w of that shape (or nil).
func (t *Tensor) RMSNorm(w *Tensor, eps float64, shape ...int) *Tensor {
	axes := t.lastAxes("RMSNorm", shape, w)
	x, d := t.wide()
	return x.Mul(x.Square().MeanKeep(axes...).Add(eps).Rsqrt()).affine(w, nil).To(d)
}

// perChannel gives a tensor of one axis the place of axis 1.
func (t *Tensor) perChannel(op string, w *Tensor) *Tensor {
	if w == nil {
		return nil
	}
	if w.Rank() != 1 || t.Rank() < 2 || w.Dim(0) != t.Dim(1) {
		fail(op, shapesOf(t, w), "needs a number for each channel, axis 1")
	}
	s := slices.Repeat([]int{1}, t.Rank())
	s[1] = w.Dim(0)
	return w.Reshape(s...)
}

// GroupNorm makes mean 0 and variance 1 over groups of channels (axis 1) and all axes after, then
// multiplies by w and adds b, a number a channel (or nil).
func (t *Tensor) GroupNorm(groups int, w, b *Tensor, eps float64) *Tensor {
	if t.Rank() < 2 || groups < 1 || t.Dim(1)%groups != 0 {
		fail("GroupNorm", shapes(t.shape()), "the channels, axis 1, do not divide into %d groups", groups)
	}
	x, d := t.wide()
	g := x.Reshape(t.Dim(0), groups, t.Dim(1)/groups, t.shape()[2:].Numel())
	y := g.standard(eps, []int{2, 3}).Reshape(t.Shape()...)
	return y.affine(t.perChannel("GroupNorm", w), t.perChannel("GroupNorm", b)).To(d)
}

// InstanceNorm is GroupNorm with a group for each channel.
func (t *Tensor) InstanceNorm(w, b *Tensor, eps float64) *Tensor {
	if t.Rank() < 3 {
		fail("InstanceNorm", shapes(t.shape()), "needs axes after the channels, axis 1")
	}
	return t.GroupNorm(t.Dim(1), w, b, eps)
}

// BatchNorm takes mean and variance, a number for each channel (axis 1), as given, makes them 0 and 1, then
// multiplies by w and adds b (or nil).
func (t *Tensor) BatchNorm(mean, variance, w, b *Tensor, eps float64) *Tensor {
	x, d := t.wide()
	scale := t.perChannel("BatchNorm", variance).Add(eps).Rsqrt()
	if w != nil {
		scale = scale.Mul(t.perChannel("BatchNorm", w))
	}
	return x.Sub(t.perChannel("BatchNorm", mean)).Mul(scale).affine(nil, t.perChannel("BatchNorm", b)).To(d)
}

// ChannelMoments are mean and variance (divided by n − correction) of each channel, axis 1.
func (t *Tensor) ChannelMoments(correction float64) (mean, variance *Tensor) {
	if t.Rank() < 2 {
		fail("ChannelMoments", shapes(t.shape()), "needs channels, axis 1")
	}
	axes := slices.Delete(identity(t.Rank()), 1, 2)
	return t.Mean(axes...), t.Var(correction, axes...)
}
