package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// The command says the recorded story, and lines of standard input are texts of their own.
func TestChat(t *testing.T) {
	model := need.Data(t, "models", "stories260k", "stories260K.bin")
	words := need.Data(t, "models", "stories260k", "tok512.bin")
	story, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
	require.NoError(t, err)
	code, out, log := weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "", "-n", "60")
	require.Zero(t, code, log)
	assert.Contains(t, string(story), strings.TrimSpace(out))
	assert.Greater(t, len(out), 100)
	assert.Contains(t, log, "tokens a second")

	schema := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type": "array", "items": {"enum": ["cat", "dog"]}, "minItems": 1, "maxItems": 4}`), 0o600))
	code, out, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "Pets: ", "--schema", schema, "--lookup")
	require.Zero(t, code, log)
	assert.Regexp(t, `^\[\s*"(cat|dog)"(,\s*"(cat|dog)")*\s*\]\s*$`, out)
	code, out, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "Pets: ", "--schema", schema, "-n", "2", "--length", "100000")
	assert.Equal(t, exitFailure, code)
	assert.NotContains(t, out, "]")
	assert.Contains(t, log, "the answer was cut before it was whole")
	assert.Contains(t, log, "--length 100000: stories260K.bin has 512 positions")
	require.NoError(t, os.WriteFile(schema, []byte(`{"pattern": "a"}`), 0o600))
	code, _, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "x", "--schema", schema)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, `the keyword "pattern" is not known`)

	gbnf := filepath.Join(t.TempDir(), "pets.gbnf")
	require.NoError(t, os.WriteFile(gbnf, []byte("root ::= pet (\", \" pet){1,3} \".\"\npet ::= \"a \" [a-z]{3}"), 0o600))
	code, out, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "Pets: ", "--grammar", gbnf)
	require.Zero(t, code, log)
	assert.Regexp(t, `^a [a-z]{3}(, a [a-z]{3}){1,3}\.\s*$`, out)
	code, _, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "x", "--grammar", gbnf, "--schema", schema)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "not to both")
	require.NoError(t, os.WriteFile(gbnf, []byte("root ::= a"), 0o600))
	code, _, log = weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "x", "--grammar", gbnf)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "pets.gbnf: grammar: line 1, column 10: there is no rule a")

	code, _, log = weft(nil, "chat", model, "--device", "INTERP", "-p", "x")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "has no tokenizer; name one with --tokenizer")
	code, _, log = weft(nil, "chat", filepath.Join(t.TempDir(), "none"), "--device", "INTERP")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "no such file")
	code, _, _ = weft(nil, "chat")
	assert.Equal(t, exitUsage, code)
}

