package packed

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// What a block holds is described at https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. Parts hold the same numbers; scales of six
// bits lie in bytes of their own, so that nothing has to be put together for each element.

// forms are the storage types by their names in GGUF files.
var forms = map[string]*form{
	"Q4_0": {
		block: 32, bytes: 18, dims: []int{2, 16},
		parts: []part{{dtype.F16, []int{1}}, {dtype.U8, []int{16}}},
		split: func(dst [][]byte, b []byte) { copy(dst[0], b[:2]); copy(dst[1], b[2:18]) },
		unpack: func(p []*tensor.Tensor, i int) operand {
			return operand{float(nibble(p[1], i).Sub(8)), float(p[0])}
		},
	},
	"Q8_0": {
		block: 32, bytes: 34, dims: []int{1, 32},
		parts: []part{{dtype.F16, []int{1}}, {dtype.I8, []int{32}}},
		split: func(dst [][]byte, b []byte) { copy(dst[0], b[:2]); copy(dst[1], b[2:34]) },
		unpack: func(p []*tensor.Tensor, _ int) operand {
			return operand{float(p[1]), float(p[0])}
		},
	},
	"Q4_K": {
		block: 256, bytes: 144, dims: []int{4, 2, 32}, terms: 1,
		parts: []part{{dtype.F16, []int{2}}, {dtype.U8, []int{2, 4, 2}}, {dtype.U8, []int{4, 32}}},
		split: splitQ4K,
		unpack: func(p []*tensor.Tensor, i int) operand {
			// of eight groups: the scale and the minimum, times those of the block
			group := func(k int) *tensor.Tensor {
				small := float(p[1].Select(2, k).Select(3, i)) // [rows, blocks, 4]
				return float(p[0].Narrow(2, k, 1)).Mul(small).Unsqueeze(3)
			}
			return operand{group(0).Mul(float(nibble(p[2], i))).Sub(group(1)), nil}
		},
	},
	"Q6_K": {
		block: 256, bytes: 210, dims: []int{2, 4, 2, 16}, terms: 1,
		parts: []part{{dtype.F16, []int{1, 1, 1}}, {dtype.I8, []int{2, 4, 2}}, {dtype.U8, []int{2, 2, 2, 16}}, {dtype.U8, []int{2, 2, 16}}},
		split: func(dst [][]byte, b []byte) {
			copy(dst[0], b[208:210])
			copy(dst[1], b[192:208])
			copy(dst[2], b[:128])
			copy(dst[3], b[128:192])
		},
		unpack: func(p []*tensor.Tensor, i int) operand {
			low := p[2].Select(3, i%2).To(dtype.I32)
			if i < 2 {
				low = low.And(15)
			} else {
				low = low.Shr(4)
			}
			q := low.Or(p[3].To(dtype.I32).Shr(2 * i).And(3).Shl(4)) // [rows, blocks, 2, 2, 16]
			scale := float(p[0].Squeeze(4)).Mul(float(p[1].Select(3, i)))
			return operand{scale.Unsqueeze(4).Mul(float(q.Sub(32))), nil}
		},
	},
}

func float(t *tensor.Tensor) *tensor.Tensor { return t.To(dtype.F32) }

// nibble are the lower halves of bytes, or the upper ones. They are taken out in 32 bits: few machines shift bytes, and both halves are
// widened once. What is 0 in them is taken off there too: processors add integers in more places than floats.
func nibble(t *tensor.Tensor, i int) *tensor.Tensor {
	wide := t.To(dtype.I32)
	if i == 0 {
		return wide.And(15)
	}
	return wide.Shr(4)
}

// Words is a matrix of numbers of 1, 2, 4 or 8 bits without a sign, the first one in the lowest bits: q[rows, blocks, bytes of a block] of
// uint8, a scale[rows, blocks] for each block, and what is 0 in it: zero[rows, blocks] of any type, or where it is nil the middle of the
// numbers. It is (q − zero)·scale in float32.
func Words(bits int, q, scale, zero *tensor.Tensor) (*Matrix, error) {
	if bits != 1 && bits != 2 && bits != 4 && bits != 8 || q.DType() != dtype.U8 || q.Rank() != 3 || q.Numel() == 0 {
		return nil, fmt.Errorf("packed: words of %d bits in %v %v; needs 1, 2, 4 or 8, in uint8 [rows, blocks, bytes]", bits, q.DType(), q.Shape())
	}
	rows, blocks := q.Dim(0), q.Dim(1)
	for _, t := range []*tensor.Tensor{scale, zero} {
		if t != nil && !slices.Equal(t.Shape(), []int{rows, blocks}) {
			return nil, fmt.Errorf("packed: scales or zero points %v of %d rows of %d blocks", t.Shape(), rows, blocks)
		}
	}
	each := 8 / bits
	f := &form{block: q.Dim(2) * each, dims: []int{q.Dim(2), each}, terms: 1}
	if each == 1 {
		f.dims, f.terms = []int{1, q.Dim(2)}, 0
	}
	parts := []*tensor.Tensor{q, scale.Unsqueeze(2)}
	if zero != nil {
		parts = append(parts, zero.Unsqueeze(2))
	}
	f.unpack = func(p []*tensor.Tensor, i int) operand {
		wide := p[0].To(dtype.I32)
		if i > 0 {
			wide = wide.Shr(i * bits)
		}
		if i < each-1 {
			wide = wide.And(1<<bits - 1)
		}
		if len(p) < 3 {
			return operand{float(wide.Sub(1 << (bits - 1))), float(p[1])}
		}
		return operand{float(wide).Sub(float(p[2])), float(p[1])}
	}
	return &Matrix{Rows: rows, Cols: blocks * f.block, blocks: blocks, form: f, parts: parts}, nil
}

// splitQ4K takes the scales and minima of eight groups, six bits each, out of their twelve bytes.
func splitQ4K(dst [][]byte, b []byte) {
	copy(dst[0], b[:4])
	s := b[4:16]
	for g := range 8 {
		scale, least := s[g%4+0]&63, s[g%4+4]&63
		if g >= 4 {
			scale, least = s[g+4]&15|s[g-4]>>6<<4, s[g+4]>>4|s[g]>>6<<4
		}
		dst[1][g], dst[1][8+g] = scale, least
	}
	copy(dst[2], b[16:144])
}
