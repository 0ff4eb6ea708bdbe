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

// overAxes are axes, sorted, and w and b, whose axes are these, with the places of theirs in t. It fails where a size differs.
func (t *Tensor) overAxes(op string, axes []int, wb ...*Tensor) (sorted []int, placed []*Tensor) {
	if len(axes) == 0 {
		failArg(op, "no axes are named")
	}
	sorted = t.axes(op, axes)
	placed = make([]*Tensor, len(wb))
	for i, w := range wb {
		if w == nil {
			continue
		}
		s := ones(t.Rank())
		for _, a := range sorted {
			s[a] = t.Dim(a)
		}
		if want := pick(s, sorted); !slices.Equal(w.shape(), want) {
			fail(op, shapesOf(t, w), "needs a number for each place of axes %v, in the shape %v", sorted, want)
		}
		placed[i] = w.Reshape(s...)
	}
	return sorted, placed
}

// pick are the sizes of some axes.
func pick(s []int, axes []int) []int {
	out := make([]int, len(axes))
	for i, a := range axes {
		out[i] = s[a]
	}
	return out
}

// LayerNormAlong makes mean 0 and variance 1 over axes, then multiplies by w and adds b (or nil), which have the sizes of these axes in
// their order. LayerNorm is that for the last axes.
func (t *Tensor) LayerNormAlong(axes []int, w, b *Tensor, eps float64) *Tensor {
	axes, wb := t.overAxes("LayerNormAlong", axes, w, b)
	x, d := t.wide()
	return x.standard(eps, axes).affine(wb[0], wb[1]).To(d)
}

// RMSNormAlong divides by the root of the mean square over axes and multiplies by w (or nil), which has the sizes of these axes in
// their order.
func (t *Tensor) RMSNormAlong(axes []int, w *Tensor, eps float64) *Tensor {
	axes, ws := t.overAxes("RMSNormAlong", axes, w)
	x, d := t.wide()
	return x.Mul(x.Square().MeanKeep(axes...).Add(eps).Rsqrt()).affine(ws[0], nil).To(d)
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
	const op = "BatchNorm"
	return t.normalised(eps, t.perChannel(op, mean), t.perChannel(op, variance), t.perChannel(op, w), t.perChannel(op, b))
}

// BatchNormAlong is BatchNorm with a number for each place of the axes named, in the shape of their sizes: BatchNorm names axis 1,
// channels that come last are axis −1.
func (t *Tensor) BatchNormAlong(axes []int, mean, variance, w, b *Tensor, eps float64) *Tensor {
	_, p := t.overAxes("BatchNormAlong", axes, mean, variance, w, b)
	return t.normalised(eps, p[0], p[1], p[2], p[3])
}

// normalised makes a given mean and variance 0 and 1, then multiplies by w and adds b (or nil). All broadcast with t.
func (t *Tensor) normalised(eps float64, mean, variance, w, b *Tensor) *Tensor {
	x, d := t.wide()
	scale := variance.Add(eps).Rsqrt()
	if w != nil {
		scale = scale.Mul(w)
	}
	return x.Sub(mean).Mul(scale).affine(nil, b).To(d)
}

// ChannelMoments are mean and variance (divided by n − correction) of each channel, axis 1, in floats of at least 32 bits.
func (t *Tensor) ChannelMoments(correction float64) (mean, variance *Tensor) {
	if t.Rank() < 2 {
		fail("ChannelMoments", shapes(t.shape()), "needs channels, axis 1")
	}
	axes := slices.Delete(identity(t.Rank()), 1, 2)
	x, _ := t.wide()
	return x.Mean(axes...), x.Var(correction, axes...)
}
