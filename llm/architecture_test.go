package llm

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/safetensors"
	need "github.com/weft-ml/weft/tests/require"
)

// recordings are small models of the families and what they say, recorded by testdata/architectures/record.py.
var recordings = []string{"gpt2", "phi2", "phi3", "phi3-long", "gemma", "gemma2", "gemma3", "smollm2", "smollm3", "llama-bias", "mistral"}

// recordedLogits are the tokens of a recording and the logits after each.
func recordedLogits(t testing.TB, name string) (ids []int, logits [][]float32) {
	f, err := safetensors.Open(filepath.Join("testdata", "architectures", name, "expected.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	raw, err := f.Bytes("ids")
	require.NoError(t, err)
	for ; len(raw) > 0; raw = raw[8:] {
		ids = append(ids, int(binary.LittleEndian.Uint64(raw)))
	}
	raw, err = f.Bytes("logits")
	require.NoError(t, err)
	vocab := len(raw) / 4 / len(ids)
	for range ids {
		row := make([]float32, vocab)
		for i := range row {
			row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		logits, raw = append(logits, row), raw[4*vocab:]
	}
	return ids, logits
}

// copied is a recording's folder with only its model, which a test may change.
func copied(t testing.TB, name string) string {
	dir := t.TempDir()
	for _, f := range []string{"config.json", "model.safetensors"} {
		raw, err := os.ReadFile(filepath.Join("testdata", "architectures", name, f))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), raw, 0o600))
	}
	return dir
}

// says compares what a model says with a recording, token by token, and in chunks.
func says(t *testing.T, m *Model, ids []int, want [][]float32, within float64) {
	t.Helper()
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	same := func(at int, got []float32) {
		t.Helper()
		require.Len(t, got, len(want[at]))
		for k, x := range got {
			require.InDelta(t, want[at][k], x, within, "position %d, logit %d", at, k)
		}
	}
	for i, id := range ids {
		got, err := s.Feed(ctx, id)
		require.NoError(t, err)
		same(i, got)
	}
	for _, n := range []int{len(ids), 11} {
		s.Reset()
		got, err := s.Feed(ctx, ids[:n]...)
		require.NoError(t, err)
		same(n-1, got)
	}
}

// Every family says what the library says that its models are made with.
func TestArchitectures(t *testing.T) {
	for _, name := range recordings {
		for _, device := range devices {
			if device != "CPU" && name != "gpt2" && name != "gemma3" {
				continue // what devices differ in is in these
			}
			t.Run(name+" "+device, func(t *testing.T) {
				_, err := engine.Use(device)
				need.Device(t, device, err)
				ids, want := recordedLogits(t, name)
				m, err := Open(ctx, copied(t, name), Options{Device: device, Chunk: 7})
				require.NoError(t, err)
				assert.Contains(t, Architectures(), m.Config.Architecture)
				says(t, m, ids, want, 3e-5)
			})
		}
	}
}

