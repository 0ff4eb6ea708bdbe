package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
)

// form is how elements are stored: plain, or in blocks with scales.
type form struct {
	name         string
	block, bytes int // elements and bytes of a block
	scales       []int
	unpack       func(dst []float32, src []byte) // of one block; nil: plain
}

// forms are those that are read, by their numbers in files.
var forms = map[uint32]*form{
	0: {"F32", 1, 4, nil, nil}, 1: {"F16", 1, 2, nil, nil}, 30: {"BF16", 1, 2, nil, nil}, 24: {"I8", 1, 1, nil, nil},
	25: {"I16", 1, 2, nil, nil}, 26: {"I32", 1, 4, nil, nil}, 27: {"I64", 1, 8, nil, nil}, 28: {"F64", 1, 8, nil, nil},

	2:  {"Q4_0", 32, 18, []int{0}, q4_0},
	3:  {"Q4_1", 32, 20, []int{0, 2}, q4_1},
	6:  {"Q5_0", 32, 22, []int{0}, q5_0},
	7:  {"Q5_1", 32, 24, []int{0, 2}, q5_1},
	8:  {"Q8_0", 32, 34, []int{0}, q8_0},
	10: {"Q2_K", 256, 84, []int{80, 82}, q2K},
	11: {"Q3_K", 256, 110, []int{108}, q3K},
	12: {"Q4_K", 256, 144, []int{0, 2}, q4K},
	13: {"Q5_K", 256, 176, []int{0, 2}, q5K},
	14: {"Q6_K", 256, 210, []int{208}, q6K},
	18: {"IQ3_XXS", 256, 98, []int{0}, iq3XXS},
	20: {"IQ4_NL", 32, 18, []int{0}, iq4NL},
	21: {"IQ3_S", 256, 110, []int{0}, iq3S},
	22: {"IQ2_S", 256, 82, []int{0}, iq2S},
	23: {"IQ4_XS", 256, 136, []int{0}, iq4XS},
	34: {"TQ1_0", 256, 54, []int{52}, tq1_0},
	35: {"TQ2_0", 256, 66, []int{64}, tq2_0},
	39: {"MXFP4", 32, 17, nil, mxfp4},
	40: {"NVFP4", 64, 36, nil, nvfp4},
	41: {"Q1_0", 128, 18, []int{0}, q1_0},
}

// oldForms are names of those that are not read.
var oldForms = map[uint32]string{4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 19: "IQ1_S", 29: "IQ1_M",
	31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8", 36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8"}

// Packed says how a packed type is stored: elements and bytes of a block. ok is false for plain types and names that are not read.
func Packed(dtype string) (block, bytes int, ok bool) {
	for _, f := range forms {
		if f.name == dtype && f.unpack != nil {
			return f.block, f.bytes, true
		}
	}
	return 0, 0, false
}

// Unpack turns whole blocks of a packed type into floats. dst must have room for exactly theirs. A block whose scale is infinite or no
// number is an error.
func Unpack(dtype string, dst []float32, src []byte) error {
	for _, f := range forms {
		if f.name != dtype || f.unpack == nil {
			continue
		}
		if len(src)%f.bytes != 0 || len(dst) != len(src)/f.bytes*f.block {
			return fmt.Errorf("gguf: %d bytes of %s are not the blocks of %d elements", len(src), dtype, len(dst))
		}
		if bad, why := f.check(src); bad >= 0 {
			return fmt.Errorf("gguf: %s: block %d: %s", dtype, bad, why)
		}
		f.unpackAll(dst, src)
		return nil
	}
	return fmt.Errorf("gguf: there is no packed type %.32q", dtype)
}

// Check says which block of a packed type, of whole blocks, has a scale that is infinite or no number.
func Check(dtype string, src []byte) error {
	for _, f := range forms {
		if f.name != dtype || f.unpack == nil {
			continue
		}
		if bad, why := f.check(src); bad >= 0 {
			return fmt.Errorf("gguf: %s: block %d: %s", dtype, bad, why)
		}
		return nil
	}
	return fmt.Errorf("gguf: there is no packed type %.32q", dtype)
}

func (f *form) unpackAll(dst []float32, src []byte) {
	for i := 0; i < len(src)/f.bytes; i++ {
		f.unpack(dst[i*f.block:][:f.block], src[i*f.bytes:][:f.bytes])
	}
}

// check finds the first block whose scale is infinite or no number; −1: there is none.
func (f *form) check(src []byte) (block int, why string) {
	for i := 0; i < len(src)/f.bytes; i++ {
		b := src[i*f.bytes:][:f.bytes]
		for _, at := range f.scales {
			if d := half(b[at:]); math.IsNaN(float64(d)) || math.IsInf(float64(d), 0) {
				return i, fmt.Sprintf("its scale is %v", d)
			}
		}
		if f.name == "MXFP4" && b[0] == 255 {
			return i, "its scale is NaN"
		}
	}
	return -1, ""
}

func half(b []byte) float32 { return dtype.FromF16(binary.LittleEndian.Uint16(b)) }

func floatBits(x float32) uint32 { return math.Float32bits(x) }
