package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// File is an open safetensors file. Its header has been checked; data is read on request.
// It may be used from several goroutines.
type File struct {
	path  string
	src   io.ReaderAt
	close func() error
	h     *header
}

// Open opens a file and checks its header.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &Error{Path: path, Cause: "no such file", Err: fs.ErrNotExist}
	case err != nil:
		return nil, &Error{Path: path, Cause: "cannot look at the file", Err: err}
	case !info.Mode().IsRegular():
		return nil, &Error{Path: path, Cause: "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Path: path, Cause: "cannot open", Err: err}
	}
	out, err := Parse(path, f, info.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	out.close = f.Close
	return out, nil
}

// Parse reads the header of a file of size bytes that lies in src; path names it in errors.
func Parse(path string, src io.ReaderAt, size int64) (*File, error) {
	fail := func(cause string, err error) (*File, error) {
		return nil, &Error{Path: path, Cause: cause, Err: err}
	}
	if size < 8 {
		return fail(fmt.Sprintf("truncated: %d bytes, the header length alone takes 8", size), nil)
	}
	var word [8]byte
	if n, err := src.ReadAt(word[:], 0); n < len(word) {
		return fail("cannot read the header length", err)
	}
	n := binary.LittleEndian.Uint64(word[:])
	switch {
	case n > maxHeader:
		return fail(fmt.Sprintf("the header length is %d bytes, at most %d are read: not a safetensors file?", n, maxHeader), nil)
	case n > uint64(size-8):
		return fail(fmt.Sprintf("truncated: the header length is %d bytes, %d are there", n, size-8), nil)
	}
	raw := make([]byte, n)
	if got, err := src.ReadAt(raw, 8); got < len(raw) {
		return fail(fmt.Sprintf("cannot read the header: %d of %d bytes came", got, n), err)
	}
	h, err := parseHeader(path, raw, 8+int64(n), size-8-int64(n))
	if err != nil {
		return nil, err
	}
	return &File{path: path, src: src, h: h}, nil
}

// Close closes the file. Bytes that were read stay valid.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// Path is the name that the file was opened under.
func (f *File) Path() string { return f.path }

// Names lists the tensors in the order of their data.
func (f *File) Names() []string { return slices.Clone(f.h.names) }

// Metadata returns the texts stored beside the tensors; nil if there are none.
func (f *File) Metadata() map[string]string { return maps.Clone(f.h.meta) }

// Info returns type, shape and size of a tensor; ok is false if the file has no such tensor.
func (f *File) Info(name string) (info Info, ok bool) {
	info, ok = f.h.infos[name]
	info.Shape = slices.Clone(info.Shape)
	return info, ok
}

// Data is the little-endian data of a tensor, to be read in parts.
func (f *File) Data(name string) (io.ReaderAt, error) {
	info, ok := f.h.infos[name]
	if !ok {
		return nil, f.missing(name)
	}
	return io.NewSectionReader(f.src, f.h.at[name], info.Bytes), nil
}

// Bytes reads the little-endian data of a tensor.
func (f *File) Bytes(name string) ([]byte, error) {
	info, ok := f.h.infos[name]
	if !ok {
		return nil, f.missing(name)
	}
	out := make([]byte, info.Bytes)
	return out, f.ReadInto(out, name)
}

// ReadInto reads the data of a tensor into dst, which must have exactly its size.
func (f *File) ReadInto(dst []byte, name string) error {
	info, ok := f.h.infos[name]
	if !ok {
		return f.missing(name)
	}
	if int64(len(dst)) != info.Bytes {
		return &Error{Path: f.path, Tensor: name, Cause: fmt.Sprintf("holds %d bytes, wanted are %d", info.Bytes, len(dst))}
	}
	if n, err := f.src.ReadAt(dst, f.h.at[name]); n < len(dst) {
		return &Error{Path: f.path, Tensor: name, Cause: fmt.Sprintf("only %d of %d bytes could be read", n, len(dst)), Err: err}
	}
	return nil
}

func (f *File) missing(name string) error {
	return &Error{Path: f.path, Tensor: name, Cause: fmt.Sprintf("not among the %d tensors of the file", len(f.h.names))}
}
