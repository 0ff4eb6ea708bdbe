package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Combinations are all choices of r elements of a list, in order, one a row; with repeat an element may be chosen again.
func (t *Tensor) Combinations(r int, repeat bool) *Tensor {
	if t.Rank() != 1 || r < 1 {
		fail("Combinations", shapesOf(t), "needs one axis, and at least one element of it, not %d", r)
	}
	n := t.Dim(0)
	checkParts("Combinations", t.shape(), r)
	var rows []int32
	at := make([]int, r)
	var from func(k, first int)
	from = func(k, first int) {
		if k == r {
			checkParts("Combinations", uop.Shape{len(rows) / r, r}, len(rows)/r)
			for _, i := range at {
				rows = append(rows, int32(i))
			}
			return
		}
		last := n - 1
		if !repeat { // others have to follow
			last -= r - 1 - k
		}
		for i := first; i <= last; i++ {
			at[k] = i
			if repeat {
				from(k+1, i)
			} else {
				from(k+1, i+1)
			}
		}
	}
	from(0, 0)
	return t.gather(0, rows).Reshape(len(rows)/r, r)
}

// UnravelIndex gives for each axis of a shape the indices of elements that are numbered row-major.
func (t *Tensor) UnravelIndex(shape ...int) []*Tensor {
	if !t.DType().IsInt() {
		failType("UnravelIndex", []dtype.DType{t.DType()}, "needs integers")
	}
	checkSizes("UnravelIndex", shape)
	out, rest := make([]*Tensor, len(shape)), t.same()
	for i, n := range slices.Backward(shape) {
		out[i] = rest
		if i > 0 {
			out[i], rest = rest.Mod(n), rest.FloorDiv(n)
		}
	}
	return out
}

// Renorm scales the parts along an axis whose p-norm is above a limit down to it, nearly: by limit/(norm + 1e-7).
func (t *Tensor) Renorm(p float64, axis int, limit float64) *Tensor {
	axis = t.axis("Renorm", axis)
	var others []int
	for i := range t.Rank() {
		if i != axis {
			others = append(others, i)
		}
	}
	norm := t
	if norm = t.Abs(); len(others) > 0 {
		norm = t.NormKeep(p, others...)
	}
	return t.Mul(norm.Gt(limit).Where(norm.Add(1e-7).RDiv(limit), 1))
}

// Bilinear is Σ t[…, i]·w[k, i, j]·o[…, j] + b[k]; b may be nil.
func (t *Tensor) Bilinear(o, w, b *Tensor) *Tensor {
	if w.Rank() != 3 || t.Rank() < 1 || o.Rank() < 1 || t.Dim(-1) != w.Dim(1) || o.Dim(-1) != w.Dim(2) {
		fail("Bilinear", shapesOf(t, o, w), "the last axes of the operands are the second and the third of the weights")
	}
	y := t.Unsqueeze(-2).MatMul(w.Permute(1, 0, 2).Reshape(w.Dim(1), -1)).Unflatten(-1, w.Dim(0), w.Dim(2)).Squeeze(-3).MatMul(o.Unsqueeze(-1)).Squeeze(-1)
	if b != nil {
		y = y.Add(b)
	}
	return y
}
