package evaluate

import (
	"math"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// matrix computes a product of matrices word by word.
func (m *machine) matrix(s *codegen.MatrixProduct, ts []*thread) {
	for _, t := range ts {
		a, b := m.value(s.ABase, t).Int(), m.value(s.BBase, t).Int()
		if m.most -= s.Rows * s.Cols * s.Steps; m.most < 0 && m.err == nil {
			m.err = ErrTooLarge
		}
		if m.err != nil {
			return
		}
		acc, x, y := t.mem[m.number[s.Acc]], t.mem[m.number[s.A]], t.mem[m.number[s.B]]
		inside := func(mem *scratch, base int64, rows, apart, n int) bool {
			return mem != nil && base >= 0 && int(base)+(rows-1)*apart+n <= len(mem.v)
		}
		if !inside(acc, 0, s.Rows, s.Cols, s.Cols) || !inside(x, a, s.Rows, s.ARow, s.Steps) || !inside(y, b, s.Steps, s.BRow, s.Cols) {
			m.fail("a product of %d·%d·%d lies outside of its scratch", s.Rows, s.Cols, s.Steps)
			return
		}
		for i := range s.Rows {
			for j := range s.Cols {
				acc.v[i*s.Cols+j] = rowProduct(s, x.v[int(a)+i*s.ARow:], y.v[int(b)+j:])
			}
		}
	}
}

// rowProduct is the sum of the products of a row with a column.
func rowProduct(s *codegen.MatrixProduct, x, y []uop.Value) uop.Value {
	if s.Types[0] == dtype.BF16 {
		sum := float32(0)
		for k := range s.Steps {
			for i := range 2 {
				sum += half(x[k], i) * half(y[k*s.BRow], i)
			}
		}
		return uop.FloatValue(dtype.F32, float64(sum))
	}
	sum := int64(0)
	for k := range s.Steps {
		for i := range 4 {
			sum += byteOf(x[k], i, s.Types[0]) * byteOf(y[k*s.BRow], i, s.Types[1])
		}
	}
	return uop.IntValue(dtype.I32, sum)
}

// half is one of the two numbers of bfloat16 in a word.
func half(v uop.Value, i int) float32 {
	return math.Float32frombits(uint32(v.Int()) >> (16 * i) << 16)
}

// byteOf is one of the four numbers of 8 bits in a word.
func byteOf(v uop.Value, i int, d dtype.DType) int64 {
	b := uint8(uint32(v.Int()) >> (8 * i))
	if d == dtype.I8 {
		return int64(int8(b))
	}
	return int64(b)
}
