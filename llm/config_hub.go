package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-ml/weft/weights"
)

// hubConfig is what of a config.json is read.
type hubConfig struct {
	ModelType   string          `json:"model_type"`
	Dim         int             `json:"hidden_size"`
	Hidden      *int            `json:"intermediate_size"`
	Layers      int             `json:"num_hidden_layers"`
	Heads       int             `json:"num_attention_heads"`
	KVHeads     *int            `json:"num_key_value_heads"`
	Head        *int            `json:"head_dim"`
	Vocab       int             `json:"vocab_size"`
	Length      int             `json:"max_position_embeddings"`
	Eps         float64         `json:"rms_norm_eps"`
	LayerEps    float64         `json:"layer_norm_eps"`
	Base        *float64        `json:"rope_theta"`
	LocalBase   float64         `json:"rope_local_base_freq"`
	Scaling     *hubRope        `json:"rope_scaling"`
	Rope        *hubRope        `json:"rope_parameters"`
	Original    float64         `json:"original_max_position_embeddings"`
	Tied        bool            `json:"tie_word_embeddings"`
	Activation  string          `json:"hidden_act"`
	Activation2 string          `json:"hidden_activation"`
	Bias        bool            `json:"attention_bias"`
	ForwardBias bool            `json:"mlp_bias"`
	Windows     *bool           `json:"use_sliding_window"`
	Window      *int            `json:"sliding_window"`
	Pattern     int             `json:"sliding_window_pattern"`
	Kinds       []string        `json:"layer_types"`
	Turned      []int           `json:"no_rope_layers"`
	Still       *int            `json:"no_rope_layer_interval"`
	Scalar      float64         `json:"query_pre_attn_scalar"`
	Cap         float64         `json:"attn_logit_softcapping"`
	LastCap     float64         `json:"final_logit_softcapping"`
	EOS         json.RawMessage `json:"eos_token_id"`
	Part        *float64        `json:"partial_rotary_factor"`
	Text        json.RawMessage `json:"text_config"`
	Packing     *struct {
		Method string `json:"quant_method"`
	} `json:"quantization_config"`
}

type hubRope struct {
	Type      string    `json:"rope_type"`
	OldType   string    `json:"type"`
	Base      *float64  `json:"rope_theta"`
	Part      *float64  `json:"partial_rotary_factor"`
	Factor    float64   `json:"factor"`
	Low       float64   `json:"low_freq_factor"`
	High      float64   `json:"high_freq_factor"`
	Original  float64   `json:"original_max_position_embeddings"`
	Short     []float64 `json:"short_factor"`
	Long      []float64 `json:"long_factor"`
	Attention *float64  `json:"attention_factor"`
	Full      *hubRope  `json:"full_attention"`
	Sliding   *hubRope  `json:"sliding_attention"`
}

// refused are truth values of config.json that change what a model computes, as they must be.
var refused = map[string]bool{"scale_attn_weights": true, "scale_attn_by_inverse_layer_idx": false, "add_cross_attention": false, "qk_layernorm": false,
	"use_bidirectional_attention": false, "use_sliding_window": false}

// ParseConfig reads a config.json.
func ParseConfig(raw []byte) (Config, error) {
	c, err := parseConfig(raw)
	if err != nil {
		return Config{}, fmt.Errorf("llm: config.json: %w", err)
	}
	return c, nil
}

