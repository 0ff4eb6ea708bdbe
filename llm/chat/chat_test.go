package chat

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var now = time.Date(2024, 7, 26, 15, 4, 5, 0, time.UTC)

type recordedCase struct {
	Family, Source, Text, Error string
	Conversation                int
	More                        map[string]json.RawMessage
}

type recording struct {
	Families      map[string]string
	Conversations [][]json.RawMessage
	Cases         []recordedCase
}

func recorded(t testing.TB) (r recording) {
	raw, err := os.ReadFile("testdata/cases.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &r))
	require.Greater(t, len(r.Cases), 200)
	return r
}

// Templates make the text that Jinja makes, and are refused where it refuses them.
func TestRecorded(t *testing.T) {
	r := recorded(t)
	for _, c := range r.Cases {
		source := c.Source
		if c.Family != "" {
			source = r.Families[c.Family]
		}
		in := Input{Answer: true, BOS: "<s>", EOS: "</s>", Now: now, More: c.More}
		for _, m := range r.Conversations[c.Conversation] {
			in.Messages = append(in.Messages, Message{Whole: m})
		}
		tmpl, err := Parse(c.Family, source)
		var got string
		if err == nil {
			got, err = tmpl.Render(in)
		}
		if c.Error != "" {
			assert.Error(t, err, "%s: %s gives %q, Jinja: %s", c.Family, c.Source, got, c.Error)
			continue
		}
		if assert.NoError(t, err, "%s %s, conversation %d", c.Family, c.Source, c.Conversation) {
			assert.Equal(t, c.Text, got, "%s %s, conversation %d, %s", c.Family, c.Source, c.Conversation, c.More)
		}
	}
}

// What is wrong is told with its line, and what it is.
func TestErrors(t *testing.T) {
	for source, want := range map[string]string{
		"a\n{% call f() %}":                               "chat: t:2: the statement \"call\" is not known",
		"a\n\n{{ x | nosuch }}":                           "chat: t:3: the filter \"nosuch\" is not known",
		"{{ x is nosuch }}":                               "the test \"nosuch\" is not known",
		"{% if a %}":                                      "the template ends before endif",
		"{{ messages.append(1) }}":                        "append would change a list",
		"\n{{ raise_exception('roles') }}":                "t:2: the template refuses the conversation: roles",
		"{{ nowhere.a }}":                                 "nowhere is undefined, so it has no a",
		"{{ 'a'.format(1) }}":                             "format is not a function that is known here",
		"{{ 9223372036854775807 + 1 }}":                   "does not fit 64 bits",
		"{{ 99999999999999999999 }}":                      "too large",
		"{% for i in range(10 ** 12) %}x{% endfor %}":     "more than",
		"{{ 'a' * 10 ** 12 }}":                            "more than",
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "deeper than",
		"{{ " + strings.Repeat("(", 100_000) + strings.Repeat(")", 100_000) + " }}":                                           "deeper than",
		strings.Repeat("{% if a %}", 10_000):                                                                                  "deeper than",
		"{% if a %}" + strings.Repeat("{% elif a %}", 10_000):                                                                 "deeper than",
		"{{ " + strings.Repeat("-", 10_000) + "1 }}":                                                                          "deeper than",
		"{{ a" + strings.Repeat(".a", 10_000) + " }}":                                                                         "more than",
		"{% set ns = namespace() %}{% for i in range(4000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x == ns.x }}{{ ns.x }}": "deeper than",
		"{% set ns = namespace(x='aa') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}":                    "more than",
		"{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}":                     "more than",
		"{{ 'aaaaaaaa'|replace('a', 'b' * 10000000) }}":                                                                       "more than",
		"{{ strftime_now('%Q') }}":                                                                                            "does not know %Q",
	} {
		tmpl, err := Parse("t", source)
		if err == nil {
			_, err = tmpl.Render(Input{Messages: []Message{{Role: "user", Content: "hello"}}})
		}
		assert.ErrorContains(t, err, want, "%.80s", source)
	}
}

// A message is an object; JSON that is none, or two, is refused.
func TestMessages(t *testing.T) {
	tmpl, err := Parse("t", "{{ messages[0].content }}{{ tools[0] }}")
	require.NoError(t, err)
	for raw, want := range map[string]string{`[1]`: "a list, not an object", `{"a":`: "message 1", `{} {}`: "more than one", strings.Repeat("[", 1000): "nested"} {
		_, err := tmpl.Render(Input{Messages: []Message{{Whole: []byte(raw)}}})
		assert.ErrorContains(t, err, want)
	}
	text, err := tmpl.Render(Input{Messages: []Message{{Role: "user", Content: "x"}}, Tools: []json.RawMessage{[]byte(`{"b": 1, "a": 2.0, "c": 12345678901234567890}`)}})
	require.NoError(t, err)
	assert.Equal(t, "x{'b': 1, 'a': 2.0, 'c': 1.2345678901234567e+19}", text)
}

// Whatever a template says, it ends with a text or an error.
func FuzzTemplate(f *testing.F) {
	r := recorded(f)
	for _, s := range r.Families {
		f.Add(s)
	}
	for _, c := range r.Cases {
		if c.Source != "" {
			f.Add(c.Source)
		}
	}
	in := Input{Answer: true, BOS: "<s>", Now: now}
	for _, m := range r.Conversations[5] {
		in.Messages = append(in.Messages, Message{Whole: m})
	}
	f.Fuzz(func(t *testing.T, source string) {
		tmpl, err := Parse("t", source)
		if err != nil {
			return
		}
		text, err := tmpl.Render(in)
		if err != nil {
			require.Empty(t, text)
		}
	})
}
