// Package llm runs language models: weights and a configuration in, tokens after tokens out. The architectures of Llama (Touvron and others,
// 2023), Qwen 2 and Qwen 3 are here, from checkpoints of llama2.c, GGUF files, and safetensors or PyTorch files with their config.json.
//
// It knows tensors, files of weights and tokenizers, and refuses to know graphs, kernels and devices. An architecture, or an option of one,
// that is not here is an error at load that names it.
//
//	m, err := llm.Open(ctx, "model.gguf", llm.Options{})
//	s, err := m.NewSession(ctx)
//	for text, err := range s.Generate(ctx, "Once upon a time", llm.Generation{Tokens: 100}) {
//		fmt.Print(text)
//	}
package llm

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// Config is the shape of a model.
type Config struct {
	Dim, Hidden, Layers  int
	Heads, KVHeads, Head int // Head is the size of one
	Vocab, Length        int // Length: positions
	Eps                  float64
	RopeBase             float64
	Neighbours           bool      // positions turn the pairs (2i, 2i+1) of a head, not (i, i+Head/2)
	RopeFactors          []float64 // by which the frequencies of positions are divided; nil: 1
	Tied                 bool      // the classifier is the token embedding
	Bias                 bool      // queries, keys and values have a bias (Qwen 2)
	HeadNorm             bool      // each head of queries and keys is normalised before it is turned (Qwen 3)
	EOS                  []int     // tokens that end a text
}

// rows is how many positions the caches have: one more than a text, for what a text that is full writes while others go on.
func (c *Config) rows() int { return c.Length + 1 }

const maxSize = 1 << 24 // of each number of a Config

// check says what is wrong with a configuration.
func (c *Config) check() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"dim", c.Dim}, {"hidden dim", c.Hidden}, {"layers", c.Layers}, {"heads", c.Heads}, {"heads of keys", c.KVHeads}, {"size of a head", c.Head},
		{"vocabulary", c.Vocab}, {"length", c.Length}} {
		if f.value < 1 || f.value > maxSize {
			return fmt.Errorf("%s is %d; it must be from 1 to %d", f.name, f.value, maxSize)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%d heads do not share %d heads of keys", c.Heads, c.KVHeads)
	case c.Head%2 != 0:
		return fmt.Errorf("a head has the odd size %d, and positions turn pairs", c.Head)
	case !(c.Eps > 0 && c.Eps < 1):
		return fmt.Errorf("epsilon of the norms is %v", c.Eps)
	case !(c.RopeBase >= 1 && c.RopeBase < 1e30):
		return fmt.Errorf("base of the positions is %v", c.RopeBase)
	case c.RopeFactors != nil && len(c.RopeFactors) != c.Head/2:
		return fmt.Errorf("%d factors of frequencies for heads of %d", len(c.RopeFactors), c.Head)
	}
	for i, f := range c.RopeFactors {
		if !(f > 0 && f < 1e30) {
			return fmt.Errorf("factor %d of the frequencies is %v", i, f)
		}
	}
	return nil
}

// Options are the options of Open and New.
type Options struct {
	// Device is where the model lies; "": the default one.
	Device string
	// Length caps the positions that a session has room for; 0: 4096. A model's own length caps it too.
	Length int
	// Unpacked has weights of few bits unpacked to float32 when they are loaded, which takes up to eight times as much memory. Without it
	// products read them as they are stored, where package packed knows how (Q4_0, Q8_0, Q4_K, Q6_K).
	Unpacked bool
	// Chunk is how many tokens of a prompt are read at once; 0: 32.
	Chunk int
}

// Model is a model in memory. Sessions of it may run in several goroutines.
type Model struct {
	Config    Config
	Tokenizer *tokenizer.Tokenizer // nil: the file has none
	Talk      Talk

	options        Options
	embed, out     matrix         // [vocab, dim]
	norm           *tensor.Tensor // [dim]
	layers         []layer
	cosines, sines *tensor.Tensor // [rows, head/2]
}

// layer are the weights of one layer. Products are [out, in].
type layer struct {
	attentionNorm, ffnNorm *tensor.Tensor // [dim]
	q, k, v, o             matrix
	gate, up, down         matrix
	qBias, kBias, vBias    *tensor.Tensor // nil: none
	qNorm, kNorm           *tensor.Tensor // [head]; nil: none
}

// names are those of the tensors of a format; %d is the layer.
type names struct {
	embed, norm, out                                   string
	attentionNorm, q, k, v, o, ffnNorm, gate, up, down string
	qBias, kBias, vBias, qNorm, kNorm                  string
}

