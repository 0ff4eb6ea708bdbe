package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/tokenizer"
)

// chatOptions are the flags of weft chat.
type chatOptions struct {
	Device, Tokenizer, Prompt string
	Tokens, Length            int
	Sampler                   llm.Sampler
	Stop                      []string
}

func chatCommand(p *program) *cobra.Command {
	var o chatOptions
	c := &cobra.Command{
		Use:   "chat MODEL",
		Short: "Have a language model continue a text",
		Long: `Loads a language model (of the families Llama, Qwen 2 or Qwen 3: a GGUF file, a folder with config.json and safetensors, or a checkpoint of llama2.c)
and continues --prompt, or each line that it reads from standard input. Lines are continued as they are, one text after the other: no
template of questions and answers is put around them.`,
		Args: sensible(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return p.chat(c.Context(), args[0], c.Flags().Changed("prompt"), c.InOrStdin(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Device, "device", "", "device to run on (default: $DEV, else the best that works)")
	f.StringVar(&o.Tokenizer, "tokenizer", "", "tokenizer.json, GGUF file or tokenizer.bin (default: what the model has)")
	f.StringVarP(&o.Prompt, "prompt", "p", "", "text to continue; without it lines of standard input are")
	f.IntVarP(&o.Tokens, "tokens", "n", 0, "tokens to make at most (default: as many as there is room for)")
	f.IntVar(&o.Length, "length", 0, "positions of a text to make room for (default: 4096, or what the model has)")
	f.Float64Var(&o.Sampler.Temperature, "temperature", 0, "0 takes the likeliest token, more makes it freer")
	f.IntVar(&o.Sampler.TopK, "top-k", 0, "take one of the k likeliest only")
	f.Float64Var(&o.Sampler.TopP, "top-p", 0, "take one of the likeliest that together have this probability only")
	f.Float64Var(&o.Sampler.MinP, "min-p", 0, "take one only that is at least so likely, as a share of the likeliest")
	f.Float64Var(&o.Sampler.Repetition, "repetition", 0, "more than 1 makes tokens rarer that were there lately")
	f.Uint64Var(&o.Sampler.Seed, "seed", 0, "of what is drawn")
	f.StringArrayVar(&o.Stop, "stop", nil, "text that ends a continuation")
	return c
}

func (p *program) chat(ctx context.Context, model string, once bool, in io.Reader, o chatOptions) error {
	if o.Tokens < 0 || o.Length < 0 {
		return usagef("--tokens and --length are from 0 on")
	}
	if o.Length == 1 {
		return usagef("--length 1 has no room for an answer")
	}
	e, err := p.open(ctx, o.Device)
	if err != nil {
		return err
	}
	m, err := llm.Open(ctx, model, llm.Options{Device: e.Name(), Length: o.Length})
	if err != nil {
		return err
	}
	if o.Tokenizer != "" {
		if m.Tokenizer, err = openTokenizer(o.Tokenizer); err != nil {
			return err
		}
	}
	if m.Tokenizer == nil {
		return usagef("%s has no tokenizer; name one with --tokenizer", model)
	}
	if n := m.Tokenizer.Size(); n > m.Config.Vocab {
		return fmt.Errorf("the tokenizer has %d tokens, the model %d: they do not belong together", n, m.Config.Vocab)
	}
	s, err := m.NewSession(ctx)
	if err != nil {
		return err
	}
	if once {
		return p.answer(ctx, s, o.Prompt, o)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.Reset()
		if err := p.answer(ctx, s, lines.Text(), o); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answer prints a prompt's continuation as it comes, and how fast it came.
func (p *program) answer(ctx context.Context, s *llm.Session, prompt string, o chatOptions) error {
	begin, first := time.Now(), time.Time{}
	read := 0
	for text, err := range s.Generate(ctx, prompt, llm.Generation{Tokens: o.Tokens, Sampler: &o.Sampler, Stop: o.Stop}) {
		if err != nil {
			return err
		}
		if first.IsZero() {
			first, read = time.Now(), s.Position()
		}
		fmt.Fprint(p.out, text)
	}
	fmt.Fprintln(p.out)
	if made := s.Position() - read; made > 0 {
		fmt.Fprintf(p.log, "%d tokens read in %v; %.1f tokens a second\n", read, first.Sub(begin).Round(time.Millisecond), float64(made)/time.Since(first).Seconds())
	}
	return nil
}

// openTokenizer opens a tokenizer of any format.
func openTokenizer(path string) (*tokenizer.Tokenizer, error) {
	if filepath.Ext(path) != ".bin" {
		return tokenizer.Open(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 64 << 20
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(raw) > most {
		err = errors.New("larger than a tokenizer.bin of llama2.c is")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tokenizer.FromLlama2c(path, raw)
}
