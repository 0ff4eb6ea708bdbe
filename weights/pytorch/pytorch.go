// Package pytorch reads the tensors of files that torch.save wrote: .pt, .pth, .bin, both the zip format (since version 1.6) and the
// one before. Such files are pickles: programs for a machine that builds Python objects. Only the part of that machine that tensors in
// dicts and lists need is here, and it builds values of its own: nothing is executed, no name is looked up, and a program that asks for any other
// function or class is refused with the name of it. A tensor of a kind that is not read is an error when it is asked for; the others are read.
//
// It refuses to know models, devices and Python. A file is not trusted; see package weights.
//
//	f, err := pytorch.Open("model.pt")
//	defer f.Close()
//	f.Names() // "conv1.weight", …; of checkpoints "model_state_dict.conv1.weight"
package pytorch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/zipfile"
)

// File is an open file.
type File struct {
	path   string
	close  func() error
	names  []string
	infos  map[string]weights.Info
	views  map[string]*weights.Strided
	unread map[string]string // why tensors cannot be read that are in the file all right
	meta   map[string]string
	stores map[string]store
}

// store is where the bytes of a storage lie.
type store struct {
	data io.ReaderAt
	size int64
}

// Open opens a file and finds its tensors.
func Open(path string) (*File, error) {
	f, size, err := weights.OpenFile("pytorch", path)
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

// maxPickle is the most bytes of a pickle that are read: they hold names and shapes, not data.
const maxPickle = 256 << 20

// Parse finds the tensors of a file of size bytes that lies in src; path names it in errors.
func Parse(path string, src io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, infos: map[string]weights.Info{}, views: map[string]*weights.Strided{}, unread: map[string]string{}, stores: map[string]store{}}
	var head [4]byte
	n, err := src.ReadAt(head[:], 0)
	switch {
	case n < 4 || size < 4:
		return nil, f.fail("", fmt.Sprintf("truncated: %d bytes", size), err)
	case string(head[:]) == "PK\x03\x04" || string(head[:]) == "PK\x05\x06":
		err = f.zipped(src, size)
	case head[0] == 0x80:
		err = f.legacy(src, size)
	default:
		err = f.fail("", "is neither a zip file nor a pickle: not written by torch.save, or before version 0.1.10", nil)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) fail(place, cause string, err error) error {
	return &weights.Error{Format: "pytorch", Path: f.path, Place: place, Cause: cause, Err: err}
}

// zipped reads the zip format: NAME/data.pkl and NAME/data/KEY for each storage, all stored as they are.
func (f *File) zipped(src io.ReaderAt, size int64) error {
	entries, err := zipfile.Entries(src, size)
	if err != nil {
		return f.fail("", "bad zip file", err)
	}
	var root string
	found := 0
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if dir, file := path.Split(name); file == "data.pkl" {
			root = dir
			found++
		}
	}
	if found != 1 {
		return f.fail("", fmt.Sprintf("%d entries named data.pkl; torch.save writes one (a script of torch.jit or a package is not read)", found), nil)
	}
	if _, ok := entries[root+"constants.pkl"]; ok {
		return f.fail(root+"constants.pkl", "a model of torch.jit, which is a program; save its state_dict", nil)
	}
	for name, e := range entries {
		if e.Method != zip.Store {
			return f.fail(fmt.Sprintf("entry %.100q", name), fmt.Sprintf("is compressed (method %d); torch.save writes entries as they are", e.Method), nil)
		}
	}
	if e, ok := entries[root+"byteorder"]; ok {
		order, err := zipfile.Stored(src, e, 16)
		if err != nil {
			return f.fail(root+"byteorder", "cannot read it", err)
		}
		if s := string(order); s != "little" {
			return f.fail(root+"byteorder", fmt.Sprintf("is %.16q; only little-endian files are read", s), nil)
		}
	}
	for name, e := range entries {
		if key, ok := strings.CutPrefix(name, root+"data/"); ok {
			f.stores[key] = store{io.NewSectionReader(src, e.At, e.Size), e.Size}
		}
	}
	raw, err := zipfile.Stored(src, entries[root+"data.pkl"], maxPickle)
	if err != nil {
		return f.fail(root+"data.pkl", "cannot read it", err)
	}
	m := &machine{in: raw}
	v, err := m.run()
	if err != nil {
		return f.fail(root+"data.pkl", fmt.Sprintf("at byte %d", m.last), err)
	}
	return f.collect(v, len(raw))
}

