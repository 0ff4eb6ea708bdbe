package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/tokenizer"
)

// languageModel are the flags of the commands that load a language model.
type languageModel struct {
	Device, Tokenizer, Template string
	Length                      int
}

const families = "Llama, Qwen 2 and 3, Gemma 1 to 3, Phi 2 and 3, GPT-2, SmolLM or Mistral"

func (o *languageModel) flags(c *cobra.Command) {
	f := c.Flags()
	deviceFlag(c, &o.Device, "device to run on (default: $DEV, else the best that works)")
	f.StringVar(&o.Tokenizer, "tokenizer", "", "tokenizer.json, GGUF file or tokenizer.bin (default: what the model has)")
	f.StringVar(&o.Template, "template", "", "file with the template of conversations, in Jinja (default: what the model has)")
	f.IntVar(&o.Length, "length", 0, "positions of a text to make room for (default: 4096, or what the model has)")
	check(c, func() error {
		if o.Length == 1 {
			return errors.New("there is no room for an answer")
		}
		return atLeast(&o.Length, 0)()
	}, "length")
}

// load loads the model with its tokenizer and its template.
func (o *languageModel) load(ctx context.Context, p *program, path string) (*llm.Model, error) {
	e, err := p.open(ctx, o.Device)
	if err != nil {
		return nil, err
	}
	m, err := llm.Open(ctx, path, llm.Options{Device: e.Name(), Length: o.Length})
	if err != nil {
		return nil, err
	}
	if o.Length > m.Config.Length {
		fmt.Fprintf(p.log, "--length %d: %s has %d positions\n", o.Length, filepath.Base(path), m.Config.Length)
	}
	if o.Tokenizer != "" {
		if m.Tokenizer, err = openTokenizer(o.Tokenizer); err != nil {
			return nil, err
		}
	}
	if m.Tokenizer == nil {
		return nil, usagef("%s has no tokenizer; name one with --tokenizer", path)
	}
	if n := m.Tokenizer.Size(); n > m.Config.Vocab {
		return nil, fmt.Errorf("the tokenizer has %d tokens, the model %d: they do not belong together", n, m.Config.Vocab)
	}
	if o.Template != "" {
		raw, err := readSmall(o.Template, 1<<20)
		if err != nil {
			return nil, err
		}
		t, err := chat.Parse(o.Template, string(raw))
		if err != nil {
			return nil, err
		}
		m.SetTemplate(t)
	}
	return m, nil
}

// openTokenizer opens a tokenizer of any format.
func openTokenizer(path string) (*tokenizer.Tokenizer, error) {
	if filepath.Ext(path) != ".bin" {
		return tokenizer.Open(path)
	}
	raw, err := readSmall(path, 64<<20)
	if err != nil {
		return nil, err
	}
	return tokenizer.FromLlama2c(path, raw)
}

// readSmall reads a file that has at most so many bytes.
func readSmall(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = errors.New("larger than such a file is")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return raw, nil
}
