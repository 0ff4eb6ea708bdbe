package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/formats"
	"github.com/weft-ml/weft/weights/gguf"
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
		return nil, fmt.Errorf("llm: %s: %w", path, err)
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
	return load(ctx, f, Config{Dim: h.Dim, Hidden: h.Hidden, Layers: h.Layers, Heads: h.Heads, KVHeads: h.KVHeads, Head: h.Dim / h.Heads, Vocab: h.Vocab,
		Length: h.Length, Eps: 1e-5, RopeBase: 10000, Neighbours: true, Tied: h.Shared, EOS: []int{1, 2}}, metaNames, o)
}

// families are the architectures by the names that files give them, and how each differs: the order of pairs is that of GGUF files.
var families = map[string]struct{ neighbours, bias, headNorm bool }{"llama": {neighbours: true}, "qwen2": {bias: true}, "qwen3": {headNorm: true}}

func openGGUF(ctx context.Context, path string, o Options) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return FromGGUF(ctx, f, o)
}

// FromGGUF loads a GGUF file with its tokenizer, if it has one. Weights are packed or not as Options.Unpacked says.
func FromGGUF(ctx context.Context, f *gguf.File, o Options) (*Model, error) {
	c, err := ggufConfig(f)
	if err != nil {
		return nil, fmt.Errorf("llm: %s: %w", f.Path(), err)
	}
	var t *tokenizer.Tokenizer
	if f.Has("tokenizer.ggml.model") {
		if t, err = tokenizer.FromGGUF(f); err != nil {
			return nil, err
		}
	}
	m, err := load(ctx, f.Unpacked(), c, ggufNames, o)
	if err == nil {
		m.Tokenizer, m.Talk = t, ggufTalk(f, t)
	}
	return m, err
}

// ggufConfig reads the shape of a model from the metadata of a GGUF file.
func ggufConfig(f *gguf.File) (Config, error) {
	fail := func(err error) (Config, error) { return Config{}, err }
	family, _ := f.Text("general.architecture")
	kind, ok := families[family]
	if !ok {
		return fail(fmt.Errorf("general.architecture is %.64q; llama, qwen2 and qwen3 are known", family))
	}
	var missing error
	number := func(key string, usual int64) int {
		n, ok := f.Int(family + "." + key)
		if !ok {
			n = usual
		}
		if n < 0 && missing == nil {
			missing = fmt.Errorf("%s.%s is missing or negative", family, key)
		}
		return int(min(n, math.MaxInt32))
	}
	c := Config{Dim: number("embedding_length", -1), Hidden: number("feed_forward_length", -1), Layers: number("block_count", -1),
		Heads: number("attention.head_count", -1), Length: number("context_length", -1), Neighbours: kind.neighbours, RopeBase: 10000, Bias: kind.bias, HeadNorm: kind.headNorm}
	c.KVHeads = number("attention.head_count_kv", int64(c.Heads))
	if missing != nil || c.Heads == 0 {
		return fail(errors.Join(missing, errors.New("the configuration is not whole")))
	}
	c.Head = number("attention.key_length", int64(c.Dim/c.Heads))
	if r := number("rope.dimension_count", int64(c.Head)); r != c.Head || number("attention.value_length", int64(c.Head)) != c.Head {
		return fail(fmt.Errorf("positions turn %d of the %d elements of a head, or keys and values differ in size, which is not known", r, c.Head))
	}
	if n, ok := f.Int(family + ".expert_count"); ok && n > 0 {
		return fail(fmt.Errorf("expert_count is %d: mixtures of experts are not known", n))
	}
	if scaling, ok := f.Text(family + ".rope.scaling.type"); ok && scaling != "none" {
		return fail(fmt.Errorf("rope.scaling.type is %.32q, which is not known", scaling))
	}
	c.Eps, _ = f.Float(family + ".attention.layer_norm_rms_epsilon")
	if base, ok := f.Float(family + ".rope.freq_base"); ok {
		c.RopeBase = base
	}
	info, ok := f.Info(ggufNames.embed)
	if !ok || len(info.Shape) != 2 {
		return fail(fmt.Errorf("no %s of two dims", ggufNames.embed))
	}
	c.Vocab = int(min(info.Shape[0], math.MaxInt32))
	if _, own := f.Info(ggufNames.out); !own {
		c.Tied = true
	}
	for _, key := range []string{"eos", "eot"} {
		if id, ok := f.Int("tokenizer.ggml." + key + "_token_id"); ok {
			c.EOS = append(c.EOS, int(id))
		}
	}
	return c, c.ropeFactors(f)
}

// ropeFactors reads the tensor of a GGUF file that stretches positions.
func (c *Config) ropeFactors(f *gguf.File) error {
	const name = "rope_freqs.weight"
	info, ok := f.Info(name)
	if !ok {
		return nil
	}
	if info.DType != "F32" || len(info.Shape) != 1 || info.Shape[0] != int64(c.Head/2) {
		return fmt.Errorf("%s is %s %v, not F32 [%d]", name, info.DType, info.Shape, c.Head/2)
	}
	raw, err := weights.Bytes(f, name)
	if err != nil {
		return err
	}
	for i := 0; i < len(raw); i += 4 {
		bits := uint32(raw[i]) | uint32(raw[i+1])<<8 | uint32(raw[i+2])<<16 | uint32(raw[i+3])<<24
		c.RopeFactors = append(c.RopeFactors, float64(math.Float32frombits(bits)))
	}
	return nil
}