var (
	metaNames = names{"tok_embeddings.weight", "norm.weight", "output.weight", "layers.%d.attention_norm.weight", "layers.%d.attention.wq.weight",
		"layers.%d.attention.wk.weight", "layers.%d.attention.wv.weight", "layers.%d.attention.wo.weight", "layers.%d.ffn_norm.weight",
		"layers.%d.feed_forward.w1.weight", "layers.%d.feed_forward.w3.weight", "layers.%d.feed_forward.w2.weight", "", "", "", "", ""}
	ggufNames = names{"token_embd.weight", "output_norm.weight", "output.weight", "blk.%d.attn_norm.weight", "blk.%d.attn_q.weight",
		"blk.%d.attn_k.weight", "blk.%d.attn_v.weight", "blk.%d.attn_output.weight", "blk.%d.ffn_norm.weight",
		"blk.%d.ffn_gate.weight", "blk.%d.ffn_up.weight", "blk.%d.ffn_down.weight",
		"blk.%d.attn_q.bias", "blk.%d.attn_k.bias", "blk.%d.attn_v.bias", "blk.%d.attn_q_norm.weight", "blk.%d.attn_k_norm.weight"}
	hubNames = names{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight", "model.layers.%d.input_layernorm.weight",
		"model.layers.%d.self_attn.q_proj.weight", "model.layers.%d.self_attn.k_proj.weight", "model.layers.%d.self_attn.v_proj.weight",
		"model.layers.%d.self_attn.o_proj.weight", "model.layers.%d.post_attention_layernorm.weight",
		"model.layers.%d.mlp.gate_proj.weight", "model.layers.%d.mlp.up_proj.weight", "model.layers.%d.mlp.down_proj.weight",
		"model.layers.%d.self_attn.q_proj.bias", "model.layers.%d.self_attn.k_proj.bias", "model.layers.%d.self_attn.v_proj.bias",
		"model.layers.%d.self_attn.q_norm.weight", "model.layers.%d.self_attn.k_norm.weight"}
)

// load reads the weights of a model, each of which has to have the shape that the configuration says.
func load(ctx context.Context, f weights.File, c Config, n names, o Options) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", f.Path(), err)
	}
	if o.Length < 0 || o.Chunk < 0 {
		return nil, fmt.Errorf("llm: a length of %d, chunks of %d", o.Length, o.Chunk)
	}
	if o.Length == 0 {
		o.Length = 4096
	}
	if o.Chunk == 0 {
		o.Chunk = 32
	}
	c.Length = min(c.Length, o.Length)
	o.Chunk = min(o.Chunk, c.Length)
	m := &Model{Config: c, options: o}
	r := &loader{f: f, device: o.Device}
	if g, ok := f.(interface{ Packed() *gguf.File }); ok && !o.Unpacked {
		r.packed = g.Packed()
	}
	m.embed = r.matrix(n.embed, c.Vocab, c.Dim)
	m.norm = r.tensor(n.norm, c.Dim)
	m.out = m.embed
	if !c.Tied {
		m.out = r.matrix(n.out, c.Vocab, c.Dim)
	}
	for i := range c.Layers {
		at := func(name string, shape ...int) *tensor.Tensor { return r.tensor(fmt.Sprintf(name, i), shape...) }
		product := func(name string, out, in int) matrix { return r.matrix(fmt.Sprintf(name, i), out, in) }
		l := layer{attentionNorm: at(n.attentionNorm, c.Dim), q: product(n.q, c.Heads*c.Head, c.Dim), k: product(n.k, c.KVHeads*c.Head, c.Dim),
			v: product(n.v, c.KVHeads*c.Head, c.Dim), o: product(n.o, c.Dim, c.Heads*c.Head), ffnNorm: at(n.ffnNorm, c.Dim),
			gate: product(n.gate, c.Hidden, c.Dim), up: product(n.up, c.Hidden, c.Dim), down: product(n.down, c.Dim, c.Hidden)}
		if c.Bias {
			l.qBias, l.kBias, l.vBias = at(n.qBias, c.Heads*c.Head), at(n.kBias, c.KVHeads*c.Head), at(n.vBias, c.KVHeads*c.Head)
		}
		if c.HeadNorm {
			l.qNorm, l.kNorm = at(n.qNorm, c.Head), at(n.kNorm, c.Head)
		}
		m.layers = append(m.layers, l)
		if r.err == nil {
			r.err = ctx.Err()
		}
		if r.err != nil {
			return nil, fmt.Errorf("llm: %w", r.err)
		}
	}
	m.cosines, m.sines = c.positions(o.Device)
	all := append(r.loaded, m.cosines, m.sines)
	if err := tensor.Realize(ctx, all...); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", f.Path(), err)
	}
	return m, nil
}

// positions are the cosines and sines of the angles by which positions turn pairs (Su and others, 2021): [rows, head/2].
func (c *Config) positions(device string) (cosines, sines *tensor.Tensor) {
	half := c.Head / 2
	cos, sin := make([]float32, c.rows()*half), make([]float32, c.rows()*half)
	for i := range half {
		frequency := math.Pow(c.RopeBase, -float64(2*i)/float64(c.Head))
		if c.RopeFactors != nil {
			frequency /= c.RopeFactors[i]
		}
		for p := range c.rows() {
			s, k := math.Sincos(float64(p) * frequency)
			cos[p*half+i], sin[p*half+i] = float32(k), float32(s)
		}
	}
	on := func(v []float32) *tensor.Tensor {
		t := tensor.From(v).Reshape(c.rows(), half)
		if device != "" {
			t = t.On(device)
		}
		return t
	}
	return on(cos), on(sin)
}
