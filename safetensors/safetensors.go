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

	"github.com/weft-ml/weft/weights"
)

const (
	maxHeader = 100_000_000 // bytes; the limit of the format's own library
	metaKey   = "__metadata__"
)

// Info is what a header says of one tensor.
type Info = weights.Info

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
