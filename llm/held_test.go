package llm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/llm/grammar"
)

// A model that knows stories only writes what a schema wants, likeliest or drawn, as a text and as tokens.
func TestGrammarHolds(t *testing.T) {
	m := stories(t, "CPU", Options{Length: 200})
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	g, err := grammar.Schema([]byte(`{"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0},
		"friends": {"type": "array", "items": {"enum": ["Tom", "Lily", "Ben"]}, "minItems": 1, "maxItems": 3}}, "required": ["name", "age", "friends"]}`))
	require.NoError(t, err)
	different := map[string]bool{}
	for seed := range uint64(8) {
		sampler := &Sampler{Seed: seed}
		if seed > 0 {
			sampler.Temperature = 1
		}
		s.Reset()
		var out strings.Builder
		for text, err := range s.Generate(ctx, "Lily is a girl. ", Generation{Sampler: sampler, Grammar: g}) {
			require.NoError(t, err)
			out.WriteString(text)
		}
		var v struct {
			Name    *string
			Age     *uint64
			Friends []string
		}
		require.NoError(t, json.Unmarshal([]byte(out.String()), &v), out.String())
		require.NotNil(t, v.Name)
		require.NotNil(t, v.Age)
		require.NotEmpty(t, v.Friends)
		assert.Subset(t, []string{"Tom", "Lily", "Ben"}, v.Friends)
		assert.Nil(t, sampler.Allow, "the caller's own")
		different[out.String()] = true
	}
	assert.Greater(t, len(different), 3)

	s.Reset()
	var ids []int
	for id, err := range s.Continue(ctx, []int{1}, Generation{Grammar: g}) {
		require.NoError(t, err)
		ids = append(ids, id)
	}
	assert.True(t, json.Valid([]byte(m.Tokenizer.Decode(ids))), m.Tokenizer.Decode(ids))

	// Characters of several bytes come in tokens of one byte each, and are whole where they are allowed only.
	g, err = grammar.GBNF([]byte(`root ::= [αβγ]{3} (" é" | " ü")`))
	require.NoError(t, err)
	for seed := range uint64(4) {
		s.Reset()
		out := ""
		for text, err := range s.Generate(ctx, "Lily", Generation{Sampler: &Sampler{Temperature: 1, Seed: seed}, Grammar: g}) {
			require.NoError(t, err)
			require.True(t, utf8.ValidString(text), "%q", text)
			out += text
		}
		assert.Regexp(t, `^[αβγ]{3} [éü]$`, out)
	}

	m.Tokenizer = nil
	for _, err := range s.Continue(ctx, []int{1}, Generation{Grammar: g}) {
		require.ErrorIs(t, err, errNoTokenizer)
	}
}
