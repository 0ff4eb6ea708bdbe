package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// float8 sweeps the conversions of floats of 8 bits: all their codes to every type, and float32 whose bits are multiples of 4096, all
// exponents with the upper bits of all mantissas, infinities and NaN among them. Package dtype's functions, which REF uses, are compared
// with what PyTorch computed of the same numbers (dtype/float8_test.go).
func (s *suite) float8() {
	const sweep = 1 << 20
	for _, d := range []dtype.DType{dtype.F8E4M3, dtype.F8E5M2} {
		s.one(fmt.Sprintf("float8 %v of all codes", d.Short()), Tolerance{}, func(in *Inputs) *uop.UOp {
			return uop.NewIota(256).Cast(dtype.U8).Add(in.Leaf(dtype.U8, Exact, 1).Reshape().Mul(uop.NewInt(dtype.U8, 0))).Bitcast(d).Cast(dtype.F32)
		})
		s.one(fmt.Sprintf("float8 %v of float32", d.Short()), Tolerance{}, func(in *Inputs) *uop.UOp {
			i := uop.NewIota(sweep).Cast(dtype.U32).Add(in.Leaf(dtype.U32, Exact, 1).Reshape().Mul(uop.NewInt(dtype.U32, 0)))
			return i.Shl(i.Int(12)).Bitcast(dtype.F32).Cast(d)
		})
	}
}
