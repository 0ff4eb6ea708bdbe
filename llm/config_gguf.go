package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

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
	if tokenizer.InGGUF(f) {
		if t, err = tokenizer.FromGGUF(f); err != nil {
			return nil, err
		}
	}
	c.endsOfTurns(t)
	m, err := load(ctx, f.Unpacked(), c, layout{names: c.family().gguf}, o)
	if err == nil {
		m.Tokenizer, m.Talk = t, ggufTalk(f, t)
	}
	return m, err
}

// ggufConfig reads the shape of a model from the metadata of a GGUF file.
func ggufConfig(f *gguf.File) (Config, error) {
	fail := func(err error) (Config, error) { return Config{}, err }
	family, _ := f.Text("general.architecture")
	kind := architectures[family]
	if kind == nil {
		return fail(fmt.Errorf("general.architecture is %.64q; %s are known", family, spoken(Architectures())))
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
	c := Config{Architecture: family, Dim: number("embedding_length", -1), Hidden: number("feed_forward_length", -1), Layers: number("block_count", -1),
		Heads: number("attention.head_count", -1), Length: number("context_length", -1), RopeBase: 10000}
	c.from(kind)
	c.Neighbours = kind.neighbours
	c.KVHeads = number("attention.head_count_kv", int64(c.Heads))
	if missing != nil || c.Heads == 0 {
		return fail(errors.Join(missing, errors.New("the configuration is not whole")))
	}
	c.Head = number("attention.key_length", int64(c.Dim/c.Heads))
	if number("attention.value_length", int64(c.Head)) != c.Head {
		return fail(errors.New("keys and values differ in size, which is not known"))
	}
	if !kind.learned {
		c.Rotary = number("rope.dimension_count", int64(c.Head))
	}
	if c.Layers == kind.halfDims {
		c.Scale = 1 / math.Sqrt(float64(c.Dim/c.Heads))
	}
	if scale, ok := f.Float(family + ".attention.scale"); ok {
		c.Scale = scale
	}
	if n, ok := f.Int(family + ".expert_count"); ok && n > 0 {
		return fail(fmt.Errorf("expert_count is %d: mixtures of experts are not known", n))
	}
	eps := ".attention.layer_norm_rms_epsilon"
	if kind.layerNorm {
		eps = ".attention.layer_norm_epsilon"
	}
	c.Eps, _ = f.Float(family + eps)
	if base, ok := f.Float(family + ".rope.freq_base"); ok {
		c.RopeBase = base
	}
	c.AttentionCap, _ = f.Float(family + ".attn_logit_softcapping")
	c.LogitCap, _ = f.Float(family + ".final_logit_softcapping")
	if c.Window = number("attention.sliding_window", 0); c.Window > 0 {
		c.windows(kind.global)
		if c.LocalBase = kind.localBase; c.LocalBase > 0 {
			if base, ok := f.Float(family + ".rope.freq_base_swa"); ok {
				c.LocalBase = base
			}
		}
	}
	c.stills(kind.still)
	names := kind.gguf
	for weight, bias := range map[string]*bool{names.q: &c.Bias, names.o: &c.OutputBias, names.up: &c.ForwardBias} {
		if _, ok := f.Info(biasOf(strings.Replace(weight, "%d", "0", 1))); ok {
			*bias = true
		}
	}
	info, ok := f.Info(names.embed)
	if !ok || len(info.Shape) != 2 {
		return fail(fmt.Errorf("no %s of two dims", names.embed))
	}
	c.Vocab = int(min(info.Shape[0], math.MaxInt32))
	if _, own := f.Info(names.out); !own {
		c.Tied = true
	}
	if info, ok = f.Info(names.positions); names.positions != "" && ok && len(info.Shape) == 2 {
		c.Positions = int(min(info.Shape[0], math.MaxInt32))
	}
	for _, key := range []string{"eos", "eot"} {
		if id, ok := f.Int("tokenizer.ggml." + key + "_token_id"); ok {
			c.EOS = append(c.EOS, int(id))
		}
	}
	return c, c.ggufRope(f, family)
}

// turnEnds are the tokens of control that end an answer in the templates of the families. Many GGUF files name only the token that ends a
// text, and the programs that read them know these by their texts.
var turnEnds = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|end_of_text|>", "<|endoftext|>"}

// endsOfTurns adds such tokens to those that end a text.
func (c *Config) endsOfTurns(t *tokenizer.Tokenizer) {
	if t == nil {
		return
	}
	for _, text := range turnEnds {
		if id, ok := t.ID(text); ok && t.Special(id) && !slices.Contains(c.EOS, id) {
			c.EOS = append(c.EOS, id)
		}
	}
}

// ggufRope reads how positions are stretched.
func (c *Config) ggufRope(f *gguf.File, family string) (err error) {
	half := c.Rotary / 2
	if half < 1 || half > maxSize { // told elsewhere
		return nil
	}
	prefix := family + ".rope.scaling."
	switch kind, _ := f.Text(prefix + "type"); kind {
	case "", "none", "longrope":
	case "linear":
		factor, _ := f.Float(prefix + "factor")
		if !(factor > 0) {
			return fmt.Errorf("rope.scaling.factor is %v", factor)
		}
		c.RopeFactors = repeated(factor, half)
	default:
		return fmt.Errorf("rope.scaling.type is %.32q, which is not known", kind)
	}
	for name, to := range map[string]*[]float64{"rope_freqs": &c.RopeFactors, "rope_factors_short": &c.RopeFactors, "rope_factors_long": &c.LongFactors} {
		if _, ok := f.Info(name + ".weight"); !ok {
			continue
		}
		if *to, err = ggufFactors(f, name+".weight", half); err != nil {
			return err
		}
	}
	if c.LongFactors != nil {
		n, _ := f.Int(prefix + "original_context_length")
		c.Original = int(max(0, min(n, math.MaxInt32)))
		c.RopeScale, _ = f.Float(prefix + "attn_factor")
	}
	return nil
}

func repeated(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// ggufFactors reads a tensor that stretches positions.
func ggufFactors(f *gguf.File, name string, n int) (out []float64, err error) {
	info, _ := f.Info(name)
	if info.DType != "F32" || len(info.Shape) != 1 || info.Shape[0] != int64(n) {
		return nil, fmt.Errorf("%s is %s %v, not F32 [%d]", name, info.DType, info.Shape, n)
	}
	raw, err := weights.Bytes(f, name)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(raw); i += 4 {
		bits := uint32(raw[i]) | uint32(raw[i+1])<<8 | uint32(raw[i+2])<<16 | uint32(raw[i+3])<<24
		out = append(out, float64(math.Float32frombits(bits)))
	}
	return out, nil
}
