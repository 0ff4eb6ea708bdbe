package llm

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Activation is the function between the matrices of a layer's network.
type Activation int

const (
	SiLU     Activation = iota // x·σ(x)
	GELUTanh                   // x·Φ(x) as tanh approximates it
	GELU                       // x·Φ(x)
	ReLU                       // max(x, 0)
)

// architecture are the facts about a family of models: what it computes, and how files call it. Nothing else in the package asks for a
// family's name.
type architecture struct {
	layerNorm     bool // norms take the mean off and add a bias, otherwise they are RMS norms
	learned       bool // positions are rows that are added to the embeddings, otherwise angles that turn queries and keys
	parallel      bool // the network of a layer reads what its attention reads, otherwise what comes of it
	plain         bool // the network has one matrix before its activation, otherwise a second one that is multiplied with it
	scaled        bool // embeddings are multiplied by √dim
	attentionBias bool // of queries, keys and values
	bias          bool // of all products but the classifier
	outBias       bool // of the classifier
	headNorm      bool // each head of queries and keys is normed before it is turned
	activation    Activation
	global        int // every so many layers one sees all positions, where there is a window; 0: none does
	still         int // every so many layers positions turn nothing; 0: they always do
	halfDims      int // files of so many layers have scores be scaled by 1/√(dim/heads): what GGUF files do not say

	// Of GGUF files.
	gguf       names
	neighbours bool    // positions turn neighbours; in folders always halves of a head
	localBase  float64 // of the positions of layers with a window; 0: as the others

	// Of folders.
	modelType   string // where it is not the family's name
	hub         names
	prefixes    [][2]string       // what names may begin with instead: of which beginning, by which
	inner       int               // the network's size in dims, where config.json says none; 0: it says one
	plusOne     bool              // 1 is added to the weights of norms
	transposed  bool              // matrices of layers are [in, out]
	keys        map[string]string // of config.json: the usual key of another
	usual       string            // what config.json says where it says nothing
	activations map[string]Activation
}

// names are those of the tensors of a format; %d is the layer. A name that is "" is of a tensor that a family does not have. Where there is
// a tensor qkv it is queries, keys and values one after the other; gateUp likewise. A bias has the name of its weight.
type names struct {
	embed, positions, norm, out                            string
	attentionNorm, qkv, q, k, v, o, qNorm, kNorm, postNorm string
	ffnNorm, gateUp, gate, up, down, ffnPostNorm           string
}

// biasOf is the name of a bias beside a weight.
func biasOf(weight string) string { return strings.TrimSuffix(weight, "weight") + "bias" }

func (n names) with(change func(*names)) names {
	change(&n)
	return n
}

var (
	metaNames = names{embed: "tok_embeddings.weight", norm: "norm.weight", out: "output.weight", attentionNorm: "layers.%d.attention_norm.weight",
		q: "layers.%d.attention.wq.weight", k: "layers.%d.attention.wk.weight", v: "layers.%d.attention.wv.weight", o: "layers.%d.attention.wo.weight",
		ffnNorm: "layers.%d.ffn_norm.weight", gate: "layers.%d.feed_forward.w1.weight", up: "layers.%d.feed_forward.w3.weight",
		down: "layers.%d.feed_forward.w2.weight"}
	ggufNames = names{embed: "token_embd.weight", norm: "output_norm.weight", out: "output.weight", attentionNorm: "blk.%d.attn_norm.weight",
		q: "blk.%d.attn_q.weight", k: "blk.%d.attn_k.weight", v: "blk.%d.attn_v.weight", o: "blk.%d.attn_output.weight",
		qNorm: "blk.%d.attn_q_norm.weight", kNorm: "blk.%d.attn_k_norm.weight", ffnNorm: "blk.%d.ffn_norm.weight",
		gate: "blk.%d.ffn_gate.weight", up: "blk.%d.ffn_up.weight", down: "blk.%d.ffn_down.weight"}
	ggufFused  = ggufNames.with(func(n *names) { n.qkv, n.gate = "blk.%d.attn_qkv.weight", "" })
	ggufGPT2   = ggufFused.with(func(n *names) { n.positions = "position_embd.weight" })
	ggufPhi2   = ggufFused.with(func(n *names) { n.ffnNorm = "" })
	ggufPhi3   = ggufFused.with(func(n *names) { n.gateUp, n.up = n.up, "" })
	ggufGemma2 = ggufNames.with(func(n *names) {
		n.postNorm, n.ffnPostNorm = "blk.%d.post_attention_norm.weight", "blk.%d.post_ffw_norm.weight"
	})

	hubNames = names{embed: "model.embed_tokens.weight", norm: "model.norm.weight", out: "lm_head.weight",
		attentionNorm: "model.layers.%d.input_layernorm.weight", q: "model.layers.%d.self_attn.q_proj.weight",
		k: "model.layers.%d.self_attn.k_proj.weight", v: "model.layers.%d.self_attn.v_proj.weight", o: "model.layers.%d.self_attn.o_proj.weight",
		qNorm: "model.layers.%d.self_attn.q_norm.weight", kNorm: "model.layers.%d.self_attn.k_norm.weight",
		ffnNorm: "model.layers.%d.post_attention_layernorm.weight", gate: "model.layers.%d.mlp.gate_proj.weight",
		up: "model.layers.%d.mlp.up_proj.weight", down: "model.layers.%d.mlp.down_proj.weight"}
	hubGPT2 = names{embed: "wte.weight", positions: "wpe.weight", norm: "ln_f.weight", out: "lm_head.weight", attentionNorm: "h.%d.ln_1.weight",
		qkv: "h.%d.attn.c_attn.weight", o: "h.%d.attn.c_proj.weight", ffnNorm: "h.%d.ln_2.weight", up: "h.%d.mlp.c_fc.weight", down: "h.%d.mlp.c_proj.weight"}
	hubPhi = hubNames.with(func(n *names) {
		n.norm, n.o, n.ffnNorm = "model.final_layernorm.weight", "model.layers.%d.self_attn.dense.weight", ""
		n.gate, n.up, n.down = "", "model.layers.%d.mlp.fc1.weight", "model.layers.%d.mlp.fc2.weight"
	})
	hubPhi3 = hubNames.with(func(n *names) {
		n.qkv, n.q, n.k, n.v = "model.layers.%d.self_attn.qkv_proj.weight", "", "", ""
		n.gateUp, n.gate, n.up = "model.layers.%d.mlp.gate_up_proj.weight", "", ""
	})
	hubGemma2 = hubNames.with(func(n *names) {
		n.postNorm, n.ffnNorm = n.ffnNorm, "model.layers.%d.pre_feedforward_layernorm.weight"
		n.ffnPostNorm = "model.layers.%d.post_feedforward_layernorm.weight"
	})
)

