package gguf

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// packers turn a block of floats into its bytes, as the format's own library does when it is asked for no more than rounding.
var packers = map[string]func(dst []byte, src []float32){
	"Q4_0": func(dst []byte, src []float32) {
		by := scaled(dst, extreme(src), -8)
		packNibbles(dst[2:], src, func(x float32) int { return min(15, int(x*by+8.5)) }, nil)
	},
	"Q4_1": func(dst []byte, src []float32) {
		least, by := ranged(dst, src, 15)
		packNibbles(dst[4:], src, func(x float32) int { return min(15, int((x-least)*by+0.5)) }, nil)
	},
	"Q5_0": func(dst []byte, src []float32) {
		by := scaled(dst, extreme(src), -16)
		packNibbles(dst[6:], src, func(x float32) int { return min(31, int(x*by+16.5)) }, dst[2:6])
	},
	"Q5_1": func(dst []byte, src []float32) {
		least, by := ranged(dst, src, 31)
		packNibbles(dst[8:], src, func(x float32) int { return min(31, int((x-least)*by+0.5)) }, dst[4:8])
	},
	"Q8_0": func(dst []byte, src []float32) {
		by := scaled(dst, float32(math.Abs(float64(extreme(src)))), 127)
		for i, x := range src {
			dst[2+i] = byte(int8(math.Round(float64(x * by)))) // halves away from 0
		}
	},
}

// extreme is the element that is furthest from 0, with its sign.
func extreme(src []float32) (out float32) {
	for _, x := range src {
		if math.Abs(float64(x)) > math.Abs(float64(out)) {
			out = x
		}
	}
	return out
}

// scaled writes a scale by which the extreme becomes the number of steps, and gives what elements are multiplied by.
func scaled(dst []byte, extreme, steps float32) (by float32) {
	d := extreme / steps
	if d != 0 {
		by = 1 / d
	}
	binary.LittleEndian.PutUint16(dst, dtype.ToF16(float64(d)))
	return by
}

// ranged writes a scale and a least element between which there are so many steps.
func ranged(dst []byte, src []float32, steps float32) (least, by float32) {
	least, most := slices.Min(src), slices.Max(src)
	d := (most - least) / steps
	if d != 0 {
		by = 1 / d
	}
	binary.LittleEndian.PutUint16(dst, dtype.ToF16(float64(d)))
	binary.LittleEndian.PutUint16(dst[2:], dtype.ToF16(float64(least)))
	return least, by
}

// packNibbles writes the lower four bits of 32 elements, the first half below the second, and the fifth bits beside them.
func packNibbles(dst []byte, src []float32, q func(float32) int, fifth []byte) {
	high := uint32(0)
	for i := range 16 {
		a, b := q(src[i]), q(src[i+16])
		dst[i] = byte(a&15 | b&15<<4)
		high |= uint32(a>>4)<<i | uint32(b>>4)<<(i+16)
	}
	if fifth != nil {
		binary.LittleEndian.PutUint32(fifth, high)
	}
}

// Packs lists the packed types that Pack makes.
func Packs() []string { return slices.Sorted(maps.Keys(packers)) }

// Pack turns floats into whole blocks of one of the types of Packs, each rounded by itself. dst must have room for exactly theirs. A number
// that is infinite or no number, or too large for a block's scale, is an error.
func Pack(name string, dst []byte, src []float32) error {
	pack := packers[name]
	block, size, _ := Packed(name)
	if pack == nil {
		return fmt.Errorf("gguf: nothing is packed as %.32q; %v are", name, Packs())
	}
	if len(src)%block != 0 || len(dst) != len(src)/block*size {
		return fmt.Errorf("gguf: %d elements do not fill %d bytes of %s", len(src), len(dst), name)
	}
	for i, x := range src {
		if !(math.Abs(float64(x)) <= 65504) { // the largest scale
			return fmt.Errorf("gguf: element %d is %v, which %s cannot hold", i, x, name)
		}
	}
	for ; len(src) > 0; src, dst = src[block:], dst[size:] {
		pack(dst[:size], src[:block])
	}
	return nil
}