// A folder may say things as older files do, leave out what is usual, and name tensors with other beginnings.
func TestOlderConfigs(t *testing.T) {
	_, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	for name, c := range map[string]struct {
		of    string
		more  map[string]any // nil: not there
		names func(string) string
	}{
		"gpt2 of the hub": {of: "gpt2", more: map[string]any{"tie_word_embeddings": nil, "n_inner": nil},
			names: func(s string) string { return s[len("transformer."):] }},
		"phi": {of: "phi2", more: map[string]any{"rope_parameters": nil, "rope_theta": 10000.0, "partial_rotary_factor": 0.5}},
		"phi3": {of: "phi3-long", more: map[string]any{"rope_parameters": nil, "rope_scaling": map[string]any{"type": "longrope",
			"short_factor": []float64{1, 1.5, 2, 2.5}, "long_factor": []float64{1, 4, 8, 16}}}},
		"gemma": {of: "gemma", more: map[string]any{"hidden_act": "gelu", "hidden_activation": nil, "tie_word_embeddings": nil, "rope_parameters": nil,
			"rope_theta": 10000.0}},
		"gemma2": {of: "gemma2", more: map[string]any{"layer_types": nil, "tie_word_embeddings": nil, "rope_parameters": nil}},
		"gemma3": {of: "gemma3", more: map[string]any{"layer_types": nil, "sliding_window_pattern": 6, "rope_parameters": nil, "rope_theta": 1e6,
			"rope_local_base_freq": 1e4, "rope_scaling": map[string]any{"rope_type": "linear", "factor": 8.0}}},
		"gemma3 that sees": {of: "gemma3", more: map[string]any{"": "gemma3"},
			names: func(s string) string { return "language_model." + s }},
		"gemma3 that sees, newer": {of: "gemma3", more: map[string]any{"": "gemma3"},
			names: func(s string) string { return "model.language_model." + s[len("model."):] }},
		"smollm3": {of: "smollm3", more: map[string]any{"no_rope_layers": nil, "layer_types": nil, "no_rope_layer_interval": nil, "rope_parameters": nil}},
		"mistral": {of: "mistral", more: map[string]any{"layer_types": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, c.of)
			change(t, dir, func(all map[string]any) map[string]any {
				for key, v := range c.more {
					if all[key] = v; v == nil {
						delete(all, key)
					}
				}
				if outer, ok := c.more[""]; ok {
					delete(all, "")
					return map[string]any{"model_type": outer, "text_config": all}
				}
				return all
			})
			if c.names != nil {
				path := filepath.Join(dir, "model.safetensors")
				f, err := safetensors.Open(path)
				require.NoError(t, err)
				var all []safetensors.Entry
				for _, n := range f.Names() {
					info, _ := f.Info(n)
					raw, err := f.Bytes(n)
					require.NoError(t, err)
					all = append(all, safetensors.Entry{Name: c.names(n), DType: info.DType, Shape: info.Shape, Data: raw})
				}
				require.NoError(t, f.Close())
				require.NoError(t, safetensors.Write(path, all, nil))
			}
			ids, want := recordedLogits(t, c.of)
			m, err := Open(ctx, dir, Options{Device: "CPU", Chunk: 7})
			require.NoError(t, err)
			says(t, m, ids, want, 3e-5)
		})
	}
}

// change changes the config.json of a folder.
func change(t testing.TB, dir string, f func(map[string]any) map[string]any) {
	path := filepath.Join(dir, "config.json")
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(raw, &all))
	raw, err = json.Marshal(f(all))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))
}

// What would change the answer and is not known is an error at load.
func TestArchitecturesRefuse(t *testing.T) {
	for _, c := range []struct {
		of, key string
		value   any
		want    string
	}{
		{"gpt2", "scale_attn_by_inverse_layer_idx", true, "scale_attn_by_inverse_layer_idx of true is not known"},
		{"gpt2", "scale_attn_weights", false, "scale_attn_weights of false is not known"},
		{"gpt2", "activation_function", "silu", `hidden_act is "silu"`},
		{"gpt2", "n_positions", 65, "the file has the shape [64 32], the configuration says [65 32]"},
		{"phi2", "qk_layernorm", true, "qk_layernorm of true is not known"},
		{"phi2", "partial_rotary_factor", 0.5, ""},
		{"phi2", "partial_rotary_factor", -1, "partial_rotary_factor is -1"},
		{"phi2", "model_type", "phi2", `model_type is "phi2"`},
		{"phi2", "intermediate_size", nil, "hidden dim is 0"},
		{"phi3-long", "rope_parameters", map[string]any{"rope_type": "longrope", "short_factor": []float64{1}}, "rope of type longrope with the numbers"},
		{"phi3-long", "original_max_position_embeddings", 0, ""}, // it stands in the parameters as well
		{"gemma2", "layer_types", []string{"full_attention"}, "layer_types or no_rope_layers are not of 2 layers"},
		{"gemma2", "layer_types", []string{"full_attention", "chunked_attention"}, `"chunked_attention" of layer 1`},
		{"gemma2", "sliding_window", -4, "sliding_window is -4"},
		{"gemma2", "attn_logit_softcapping", -1, "scores are kept below -1"},
		{"gemma3", "use_bidirectional_attention", true, "use_bidirectional_attention of true"},
		{"gemma3", "num_hidden_layers", 1 << 30, "layers is 1073741824"},
		{"smollm3", "no_rope_layers", []int{1}, "are not of 5 layers"},
		{"smollm2", "no_rope_layers", []int{1, 0}, "no_rope_layers is not known of this family"},
	} {
		t.Run(c.of+" "+c.key, func(t *testing.T) {
			dir := copied(t, c.of)
			change(t, dir, func(all map[string]any) map[string]any {
				if all[c.key] = c.value; c.value == nil {
					delete(all, c.key)
				}
				return all
			})
			_, err := Open(ctx, dir, Options{Device: "INTERP"})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}