func parseConfig(raw []byte) (c Config, err error) {
	raw, name, err := hubFamily(raw)
	if err != nil {
		return c, err
	}
	kind := architectures[name]
	var h hubConfig
	if kind.usual != "" {
		if err := json.Unmarshal([]byte(kind.usual), &h); err != nil {
			panic("BUG: " + err.Error())
		}
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return c, err
	}
	for from, to := range kind.keys {
		if v, ok := all[from]; ok {
			all[to] = v
		}
	}
	if raw, err = json.Marshal(all); err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return c, err
	}
	for _, key := range slices.Sorted(maps.Keys(refused)) {
		var is bool
		if json.Unmarshal(all[key], &is) == nil && string(all[key]) != "null" && is != refused[key] {
			return c, fmt.Errorf("%s of %v is not known", key, is)
		}
	}
	if h.Activation2 != "" {
		h.Activation = h.Activation2
	}
	activation, ok := kind.activations[h.Activation]
	switch {
	case h.Activation == "":
		activation = kind.activation
	case !ok:
		return c, fmt.Errorf("hidden_act is %.64q; %s is known", h.Activation, spoken(slices.Sorted(maps.Keys(kind.activations))))
	}
	switch {
	case h.Packing != nil: // scales lie beside the weights, which by themselves may look like floats
		return c, fmt.Errorf("quantization_config of method %.32q is not known; save the model without it, or as a GGUF file", h.Packing.Method)
	case h.Heads < 1:
		return c, fmt.Errorf("num_attention_heads is %d", h.Heads)
	case h.Layers < 1 || h.Layers > maxLayers:
		return c, fmt.Errorf("layers is %d; it must be from 1 to %d", h.Layers, maxLayers)
	case kind.bias && (h.Bias || h.ForwardBias): // there are some anyway
		return c, fmt.Errorf("attention_bias and mlp_bias are not known of this family")
	}
	c = Config{Architecture: name, Dim: h.Dim, Hidden: kind.inner * h.Dim, Layers: h.Layers, Heads: h.Heads, KVHeads: h.Heads, Head: h.Dim / h.Heads, Vocab: h.Vocab,
		Length: h.Length, Eps: h.Eps, RopeBase: 10000, Tied: h.Tied, AttentionCap: h.Cap, LogitCap: h.LastCap}
	c.from(kind)
	c.Activation = activation
	c.Bias, c.OutputBias, c.ForwardBias = c.Bias || h.Bias, c.OutputBias || h.Bias, c.ForwardBias || h.ForwardBias
	for to, from := range map[*int]*int{&c.Hidden: h.Hidden, &c.KVHeads: h.KVHeads, &c.Head: h.Head} {
		if from != nil {
			*to = *from
		}
	}
	if kind.layerNorm {
		c.Eps = h.LayerEps
	}
	if h.Scalar > 0 {
		c.Scale = 1 / math.Sqrt(h.Scalar)
	}
	if kind.learned {
		c.Positions = c.Length
	}
	if c.EOS, err = endTokens(h.EOS); err != nil {
		return c, err
	}
	if err := c.hubLayers(&h, kind); err != nil {
		return c, err
	}
	return c, c.hubRopes(&h, kind)
}

// hubFamily gives the part of a config.json that is of a language model, and the name of its family.
func hubFamily(raw []byte) ([]byte, string, error) {
	var h hubConfig
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, "", err
	}
	name, ok := byHub[h.ModelType]
	if !ok && h.Text != nil { // a model that sees and reads, of which what reads is run
		var inner hubConfig
		if json.Unmarshal(h.Text, &inner) == nil {
			if name, ok = byHub[inner.ModelType]; ok {
				return h.Text, name, nil
			}
		}
	}
	if !ok {
		return nil, "", fmt.Errorf("model_type is %.64q; %s are known", h.ModelType, spoken(slices.Sorted(maps.Keys(byHub))))
	}
	return raw, name, nil
}

// hubLayers says which layers have a window, and which turn nothing.
func (c *Config) hubLayers(h *hubConfig, kind *architecture) error {
	if h.Window != nil && (h.Windows == nil || *h.Windows) {
		if c.Window = *h.Window; c.Window < 1 || c.Window > math.MaxInt32 {
			return fmt.Errorf("sliding_window is %d", c.Window)
		}
		every := kind.global
		if h.Pattern > 0 {
			every = h.Pattern
		}
		c.windows(every)
	}
	if h.Kinds != nil && len(h.Kinds) != c.Layers || h.Turned != nil && len(h.Turned) != c.Layers {
		return fmt.Errorf("layer_types or no_rope_layers are not of %d layers", c.Layers)
	}
	for i, k := range h.Kinds {
		switch {
		case k == "full_attention" && c.Windowed != nil:
			c.Windowed[i] = false
		case k == "sliding_attention" && c.Windowed != nil:
			c.Windowed[i] = true
		case k != "full_attention":
			return fmt.Errorf("layer_types has %.32q of layer %d, which is not known here", k, i)
		}
	}
	every := kind.still
	if h.Still != nil && kind.still > 0 {
		every = *h.Still
	}
	c.stills(every)
	for i, turned := range h.Turned {
		if c.Still == nil {
			return fmt.Errorf("no_rope_layers is not known of this family")
		}
		c.Still[i] = turned == 0
	}
	return nil
}

