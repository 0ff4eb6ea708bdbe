package gguf

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// What a block holds is described at https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. Products are rounded before
// sums (a conversion in Go does that: a fused multiply-add would give other bits on some processors).

// nibbles calls f with the lower halves of bytes, which are the first elements, and then with the upper.
func nibbles(src []byte, f func(i int, q byte)) {
	for i, b := range src {
		f(i, b&15)
		f(i+len(src), b>>4)
	}
}

func q1_0(dst []float32, src []byte) {
	d := half(src)
	for i := range dst {
		dst[i] = d
		if src[2+i/8]>>(i%8)&1 == 0 {
			dst[i] = -d
		}
	}
}

func q4_0(dst []float32, src []byte) {
	d := half(src)
	nibbles(src[2:], func(i int, q byte) { dst[i] = float32(int(q)-8) * d })
}

func q4_1(dst []float32, src []byte) {
	d, m := half(src), half(src[2:])
	nibbles(src[4:], func(i int, q byte) { dst[i] = float32(float32(q)*d) + m })
}

func q5_0(dst []float32, src []byte) {
	d, high := half(src), binary.LittleEndian.Uint32(src[2:])
	nibbles(src[6:], func(i int, q byte) { dst[i] = float32(int(q)|int(high>>i&1)<<4-16) * d })
}

func q5_1(dst []float32, src []byte) {
	d, m, high := half(src), half(src[2:]), binary.LittleEndian.Uint32(src[4:])
	nibbles(src[8:], func(i int, q byte) { dst[i] = float32(float32(int(q)|int(high>>i&1)<<4)*d) + m })
}

func q8_0(dst []float32, src []byte) {
	d := half(src)
	for i, q := range src[2:] {
		dst[i] = float32(int8(q)) * d
	}
}

