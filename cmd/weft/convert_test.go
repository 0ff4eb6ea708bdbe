package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/safetensors"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/formats"
)

var architectures = filepath.Join("..", "..", "llm", "testdata", "architectures")

// convertFile runs the command.
func convertFile(t *testing.T, args ...string) (code int, out, log string) {
	var o, l strings.Builder
	code = run(t.Context(), append([]string{"convert"}, args...), os.Getenv, &o, &l)
	return code, o.String(), l.String()
}

// recordedModel are the tokens of a recording and what its model says after the last.
func recordedModel(t *testing.T, name string) (ids []int, last []float32) {
	f, err := safetensors.Open(filepath.Join(architectures, name, "expected.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	raw, err := f.Bytes("ids")
	require.NoError(t, err)
	for ; len(raw) > 0; raw = raw[8:] {
		ids = append(ids, int(binary.LittleEndian.Uint64(raw)))
	}
	raw, err = f.Bytes("logits")
	require.NoError(t, err)
	for raw = raw[len(raw)/len(ids)*(len(ids)-1):]; len(raw) > 0; raw = raw[4:] {
		last = append(last, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return ids, last
}

// onlyModel is a recording's folder without what was recorded.
func onlyModel(t *testing.T, name string) string {
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o777))
	for _, f := range []string{"config.json", "model.safetensors"} {
		raw, err := os.ReadFile(filepath.Join(architectures, name, f))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, f), raw, 0o600))
	}
	return dir
}

// lastLogits are what a model says after the last of some tokens.
func lastLogits(t *testing.T, path string, ids []int) []float32 {
	m, err := llm.Open(t.Context(), path, llm.Options{Device: "CPU", Chunk: 7})
	require.NoError(t, err)
	s, err := m.NewSession(t.Context())
	require.NoError(t, err)
	got, err := s.Feed(t.Context(), ids...)
	require.NoError(t, err)
	return got
}

// Each family's folder becomes a GGUF file that says what was recorded, and one in three, or all with WEFT_EACH=1, with 8 bits one that says nearly
// so: packing knows nothing of families.
func TestConvertFolders(t *testing.T) {
	need.Device(t, "CPU", nil)
	all, err := os.ReadDir(architectures)
	require.NoError(t, err)
	for i, e := range all {
		if !e.IsDir() {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			dir, out := onlyModel(t, e.Name()), filepath.Join(t.TempDir(), "m.gguf")
			ids, want := recordedModel(t, e.Name())
			code, _, log := convertFile(t, dir, out, "--to", "f32")
			require.Zero(t, code, log)
			assert.Empty(t, log)
			for i, x := range lastLogits(t, out, ids) {
				require.InDelta(t, want[i], x, 3e-5, "logit %d", i)
			}
			if i%need.Each(3) != 0 {
				t.Log("not with 8 bits; WEFT_EACH=1 does")
				return
			}
			code, _, log = convertFile(t, out, out, "--to", "q8_0") // from and to the same file
			require.Zero(t, code, log)
			sum, square := 0.0, 0.0
			for i, x := range lastLogits(t, out, ids) {
				sum, square = sum+math.Pow(float64(x-want[i]), 2), square+math.Pow(float64(want[i]), 2)
			}
			assert.Less(t, math.Sqrt(sum/square), 0.25) // of random weights, whose errors do not cancel
		})
	}
}

// A folder whose weights are not those of its config.json is refused: what would be written could not be run.
func TestConvertWrongFolder(t *testing.T) {
	for key, want := range map[string]string{"head_dim": "model.layers.0.self_attn.q_proj.weight: its shape is", "num_hidden_layers": "model.layers.2.", "intermediate_size": "the configuration says"} {
		dir, out := onlyModel(t, "mistral"), filepath.Join(t.TempDir(), "m.gguf")
		path := filepath.Join(dir, "config.json")
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var all map[string]any
		require.NoError(t, json.Unmarshal(raw, &all))
		all[key] = map[string]int{"head_dim": 1 << 20, "num_hidden_layers": 3, "intermediate_size": 6}[key]
		raw, err = json.Marshal(all)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		code, _, log := convertFile(t, dir, out)
		assert.Equal(t, exitFailure, code, key)
		assert.Contains(t, log, "its weights are not what config.json says", key)
		assert.Contains(t, log, want, key)
		assert.NoFileExists(t, out)
	}
}

