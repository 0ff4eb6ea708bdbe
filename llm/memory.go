package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
	"github.com/weft-ml/weft/weights/llama2c"
)

// FromFiles loads a model of files that are in memory, by their names: a .gguf file; config.json with .safetensors files, and tokenizer.json
// if there is one; or a .bin checkpoint of llama2.c, and its tokenizer.bin. Other files are passed over.
func FromFiles(ctx context.Context, files map[string][]byte, o Options) (*Model, error) {
	names := slices.Sorted(maps.Keys(files))
	kind := func(end string) (out []string) {
		for _, n := range names {
			if strings.HasSuffix(n, end) {
				out = append(out, n)
			}
		}
		return out
	}
	packed, tensors, words := kind(".gguf"), kind(".safetensors"), kind("tokenizer.bin")
	bins := slices.DeleteFunc(kind(".bin"), func(n string) bool { return slices.Contains(words, n) })
	switch {
	case len(packed) == 1:
		f, err := gguf.Parse(packed[0], bytes.NewReader(files[packed[0]]), int64(len(files[packed[0]])))
		if err != nil {
			return nil, err
		}
		return FromGGUF(ctx, f, o)
	case len(tensors) > 0:
		return fromTensors(ctx, files, tensors, o)
	case len(bins) == 1:
		f, err := llama2c.Parse(bins[0], bytes.NewReader(files[bins[0]]), int64(len(files[bins[0]])))
		if err != nil {
			return nil, err
		}
		m, err := FromLlama2c(ctx, f, o)
		if err == nil && len(words) == 1 {
			m.Tokenizer, err = tokenizer.FromLlama2c(words[0], files[words[0]])
		}
		return m, err
	}
	return nil, fmt.Errorf("llm: the files %q are no model: one .gguf, or config.json with .safetensors, or one .bin of llama2.c with tokenizer.bin", names)
}

func fromTensors(ctx context.Context, files map[string][]byte, tensors []string, o Options) (*Model, error) {
	dir := filepath.Dir(tensors[0])
	f := folder{dir, func(name string) ([]byte, error) { return files[filepath.Join(dir, name)], nil }}
	config, _ := f.read("config.json")
	if config == nil {
		return nil, fmt.Errorf("llm: %s: config.json is missing beside it", tensors[0])
	}
	return f.model(ctx, config, func() (weights.File, error) {
		all := &joinedFiles{path: dir, of: map[string]weights.File{}}
		for _, n := range tensors {
			part, err := safetensors.Parse(n, bytes.NewReader(files[n]), int64(len(files[n])))
			if err != nil {
				return nil, err
			}
			for _, name := range part.Names() {
				if all.of[name] != nil {
					return nil, fmt.Errorf("llm: %s: %s is in another file as well", n, weights.Tensor(name))
				}
				all.of[name] = part
			}
		}
		return all, nil
	}, o)
}

// joinedFiles are several files as one.
type joinedFiles struct {
	path string
	of   map[string]weights.File // by the names of tensors
}

func (j *joinedFiles) Path() string                { return j.path }
func (j *joinedFiles) Names() []string             { return slices.Sorted(maps.Keys(j.of)) }
func (j *joinedFiles) Metadata() map[string]string { return nil }
func (j *joinedFiles) Close() error                { return nil }

func (j *joinedFiles) Info(name string) (weights.Info, bool) {
	if f := j.of[name]; f != nil {
		return f.Info(name)
	}
	return weights.Info{}, false
}

func (j *joinedFiles) Data(name string) (io.ReaderAt, error) {
	if f := j.of[name]; f != nil {
		return f.Data(name)
	}
	return nil, errors.New(weights.Tensor(name) + " is in none of the files")
}