// q2K has 16 groups of 16 with a scale and a minimum of 4 bits each. Four groups of 32 share 32 bytes, two bits each.
func q2K(dst []float32, src []byte) {
	scales, qs, d, least := src[:16], src[16:80], half(src[80:]), half(src[82:])
	for i := range dst {
		q := qs[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3
		s := scales[i/16]
		dst[i] = float32(float32(d*float32(s&15))*float32(q)) - float32(least*float32(s>>4))
	}
}

// q3K has 16 groups of 16 with a scale of 6 bits; the third bit of an element lies apart.
func q3K(dst []float32, src []byte) {
	high, qs, packed, d := src[:32], src[32:96], src[96:108], half(src[108:])
	for i := range dst {
		g := i / 16
		s := int(packed[g%8]>>(g/8*4)&15) | int(packed[8+g%4]>>(g/4*2)&3)<<4
		q := int(qs[i/128*32+i%32]>>(i%128/32*2)&3) - 4
		if high[i%32]>>(i/32)&1 != 0 {
			q += 4
		}
		dst[i] = float32(d*float32(s-32)) * float32(q)
	}
}

// sixBits are the scale and the minimum of a group of 32, of eight that share 12 bytes.
func sixBits(packed []byte, g int) (scale, least float32) {
	if g < 4 {
		return float32(packed[g] & 63), float32(packed[g+4] & 63)
	}
	return float32(packed[g+4]&15 | packed[g-4]>>6<<4), float32(packed[g+4]>>4 | packed[g]>>6<<4)
}

// groups calls f for each element with its nibble and its group's scale and minimum.
func groups(packed, qs []byte, d, least float32, f func(i int, q int, scale, least float32)) {
	for g := range 8 {
		s, m := sixBits(packed, g)
		s, m = d*s, least*m
		for i := range 32 {
			f(32*g+i, int(qs[g/2*32+i]>>(g%2*4)&15), s, m)
		}
	}
}

func q4K(dst []float32, src []byte) {
	groups(src[4:16], src[16:], half(src), half(src[2:]), func(i, q int, s, m float32) {
		dst[i] = float32(s*float32(q)) - m
	})
}

func q5K(dst []float32, src []byte) {
	high := src[16:48]
	groups(src[4:16], src[48:], half(src), half(src[2:]), func(i, q int, s, m float32) {
		q |= int(high[i%32]>>(i/32)&1) << 4
		dst[i] = float32(s*float32(q)) - m
	})
}

// q6K has 16 groups of 16 with a scale of 8 bits. Elements 0 … 63 of 128 are lower halves of the 64 bytes of low bits, the others upper.
func q6K(dst []float32, src []byte) {
	low, high, scales, d := src[:128], src[128:192], src[192:208], half(src[208:])
	for i := range dst {
		n, k := i/128, i%128
		q := int(low[n*64+k%64]>>(k/64*4)&15) | int(high[n*32+k%32]>>(k/32*2)&3)<<4
		dst[i] = float32(d*float32(int8(scales[i/16]))) * float32(q-32)
	}
}

// byTable are the values of 4 bits of IQ4_NL and IQ4_XS.
var byTable = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

func iq4NL(dst []float32, src []byte) {
	d := half(src)
	nibbles(src[2:], func(i int, q byte) { dst[i] = d * byTable[q] })
}

func iq4XS(dst []float32, src []byte) {
	d, high, low := half(src), binary.LittleEndian.Uint16(src[2:]), src[4:8]
	for g := range 8 {
		s := int(low[g/2]>>(g%2*4)&15) | int(high>>(2*g)&3)<<4
		scale := d * float32(s-32)
		nibbles(src[8+16*g:][:16], func(i int, q byte) { dst[32*g+i] = scale * byTable[q] })
	}
}

// doubled are twice the values of a float of 4 bits (one sign, two exponent, one mantissa); scales are halved to make up for it.
var doubled = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// mxfp4 has a power of two as its scale: 2^(e−128), halved as said.
func mxfp4(dst []float32, src []byte) {
	e := uint32(src[0])
	word := (e - 1) << 23
	if e < 2 {
		word = 0x00200000 << e // below the normal numbers
	}
	d := math.Float32frombits(word)
	nibbles(src[1:], func(i int, q byte) { dst[i] = doubled[q] * d })
}

// nvfp4 has four groups of 16, each with a scale of 8 bits without a sign: four of exponent, three of mantissa. The code of NaN is zero,
// as the format's own library has it.
func nvfp4(dst []float32, src []byte) {
	for g := range 4 {
		s := src[g]
		e, m := int(s>>3&15), float64(s&7)
		d := math.Ldexp(m, -9)
		if e > 0 {
			d = math.Ldexp(1+m/8, e-7)
		}
		if s == 0x7f {
			d = 0
		}
		scale := float32(d / 2)
		nibbles(src[4+8*g:][:8], func(i int, q byte) { dst[16*g+i] = doubled[q] * scale })
	}
}

// tq1_0 has five elements of three values in a byte, as a fraction in base three; the last 16 have four.
func tq1_0(dst []float32, src []byte) {
	d := half(src[52:])
	pow := [5]byte{1, 3, 9, 27, 81}
	put := func(at, n, count int, from []byte) {
		for k := range count {
			for i := range n {
				q := from[i] * pow[k] // of eight bits
				dst[at+k*n+i] = float32(int(uint16(q)*3>>8)-1) * d
			}
		}
	}
	put(0, 32, 5, src)
	put(160, 16, 5, src[32:])
	put(240, 4, 4, src[48:])
}

func tq2_0(dst []float32, src []byte) {
	d := half(src[64:])
	for i := range dst {
		dst[i] = float32(int(src[i/128*32+i%32]>>(i%128/32*2)&3)-1) * d
	}
}

// signs are eight from seven bits: an even number of them are minus.
func signs(seven byte) byte { return seven | byte(bits.OnesCount8(seven)&1)<<7 }

// signed puts products with a scale, minus where a bit says it.
func signed(dst []float32, values []float32, scale float32, minus byte) {
	for i, v := range values {
		dst[i] = scale * v
		if minus>>i&1 != 0 {
			dst[i] = -dst[i]
		}
	}
}

func iq3XXS(dst []float32, src []byte) {
	d := half(src)
	for g := range 8 { // of 32
		word := binary.LittleEndian.Uint32(src[66+4*g:])
		scale := float32(d*(0.5+float32(word>>28))) * 0.5
		for l := range 4 {
			minus := signs(byte(word >> (7 * l) & 127))
			at := 32*g + 8*l
			signed(dst[at:], books.iq3XXS[src[2+8*g+2*l]][:], scale, minus)
			signed(dst[at+4:], books.iq3XXS[src[2+8*g+2*l+1]][:], scale, minus>>4)
		}
	}
}

func iq3S(dst []float32, src []byte) {
	d, low, high, minus, scales := half(src), src[2:66], src[66:74], src[74:106], src[106:110]
	for k := range 64 { // groups of four
		scale := d * float32(1+2*int(scales[k/16]>>(k/8%2*4)&15))
		code := int(low[k]) | int(high[k/8]>>(k%8)&1)<<8
		signed(dst[4*k:], books.iq3S[code][:], scale, minus[k/2]>>(k%2*4))
	}
}

func iq2S(dst []float32, src []byte) {
	d, low, minus, high, scales := half(src), src[2:34], src[34:66], src[66:74], src[74:82]
	for k := range 32 { // groups of eight
		scale := float32(d*(0.5+float32(scales[k/4]>>(k/2%2*4)&15))) * 0.25
		code := int(low[k]) | int(high[k/4]>>(k%4*2)&3)<<8
		signed(dst[8*k:], books.iq2S[code][:], scale, minus[k])
	}
}