// What config.json may call activations. Gemma's first files say gelu and mean the approximation.
var (
	siluOnly  = map[string]Activation{"silu": SiLU, "swish": SiLU}
	anyGELU   = map[string]Activation{"gelu_new": GELUTanh, "gelu_pytorch_tanh": GELUTanh, "gelu_fast": GELUTanh, "gelu": GELU, "relu": ReLU}
	gemmaGELU = map[string]Activation{"gelu_new": GELUTanh, "gelu_pytorch_tanh": GELUTanh, "gelu": GELUTanh}
)

// architectures are the families, by the names that GGUF files give them.
var architectures = map[string]*architecture{
	"llama": {neighbours: true, gguf: ggufNames, hub: hubNames, activations: siluOnly},
	"qwen2": {attentionBias: true, gguf: ggufNames, hub: hubNames, activations: siluOnly},
	"qwen3": {headNorm: true, gguf: ggufNames, hub: hubNames, activations: siluOnly},
	"smollm3": {neighbours: true, still: 4, gguf: ggufNames, hub: hubNames, activations: siluOnly,
		usual: `{"tie_word_embeddings": true, "rope_theta": 2000000}`},
	"gpt2": {layerNorm: true, learned: true, plain: true, bias: true, activation: GELUTanh, gguf: ggufGPT2, hub: hubGPT2,
		prefixes: [][2]string{{"", "transformer."}}, transposed: true, inner: 4, activations: anyGELU, usual: `{"tie_word_embeddings": true}`,
		keys: map[string]string{"n_embd": "hidden_size", "n_inner": "intermediate_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads",
			"n_positions": "max_position_embeddings", "layer_norm_epsilon": "layer_norm_eps", "activation_function": "hidden_act"}},
	"phi2": {modelType: "phi", layerNorm: true, parallel: true, plain: true, bias: true, outBias: true, activation: GELUTanh, gguf: ggufPhi2, hub: hubPhi,
		activations: anyGELU, usual: `{"partial_rotary_factor": 0.5}`},
	"phi3": {gguf: ggufPhi3, hub: hubPhi3, activations: siluOnly},
	"gemma": {scaled: true, activation: GELUTanh, gguf: ggufNames, hub: hubNames, plusOne: true, activations: gemmaGELU,
		usual: `{"tie_word_embeddings": true, "head_dim": 256}`},
	"gemma2": {scaled: true, activation: GELUTanh, global: 2, halfDims: 46, gguf: ggufGemma2, hub: hubGemma2, plusOne: true, activations: gemmaGELU,
		usual: `{"tie_word_embeddings": true, "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 4096, "attn_logit_softcapping": 50,
			"final_logit_softcapping": 30}`},
	"gemma3": {modelType: "gemma3_text", scaled: true, headNorm: true, activation: GELUTanh, global: 6, halfDims: 62, localBase: 10000, gguf: ggufGemma2, hub: hubGemma2,
		prefixes: [][2]string{{"", "language_model."}, {"model.", "model.language_model."}}, plusOne: true, activations: gemmaGELU,
		usual: `{"tie_word_embeddings": true, "vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
			"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072, "rms_norm_eps": 1e-6,
			"rope_theta": 1000000, "rope_local_base_freq": 10000, "query_pre_attn_scalar": 256, "sliding_window": 4096}`},
}

// byHub are the families by the model_type of config.json.
var byHub = func() map[string]string {
	out := map[string]string{"mistral": "llama"} // which differs by its window
	for name, a := range architectures {
		out[cmp.Or(a.modelType, name)] = name
	}
	return out
}()

// Architectures lists the families of models that are known, by the names that GGUF files give them.
func Architectures() []string { return slices.Sorted(maps.Keys(architectures)) }
