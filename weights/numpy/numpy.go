// Package numpy reads arrays that NumPy saved: .npy files and .npz archives of them, also compressed ones. The format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
//
// It refuses to know devices and Python: arrays of objects, which are pickles, and of records are errors. A file is not trusted; see package
// weights.
//
//	f, err := numpy.Open("arrays.npz")
//	defer f.Close()
//	raw, err := weights.Bytes(f, "x")
package numpy

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"

	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/zipfile"
)

// File is an open file.
type File struct {
	path   string
	close  func() error
	names  []string
	arrays map[string]*array
}

// array is one .npy file, alone or in an archive.
type array struct {
	info    weights.Info
	fortran bool
	store   io.ReaderAt // of the elements
	unread  string      // why it is not read; "": it is
}

// Open opens a file and checks the headers of its arrays.
func Open(path string) (*File, error) {
	f, size, err := weights.OpenFile("numpy", path)
	if err != nil {
		return nil, err
	}
	out, err := Parse(path, f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	out.close = f.Close
	return out, nil
}

const magic = "\x93NUMPY"

// Parse reads the headers of a file of size bytes that lies in src; path names it in errors, and the array of an .npy file.
func Parse(path string, src io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, arrays: map[string]*array{}}
	var head [4]byte
	if n, err := src.ReadAt(head[:], 0); n < 4 {
		return nil, f.fail("", fmt.Sprintf("truncated: %d bytes", size), err)
	}
	if string(head[:2]) == "PK" {
		return f, f.archive(src, size)
	}
	a, at, err := parse(io.NewSectionReader(src, 0, size), size)
	if err != nil {
		return nil, f.fail("", "bad array", err)
	}
	a.store = io.NewSectionReader(src, at, a.info.Bytes)
	f.add(strings.TrimSuffix(filepath.Base(path), ".npy"), a)
	return f, nil
}

func (f *File) fail(place, cause string, err error) error {
	return &weights.Error{Format: "numpy", Path: f.path, Place: place, Cause: cause, Err: err}
}

func (f *File) add(name string, a *array) {
	f.names = append(f.names, name)
	f.arrays[name] = a
}

// Compressed arrays of a file may take so many bytes when they are unpacked, or so many times those of the file: a few megabytes of zeros are
// gigabytes else.
const (
	mostUnpacked = 1 << 30
	mostRatio    = 100
)

// archive reads the headers of all arrays of an .npz.
func (f *File) archive(src io.ReaderAt, size int64) error {
	entries, err := zipfile.Entries(src, size)
	if err != nil {
		return f.fail("", "bad zip file", err)
	}
	order := slices.Collect(maps.Keys(entries))
	slices.SortFunc(order, func(a, b string) int { return cmp.Compare(entries[a].At, entries[b].At) })
	left := mostUnpacked + mostRatio*min(size, 1<<50)
	for _, entry := range order {
		e := entries[entry]
		place := fmt.Sprintf("entry %.100q", entry)
		name, ok := strings.CutSuffix(entry, ".npy")
		if !ok {
			return f.fail(place, "is no .npy file, which all of an .npz are", nil)
		}
		if e.Method != zip.Store && e.Method != zip.Deflate {
			return f.fail(place, fmt.Sprintf("is compressed by method %d; stored and deflated ones are read", e.Method), nil)
		}
		r, err := e.Reader()
		if err != nil {
			return f.fail(place, "cannot read it", err)
		}
		a, at, err := parse(r, e.Unpacked)
		r.Close()
		if err != nil {
			return f.fail(place, "bad array", err)
		}
		if e.Method == zip.Store {
			a.store = io.NewSectionReader(src, e.At+at, a.info.Bytes)
		} else {
			a.store = &deflated{entry: e, at: at}
			if e.Unpacked > left {
				a.unread = fmt.Sprintf("its %d compressed bytes are %d when they are unpacked, and of a file of %d bytes %d are unpacked at most; save it with numpy.savez",
					e.Size, e.Unpacked, size, mostUnpacked+mostRatio*size)
			}
			left -= min(left, e.Unpacked)
		}
		f.add(name, a)
	}
	return nil
}

// deflated is an entry that is unpacked whole when its first byte is read.
type deflated struct {
	entry zipfile.Entry
	at    int64 // of the elements
	once  sync.Once
	data  []byte
	err   error
}

func (d *deflated) ReadAt(p []byte, at int64) (int, error) {
	d.once.Do(func() { d.data, d.err = d.entry.Unpack() })
	if d.err != nil {
		return 0, d.err
	}
	return bytes.NewReader(d.data[d.at:]).ReadAt(p, at)
}

// maxHeader is more than NumPy reads itself (10,000 characters).
const maxHeader = 1 << 16

// parse reads the header of an .npy of size bytes and says where its elements begin.
func parse(r io.Reader, size int64) (a *array, at int64, err error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return nil, 0, fmt.Errorf("truncated: %w", err)
	}
	if string(head[:6]) != magic {
		return nil, 0, fmt.Errorf("it begins with %q, not with %q", head[:6], magic)
	}
	n, at := int64(binary.LittleEndian.Uint16(head[8:])), int64(10)
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return nil, 0, fmt.Errorf("truncated: %w", err)
		}
		n, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	default:
		return nil, 0, fmt.Errorf("version %d; 1, 2 and 3 are read", head[6])
	}
	if n > maxHeader || n > size-at {
		return nil, 0, fmt.Errorf("a header of %d bytes: at most %d are read, and %d are there", n, maxHeader, size-at)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(r, raw); err != nil {
		return nil, 0, fmt.Errorf("truncated: %w", err)
	}
	at += n
	if a, err = parseHeader(string(raw)); err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	if a.info.Bytes != size-at {
		return nil, 0, fmt.Errorf("%s of shape %v takes %d bytes, and %d are there", a.info.DType, a.info.Shape, a.info.Bytes, size-at)
	}
	return a, at, nil
}

// Path is the name that the file was opened under.
func (f *File) Path() string { return f.path }

// Names lists the arrays. The one of an .npy file has the file's name.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Info is type, shape and size of an array.
func (f *File) Info(name string) (weights.Info, bool) {
	a, ok := f.arrays[name]
	if !ok {
		return weights.Info{}, false
	}
	info := a.info
	info.Shape = slices.Clone(info.Shape)
	return info, true
}

// Data is the array's elements, in row-major order also where the file has them in column-major order. A compressed array, or one in
// another order, is read whole when its first byte is; compressed ones that are far larger than the file are an error.
func (f *File) Data(name string) (io.ReaderAt, error) {
	a, ok := f.arrays[name]
	if !ok {
		return nil, weights.Missing("numpy", f, name)
	}
	if a.unread != "" {
		return nil, f.fail(weights.Tensor(name), a.unread, nil)
	}
	if !a.fortran {
		return a.store, nil
	}
	shape := slices.Clone(a.info.Shape)
	slices.Reverse(shape)
	strides := weights.Strides(shape)
	slices.Reverse(strides)
	view := &weights.Strided{Store: a.store, Bytes: a.info.Bytes, Element: int64(weights.Bits(a.info.DType) / 8), Shape: a.info.Shape, Strides: strides}
	if a.info.Bytes > 0 {
		if err := view.Check(); err != nil {
			return nil, f.fail(weights.Tensor(name), "BUG", err)
		}
	}
	return view.Data(), nil
}

// Metadata is nil: arrays have none.
func (f *File) Metadata() map[string]string { return nil }

// Close closes the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}