// With a template a line is a message, and the model reads the conversation so far: the same as the whole conversation at once.
func TestConversation(t *testing.T) {
	model := need.Data(t, "models", "stories260k", "stories260K.bin")
	words := need.Data(t, "models", "stories260k", "tok512.bin")
	template := filepath.Join(t.TempDir(), "template.jinja")
	require.NoError(t, os.WriteFile(template, []byte("{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ 'assistant:' if add_generation_prompt }}"), 0o600))
	talk := func(in string, args ...string) (int, string, string) {
		var out, log strings.Builder
		c := rootCommand(func(string) string { return "" }, &out, &log)
		c.SetArgs(append([]string{"chat", model, "--tokenizer", words, "--device", "INTERP", "--template", template, "-n", "12"}, args...))
		c.SetIn(strings.NewReader(in))
		c.SetOut(&out)
		c.SetErr(&log)
		if err := c.Execute(); err != nil {
			return 1, out.String(), log.String() + err.Error()
		}
		return 0, out.String(), log.String()
	}
	code, out, log := talk("A cat.\n\nA dog.\n", "--system", "Tell stories.")
	require.Zero(t, code, log)
	one, rest, ok := strings.Cut(out, "\n")
	require.True(t, ok)
	code, again, log := talk("", "--plain", "-p", "system: Tell stories.\nuser: A cat.\nassistant: "+one+"\nuser: A dog.\nassistant:")
	require.Zero(t, code, log)
	assert.Equal(t, rest, again)
	code, _, log = talk(strings.Repeat("A cat and a dog.\n", 5), "--length", "60")
	assert.Equal(t, 1, code)
	assert.Contains(t, log, "do not fit")
	for _, plain := range []string{"--plain=false", "--plain"} {
		_, want, _ := talk("A cat.\nA dog.\n", "--length", "120", plain)
		code, out, log := talk("A cat.\n"+strings.Repeat("a cat ", 100)+"\nA dog.\n", "--length", "120", plain)
		assert.Equal(t, 1, code)
		assert.Equal(t, want, out, "what does not fit leaves the conversation as it was")
		assert.Regexp(t, `weft: line 2 is not answered: llm: \d+ tokens do not fit: the text has \d+, and there is room for 120 in all; --shift`, log)
		assert.Contains(t, log, "lines of standard input that were not answered: 2")
	}
	code, out, log = talk(strings.Repeat("A cat and a dog.\n", 5), "--length", "60", "--shift", "--system", "Tell stories.")
	require.Zero(t, code, log)
	assert.Equal(t, 5, strings.Count(out, "\n"))
	code, out, log = talk("", "--length", "60", "--plain", "--shift", "--keep", "4", "-p", "Once upon a time", "-n", "150")
	require.Zero(t, code, log)
	assert.Greater(t, len(out), 200)
	assert.Contains(t, log, "tokens are forgotten")
	code, _, log = talk("", "--shift", "--keep", "4")
	assert.Equal(t, 1, code)
	assert.Contains(t, log, "--keep is for --shift with --plain")
	code, _, log = talk("", "--plain", "--system", "x")
	assert.Equal(t, 1, code)
	assert.Contains(t, log, "--plain takes none")
	require.NoError(t, os.WriteFile(template, []byte("{% nothing %}"), 0o600))
	code, _, log = talk("")
	assert.Equal(t, 1, code)
	assert.Contains(t, log, `template.jinja:1: the statement "nothing" is not known`)
}

// An interrupt ends a conversation that waits for a line.
func TestInterruptedWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	in, line := io.Pipe()
	defer line.Close()
	heard := 0
	go func() { _, _ = io.WriteString(line, "a\n\nb\n") }()
	err := (&program{}).answerLines(ctx, in, true, func(text string) error {
		if heard++; text == "b" {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 2, heard)
}

// Of an answer without text no speed is told, and numbers that make no sense are told before a model is loaded.
func TestChatEdges(t *testing.T) {
	model := need.Data(t, "models", "stories260k", "stories260K.bin")
	words := need.Data(t, "models", "stories260k", "tok512.bin")
	say := func(args ...string) (int, string, string) {
		return weft(nil, append([]string{"chat", model, "--tokenizer", words, "--device", "INTERP"}, args...)...)
	}
	code, out, log := say("-p", "Once upon a time", "--stop", ",")
	assert.Zero(t, code)
	assert.Equal(t, "\n", out)
	assert.Empty(t, log)
	for _, flag := range []string{"--temperature=-1", "--temperature=NaN", "--top-k=-1", "--top-p=2", "--min-p=-1", "--repetition=-1"} {
		code, _, log := weft(nil, "chat", "nothing", "-p", "x", flag)
		assert.Equal(t, exitUsage, code, flag)
		assert.Regexp(t, "temperature|top k|top p|min p|repetition", log, flag)
	}
	code, _, log = say("-p", strings.Repeat("a cat ", 300))
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "room for 512 in all; --shift forgets what is old, --length makes more room where the model has it")
	code, _, log = say("-p", "x", "--shift", "--plain", "--keep", "511")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "--keep 511: of room for 512 tokens it is 0 to 510")
	code, _, log = weft(nil, "chat", "nothing", "-p", "x", "--schema", "nothing")
	assert.Equal(t, exitFailure, code)
	assert.Equal(t, 1, strings.Count(log, "nothing"), log)
}