// hubRopes reads how positions turn.
func (c *Config) hubRopes(h *hubConfig, kind *architecture) error {
	if kind.learned {
		return nil
	}
	c.Rotary = c.Head
	if h.Base != nil {
		c.RopeBase = *h.Base
	}
	if c.Window > 0 && kind.localBase > 0 {
		c.LocalBase = h.LocalBase
	}
	ropes := []*hubRope{{Part: h.Part}, h.Scaling, h.Rope}
	if h.Rope != nil {
		ropes = append(ropes, h.Rope.Full)
		if s := h.Rope.Sliding; s != nil {
			if s.Type != "" && s.Type != "default" || s.Base == nil || kind.localBase == 0 {
				return fmt.Errorf("rope_parameters of sliding_attention are not known: %+v", *s)
			}
			c.LocalBase = *s.Base
		}
	}
	for _, r := range ropes {
		if r == nil {
			continue
		}
		if r.Part != nil {
			if !(*r.Part > 0 && *r.Part <= 1) {
				return fmt.Errorf("partial_rotary_factor is %v", *r.Part)
			}
			c.Rotary = int(float64(c.Head) * *r.Part)
		}
		if r.Base != nil {
			c.RopeBase = *r.Base
		}
		if r.Original == 0 {
			r.Original = h.Original
		}
		if err := c.stretch(r); err != nil {
			return err
		}
	}
	return nil
}

// stretch sets the factors of the frequencies: the same for all ("linear"); none for the short waves, the factor for the long, and between
// them something between ("llama3"); or two lists of them, for texts up to the length that a model was first trained on and for longer ones
// (Ding and others, 2024: "longrope").
func (c *Config) stretch(r *hubRope) error {
	kind := r.Type
	if kind == "" {
		kind = r.OldType
	}
	bad := fmt.Errorf("rope of type %s with the numbers %+v", kind, *r)
	if kind != "" && kind != "default" && (c.Rotary < 2 || c.Rotary > maxSize) {
		return bad
	}
	switch kind {
	case "", "default":
		return nil
	case "linear", "llama3":
		if !(r.Factor > 0) || kind == "llama3" && !(r.Low > 0 && r.High > r.Low && r.Original > 0) {
			return bad
		}
	case "longrope", "su":
		if !(r.Original > 1 && r.Original < math.MaxInt32) || len(r.Short) != c.Rotary/2 || len(r.Long) != c.Rotary/2 {
			return bad
		}
		c.RopeFactors, c.LongFactors, c.Original, c.RopeScale = r.Short, r.Long, int(r.Original), 1
		if by := float64(c.Length) / r.Original; by > 1 {
			c.RopeScale = math.Sqrt(1 + math.Log(by)/math.Log(r.Original))
		}
		if r.Attention != nil {
			c.RopeScale = *r.Attention
		}
		return nil
	default:
		return fmt.Errorf("rope type %.32q is not known; linear, llama3 and longrope are", kind)
	}
	c.RopeFactors = repeated(r.Factor, c.Rotary/2)
	if kind == "linear" {
		return nil
	}
	for i := range c.RopeFactors {
		wave := 2 * math.Pi * math.Pow(c.RopeBase, float64(2*i)/float64(c.Rotary))
		share := (r.Original/wave - r.Low) / (r.High - r.Low) // of the frequency as it is
		share = max(0, min(1, share))
		c.RopeFactors[i] = 1 / ((1-share)/r.Factor + share)
	}
	return nil
}

// hubLayout is how the files of a folder call their tensors.
func hubLayout(c Config, f weights.File) layout {
	kind := architectures[c.Architecture]
	l := layout{names: kind.hub, transposed: kind.transposed, plusOne: kind.plusOne}
	if _, ok := f.Info(l.embed); ok {
		return l
	}
	for _, p := range kind.prefixes {
		if rest, ok := strings.CutPrefix(l.embed, p[0]); ok {
			if _, ok := f.Info(p[1] + rest); ok {
				l.prefix = p
			}
		}
	}
	return l
}

// spoken writes a list of names.
func spoken(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
