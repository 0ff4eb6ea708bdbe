package tensor

import "slices"

// The Keep forms of reductions: the same values, and the axes that go elsewhere stay with size 1, so that the result broadcasts
// against the operand. This is the package's one convention for it: XKeep takes what X takes.

// keep gives the reduced axes back with size 1; none means all.
func (t *Tensor) keep(r *Tensor, axes []int) *Tensor {
	s := slices.Clone(t.room())
	for _, a := range t.axes("Reduce", axes) {
		s[a] = 1
	}
	return r.like(r.node().Reshape(s...))
}

// keepBoth is keep for the two results of a reduction of one axis; a scalar has none to keep.
func (t *Tensor) keepBoth(a, b *Tensor, axis int) (x, y *Tensor) {
	if t.Rank() == 0 {
		return a, b
	}
	return t.keep(a, []int{axis}), t.keep(b, []int{axis})
}

// SumKeep is Sum with the axes kept.
func (t *Tensor) SumKeep(axes ...int) *Tensor { return t.keep(t.Sum(axes...), axes) }

// ProdKeep is Prod with the axes kept.
func (t *Tensor) ProdKeep(axes ...int) *Tensor { return t.keep(t.Prod(axes...), axes) }

// MaxKeep is Max with the axes kept.
func (t *Tensor) MaxKeep(axes ...int) *Tensor { return t.keep(t.Max(axes...), axes) }

// MinKeep is Min with the axes kept.
func (t *Tensor) MinKeep(axes ...int) *Tensor { return t.keep(t.Min(axes...), axes) }

// MeanKeep is Mean with the axes kept.
func (t *Tensor) MeanKeep(axes ...int) *Tensor { return t.keep(t.Mean(axes...), axes) }

// VarKeep is Var with the axes kept.
func (t *Tensor) VarKeep(correction float64, axes ...int) *Tensor {
	return t.keep(t.Var(correction, axes...), axes)
}

// StdKeep is Std with the axes kept.
func (t *Tensor) StdKeep(correction float64, axes ...int) *Tensor {
	return t.keep(t.Std(correction, axes...), axes)
}

// VarMeanKeep is VarMean with the axes kept.
func (t *Tensor) VarMeanKeep(correction float64, axes ...int) (variance, mean *Tensor) {
	return t.VarKeep(correction, axes...), t.MeanKeep(axes...)
}

// StdMeanKeep is StdMean with the axes kept.
func (t *Tensor) StdMeanKeep(correction float64, axes ...int) (deviation, mean *Tensor) {
	return t.StdKeep(correction, axes...), t.MeanKeep(axes...)
}

// AnyKeep is Any with the axes kept.
func (t *Tensor) AnyKeep(axes ...int) *Tensor { return t.keep(t.Any(axes...), axes) }

// AllKeep is All with the axes kept.
func (t *Tensor) AllKeep(axes ...int) *Tensor { return t.keep(t.All(axes...), axes) }

// ArgMaxKeep is ArgMax with the axis kept; without an axis all are kept, and the index is that of the flattened elements.
func (t *Tensor) ArgMaxKeep(axis ...int) *Tensor { return t.keep(t.ArgMax(axis...), axis) }

// ArgMinKeep is ArgMin with the axis kept; without an axis all are kept, and the index is that of the flattened elements.
func (t *Tensor) ArgMinKeep(axis ...int) *Tensor { return t.keep(t.ArgMin(axis...), axis) }

// LogSumExpKeep is LogSumExp with the axes kept.
func (t *Tensor) LogSumExpKeep(axes ...int) *Tensor { return t.keep(t.LogSumExp(axes...), axes) }

// NormKeep is Norm with the axes kept.
func (t *Tensor) NormKeep(p float64, axes ...int) *Tensor { return t.keep(t.Norm(p, axes...), axes) }

// MatrixNormKeep is MatrixNorm with the axes kept.
func (t *Tensor) MatrixNormKeep(kind MatrixNormKind, row, column int) *Tensor {
	return t.keep(t.MatrixNorm(kind, row, column), []int{row, column})
}

// NanSumKeep is NanSum with the axes kept.
func (t *Tensor) NanSumKeep(axes ...int) *Tensor { return t.keep(t.NanSum(axes...), axes) }

// NanMeanKeep is NanMean with the axes kept.
func (t *Tensor) NanMeanKeep(axes ...int) *Tensor { return t.keep(t.NanMean(axes...), axes) }

// CountNonZeroKeep is CountNonZero with the axes kept.
func (t *Tensor) CountNonZeroKeep(axes ...int) *Tensor { return t.keep(t.CountNonZero(axes...), axes) }

// MaxIndexKeep is MaxIndex with the axis kept.
func (t *Tensor) MaxIndexKeep(axis int) (values, indices *Tensor) {
	values, indices = t.MaxIndex(axis)
	return t.keepBoth(values, indices, axis)
}

// MinIndexKeep is MinIndex with the axis kept.
func (t *Tensor) MinIndexKeep(axis int) (values, indices *Tensor) {
	values, indices = t.MinIndex(axis)
	return t.keepBoth(values, indices, axis)
}

// MedianKeep is Median with the axis kept.
func (t *Tensor) MedianKeep(axis int) (value, index *Tensor) {
	value, index = t.Median(axis)
	return t.keepBoth(value, index, axis)
}

// NanMedianKeep is NanMedian with the axis kept.
func (t *Tensor) NanMedianKeep(axis int) (value, index *Tensor) {
	value, index = t.NanMedian(axis)
	return t.keepBoth(value, index, axis)
}

// ModeKeep is Mode with the axis kept.
func (t *Tensor) ModeKeep(axis int) (value, index *Tensor) {
	value, index = t.Mode(axis)
	return t.keepBoth(value, index, axis)
}

// KthValueKeep is KthValue with the axis kept.
func (t *Tensor) KthValueKeep(k, axis int) (value, index *Tensor) {
	value, index = t.KthValue(k, axis)
	return t.keepBoth(value, index, axis)
}

// QuantileKeep is Quantile with the axis kept, after the new first one.
func (t *Tensor) QuantileKeep(q []float64, axis int, how Interpolation, skipNaN bool) *Tensor {
	y := t.Quantile(q, axis, how, skipNaN)
	if t.Rank() == 0 {
		return y
	}
	return y.Unsqueeze(t.axis("Quantile", axis) + 1)
}
