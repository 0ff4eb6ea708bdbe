package saved

import (
	"encoding/binary"
	"math"

	"github.com/weft-ml/weft/dtype"
)

func floatAt(raw []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
}

// shorten gives the elements of a float32 array in a form. What the form has no place for is an error.
func shorten(raw []byte, f Form) ([]byte, error) {
	n := len(raw) / 4
	switch f {
	case Half:
		out := make([]byte, 0, 2*n)
		for i := range n {
			v := floatAt(raw, i)
			h := dtype.ToF16(float64(v))
			if v-v == 0 && h&0x7c00 == 0x7c00 {
				return nil, wrong("an element is %v, which float16 has no place for; keep float32", v)
			}
			out = binary.LittleEndian.AppendUint16(out, h)
		}
		return out, nil
	case Bytes:
		out := make([]byte, 0, int(Array{N: n, Form: f}.Stored()))
		for lo := 0; lo < n; lo += BlockElements {
			hi := min(lo+BlockElements, n)
			most := float32(0)
			for i := lo; i < hi; i++ {
				v := floatAt(raw, i)
				if v-v != 0 {
					return nil, wrong("an element is %v, which 8 bits have no place for; keep float32 or float16", v)
				}
				most = max(most, v, -v)
			}
			scale := most / 127
			if math.IsInf(float64(scale*127), 0) { // the quotient was rounded up
				scale = math.Nextafter32(scale, 0)
			}
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(scale))
			for i := lo; i < hi; i++ {
				q := 0.
				if scale > 0 { // else all elements are 0, or nearly
					q = max(-127, min(127, math.RoundToEven(float64(floatAt(raw, i))/float64(scale))))
				}
				out = append(out, byte(int8(q)))
			}
		}
		return out, nil
	}
	return raw, nil
}

// lengthen gives the n elements of a float32 array from a form.
func lengthen(raw []byte, n int, f Form) []byte {
	out := make([]byte, 0, 4*n)
	put := func(v float32) { out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v)) }
	switch f {
	case Half:
		for i := range n {
			put(dtype.FromF16(binary.LittleEndian.Uint16(raw[2*i:])))
		}
	case Bytes:
		for lo := 0; lo < n; lo += BlockElements {
			scale := math.Float32frombits(binary.LittleEndian.Uint32(raw))
			k := min(BlockElements, n-lo)
			for _, q := range raw[4 : 4+k] {
				put(float32(int8(q)) * scale)
			}
			raw = raw[4+k:]
		}
	default:
		return raw
	}
	return out
}
