// Package llm runs language models: weights and a configuration in, tokens after tokens out. The families of Llama (Touvron and others, 2023),
// Qwen 2 and 3, Gemma 1 to 3, Phi 2 and 3, GPT-2, SmolLM and Mistral are here, from GGUF files, from safetensors or PyTorch files with their
// config.json, and from checkpoints of llama2.c. What a family is, is a row of a table (architecture.go).
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
	Architecture         string // the family's name, as GGUF files have it
	Dim, Hidden, Layers  int
	Heads, KVHeads, Head int // Head is the size of one
	Vocab, Length        int // Length: positions
	Activation           Activation
	Eps                  float64
	Positions            int       // rows of learned positions; 0: positions are angles
	Rotary               int       // elements of a head that positions turn; the rest stay
	RopeBase             float64   // of the frequencies of positions
	LocalBase            float64   // the same, of layers with a window; 0: RopeBase and RopeFactors
	Neighbours           bool      // positions turn the pairs (2i, 2i+1) of a head, not (i, i+Rotary/2)
	RopeFactors          []float64 // by which the frequencies of positions are divided; nil: 1
	LongFactors          []float64 // the same, of texts that may be longer than Original; nil: RopeFactors
	Original             int
	RopeScale            float64 // of the cosines and sines; 0: 1
	Scale                float64 // of the scores of attention; 0: 1/√Head
	Window               int     // how many positions layers with a window see, with their own; 0: there are none
	Windowed, Still      []bool  // the layers with a window, those whose positions turn nothing; nil: none
	AttentionCap         float64 // scores are kept below it by tanh (Bello and others, 2016); 0: not
	LogitCap             float64 // logits likewise
	Tied                 bool    // the classifier is the token embedding
	Bias                 bool    // queries, keys and values have a bias
	OutputBias           bool    // what attention gives has one
	ForwardBias          bool    // the network has one
	HeadNorm             bool    // each head of queries and keys is normalised before it is turned
	EOS                  []int   // tokens that end a text
}

// from takes what a family has in common.
func (c *Config) from(kind *architecture) {
	c.Activation, c.HeadNorm = kind.activation, kind.headNorm
	c.Bias, c.OutputBias, c.ForwardBias = kind.bias || kind.attentionBias, kind.bias, kind.bias
}

// family are the facts of the model's family. A Config of none is that of Llama.
func (c *Config) family() *architecture {
	if a := architectures[c.Architecture]; a != nil {
		return a
	}
	return architectures["llama"]
}

// windows gives all layers a window but every so manieth.
func (c *Config) windows(every int) {
	if c.Layers < 1 || c.Layers > maxLayers { // told elsewhere
		return
	}
	c.Windowed = make([]bool, c.Layers)
	for i := range c.Windowed {
		c.Windowed[i] = every == 0 || (i+1)%every != 0
	}
}

// stills has every so manieth layer turn nothing.
func (c *Config) stills(every int) {
	if every < 1 || c.Layers < 1 || c.Layers > maxLayers {
		return
	}
	c.Still = make([]bool, c.Layers)
	for i := range c.Still {
		c.Still[i] = (i+1)%every == 0
	}
}

// rows is how many positions the caches have: one more than a text, for what a text that is full writes while others go on.
func (c *Config) rows() int { return c.Length + 1 }

const (
	maxSize   = 1 << 24 // of each number of a Config
	maxLayers = 1 << 12
)

