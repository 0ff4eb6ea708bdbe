package llm

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/safetensors"
	need "github.com/weft-ml/weft/tests/require"
)

// small is a model of random weights with names of the hub: heads that do not divide the dim, shared keys, a classifier of its own.
type small struct {
	c      Config
	family string
	values map[string][]float64
	shapes map[string][]int
	order  []string
	packed map[string]packedRows // matrices that GGUF files have packed
}

func newSmall(seed uint64, family string, tied bool) *small {
	return newSized(seed, family, Config{Dim: 24, Hidden: 20, Layers: 2, Heads: 6, KVHeads: 2, Head: 8, Vocab: 30, Length: 40, Eps: 1e-5, RopeBase: 500, Tied: tied})
}

// newSized is a model of some shape.
func newSized(seed uint64, family string, c Config) *small {
	c.Architecture, c.Bias, c.HeadNorm = family, family == "qwen2", family == "qwen3"
	s := &small{c: c, family: family,
		values: map[string][]float64{}, shapes: map[string][]int{}}
	r := rand.New(rand.NewPCG(seed, 1))
	add := func(name string, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(float32(r.NormFloat64() * 0.3))
			if len(shape) == 1 {
				v[i] = float64(float32(1 + 0.2*v[i]))
			}
		}
		s.values[name], s.shapes[name] = v, shape
		s.order = append(s.order, name)
	}
	n := hubNames
	add(n.embed, c.Vocab, c.Dim)
	add(n.norm, c.Dim)
	if !c.Tied {
		add(n.out, c.Vocab, c.Dim)
	}
	for i := range c.Layers {
		at := func(name string) string { return fmt.Sprintf(name, i) }
		add(at(n.attentionNorm), c.Dim)
		add(at(n.ffnNorm), c.Dim)
		add(at(n.q), c.Heads*c.Head, c.Dim)
		add(at(n.k), c.KVHeads*c.Head, c.Dim)
		add(at(n.v), c.KVHeads*c.Head, c.Dim)
		add(at(n.o), c.Dim, c.Heads*c.Head)
		if c.Bias {
			add(biasOf(at(n.q)), c.Heads*c.Head)
			add(biasOf(at(n.k)), c.KVHeads*c.Head)
			add(biasOf(at(n.v)), c.KVHeads*c.Head)
		}
		if c.HeadNorm {
			add(at(n.qNorm), c.Head)
			add(at(n.kNorm), c.Head)
		}
		add(at(n.gate), c.Hidden, c.Dim)
		add(at(n.up), c.Hidden, c.Dim)
		add(at(n.down), c.Dim, c.Hidden)
	}
	return s
}

func (s *small) rms(x []float64, name string) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(sum/float64(len(x))+s.c.Eps) * s.values[name][i]
	}
	return out
}

func (s *small) product(name string, x []float64) []float64 {
	w := s.values[name]
	out := make([]float64, len(w)/len(x))
	for i := range out {
		for k, v := range x {
			out[i] += w[i*len(x)+k] * v
		}
	}
	return out
}

func (s *small) biased(name string, x []float64) []float64 {
	if s.c.Bias {
		for i, b := range s.values[name] {
			x[i] += b
		}
	}
	return x
}

// normed normalises each head.
func (s *small) normed(name string, x []float64) []float64 {
	if !s.c.HeadNorm {
		return x
	}
	var out []float64
	for i := 0; i < len(x); i += s.c.Head {
		out = append(out, s.rms(x[i:i+s.c.Head], name)...)
	}
	return out
}

// turned turns halves of heads by angles, whose frequencies are divided by factors.
func (s *small) turned(x []float64, position int) []float64 {
	half := s.c.Head / 2
	out := make([]float64, len(x))
	for h := 0; h < len(x); h += s.c.Head {
		for i := range half {
			f := math.Pow(s.c.RopeBase, -float64(2*i)/float64(s.c.Head))
			if s.c.RopeFactors != nil {
				f /= s.c.RopeFactors[i]
			}
			sin, cos := math.Sincos(float64(position) * f)
			a, b := x[h+i], x[h+half+i]
			out[h+i], out[h+half+i] = a*cos-b*sin, a*sin+b*cos
		}
	}
	return out
}