// A tokenizer and a template go along.
func TestConvertTokenizer(t *testing.T) {
	dir, out := onlyModel(t, "gpt2"), filepath.Join(t.TempDir(), "m.gguf")
	for name, text := range map[string]string{
		"tokenizer.json":        `{"added_tokens": [{"id": 3, "content": "<end>", "special": true}], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}`,
		"tokenizer_config.json": `{"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	code, _, log := convertFile(t, dir, out)
	require.Zero(t, code, log)
	m, err := llm.Open(t.Context(), out, llm.Options{Device: "INTERP"})
	require.NoError(t, err)
	require.NotNil(t, m.Tokenizer)
	ids, err := m.Prompt(chat.Input{Messages: []chat.Message{{Role: "user", Content: "aba<end>"}}})
	require.NoError(t, err)
	assert.Equal(t, []int{2, 0, 3}, ids)
	assert.Equal(t, []int{3}, m.Config.EOS)
}

// The printed errors are those of what is in the file, and smaller with more bits; vectors and matrices without whole blocks are not packed.
func TestConvertErrors(t *testing.T) {
	dir := onlyModel(t, "phi3")
	var before float64
	for _, to := range []string{"q4_0", "q5_0", "q8_0", "f16", "f32"} {
		out := filepath.Join(t.TempDir(), "m.gguf")
		code, text, log := convertFile(t, dir, out, "--to", to)
		require.Zero(t, code, log)
		was, err := formats.Open(dir)
		require.NoError(t, err)
		is, err := formats.Open(out)
		require.NoError(t, err)
		a, b := float32s(t, was, "model.layers.1.self_attn.qkv_proj.weight"), float32s(t, is, "blk.1.attn_qkv.weight")
		sum, square := 0.0, 0.0
		for i := range a {
			sum, square = sum+math.Pow(float64(a[i]-b[i]), 2), square+math.Pow(float64(a[i]), 2)
		}
		found := regexp.MustCompile(`blk\.1\.attn_qkv\.weight +\[64 32\] +BF16 → ` + strings.ToUpper(to) + ` .*error ([^,]+), at most`).FindStringSubmatch(text)
		require.NotNil(t, found, text)
		printed, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		assert.InEpsilon(t, 1+math.Sqrt(sum/square), 1+printed, 1e-4)
		if before > 0 {
			assert.Less(t, printed, before)
		}
		before = printed
		if strings.HasPrefix(to, "q") {
			assert.Regexp(t, `blk\.0\.ffn_down\.weight +\[32 40\] +BF16 → F16`, text)
			assert.Regexp(t, `output_norm\.weight +\[32\] +BF16 → F32`, text)
		}
		require.NoError(t, was.Close())
		require.NoError(t, is.Close())
	}
	assert.Zero(t, before)
}

func float32s(t *testing.T, f weights.File, name string) (out []float32) {
	raw, err := weights.Bytes(f, name)
	require.NoError(t, err)
	info, _ := f.Info(name)
	for width := map[string]int{"F32": 4, "F16": 2, "BF16": 2}[info.DType]; len(raw) > 0; raw = raw[width:] {
		switch info.DType {
		case "F32":
			out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		case "BF16":
			out = append(out, math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw))<<16))
		default:
			h := binary.LittleEndian.Uint16(raw)
			x := float32(h&0x3ff|0x400) * float32(math.Pow(2, float64(h>>10&31)-25))
			if h>>10&31 == 0 {
				x = float32(h&0x3ff) * float32(math.Pow(2, -24))
			}
			if h>>15 == 1 {
				x = -x
			}
			out = append(out, x)
		}
	}
	return out
}

// Between safetensors, GGUF and PyTorch, elements that the type holds stay what they are.
func TestConvertFormats(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	in := need.Data(t, "models", "mnist-cnn-weights", "mnist.pt")
	for _, step := range [][3]string{{in, at("a.safetensors"), ""}, {at("a.safetensors"), at("b.gguf"), "f32"}, {at("b.gguf"), at("c.safetensors"), ""}} {
		args := []string{step[0], step[1]}
		if step[2] != "" {
			args = append(args, "--to", step[2])
		}
		code, _, log := convertFile(t, args...)
		require.Zero(t, code, log)
	}
	a, err := formats.Open(in)
	require.NoError(t, err)
	defer a.Close()
	c, err := formats.Open(at("c.safetensors"))
	require.NoError(t, err)
	defer c.Close()
	require.ElementsMatch(t, a.Names(), c.Names())
	for _, name := range a.Names() {
		x, err := weights.Bytes(a, name)
		require.NoError(t, err)
		y, err := weights.Bytes(c, name)
		require.NoError(t, err)
		assert.Equal(t, x, y, name)
	}
	for i, bad := range []struct {
		args []string
		want string
	}{
		{[]string{in, at("x.bin")}, "files that end in .gguf or .safetensors are written"},
		{[]string{in, at("x.safetensors"), "--to", "q4_0"}, `tensors of type "Q4_0" are not written there`},
		{[]string{in, at("x.gguf"), "--to", "q7"}, `tensors of type "Q7" are not written there`},
		{[]string{in, filepath.Join(dir, "none", "x.gguf")}, "check that the folder exists"},
		{[]string{at("none"), at("x.gguf")}, "no such file"},
	} {
		code, _, log := convertFile(t, bad.args...)
		assert.NotZero(t, code, fmt.Sprint(i))
		assert.Contains(t, log, bad.want)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 3)
}

// What a file calls its tensors is printed without what a terminal would obey.
func TestConvertOddNames(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "in.safetensors"), filepath.Join(t.TempDir(), "out.gguf")
	require.NoError(t, safetensors.Write(in, []safetensors.Entry{{Name: "a\x1b[31m\nb", DType: "F32", Shape: []int64{1}, Data: make([]byte, 4)}}, nil))
	code, told, log := convertFile(t, in, out)
	require.Zero(t, code, log)
	assert.Contains(t, told, `a\x1b[31m\nb  [1]`)
}