// check says what is wrong with a configuration.
func (c *Config) check() error {
	for _, f := range []struct {
		name        string
		value, most int
	}{{"dim", c.Dim, maxSize}, {"hidden dim", c.Hidden, maxSize}, {"layers", c.Layers, maxLayers}, {"heads", c.Heads, maxSize},
		{"heads of keys", c.KVHeads, maxSize}, {"size of a head", c.Head, maxSize}, {"vocabulary", c.Vocab, maxSize}, {"length", c.Length, maxSize}} {
		if f.value < 1 || f.value > f.most {
			return fmt.Errorf("%s is %d; it must be from 1 to %d", f.name, f.value, f.most)
		}
	}
	learned := c.family().learned
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%d heads do not share %d heads of keys", c.Heads, c.KVHeads)
	case learned && c.Positions < c.Length:
		return fmt.Errorf("%d rows of positions for a length of %d", c.Positions, c.Length)
	case !learned && (c.Rotary < 2 || c.Rotary%2 != 0 || c.Rotary > c.Head):
		return fmt.Errorf("positions turn %d of the %d elements of a head; they turn pairs, so that it is an even number from 2 to the size of a head", c.Rotary, c.Head)
	case !(c.Eps > 0 && c.Eps < 1):
		return fmt.Errorf("epsilon of the norms is %v", c.Eps)
	case !(c.RopeBase >= 1 && c.RopeBase < 1e30) || !(c.LocalBase == 0 || c.LocalBase >= 1 && c.LocalBase < 1e30):
		return fmt.Errorf("base of the positions is %v, of those in windows %v", c.RopeBase, c.LocalBase)
	case !(c.RopeScale >= 0 && c.RopeScale < 1e6) || !(c.Scale >= 0 && c.Scale < 1e6):
		return fmt.Errorf("positions are scaled by %v, scores by %v", c.RopeScale, c.Scale)
	case !(c.AttentionCap >= 0 && c.AttentionCap < 1e30) || !(c.LogitCap >= 0 && c.LogitCap < 1e30):
		return fmt.Errorf("scores are kept below %v, logits below %v", c.AttentionCap, c.LogitCap)
	}
	for _, factors := range [][]float64{c.RopeFactors, c.LongFactors} {
		if factors != nil && len(factors) != c.Rotary/2 {
			return fmt.Errorf("%d factors of frequencies for the %d turned elements of heads", len(factors), c.Rotary)
		}
		for i, f := range factors {
			if !(f > 0 && f < 1e30) {
				return fmt.Errorf("factor %d of the frequencies is %v", i, f)
			}
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

	options     Options
	embed, out  matrix         // [vocab, dim]
	outBias     *tensor.Tensor // [vocab]; nil: none
	positions   *tensor.Tensor // [rows, dim]; nil: they turn heads
	norm        norm           // [dim]
	layers      []layer
	turns, near turns // of all layers; of those with a window where these have others
}

// turns are the cosines and sines of the angles by which positions turn pairs: [rows, rotary/2].
type turns struct{ cosines, sines *tensor.Tensor }

// norm are the weights of a norm, and its bias; nil: none.
type norm struct{ weight, bias *tensor.Tensor }

// layer are the weights of one layer. Products are [out, in].
type layer struct {
	attentionNorm, ffnNorm norm // [dim]
	postNorm, ffnPostNorm  norm // of what attention and the network give
	qkv, o                 product
	qNorm, kNorm           norm    // [head]
	up, down               product // up: with the gate before it, where there is one
	window                 int     // 0: it sees all positions
	still                  bool    // positions turn nothing
}

// product are matrices of the same input, one below the other or each by itself, and their biases.
type product struct {
	parts []matrix
	bias  []*tensor.Tensor // of each part; nil: none
}

// layout is how files call their tensors and store them.
type layout struct {
	names
	prefix     [2]string // of names: what they begin with by the one, by the other
	transposed bool      // matrices of layers are [in, out]
	plusOne    bool      // 1 is added to the weights of norms
}

// load reads the weights of a model, each of which has to have the shape that the configuration says.
func load(ctx context.Context, f weights.File, c Config, n layout, o Options) (*Model, error) {
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
	r := &loader{f: f, device: o.Device, layout: n}
	if g, ok := f.(interface{ Packed() *gguf.File }); ok && !o.Unpacked {
		r.packed = g.Packed()
	}
	if err := m.weights(r, ctx.Err); err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	all := r.loaded
	if !c.family().learned {
		m.turns = c.turns(o.Device, c.RopeBase, c.factors())
		all = append(all, m.turns.cosines, m.turns.sines)
		if m.near = m.turns; c.LocalBase > 0 {
			m.near = c.turns(o.Device, c.LocalBase, nil)
			all = append(all, m.near.cosines, m.near.sines)
		}
	}
	if err := tensor.Realize(ctx, all...); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", f.Path(), err)
	}
	return m, nil
}

// weights are all that the model's family has. Between layers it is asked whether to go on.
func (m *Model) weights(r *loader, stop func() error) error {
	c, n := m.Config, r.layout
	kind := c.family()
	m.embed = r.matrix(n.embed, c.Vocab, c.Dim)
	m.norm = r.norm(n.norm, kind.layerNorm, c.Dim)
	m.out = m.embed
	if !c.Tied {
		m.out = r.matrix(n.out, c.Vocab, c.Dim)
	}
	if kind.outBias {
		m.outBias = r.tensor(biasOf(n.out), c.Vocab)
	}
	if kind.learned {
		m.positions = r.padded(n.positions, c.Positions, c.rows(), c.Dim)
	}
	for i := range c.Layers {
		m.layers = append(m.layers, r.layer(&c, i))
		if r.err == nil {
			r.err = stop()
		}
		if r.err != nil {
			return r.err
		}
	}
	return r.err
}

// factors are those by which frequencies are divided, for texts of the length there is room for.
func (c *Config) factors() []float64 {
	if c.LongFactors != nil && c.Length > c.Original {
		return c.LongFactors
	}
	return c.RopeFactors
}

// turns are the cosines and sines of the angles by which positions turn pairs (Su and others, 2021): [rows, rotary/2].
func (c *Config) turns(device string, base float64, factors []float64) turns {
	half, scale := c.Rotary/2, 1.0
	if c.RopeScale > 0 {
		scale = c.RopeScale
	}
	cos, sin := make([]float32, c.rows()*half), make([]float32, c.rows()*half)
	for i := range half {
		frequency := math.Pow(base, -float64(2*i)/float64(c.Rotary))
		if factors != nil {
			frequency /= factors[i]
		}
		for p := range c.rows() {
			s, k := math.Sincos(float64(p) * frequency)
			cos[p*half+i], sin[p*half+i] = float32(k*scale), float32(s*scale)
		}
	}
	on := func(v []float32) *tensor.Tensor {
		t := tensor.From(v).Reshape(c.rows(), half)
		if device != "" {
			t = t.On(device)
		}
		return t
	}
	return turns{on(cos), on(sin)}
}