// logits are what the model says after each of the tokens, in float64, by its definition.
func (s *small) logits(ids []int) [][]float64 {
	c, n := s.c, hubNames
	xs := make([][]float64, len(ids))
	for i, id := range ids {
		xs[i] = append([]float64{}, s.values[n.embed][id*c.Dim:][:c.Dim]...)
	}
	for l := range c.Layers {
		at := func(name string) string { return fmt.Sprintf(name, l) }
		var keys, values [][]float64
		for p, x := range xs {
			y := s.rms(x, at(n.attentionNorm))
			q := s.turned(s.normed(at(n.qNorm), s.biased(biasOf(at(n.q)), s.product(at(n.q), y))), p)
			keys = append(keys, s.turned(s.normed(at(n.kNorm), s.biased(biasOf(at(n.k)), s.product(at(n.k), y))), p))
			values = append(values, s.biased(biasOf(at(n.v)), s.product(at(n.v), y)))
			mixed := make([]float64, c.Heads*c.Head)
			for h := range c.Heads {
				kv := h / (c.Heads / c.KVHeads) * c.Head
				weights, sum := make([]float64, p+1), 0.0
				for j := range weights {
					for i := range c.Head {
						weights[j] += q[h*c.Head+i] * keys[j][kv+i] / math.Sqrt(float64(c.Head))
					}
					weights[j] = math.Exp(weights[j])
					sum += weights[j]
				}
				for j, w := range weights {
					for i := range c.Head {
						mixed[h*c.Head+i] += w / sum * values[j][kv+i]
					}
				}
			}
			for i, v := range s.product(at(n.o), mixed) {
				x[i] += v
			}
			y = s.rms(x, at(n.ffnNorm))
			gate, up := s.product(at(n.gate), y), s.product(at(n.up), y)
			for i, g := range gate {
				gate[i] = g / (1 + math.Exp(-g)) * up[i]
			}
			for i, v := range s.product(at(n.down), gate) {
				x[i] += v
			}
		}
	}
	var out [][]float64
	for _, x := range xs {
		name := n.out
		if c.Tied {
			name = n.embed
		}
		out = append(out, s.product(name, s.rms(x, n.norm)))
	}
	return out
}

func floatBytes(v []float64) []byte {
	var out []byte
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
	}
	return out
}

// folder writes the model as the hub has it, in two files.
func (s *small) folder(t testing.TB, more string) string {
	dir := t.TempDir()
	c := s.c
	config := fmt.Sprintf(`{"model_type": "%s", "hidden_size": %d, "intermediate_size": %d, "num_hidden_layers": %d, "num_attention_heads": %d,
		"num_key_value_heads": %d, "head_dim": %d, "vocab_size": %d, "max_position_embeddings": %d, "rms_norm_eps": 1e-5, "rope_theta": %v,
		"tie_word_embeddings": %v, "hidden_act": "silu", "eos_token_id": [3, 4]%s}`, s.family, c.Dim, c.Hidden, c.Layers, c.Heads, c.KVHeads, c.Head, c.Vocab, c.Length,
		c.RopeBase, c.Tied, more)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600))
	where := map[string]string{}
	var parts [2][]safetensors.Entry
	for i, name := range s.order {
		shape := make([]int64, len(s.shapes[name]))
		for k, d := range s.shapes[name] {
			shape[k] = int64(d)
		}
		where[name] = fmt.Sprintf("part%d.safetensors", i%2)
		parts[i%2] = append(parts[i%2], safetensors.Entry{Name: name, DType: "F32", Shape: shape, Data: floatBytes(s.values[name])})
	}
	for i, p := range parts {
		require.NoError(t, safetensors.Write(filepath.Join(dir, fmt.Sprintf("part%d.safetensors", i)), p, nil))
	}
	index, err := json.Marshal(map[string]any{"weight_map": where})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), index, 0o600))
	return dir
}