// hubConfig is what of a config.json is read.
type hubConfig struct {
	ModelType   string          `json:"model_type"`
	Dim         int             `json:"hidden_size"`
	Hidden      int             `json:"intermediate_size"`
	Layers      int             `json:"num_hidden_layers"`
	Heads       int             `json:"num_attention_heads"`
	KVHeads     *int            `json:"num_key_value_heads"`
	Head        *int            `json:"head_dim"`
	Vocab       int             `json:"vocab_size"`
	Length      int             `json:"max_position_embeddings"`
	Eps         float64         `json:"rms_norm_eps"`
	Base        *float64        `json:"rope_theta"`
	Scaling     *hubRope        `json:"rope_scaling"`
	Rope        *hubRope        `json:"rope_parameters"`
	Tied        bool            `json:"tie_word_embeddings"`
	Activation  string          `json:"hidden_act"`
	Bias        bool            `json:"attention_bias"`
	ForwardBias bool            `json:"mlp_bias"`
	Sliding     bool            `json:"use_sliding_window"`
	EOS         json.RawMessage `json:"eos_token_id"`
	Part        *float64        `json:"partial_rotary_factor"`
	Packing     *struct {
		Method string `json:"quant_method"`
	} `json:"quantization_config"`
}

type hubRope struct {
	Type     string   `json:"rope_type"`
	OldType  string   `json:"type"`
	Base     *float64 `json:"rope_theta"`
	Part     *float64 `json:"partial_rotary_factor"`
	Factor   float64  `json:"factor"`
	Low      float64  `json:"low_freq_factor"`
	High     float64  `json:"high_freq_factor"`
	Original float64  `json:"original_max_position_embeddings"`
}

// ParseConfig reads a config.json.
func ParseConfig(raw []byte) (Config, error) {
	var h hubConfig
	if err := json.Unmarshal(raw, &h); err != nil {
		return Config{}, fmt.Errorf("llm: config.json: %w", err)
	}
	fail := func(format string, args ...any) (Config, error) {
		return Config{}, fmt.Errorf("llm: config.json: "+format, args...)
	}
	kind, ok := families[h.ModelType]
	switch {
	case !ok:
		return fail("model_type is %.64q; llama, qwen2 and qwen3 are known", h.ModelType)
	case h.Sliding:
		return fail("use_sliding_window is not known")
	case h.Bias || h.ForwardBias:
		return fail("attention_bias and mlp_bias are not known")
	case h.Activation != "" && h.Activation != "silu":
		return fail("hidden_act is %.64q; silu is known", h.Activation)
	case h.Packing != nil: // scales lie beside the weights, which by themselves may look like floats
		return fail("quantization_config of method %.32q is not known; save the model without it, or as a GGUF file", h.Packing.Method)
	case h.Heads < 1:
		return fail("num_attention_heads is %d", h.Heads)
	}
	c := Config{Dim: h.Dim, Hidden: h.Hidden, Layers: h.Layers, Heads: h.Heads, KVHeads: h.Heads, Head: h.Dim / h.Heads, Vocab: h.Vocab, Length: h.Length,
		Eps: h.Eps, RopeBase: 10000, Tied: h.Tied, Bias: kind.bias, HeadNorm: kind.headNorm}
	if h.KVHeads != nil {
		c.KVHeads = *h.KVHeads
	}
	if h.Head != nil {
		c.Head = *h.Head
	}
	if h.Base != nil {
		c.RopeBase = *h.Base
	}
	var err error
	if c.EOS, err = endTokens(h.EOS); err != nil {
		return fail("%w", err)
	}
	for _, r := range []*hubRope{{Part: h.Part}, h.Scaling, h.Rope} {
		if r == nil {
			continue
		}
		if r.Part != nil && *r.Part != 1 {
			return fail("partial_rotary_factor is %v; positions turn whole heads, of which it is 1", *r.Part)
		}
		if r.Base != nil {
			c.RopeBase = *r.Base
		}
		if err := c.stretch(r); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// stretch sets the factors of the frequencies: the same for all ("linear"), or none for the short waves, the factor for the long, and
// between them something between ("llama3").
func (c *Config) stretch(r *hubRope) error {
	kind := r.Type
	if kind == "" {
		kind = r.OldType
	}
	if kind == "" || kind == "default" {
		return nil
	}
	if kind != "linear" && kind != "llama3" {
		return fmt.Errorf("llm: config.json: rope type %.32q is not known; linear and llama3 are", kind)
	}
	if !(r.Factor > 0) || kind == "llama3" && !(r.Low > 0 && r.High > r.Low && r.Original > 0) || c.Head < 2 || c.Head > maxSize {
		return fmt.Errorf("llm: config.json: rope of type %s with the numbers %+v", kind, *r)
	}
	c.RopeFactors = make([]float64, c.Head/2)
	for i := range c.RopeFactors {
		c.RopeFactors[i] = r.Factor
		if kind == "linear" {
			continue
		}
		wave := 2 * math.Pi * math.Pow(c.RopeBase, float64(2*i)/float64(c.Head))
		share := (r.Original/wave - r.Low) / (r.High - r.Low) // of the frequency as it is
		share = max(0, min(1, share))
		c.RopeFactors[i] = 1 / ((1-share)/r.Factor + share)
	}
	return nil
}

// folder is the files beside a model's weights.
type folder struct {
	path string
	read func(name string) ([]byte, error) // nil where there is none
}

func (f folder) at(name string) string { return filepath.Join(f.path, name) }

func openFolder(ctx context.Context, path string, o Options) (*Model, error) {
	f := folder{path, func(name string) ([]byte, error) { return beside(filepath.Join(path, name)) }}
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
		return nil, fmt.Errorf("llm: %s: %w", f.at("config.json"), fs.ErrNotExist)
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
	m, err := load(ctx, w, c, hubNames, o)
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
