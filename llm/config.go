package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/formats"
	"github.com/weft-ml/weft/weights/llama2c"
)

// Open opens a model: a GGUF file; a folder with config.json and weights, and tokenizer.json if there is one; or a checkpoint of
// llama2.c, whose tokenizer is to be set.
func Open(ctx context.Context, path string, o Options) (*Model, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(ctx, path, o)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	f.Close()
	if err != nil {
		return nil, fmt.Errorf("llm: %s: it is no model: %w", path, err)
	}
	if string(magic[:]) == "GGUF" {
		return openGGUF(ctx, path, o)
	}
	c, err := llama2c.Open(path)
	if err != nil {
		return nil, fmt.Errorf("llm: neither a GGUF file nor a folder with a config.json; and if it were a checkpoint of llama2.c: %w", err)
	}
	defer c.Close()
	return FromLlama2c(ctx, c, o)
}

// FromLlama2c loads a checkpoint of llama2.c. Its tokenizer lies in another file: set Tokenizer to tokenizer.FromLlama2c of that.
func FromLlama2c(ctx context.Context, f *llama2c.File, o Options) (*Model, error) {
	h := f.Config()
	return load(ctx, f, Config{Architecture: "llama", Dim: h.Dim, Hidden: h.Hidden, Layers: h.Layers, Heads: h.Heads, KVHeads: h.KVHeads, Head: h.Dim / h.Heads, Rotary: h.Dim / h.Heads,
		Vocab: h.Vocab, Length: h.Length, Eps: 1e-5, RopeBase: 10000, Neighbours: true, Tied: h.Shared, EOS: []int{1, 2}}, layout{names: metaNames}, o)
}

// folder is the files beside a model's weights.
type folder struct {
	path string
	read func(name string) ([]byte, error) // nil where there is none
}

func diskFolder(path string) folder {
	return folder{path, func(name string) ([]byte, error) { return beside(filepath.Join(path, name)) }}
}

func (f folder) at(name string) string { return filepath.Join(f.path, name) }

func openFolder(ctx context.Context, path string, o Options) (*Model, error) {
	f := diskFolder(path)
	raw, err := f.read("config.json")
	if err != nil {
		return nil, err
	}
	if raw == nil {
		if w, err := formats.Open(path); err == nil { // a folder with one GGUF file
			defer w.Close()
			if name := w.Path(); filepath.Ext(name) == ".gguf" {
				return openGGUF(ctx, name, o)
			}
		}
		return nil, fmt.Errorf("llm: %s: %w; name a GGUF file, or a folder that has one alone", f.at("config.json"), fs.ErrNotExist)
	}
	return f.model(ctx, raw, func() (weights.File, error) { return formats.Open(path) }, o)
}

// model loads a model of a configuration with the weights that open opens.
func (f folder) model(ctx context.Context, config []byte, open func() (weights.File, error), o Options) (*Model, error) {
	c, err := ParseConfig(config)
	if err != nil {
		return nil, err
	}
	if err := c.ends(f); err != nil {
		return nil, err
	}
	w, err := open()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	m, err := load(ctx, w, c, hubLayout(c, w), o)
	if err != nil {
		return nil, err
	}
	raw, err := f.read("tokenizer.json")
	if err != nil {
		return nil, err
	}
	if raw != nil {
		if m.Tokenizer, err = tokenizer.FromJSON(f.at("tokenizer.json"), raw); err != nil {
			return nil, err
		}
	}
	m.Talk, err = hubTalk(f, m.Tokenizer)
	return m, err
}

// ends adds the tokens that generation_config.json has end a text: of models that talk, the end of an answer.
func (c *Config) ends(f folder) error {
	path := f.at("generation_config.json")
	raw, err := f.read("generation_config.json")
	if raw == nil || err != nil {
		return err
	}
	var g struct {
		EOS json.RawMessage `json:"eos_token_id"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return fmt.Errorf("llm: %s: %w", path, err)
	}
	more, err := endTokens(g.EOS)
	if err != nil {
		return fmt.Errorf("llm: %s: %w", path, err)
	}
	for _, id := range more {
		if !slices.Contains(c.EOS, id) {
			c.EOS = append(c.EOS, id)
		}
	}
	return nil
}

// endTokens reads one token or a list of them.
func endTokens(raw json.RawMessage) (out []int, err error) {
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &out) == nil {
		return out, nil
	}
	out = make([]int, 1)
	if err := json.Unmarshal(raw, &out[0]); err != nil {
		return nil, fmt.Errorf("eos_token_id: %w", err)
	}
	return out, nil
}
