// Package safetensors reads and writes files in the safetensors format: eight bytes of header
// length, a JSON header that names each tensor's type, shape and place, then raw little-endian
// bytes. The format is described at https://github.com/huggingface/safetensors.
//
// It refuses to know tensors, devices and Go element types: a tensor is a type name, a shape and
// bytes. A file is not trusted: nothing is reserved on the word of its header, and whatever is
// not exactly right is an error that says where and why.
//
//	f, err := safetensors.Open("model.safetensors")
//	defer f.Close()
//	for _, name := range f.Names() {
//		info, _ := f.Info(name) // type, shape, bytes
//		raw, err := f.Bytes(name)
//	}
package safetensors

import (
	"fmt"
	"math/bits"
	"slices"
)

// dtypeBits is the width of an element of each type of the format. Types of less than a byte
// are packed.
var dtypeBits = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}

const (
	maxHeader = 100_000_000 // bytes; the limit of the format's own library
	maxRank   = 64
	metaKey   = "__metadata__"
)

// Info is what a header says of one tensor.
type Info struct {
	DType string // "F32", "I64", …
	Shape []int64
	Bytes int64 // size of the tensor's data

	at int64 // of its data in the file
}

// Error is what is wrong with a file, and where.
type Error struct {
	Path   string // the file
	Tensor string // the tensor concerned, if one is
	Cause  string // what and why
	Err    error  // the system's or the JSON parser's error, if there was one
}

func (e *Error) Error() string {
	s := "safetensors: " + e.Path + ": "
	if e.Tensor != "" {
		s += fmt.Sprintf("tensor %.100q: ", e.Tensor)
	}
	s += e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// sizeOf returns the bytes of a tensor, or why there is no such tensor.
func sizeOf(dtype string, shape []int64) (int64, error) {
	width, ok := dtypeBits[dtype]
	if !ok {
		return 0, fmt.Errorf("unknown dtype %.32q", dtype)
	}
	if len(shape) > maxRank {
		return 0, fmt.Errorf("%d dims, at most %d are read", len(shape), maxRank)
	}
	// An empty tensor is empty whatever its other dims are.
	if slices.Contains(shape, 0) {
		shape = []int64{0}
	}
	n := width
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("negative size %d in shape %v", d, shape)
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, fmt.Errorf("shape %v of %s overflows", shape, dtype)
		}
		n = lo
	}
	if n%8 != 0 {
		return 0, fmt.Errorf("shape %v of %s is not a whole number of bytes", shape, dtype)
	}
	return int64(n / 8), nil
}
