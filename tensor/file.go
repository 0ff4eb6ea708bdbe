package tensor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// File is bytes outside of any device, in a file or behind an io.ReaderAt, of which tensors are made that stay there until something
// reads them. It may be used by several goroutines.
type File struct {
	name string
	size int64

	mu     sync.RWMutex
	from   io.ReaderAt
	to     io.WriterAt // nil: it is not written
	closer io.Closer
}

// FileError says what is wrong with a file and where.
type FileError struct {
	Name   string
	Offset int64 // byte; −1: the file as a whole
	Err    error
}

func (e *FileError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("file %s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("file %s, byte %d: %v", e.Name, e.Offset, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// Open opens a file to be read. Tensors that Tensor makes of it read what they need when it is needed, so the file is to be left as
// it is, and open, for as long as they are in use.
func Open(path string) (*File, error) {
	f, info, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	return &File{name: path, size: info.Size(), from: f, closer: f}, nil
}

func openRegular(path string, flags int) (*os.File, os.FileInfo, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // before it is opened: a pipe would wait for its other end
		return nil, nil, &FileError{path, -1, errors.New("it is no regular file")}
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, nil, &FileError{path, -1, err}
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, &FileError{path, -1, err}
	}
	return f, info, nil
}

// OpenReader is Open of size bytes behind a reader; errors call it name.
func OpenReader(name string, from io.ReaderAt, size int64) *File {
	return &File{name: name, size: size, from: from}
}

// Size is the number of bytes.
func (f *File) Size() int64 { return f.size }

// Close closes the file, after a Flush if it may be written. What was read stays; tensors that were not read are errors where they are used.
func (f *File) Close() error {
	err := f.Flush()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from, f.to = nil, nil
	if f.closer == nil {
		return err
	}
	c := f.closer
	f.closer = nil
	if e := c.Close(); err == nil && e != nil {
		err = &FileError{f.name, -1, e}
	}
	return err
}

var errClosed = errors.New("the file was closed before the tensor was used; close it afterwards")

// Tensor is a tensor on the default device whose elements lie in the file from byte offset on: row-major, little-endian, bool one byte
// (0 or 1). Nothing is read now. What is computed from the tensor brings its elements to the device the first time; what is computed
// from a part only, cut along the first axes (Narrow, Shrink, Select, Split; behind an axis that is cut others are whole), reads that
// part, and keeps it as a tensor of its own.
func (f *File) Tensor(d dtype.DType, offset int64, shape ...int) (t *Tensor, err error) {
	err = Try(func() {
		checkStored("File.Tensor", d)
		checkSizes("File.Tensor", shape)
	})
	if err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, &FileError{f.name, -1, fmt.Errorf("byte %d lies before the first", offset)}
	}
	if n := int64(uop.Shape(shape).Numel()) * int64(d.Size()); n > f.size-offset {
		return nil, &FileError{f.name, offset, fmt.Errorf("%v %v takes %d bytes, and the file has %d in all", d, shape, n, f.size)}
	}
	err = Try(func() {
		t = onDefault("File.Tensor", func(e *engine.Engine) (*uop.UOp, error) {
			return e.Later(d, shape, engine.ReaderSource{Read: f.reader(d)}, offset)
		})
		if f.to != nil {
			f.write(t, offset)
		}
	})
	return t, err
}

// Bytes is Tensor of all bytes, as uint8[Size].
func (f *File) Bytes() (*Tensor, error) { return f.Tensor(dtype.U8, 0, int(f.size)) }

// reader reads elements of a type.
func (f *File) reader(d dtype.DType) func(p []byte, offset int64) error {
	return func(p []byte, offset int64) error {
		f.mu.RLock()
		defer f.mu.RUnlock()
		if f.from == nil {
			return &FileError{f.name, offset, errClosed}
		}
		n, err := f.from.ReadAt(p, offset)
		if n == len(p) {
			err = nil
		} else if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("it ends after %d more bytes of %d: it was shortened since it was opened", n, len(p))
		}
		if err != nil {
			return &FileError{f.name, offset, err}
		}
		if d == dtype.Bool {
			for i, b := range p {
				if b > 1 {
					return &FileError{f.name, offset + int64(i), fmt.Errorf("a bool is 0 or 1, not %d", b)}
				}
			}
		}
		return nil
	}
}
