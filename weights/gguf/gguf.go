// Package gguf reads files in the GGUF format, versions 1 to 3: metadata by key, tensors in plain types or packed in blocks of few bits an
// element, described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Unpack turns blocks into float32, exactly as the
// format's own library does.
//
// It refuses to know models, tokenizers and devices. A file is not trusted: nothing is reserved on the word of a count, lists of the metadata
// are read when they are asked for, and whatever is not exactly right is an error that says where and why.
//
//	f, err := gguf.Open("model.gguf")
//	defer f.Close()
//	architecture, _ := f.Text("general.architecture")
//	tokens, err := f.Texts("tokenizer.ggml.tokens")
//	packed := f             // tensors as they are stored: "Q4_K"
//	plain := f.Unpacked()   // the same tensors, blocks as F32
package gguf

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/weft-ml/weft/weights"
)

// File is an open GGUF file. It is a weights.File whose packed tensors are what they are: DType "Q4_K", Bytes those of the blocks.
type File struct {
	path    string
	src     io.ReaderAt
	size    int64
	close   func() error
	version uint32

	keys   []string
	values map[string]value
	names  []string
	infos  map[string]tensor
}

type tensor struct {
	info weights.Info
	form *form
	at   int64 // of its data in the file
}

// Open opens a file and checks its metadata and the places of its tensors.
func Open(path string) (*File, error) {
	f, size, err := weights.OpenFile("gguf", path)
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

// Path is the name that the file was opened under.
func (f *File) Path() string { return f.path }

// Version is that of the format: 1, 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Names lists the tensors in the order of their data.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Info is type, shape and size of a tensor as it is stored. The last dim is the one whose elements are neighbours.
func (f *File) Info(name string) (weights.Info, bool) {
	t, ok := f.infos[name]
	t.info.Shape = slices.Clone(t.info.Shape)
	return t.info, ok
}

// Data is the tensor's elements or blocks.
func (f *File) Data(name string) (io.ReaderAt, error) {
	t, ok := f.infos[name]
	if !ok {
		return nil, weights.Missing("gguf", f, name)
	}
	return io.NewSectionReader(f.src, t.at, t.info.Bytes), nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// Unpacked is the file with packed tensors as F32, which are unpacked as they are read, block by block. Closing it closes the file. A block
// whose scale is infinite or no number is an error where it is read.
func (f *File) Unpacked() weights.File { return unpacked{f} }

type unpacked struct{ *File }

// Packed is the file as it is.
func (u unpacked) Packed() *File { return u.File }

func (u unpacked) Info(name string) (weights.Info, bool) {
	info, ok := u.File.Info(name)
	if form := u.infos[name].form; ok && form.unpack != nil {
		info.DType, info.Bytes = "F32", info.Bytes/int64(form.bytes)*int64(form.block)*4
	}
	return info, ok
}

func (u unpacked) Data(name string) (io.ReaderAt, error) {
	t, ok := u.infos[name]
	if !ok || t.form.unpack == nil {
		return u.File.Data(name)
	}
	return &blocks{file: u.path, name: name, t: t, src: u.src}, nil
}

// blocks reads a packed tensor as F32.
type blocks struct {
	file, name string
	t          tensor
	src        io.ReaderAt
}

// at once: blocks that are read together.
const together = 256

func (b *blocks) ReadAt(p []byte, at int64) (int, error) {
	form := b.t.form
	wide := int64(form.block) * 4 // bytes of an unpacked block
	size := b.t.info.Bytes / int64(form.bytes) * wide
	if at < 0 || at >= size {
		return 0, io.EOF
	}
	packed := make([]byte, min(together, (int64(len(p))+2*wide-1)/wide)*int64(form.bytes))
	plain := make([]float32, len(packed)/form.bytes*form.block)
	done := 0
	for done < len(p) && at < size {
		first := at / wide
		n := min(int64(len(packed)/form.bytes), size/wide-first, (at%wide+int64(len(p)-done)+wide-1)/wide)
		part := packed[:n*int64(form.bytes)]
		if got, err := b.src.ReadAt(part, b.t.at+first*int64(form.bytes)); got < len(part) {
			return done, b.fail(first, "cannot read it", err)
		}
		if bad, why := form.check(part); bad >= 0 {
			return done, b.fail(first+int64(bad), why, nil)
		}
		form.unpackAll(plain, part)
		got := putFloats(p[done:], plain[:n*int64(form.block)], int(at-first*wide))
		done += got
		at += int64(got)
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

func (b *blocks) fail(block int64, cause string, err error) error {
	return &weights.Error{Format: "gguf", Path: b.file, Place: fmt.Sprintf("%s, block %d at byte %d", weights.Tensor(b.name), block,
		b.t.at+block*int64(b.t.form.bytes)), Cause: cause, Err: err}
}

// Keys lists the metadata in the order of the file.
func (f *File) Keys() []string { return slices.Clone(f.keys) }

// Metadata are the metadata in words: lists only as their type and length.
func (f *File) Metadata() map[string]string {
	out := map[string]string{}
	for key, v := range f.values {
		out[key] = v.String()
	}
	return maps.Clone(out)
}
