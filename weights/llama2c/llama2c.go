// Package llama2c reads checkpoints of llama2.c (https://github.com/karpathy/llama2.c): the first format, seven numbers and then float32, and
// version 1, with a header of 256 bytes. Tensors have the names that they have in Meta's checkpoints of Llama.
//
// It refuses to know how the model computes. A file is not trusted: it has to have exactly the size that its header says.
//
//	f, err := llama2c.Open("stories260K.bin")
//	defer f.Close()
//	f.Config()                              // Dim 64, Layers 5, …
//	f.Data("layers.0.attention.wq.weight")  // [dim, dim]
package llama2c

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-ml/weft/weights"
)

// Config is what a header says of a model.
type Config struct {
	Dim, Hidden, Layers, Heads, KVHeads, Vocab, Length int
	Shared                                             bool // the classifier is the token embedding
}

// File is an open checkpoint.
type File struct {
	path   string
	src    io.ReaderAt
	close  func() error
	config Config
	names  []string
	infos  map[string]weights.Info
	at     map[string]int64
}

// Open opens a checkpoint and checks its header.
func Open(path string) (*File, error) {
	f, size, err := weights.OpenFile("llama2.c", path)
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

const (
	magic     = 0x616b3432 // "ak42", of versions from 1 on
	maxSize   = 1 << 24    // of a dim
	maxLayers = 1 << 16
)

// Parse reads the header of a checkpoint of size bytes that lies in src; path names it in errors.
func Parse(path string, src io.ReaderAt, size int64) (*File, error) {
	f := &File{path: path, src: src, infos: map[string]weights.Info{}, at: map[string]int64{}}
	fail := func(format string, args ...any) (*File, error) {
		return nil, &weights.Error{Format: "llama2.c", Path: path, Place: "header", Cause: fmt.Sprintf(format, args...)}
	}
	head := make([]byte, 37)
	if n, err := src.ReadAt(head, 0); n < len(head) {
		return fail("truncated: only %d bytes could be read: %v", n, err)
	}
	version, from, begin := uint32(0), 0, int64(28)
	if binary.LittleEndian.Uint32(head) == magic {
		version, from, begin = binary.LittleEndian.Uint32(head[4:]), 8, 256
		if version != 1 {
			return fail("version %d, which is not read; 0 and 1 are (float32)", version)
		}
	}
	var n [7]int32
	if err := binary.Read(bytes.NewReader(head[from:]), binary.LittleEndian, &n); err != nil {
		return fail("%v", err)
	}
	c := &f.config
	c.Shared = n[5] > 0
	if version == 1 {
		c.Shared = head[36] == 1
		if head[36] > 1 {
			return fail("byte 36 says whether the classifier is shared: 0 or 1, not %d", head[36])
		}
	} else if n[5] < 0 {
		n[5] = -max(n[5], -maxSize-1)
	}
	for i, what := range []string{"dim", "hidden dim", "layers", "heads", "heads of keys", "vocabulary", "length"} {
		limit := int32(maxSize)
		if i == 2 {
			limit = maxLayers
		}
		if n[i] < 1 || n[i] > limit {
			return fail("number %d, %s, is %d: not from 1 to %d; not a checkpoint of llama2.c?", i, what, n[i], limit)
		}
	}
	c.Dim, c.Hidden, c.Layers, c.Heads, c.KVHeads, c.Vocab, c.Length = int(n[0]), int(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), int(n[6])
	if c.Dim%c.Heads != 0 || c.Heads%c.KVHeads != 0 || c.Dim/c.Heads%2 != 0 {
		return fail("%d heads of keys do not divide %d heads, or these a dim of %d into even parts", c.KVHeads, c.Heads, c.Dim)
	}
	parts := c.parts(version)
	if want, ok := total(parts); !ok || want+uint64(begin) != uint64(size) {
		return fail("%+v takes %d bytes, and the file has %d", *c, want+uint64(begin), size)
	}
	f.place(parts, begin)
	return f, nil
}

// part is tensors of one kind, one for each layer or one in all, that lie one after the other.
type part struct {
	name  string // with a %d for the layer
	count int
	shape []int64
}

func (c *Config) parts(version uint32) []part {
	dim, hidden, vocab, n := int64(c.Dim), int64(c.Hidden), int64(c.Vocab), c.Layers
	head := dim / int64(c.Heads)
	kv := head * int64(c.KVHeads)
	embedding := part{"tok_embeddings.weight", 1, []int64{vocab, dim}}
	attention := part{"layers.%d.attention_norm.weight", n, []int64{dim}}
	ffn := part{"layers.%d.ffn_norm.weight", n, []int64{dim}}
	last := part{"norm.weight", 1, []int64{dim}}
	products := []part{
		{"layers.%d.attention.wq.weight", n, []int64{dim, dim}},
		{"layers.%d.attention.wk.weight", n, []int64{kv, dim}},
		{"layers.%d.attention.wv.weight", n, []int64{kv, dim}},
		{"layers.%d.attention.wo.weight", n, []int64{dim, dim}},
	}
	forward := []part{
		{"layers.%d.feed_forward.w1.weight", n, []int64{hidden, dim}},
		{"layers.%d.feed_forward.w2.weight", n, []int64{dim, hidden}},
		{"layers.%d.feed_forward.w3.weight", n, []int64{hidden, dim}},
	}
	var out []part
	if version == 1 {
		out = slices.Concat([]part{attention, ffn, last, embedding}, products, forward)
	} else {
		angles := part{"", 2, []int64{int64(c.Length), head / 2}} // computed, not read
		out = slices.Concat([]part{embedding, attention}, products, []part{ffn}, forward, []part{last, angles})
	}
	if !c.Shared {
		out = append(out, part{"output.weight", 1, []int64{vocab, dim}})
	}
	return out
}

// total is the bytes of all parts; ok is false where that overflows.
func total(parts []part) (n uint64, ok bool) {
	for _, p := range parts {
		size := uint64(4 * p.count)
		for _, d := range p.shape {
			hi, lo := bits.Mul64(size, uint64(d))
			if hi != 0 {
				return 0, false
			}
			size = lo
		}
		var carry uint64
		if n, carry = bits.Add64(n, size, 0); carry != 0 || n > 1<<62 {
			return 0, false
		}
	}
	return n, true
}

func (f *File) place(parts []part, at int64) {
	for _, p := range parts {
		size := int64(4)
		for _, d := range p.shape {
			size *= d
		}
		for i := range p.count {
			name := p.name
			if strings.Contains(name, "%d") {
				name = fmt.Sprintf(name, i)
			}
			if p.name != "" {
				f.names = append(f.names, name)
				f.infos[name] = weights.Info{DType: "F32", Shape: p.shape, Bytes: size}
				f.at[name] = at
			}
			at += size
		}
	}
}

// Config is what the header says.
func (f *File) Config() Config { return f.config }

// Path is the name that the file was opened under.
func (f *File) Path() string { return f.path }

// Names lists the tensors in the order of their data.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Info is type, shape and size of a tensor.
func (f *File) Info(name string) (weights.Info, bool) {
	info, ok := f.infos[name]
	info.Shape = slices.Clone(info.Shape)
	return info, ok
}

// Data is the tensor's elements.
func (f *File) Data(name string) (io.ReaderAt, error) {
	at, ok := f.at[name]
	if !ok {
		return nil, weights.Missing("llama2.c", f, name)
	}
	return io.NewSectionReader(f.src, at, f.infos[name].Bytes), nil
}

// Metadata are the numbers of the header.
func (f *File) Metadata() map[string]string {
	c := f.config
	return map[string]string{"dim": fmt.Sprint(c.Dim), "hidden_dim": fmt.Sprint(c.Hidden), "n_layers": fmt.Sprint(c.Layers), "n_heads": fmt.Sprint(c.Heads),
		"n_kv_heads": fmt.Sprint(c.KVHeads), "vocab_size": fmt.Sprint(c.Vocab), "max_seq_len": fmt.Sprint(c.Length), "shared_classifier": fmt.Sprint(c.Shared)}
}

// Close closes the file.
func (f *File) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}