// gguf writes the model as GGUF files have it: rows of queries and keys in the order of neighbours.
func (s *small) gguf(t testing.TB) string {
	c := s.c
	var pairs, infos, data []byte
	text := func(b []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	nPairs := uint64(0)
	pair := func(key string, kind uint32, raw []byte) {
		pairs = append(binary.LittleEndian.AppendUint32(text(pairs, key), kind), raw...)
		nPairs++
	}
	u32 := func(key string, n int) { pair(key, 4, binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	f32 := func(key string, x float64) {
		pair(key, 6, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x))))
	}
	pair("general.architecture", 8, text(nil, s.family))
	u32(s.family+".embedding_length", c.Dim)
	u32(s.family+".feed_forward_length", c.Hidden)
	u32(s.family+".block_count", c.Layers)
	u32(s.family+".attention.head_count", c.Heads)
	u32(s.family+".attention.head_count_kv", c.KVHeads)
	u32(s.family+".attention.key_length", c.Head)
	u32(s.family+".attention.value_length", c.Head)
	u32(s.family+".rope.dimension_count", c.Head)
	u32(s.family+".context_length", c.Length)
	f32(s.family+".rope.freq_base", c.RopeBase)
	f32(s.family+".attention.layer_norm_rms_epsilon", c.Eps)
	u32("tokenizer.ggml.eos_token_id", 5)
	other := map[string]string{}
	add := func(hub, own string) { other[hub] = own }
	add(hubNames.embed, ggufNames.embed)
	add(hubNames.norm, ggufNames.norm)
	add(hubNames.out, ggufNames.out)
	permuted := map[string]int{}
	for i := range c.Layers {
		h, g := hubNames, ggufNames
		for _, n := range [][2]string{{h.attentionNorm, g.attentionNorm}, {h.ffnNorm, g.ffnNorm}, {h.q, g.q}, {h.k, g.k}, {h.v, g.v}, {h.o, g.o}, {h.gate, g.gate},
			{h.up, g.up}, {h.down, g.down}, {biasOf(h.q), biasOf(g.q)}, {biasOf(h.k), biasOf(g.k)}, {biasOf(h.v), biasOf(g.v)}, {h.qNorm, g.qNorm}, {h.kNorm, g.kNorm}} {
			add(fmt.Sprintf(n[0], i), fmt.Sprintf(n[1], i))
		}
		if s.family == "llama" {
			permuted[fmt.Sprintf(h.q, i)], permuted[fmt.Sprintf(h.k, i)] = c.Heads, c.KVHeads
		}
	}
	put := func(name string, shape []int, kind uint32, raw []byte) {
		for len(data)%32 != 0 {
			data = append(data, 0)
		}
		infos = binary.LittleEndian.AppendUint32(text(infos, name), uint32(len(shape)))
		for i := range shape {
			infos = binary.LittleEndian.AppendUint64(infos, uint64(shape[len(shape)-1-i]))
		}
		infos = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(infos, kind), uint64(len(data)))
		data = append(data, raw...)
	}
	n := uint64(len(s.order))
	for _, name := range s.order {
		v := s.values[name]
		if permuted[name] > 0 {
			half, w := c.Head/2, make([]float64, len(v))
			for row := range len(v) / c.Dim {
				h, i := row/c.Head, row%c.Head
				to := h*c.Head + i%half*2 + i/half
				copy(w[to*c.Dim:][:c.Dim], v[row*c.Dim:])
			}
			v = w
		}
		if rows, ok := s.packed[name]; ok {
			put(other[name], s.shapes[name], rows.kind, rows.raw)
			continue
		}
		put(other[name], s.shapes[name], 0, floatBytes(v))
	}
	if c.RopeFactors != nil {
		put("rope_freqs.weight", []int{len(c.RopeFactors)}, 0, floatBytes(c.RopeFactors))
		n++
	}
	out := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	out = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(out, n), nPairs)
	out = append(append(out, pairs...), infos...)
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	require.NoError(t, os.WriteFile(path, append(out, data...), 0o600))
	return path
}

// The definition in float64, a folder of the hub and a GGUF file agree, token by token and in chunks.
func TestLlama(t *testing.T) {
	ids := []int{7, 0, 29, 3, 3, 11, 18, 2, 25, 9, 9, 1}
	llama3 := `, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}`
	for name, c := range map[string]struct {
		tied   bool
		more   string
		family string
	}{"own": {}, "qwen2": {family: "qwen2"}, "qwen3": {family: "qwen3", tied: true}, "tied": {tied: true}, "linear": {more: `, "rope_scaling": {"type": "linear", "factor": 2.5}`}, "llama3": {more: llama3},
		"newer": {more: `, "rope_parameters": {"rope_type": "default", "rope_theta": 500}`}} {
		for _, device := range devices {
			if device != "CPU" && name != "own" && name != "qwen3" {
				continue // what differs is in the weights
			}
			t.Run(name+" "+device, func(t *testing.T) {
				_, err := engine.Use(device)
				need.Device(t, device, err)
				s := newSmall(3, cmp.Or(c.family, "llama"), c.tied)
				dir := s.folder(t, c.more)
				hub, err := Open(ctx, dir, Options{Device: device, Chunk: 5})
				require.NoError(t, err)
				s.c.RopeFactors = hub.Config.RopeFactors
				assert.Equal(t, name == "linear" || name == "llama3", s.c.RopeFactors != nil)
				g, err := Open(ctx, s.gguf(t), Options{Device: device, Chunk: 5})
				require.NoError(t, err)
				assert.Equal(t, []int{3, 4}, hub.Config.EOS)
				assert.Equal(t, []int{5}, g.Config.EOS)
				want := s.logits(ids)
				for _, m := range []*Model{hub, g} {
					session, err := m.NewSession(ctx)
					require.NoError(t, err)
					for i, id := range ids {
						got, err := session.Feed(ctx, id)
						require.NoError(t, err)
						for k, x := range got {
							require.InDelta(t, want[i][k], x, 2e-5, "position %d, logit %d", i, k)
						}
					}
					session.Reset()
					got, err := session.Feed(ctx, ids...)
					require.NoError(t, err)
					for k, x := range got {
						require.InDelta(t, want[len(ids)-1][k], x, 2e-5, "in chunks, logit %d", k)
					}
				}
			})
		}
	}
}

