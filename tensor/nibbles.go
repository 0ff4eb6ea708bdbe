package tensor

import (
	"github.com/weft-ml/weft/dtype"
)

// Integers of 4 bits have no type of their own: they are stored two in a byte, and unpacked to be computed with.

// Unpack4 gives the integers of 4 bits that the bytes of t, uint8, hold, the lower half of each first: [… n] gives [… 2n] of type d.
// Of an unsigned type they are 0 … 15, of others −8 … 7 in two's complement.
func (t *Tensor) Unpack4(d dtype.DType) *Tensor {
	const op = "Unpack4"
	if t.DType() != dtype.U8 || !d.IsInt() && !d.IsFloat() {
		failType(op, []dtype.DType{t.DType(), d}, "unpacks uint8 to a type of numbers")
	}
	if t.Rank() == 0 {
		fail(op, shapes(t.shape()), "needs an axis that becomes twice as long")
	}
	shift := arange(2).Mul(4).To(dtype.U8)
	x := t.Unsqueeze(-1).Shr(shift).And(15)
	if !d.IsUnsigned() {
		x = x.Xor(8).To(dtype.I8).Sub(8)
	}
	s := t.Shape()
	s[len(s)-1] *= 2
	return x.Reshape(s...).To(d)
}

// Pack4 stores the lower 4 bits of integers, two in a byte: [… 2n] of any integer type gives uint8 [… n]. It is the reverse of Unpack4
// for −8 … 7 and 0 … 15.
func (t *Tensor) Pack4() *Tensor {
	const op = "Pack4"
	if !t.DType().IsInt() {
		failType(op, []dtype.DType{t.DType()}, "packs integers")
	}
	if t.Rank() == 0 || t.Dim(-1)%2 != 0 {
		fail(op, shapes(t.shape()), "needs a last axis of even size")
	}
	s := t.Shape()
	s[len(s)-1] /= 2
	x := t.To(dtype.U8).And(15).Reshape(append(s, 2)...)
	return x.Select(-1, 0).Or(x.Select(-1, 1).Shl(4))
}
