package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/weights/gguf"
)

// Talk is how a model is talked to: the template that makes a text of a conversation.
type Talk struct {
	Template *chat.Template // nil: the model comes with none
	BOS, EOS string         // what the template has for a text's beginning and end
	source   string
	broken   error // of a template that cannot be used: told when it is asked for
}

// Prompt makes tokens of a conversation, as the model was trained to read them. A text of a message that is written as a token of control
// is that token.
func (m *Model) Prompt(in chat.Input) ([]int, error) {
	switch {
	case m.Tokenizer == nil:
		return nil, errNoTokenizer
	case m.Talk.broken != nil:
		return nil, fmt.Errorf("llm: %w", m.Talk.broken)
	case m.Talk.Template == nil:
		return nil, errors.New("llm: the model comes without a template for conversations; set one, or have it continue a text")
	}
	in.BOS, in.EOS = m.Talk.BOS, m.Talk.EOS
	text, err := m.Talk.Template.Render(in)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	// Not every tokenizer finds the token of the beginning in a text.
	rest, begins := strings.CutPrefix(text, in.BOS)
	begins = begins && in.BOS != "" && m.Tokenizer.BOS() >= 0
	if !begins {
		return m.Tokenizer.Encode(text, tokenizer.Options{})
	}
	ids, err := m.Tokenizer.Encode(rest, tokenizer.Options{})
	return append([]int{m.Tokenizer.BOS()}, ids...), err
}

// Talks says whether the model has a template.
func (m *Model) Talks() bool { return m.Talk.Template != nil || m.Talk.broken != nil }

// set takes a template, whose faults are told when it is asked for.
func (t *Talk) set(name, source string) {
	t.source = source
	t.Template, t.broken = chat.Parse(name, source)
}

// edges takes the tokens of beginning and end from a tokenizer where nothing else says them.
func (t *Talk) edges(of *tokenizer.Tokenizer) {
	if of == nil {
		return
	}
	if t.BOS == "" {
		t.BOS = of.Token(of.BOS())
	}
	if t.EOS == "" {
		t.EOS = of.Token(of.EOS())
	}
}

func ggufTalk(f *gguf.File, of *tokenizer.Tokenizer) (t Talk) {
	if source, ok := f.Text("tokenizer.chat_template"); ok {
		t.set(f.Path()+": tokenizer.chat_template", source)
	}
	t.edges(of)
	return t
}

// hubTokens is what of a tokenizer_config.json is read.
type hubTokens struct {
	Template json.RawMessage `json:"chat_template"`
	BOS      json.RawMessage `json:"bos_token"`
	EOS      json.RawMessage `json:"eos_token"`
}

// hubTalk reads the template of a folder: chat_template.jinja, or that of tokenizer_config.json.
func hubTalk(f folder, of *tokenizer.Tokenizer) (t Talk, err error) {
	raw, err := f.read("tokenizer_config.json")
	if err != nil {
		return t, err
	}
	var h hubTokens
	if raw != nil {
		if err := json.Unmarshal(raw, &h); err != nil {
			return t, fmt.Errorf("llm: %s: %w", f.at("tokenizer_config.json"), err)
		}
	}
	t.BOS, t.EOS = tokenText(h.BOS), tokenText(h.EOS)
	t.edges(of)
	path := f.at("chat_template.jinja")
	if raw, err = f.read("chat_template.jinja"); err != nil {
		return t, err
	}
	if raw != nil {
		t.set(path, string(raw))
		return t, nil
	}
	var one string
	var many []struct{ Name, Template string }
	path = f.at("tokenizer_config.json") + ": chat_template"
	switch {
	case h.Template == nil || string(h.Template) == "null":
	case json.Unmarshal(h.Template, &one) == nil:
		t.set(path, one)
	case json.Unmarshal(h.Template, &many) == nil:
		for _, n := range many {
			if n.Name == "default" {
				t.set(path, n.Template)
			}
		}
	default:
		t.broken = fmt.Errorf("%s is neither a text nor a list of names and templates", path)
	}
	return t, nil
}

// tokenText is a token that is written as a text, or as an object with its content.
func tokenText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct{ Content string }
	if json.Unmarshal(raw, &o) == nil {
		return o.Content
	}
	return ""
}

const maxBeside = 1 << 27 // bytes of a file beside the weights

// beside reads a file beside the weights; nil where there is none.
func beside(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxBeside+1))
	if err == nil && len(raw) > maxBeside {
		err = fmt.Errorf("%s: more than %d bytes", path, maxBeside)
	}
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	return raw, nil
}

// SetTemplate has conversations be written by another template than the model's own.
func (m *Model) SetTemplate(t *chat.Template) {
	m.Talk.Template, m.Talk.broken = t, nil
	m.Talk.edges(m.Tokenizer)
}
