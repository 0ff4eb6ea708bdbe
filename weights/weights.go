// Package weights is what every file of weights has in common, whatever its format: tensors by name, each a type name, a shape and bytes,
// and texts beside them. The packages below read one format each; formats.Open finds out which.
//
// It refuses to know devices, graphs and Go element types. Files are not trusted: a reader reserves nothing on the word of a header
// that the file's size does not back.
//
//	f, err := formats.Open("model.gguf")
//	defer f.Close()
//	for _, name := range f.Names() {
//		info, _ := f.Info(name)           // type, shape, bytes
//		data, err := f.Data(name)         // to be read in parts
//		raw, err := weights.Bytes(f, name) // or whole
//	}
package weights

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"slices"
)

// File is an open file of weights, or several that belong together. Its headers have been checked; data is read on request. It may be used
// from several goroutines.
type File interface {
	// Path names the file in errors.
	Path() string
	// Names lists the tensors in the order of their data.
	Names() []string
	// Info is type, shape and size of a tensor; ok is false where there is no such tensor.
	Info(name string) (info Info, ok bool)
	// Data is the tensor's elements: Info.Bytes bytes, row-major, little-endian.
	Data(name string) (io.ReaderAt, error)
	// Metadata are the texts beside the tensors; nil where there are none. Numbers are written out, lists only counted.
	Metadata() map[string]string
	// Close closes the file. Bytes that were read stay valid.
	Close() error
}

// Info is what a file says of one tensor.
type Info struct {
	DType string // "F32", "I64", "BF16", … as in safetensors files, or the name of a packed type, as "Q4_K"
	Shape []int64
	Bytes int64 // size of the tensor's data
}

// Error is what is wrong with a file, and where.
type Error struct {
	Format string // "gguf", "pytorch", …
	Path   string // the file
	Place  string // the tensor, key or byte concerned, if one is
	Cause  string // what and why
	Err    error  // the error behind it, if there was one
}

func (e *Error) Error() string {
	s := e.Format + ": " + e.Path + ": "
	if e.Place != "" {
		s += e.Place + ": "
	}
	s += e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Tensor names a tensor as the place of an error.
func Tensor(name string) string { return fmt.Sprintf("tensor %.100q", name) }

// dtypeBits is the width of an element of each plain type. Types of less than a byte are packed.
var dtypeBits = map[string]uint64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64,
	"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
}

// MaxRank is the most dims that are read.
const MaxRank = 64

// Bits is the width of an element of a plain type; 0: there is no such type.
func Bits(dtype string) int { return int(dtypeBits[dtype]) }

// Size returns the bytes of a tensor of a plain type, or why there is no such tensor.
func Size(dtype string, shape []int64) (int64, error) {
	width, ok := dtypeBits[dtype]
	if !ok {
		return 0, fmt.Errorf("unknown dtype %.32q", dtype)
	}
	if len(shape) > MaxRank {
		return 0, fmt.Errorf("%d dims, at most %d are read", len(shape), MaxRank)
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

// Bytes reads the data of a tensor whole.
func Bytes(f File, name string) ([]byte, error) {
	src, err := f.Data(name)
	if err != nil {
		return nil, err
	}
	info, _ := f.Info(name)
	out := make([]byte, info.Bytes)
	if n, err := src.ReadAt(out, 0); n < len(out) {
		return nil, fmt.Errorf("%s: %s: only %d of %d bytes could be read: %w", f.Path(), Tensor(name), n, len(out), ended(err))
	}
	return out, nil
}

// ended is the reason of a short read.
func ended(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// OpenFile opens a regular file of a format, and says how large it is.
func OpenFile(format, path string) (*os.File, int64, error) {
	fail := func(cause string, err error) (*os.File, int64, error) {
		return nil, 0, &Error{Format: format, Path: path, Cause: cause, Err: err}
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("no such file", fs.ErrNotExist)
	case err != nil:
		return fail("cannot look at the file", err)
	case !info.Mode().IsRegular():
		return fail("is not a regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail("cannot open", err)
	}
	return f, info.Size(), nil
}
