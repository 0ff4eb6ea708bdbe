package weights

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxIndex  = 100_000_000 // bytes of an index
	maxShards = 100_000
)

// Shards are several files that hold one model, with an index that says which tensor lies in which: model.safetensors.index.json and the
// like. Tensors of the files that the index does not list are not offered.
type Shards struct {
	path  string
	names []string
	in    map[string]File
	files []File
	meta  map[string]string
}

// OpenShards reads an index and opens the files it names, which lie beside it, with open.
func OpenShards(path string, open func(path string) (File, error)) (*Shards, error) {
	f, size, err := OpenFile("index", path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fail := func(place, cause string, err error) (*Shards, error) {
		return nil, &Error{Format: "index", Path: path, Place: place, Cause: cause, Err: err}
	}
	if size > maxIndex {
		return fail("", fmt.Sprintf("%d bytes, at most %d are read", size, maxIndex), nil)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(f, raw); err != nil {
		return fail("", "cannot read the index", err)
	}
	where, meta, err := parseIndex(raw)
	if err != nil {
		return fail("", "bad index", err)
	}
	s := &Shards{path: path, in: map[string]File{}, meta: meta}
	if err := s.open(where, open); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens the files of an index and finds its tensors in them.
func (s *Shards) open(where map[string]string, open func(path string) (File, error)) error {
	listed := map[string][]string{} // tensors by file
	for name, file := range where {
		listed[file] = append(listed[file], name)
	}
	if len(listed) > maxShards {
		return &Error{Format: "index", Path: s.path, Cause: fmt.Sprintf("%d files, at most %d are opened", len(listed), maxShards)}
	}
	for _, file := range slices.Sorted(maps.Keys(listed)) {
		f, err := open(filepath.Join(filepath.Dir(s.path), file))
		if err != nil {
			return &Error{Format: "index", Path: s.path, Place: fmt.Sprintf("file %.100q", file), Cause: "cannot open it", Err: err}
		}
		s.files = append(s.files, f)
		for _, name := range listed[file] {
			if _, ok := f.Info(name); !ok {
				return &Error{Format: "index", Path: s.path, Place: Tensor(name), Cause: fmt.Sprintf("should lie in %.100q, which does not have it", file)}
			}
		}
		for _, name := range f.Names() {
			if where[name] == file {
				s.in[name] = f
				s.names = append(s.names, name)
			}
		}
	}
	return nil
}

// parseIndex reads {"metadata": {…}, "weight_map": {tensor: file}}.
func parseIndex(raw []byte) (where, meta map[string]string, err error) {
	if !utf8.Valid(raw) {
		return nil, nil, errors.New("it is not valid UTF-8")
	}
	var index struct {
		Metadata map[string]any  `json:"metadata"`
		Map      json.RawMessage `json:"weight_map"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, nil, err
	}
	if index.Map == nil {
		return nil, nil, errors.New("it has no weight_map")
	}
	if where, err = textMap(index.Map); err != nil {
		return nil, nil, fmt.Errorf("weight_map: %w", err)
	}
	for name, file := range where {
		if !filepath.IsLocal(file) || strings.ContainsAny(file, `/\:`) {
			return nil, nil, fmt.Errorf("%s lies in %.100q, which is not the name of a file beside the index", Tensor(name), file)
		}
	}
	for key, v := range index.Metadata {
		if meta == nil {
			meta = map[string]string{}
		}
		meta[key] = fmt.Sprint(v)
	}
	return where, meta, nil
}

// textMap reads an object of texts, in which no key may occur twice.
func textMap(raw []byte) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	out := map[string]string{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		value, err := dec.Token()
		if err != nil {
			return nil, err
		}
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%.100q is no text", key)
		}
		if _, twice := out[key.(string)]; twice {
			return nil, fmt.Errorf("%.100q occurs twice", key)
		}
		out[key.(string)] = text
	}
	return out, nil
}

// Path is that of the index.
func (s *Shards) Path() string { return s.path }

// Names lists the tensors, file by file.
func (s *Shards) Names() []string { return slices.Clone(s.names) }

// Info is type, shape and size of a tensor.
func (s *Shards) Info(name string) (Info, bool) {
	f, ok := s.in[name]
	if !ok {
		return Info{}, false
	}
	return f.Info(name)
}

// Data is the tensor's elements.
func (s *Shards) Data(name string) (io.ReaderAt, error) {
	f, ok := s.in[name]
	if !ok {
		return nil, Missing("index", s, name)
	}
	return f.Data(name)
}

// Metadata are the index's own.
func (s *Shards) Metadata() map[string]string { return maps.Clone(s.meta) }

// Close closes all files.
func (s *Shards) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Missing is the error for a tensor that a file does not have.
func Missing(format string, f File, name string) error {
	return &Error{Format: format, Path: f.Path(), Place: Tensor(name), Cause: fmt.Sprintf("not among the %d tensors of the file", len(f.Names())),
		Err: os.ErrNotExist}
}
