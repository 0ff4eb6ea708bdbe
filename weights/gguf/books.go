package gguf

import _ "embed" // the codebooks

// bookBytes are the codebooks of three types, which are part of the format (ggml-common.h, MIT licence): 256 groups of four for
// IQ3_XXS, 512 groups of four for IQ3_S, 1024 groups of eight for IQ2_S. An element is the number of its level: three bits in halves of bytes,
// lower half first, or two bits, lowest first.
//
//go:embed books.bin
var bookBytes []byte

var books = unpackBooks(bookBytes)

type codebooks struct {
	iq3XXS [256][4]float32
	iq3S   [512][4]float32
	iq2S   [1024][8]float32
}

func unpackBooks(raw []byte) *codebooks {
	c := &codebooks{}
	for i := range c.iq3XXS {
		for k := range 4 {
			level := raw[2*i+k/2] >> (k % 2 * 4) & 15
			c.iq3XXS[i][k] = [8]float32{4, 12, 20, 28, 36, 44, 52, 62}[level]
		}
	}
	raw = raw[512:]
	for i := range c.iq3S {
		for k := range 4 {
			c.iq3S[i][k] = float32(2*(raw[2*i+k/2]>>(k%2*4)&15) + 1)
		}
	}
	raw = raw[1024:]
	for i := range c.iq2S {
		for k := range 8 {
			c.iq2S[i][k] = [4]float32{8, 25, 43}[raw[2*i+k/4]>>(k%4*2)&3]
		}
	}
	return c
}