// legacy reads the format before the zip: pickles of a magic number, a version, facts of the system, the object, and the keys of the storages,
// then each storage: its number of elements and its bytes.
func (f *File) legacy(src io.ReaderAt, size int64) error {
	raw := make([]byte, min(size, maxPickle))
	if n, err := src.ReadAt(raw, 0); n < len(raw) {
		return f.fail("", "cannot read it", err)
	}
	at := 0
	var parts [5]any
	shared := &machine{} // storages are counted over all parts
	for i, what := range []string{"magic number", "version", "system", "object", "storage keys"} {
		m := &machine{in: raw[at:], legacy: true, widths: shared.widths}
		v, err := m.run()
		if err != nil {
			return f.fail(what, fmt.Sprintf("at byte %d", at+m.last), err)
		}
		shared.widths = m.widths
		parts[i] = v
		at += m.at
		if i == 0 {
			if n, ok := v.(integer); !ok || n != legacyMagic {
				return f.fail(what, "is not that of torch.save; a plain pickle is not read", nil)
			}
		}
		if n, ok := v.(int64); i == 1 && (!ok || n != 1001) {
			return f.fail(what, "is not 1001", nil)
		}
	}
	if d, ok := parts[2].(*dict); ok {
		if little, ok := d.get("little_endian"); ok && little != true {
			return f.fail("system", "only little-endian files are read", nil)
		}
	}
	keys, ok := parts[4].(*list)
	if !ok {
		return f.fail("storage keys", "are no list", nil)
	}
	place := int64(at)
	for _, k := range keys.items {
		key, ok := k.(string)
		width := shared.widths[key]
		if !ok || width == 0 {
			return f.fail("storage keys", fmt.Sprintf("%.100q is the key of no storage", key), nil)
		}
		if _, twice := f.stores[key]; twice {
			return f.fail("storage keys", fmt.Sprintf("%.100q occurs twice", key), nil)
		}
		var word [8]byte
		if n, err := src.ReadAt(word[:], place); n < len(word) {
			return f.fail(fmt.Sprintf("storage %.100q", key), fmt.Sprintf("truncated at byte %d", place), err)
		}
		count := binary.LittleEndian.Uint64(word[:])
		place += 8
		if count > uint64(size-place)/uint64(width) {
			return f.fail(fmt.Sprintf("storage %.100q", key), fmt.Sprintf("truncated: %d elements of %d bytes at byte %d of %d", count, width, place, size), nil)
		}
		n := int64(count) * width
		f.stores[key] = store{io.NewSectionReader(src, place, n), n}
		place += n
	}
	return f.collect(parts[3], at)
}

// Path is the name that the file was opened under.
func (f *File) Path() string { return f.path }

// Names lists the tensors in the order of the file's dicts and lists.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Info is type, shape and size of a tensor; one that cannot be read has no size, and the type may be PyTorch's name of it.
func (f *File) Info(name string) (weights.Info, bool) {
	info, ok := f.infos[name]
	info.Shape = slices.Clone(info.Shape)
	return info, ok
}

// Data is the tensor's elements. What is no plain tensor (quantised, sparse, without elements, …) is an error here and not before. The elements
// of one that is not contiguous are put in order when the first is read.
func (f *File) Data(name string) (io.ReaderAt, error) {
	if why, ok := f.unread[name]; ok {
		return nil, f.fail(weights.Tensor(name), why, nil)
	}
	v, ok := f.views[name]
	if !ok {
		return nil, weights.Missing("pytorch", f, name)
	}
	if v.Store == nil {
		return bytes.NewReader(nil), nil
	}
	return v.Data(), nil
}

// Metadata are the numbers, bools and texts beside the tensors, by the names that tensors at their places would have.
func (f *File) Metadata() map[string]string { return maps.Clone(f.meta) }

// Close closes the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}
