package large

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/dtype"
)

// encode writes numbers as elements of a type; those of whole types wrap.
func encode(d dtype.DType, data []float64) []byte {
	var out []byte
	le := binary.LittleEndian
	for _, v := range data {
		switch d {
		case dtype.F64:
			out = le.AppendUint64(out, math.Float64bits(v))
		case dtype.F32:
			out = le.AppendUint32(out, math.Float32bits(float32(v)))
		case dtype.F16:
			out = le.AppendUint16(out, dtype.ToF16(v))
		case dtype.BF16:
			out = le.AppendUint16(out, dtype.ToBF16(v))
		case dtype.Bool:
			out = append(out, byte(int64(v)&1))
		case dtype.I8, dtype.U8:
			out = append(out, byte(int64(v)))
		case dtype.I16, dtype.U16:
			out = le.AppendUint16(out, uint16(int64(v)))
		case dtype.I32, dtype.U32:
			out = le.AppendUint32(out, uint32(int64(v)))
		default:
			out = le.AppendUint64(out, uint64(int64(v)))
		}
	}
	return out
}

// decode reads elements of a type.
func decode(d dtype.DType, raw []byte) []float64 {
	le := binary.LittleEndian
	n := d.Size()
	out := make([]float64, len(raw)/n)
	for i := range out {
		b := raw[i*n : i*n+n]
		switch d {
		case dtype.F64:
			out[i] = math.Float64frombits(le.Uint64(b))
		case dtype.F32:
			out[i] = float64(math.Float32frombits(le.Uint32(b)))
		case dtype.F16:
			out[i] = float64(dtype.FromF16(le.Uint16(b)))
		case dtype.BF16:
			out[i] = float64(dtype.FromBF16(le.Uint16(b)))
		case dtype.Bool, dtype.U8:
			out[i] = float64(b[0])
		case dtype.I8:
			out[i] = float64(int8(b[0]))
		case dtype.I16:
			out[i] = float64(int16(le.Uint16(b)))
		case dtype.U16:
			out[i] = float64(le.Uint16(b))
		case dtype.I32:
			out[i] = float64(int32(le.Uint32(b)))
		case dtype.U32:
			out[i] = float64(le.Uint32(b))
		case dtype.I64:
			out[i] = float64(int64(le.Uint64(b)))
		default:
			out[i] = float64(le.Uint64(b))
		}
	}
	return out
}
