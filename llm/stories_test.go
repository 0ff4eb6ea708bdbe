package llm

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tokenizer"
)

var ctx = context.Background()

var devices = []string{"CPU", "INTERP", "WASM"}

func recorded(t testing.TB, name string) string {
	raw, err := os.ReadFile(need.Data(t, "models", "stories260k", name))
	require.NoError(t, err)
	return string(raw)
}

func stories(t testing.TB, device string, o Options) *Model {
	_, err := engine.Use(device)
	need.Device(t, device, err)
	o.Device = device
	m, err := Open(ctx, need.Data(t, "models", "stories260k", "stories260K.bin"), o)
	require.NoError(t, err)
	m.Tokenizer, err = tokenizer.FromLlama2c("tok512.bin", []byte(recorded(t, "tok512.bin")))
	require.NoError(t, err)
	return m
}

// The stories model says the recorded text, with the recorded logits at every position, by one plan.
func TestStories(t *testing.T) {
	var ids []int
	for _, f := range strings.Fields(recorded(t, "greedy_tokens.txt")) {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		ids = append(ids, n)
	}
	require.Len(t, ids, 257)
	want := []byte(recorded(t, "greedy_logits.f32"))
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			m := stories(t, device, Options{})
			s, err := m.NewSession(ctx)
			require.NoError(t, err)
			e, err := engine.Use(device)
			require.NoError(t, err)
			compiled := 0
			for i, id := range ids[:256] {
				logits, err := s.Feed(ctx, id)
				require.NoError(t, err)
				require.Len(t, logits, 512)
				near(t, want[i*2048:][:2048], logits, "position %d", i)
				next, err := (&Sampler{}).Next(logits)
				require.NoError(t, err)
				require.Equal(t, ids[i+1], next, "position %d", i)
				if i == 1 {
					compiled = e.Stats().Compiled
				}
			}
			assert.Equal(t, compiled, e.Stats().Compiled, "one plan for all lengths")
			assert.Equal(t, 256, s.Position())
		})
	}
}

// near compares logits with recorded ones; NaN is not near.
func near(t testing.TB, want []byte, got []float32, message string, args ...any) {
	for k, x := range got {
		w := math.Float32frombits(binary.LittleEndian.Uint32(want[4*k:]))
		if !(math.Abs(float64(x-w)) <= 1e-3) {
			require.Failf(t, "not the recorded logits", message+": logit %d is %v, recorded %v", append(args, k, x, w)...)
		}
	}
}

// The text, as a program gets it.
func TestStoriesText(t *testing.T) {
	m := stories(t, "CPU", Options{})
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	want := strings.TrimSuffix(recorded(t, "greedy_text.txt"), "\n")
	var out strings.Builder
	for text, err := range s.Generate(ctx, "", Generation{Tokens: 256}) {
		require.NoError(t, err)
		out.WriteString(text)
	}
	assert.Equal(t, want, strings.TrimSuffix(strings.TrimPrefix(out.String(), " "), "\n"))
}

// A prompt in chunks gives what token by token gives, wherever chunks begin and however much room there is.
func TestChunks(t *testing.T) {
	ids := []int{1, 403, 407, 261, 378, 432, 429, 383, 285, 286, 432, 384, 317, 402, 266, 426, 338, 338, 301, 266}
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			one, err := stories(t, device, Options{Length: 24}).NewSession(ctx)
			require.NoError(t, err)
			var want [][]float32
			for _, id := range ids {
				logits, err := one.Feed(ctx, id)
				require.NoError(t, err)
				want = append(want, logits)
			}
			for _, chunk := range []int{2, 7, 8, 24, 100} {
				if device != "CPU" && chunk != 7 {
					continue
				}
				s, err := stories(t, device, Options{Length: 24, Chunk: chunk}).NewSession(ctx)
				require.NoError(t, err)
				for _, parts := range [][]int{{20}, {1, 19}, {3, 5, 1, 11}, {13, 7}} {
					s.Reset()
					at := 0
					for _, n := range parts {
						got, err := s.Feed(ctx, ids[at:at+n]...)
						require.NoError(t, err)
						at += n
						for k := range got {
							require.InDelta(t, want[at-1][k], got[k], 1e-4, "chunks of %d, %v, at %d, logit %d", chunk, parts, at, k)
						}
					}
				}
			}
		})
	}
}

func TestSessionRefuses(t *testing.T) {
	m := stories(t, "CPU", Options{Length: 4})
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	_, err = s.Feed(ctx)
	assert.ErrorContains(t, err, "no tokens")
	_, err = s.Feed(ctx, 512)
	assert.ErrorContains(t, err, "token 512, of a vocabulary of 512")
	_, err = s.Feed(ctx, -1)
	assert.ErrorContains(t, err, "token -1")
	_, err = s.Feed(ctx, 1, 2, 3, 4, 5)
	assert.ErrorContains(t, err, "5 tokens do not fit: the text has 0, and there is room for 4 in all")
	n := 0
	for _, err := range s.Continue(ctx, []int{1}, Generation{}) {
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, 4, n, "until there is no room")
	assert.Zero(t, s.Room())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	s.Reset()
	_, err = s.Feed(cancelled, 1)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, s.Position())
	m.Tokenizer = nil
	for _, err := range s.Generate(ctx, "x", Generation{}) {
		assert.ErrorContains(t, err, "no tokenizer")
	}
}