// The factors of llama3: short waves as they are, long ones by the factor.
func TestRopeFactors(t *testing.T) {
	c, err := ParseConfig([]byte(`{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "rope_theta": 500000,
		"rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192}}`))
	require.NoError(t, err)
	f := c.RopeFactors
	require.Len(t, f, 32)
	assert.Equal(t, 1.0, f[0])
	assert.Equal(t, 8.0, f[31])
	for i := 1; i < 32; i++ {
		assert.LessOrEqual(t, f[i-1], f[i])
	}
	// A wave of 4096, half of the original length: (8192/4096 − 1)/3 of the frequency as it is.
	i := math.Log(4096/(2*math.Pi)) / math.Log(500000) * 32
	low, high := f[int(i)], f[int(i)+1]
	want := 1 / (2.0/3/8 + 1.0/3)
	assert.True(t, low <= want && want <= high, "%v, %v, %v", low, want, high)
}

func TestLoadRefuses(t *testing.T) {
	s := newSmall(1, "llama", false)
	for name, c := range map[string]struct{ old, now, want string }{
		"architecture":   {`"llama"`, `"mamba"`, `model_type is "mamba"; gemma, gemma2, gemma3_text, gpt2, llama, mistral, phi, phi3, qwen2, qwen3 and smollm3 are known`},
		"heads":          {`"num_attention_heads": 6`, `"num_attention_heads": 0`, "num_attention_heads is 0"},
		"shared heads":   {`"num_key_value_heads": 2`, `"num_key_value_heads": 4`, "6 heads do not share 4"},
		"no heads":       {`"num_key_value_heads": 2`, `"num_key_value_heads": 0`, "heads of keys is 0"},
		"odd head":       {`"head_dim": 8`, `"head_dim": 7`, "positions turn 7 of the 7 elements"},
		"eps":            {`1e-5`, `0`, "epsilon of the norms is 0"},
		"shape":          {`"hidden_size": 24`, `"hidden_size": 25`, "the file has the shape [30 24], the configuration says [30 25]"},
		"layers":         {`"num_hidden_layers": 2`, `"num_hidden_layers": 3`, `tensor "model.layers.2.input_layernorm.weight": not among`},
		"many layers":    {`"num_hidden_layers": 2`, `"num_hidden_layers": 2000000000`, "layers is 2000000000"},
		"rope":           {`"hidden_act"`, `"rope_scaling": {"rope_type": "yarn"}, "hidden_act"`, `rope type "yarn" is not known; linear, llama3 and longrope are`},
		"rope numbers":   {`"hidden_act"`, `"rope_scaling": {"rope_type": "linear"}, "hidden_act"`, "rope of type linear with the numbers"},
		"activation":     {`"silu"`, `"gelu"`, `hidden_act is "gelu"`},
		"bias":           {`"hidden_act"`, `"attention_bias": true, "hidden_act"`, `tensor "model.layers.0.self_attn.q_proj.bias": not among`},
		"part of a head": {`"hidden_act"`, `"partial_rotary_factor": 0.4, "hidden_act"`, "positions turn 3 of the 8 elements"},
		"rope of a part": {`"hidden_act"`, `"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 1.25}, "hidden_act"`, "partial_rotary_factor is 1.25"},
		"whole head":     {`"hidden_act"`, `"partial_rotary_factor": 1.0, "hidden_act"`, ""},
		"packed":         {`"hidden_act"`, `"quantization_config": {"quant_method": "fp8"}, "hidden_act"`, `quantization_config of method "fp8"`},
		"not packed":     {`"hidden_act"`, `"quantization_config": null, "hidden_act"`, ""},
		"JSON":           {`{"model_type"`, `{"model_type" `, ""},
		"no JSON":        {`{"model_type"`, `{model_type`, "config.json: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := s.folder(t, "")
			path := filepath.Join(dir, "config.json")
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(raw), c.old)
			require.NoError(t, os.WriteFile(path, []byte(replaceOnce(string(raw), c.old, c.now)), 0o600))
			_, err = Open(ctx, dir, Options{Device: "INTERP"})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := Open(ctx, filepath.Join(t.TempDir(), "none"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(ctx, t.TempDir(), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(ctx, s.folder(t, ""), Options{Length: -1})
	require.ErrorContains(t, err, "a length of -1")
	_, err = Open(ctx, need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf"), Options{})
	require.ErrorContains(t, err, "no token_embd.weight of two dims")
}

func replaceOnce(s, old, now string) string {
	for i := range s {
		if len(s)-i >= len(old) && s[i:i+len(old)] == old {
			return s[:i] + now + s[i+len(old):]
		}
	}
	return s
}
