package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/llm/grammar"
)

// chatOptions are the flags of weft chat.
type chatOptions struct {
	languageModel
	Prompt, System string
	Plain          bool
	Tokens         int
	Sampler        llm.Sampler
	Stop           []string
	Schema, GBNF   string
	Lookup, Shift  bool
	Keep           int
	grammar        *grammar.Grammar
}

func chatCommand(p *program) *cobra.Command {
	var o chatOptions
	c := &cobra.Command{
		Use:   "chat MODEL",
		Short: "Talk to a language model",
		Long: `Loads a language model (of the families ` + families + `: a GGUF file, a folder with config.json and safetensors, or a checkpoint of
llama2.c). A model that comes with a template for conversations answers each line of standard input, or --prompt; what was said before
stays known. Another one, and any with --plain, continues each line as a text of its own. A line for which there is no room is told and
left out, as is an answer that ends before its schema or grammar is met, and the exit code is 1 in the end.`,
		Args: sensible(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return p.chat(c.Context(), args[0], c.Flags().Changed("prompt"), c.InOrStdin(), o)
		},
	}
	f := c.Flags()
	o.flags(c)
	f.StringVarP(&o.Prompt, "prompt", "p", "", "what to answer or to continue; without it lines of standard input are")
	f.StringVar(&o.System, "system", "", "what the model is told before a conversation")
	f.BoolVar(&o.Plain, "plain", false, "continue texts as they are, without the model's template")
	f.IntVarP(&o.Tokens, "tokens", "n", 0, "tokens to make at most (default: as many as there is room for)")
	f.Float64Var(&o.Sampler.Temperature, "temperature", 0, "0 takes the likeliest token, more makes it freer")
	f.IntVar(&o.Sampler.TopK, "top-k", 0, "take one of the k likeliest only")
	f.Float64Var(&o.Sampler.TopP, "top-p", 0, "take one of the likeliest that together have this probability only")
	f.Float64Var(&o.Sampler.MinP, "min-p", 0, "take one only that is at least so likely, as a share of the likeliest")
	f.Float64Var(&o.Sampler.Repetition, "repetition", 0, "more than 1 makes tokens rarer that were there lately")
	f.Uint64Var(&o.Sampler.Seed, "seed", 0, "of what is drawn")
	f.StringArrayVar(&o.Stop, "stop", nil, "text that ends a continuation")
	f.StringVar(&o.Schema, "schema", "", "file with a JSON Schema that what is said is held to")
	f.StringVar(&o.GBNF, "grammar", "", "file with a grammar in GBNF, llama.cpp's notation, that what is said is held to")
	f.BoolVar(&o.Lookup, "lookup", false, "guess tokens by what followed earlier in the text: faster where texts repeat themselves")
	f.BoolVar(&o.Shift, "shift", false, "go on when there is no room left: what stands before the first message stays, the older half of the rest is forgotten")
	f.IntVar(&o.Keep, "keep", 0, "with --shift and --plain: tokens at the beginning that stay")
	check(c, atLeast(&o.Tokens, 0), "tokens")
	check(c, atLeast(&o.Keep, 0), "keep")
	check(c, func() error { return o.Sampler.Check() }, "temperature", "top-k", "top-p", "min-p", "repetition")
	return c
}

func (p *program) chat(ctx context.Context, model string, once bool, in io.Reader, o chatOptions) error {
	if o.Schema != "" && o.GBNF != "" {
		return usagef("what is said is held to a schema or to a grammar, not to both")
	}
	for path, parse := range map[string]func([]byte) (*grammar.Grammar, error){o.Schema: grammar.Schema, o.GBNF: grammar.GBNF} {
		if path == "" {
			continue
		}
		raw, err := readSmall(path, 1<<16)
		if err != nil {
			return err
		}
		if o.grammar, err = parse(raw); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	m, err := o.load(ctx, p, model)
	if err != nil {
		return err
	}
	if o.System != "" && (o.Plain || !m.Talks()) {
		return usagef("--system needs a template for conversations; %s", map[bool]string{true: "--plain takes none", false: "name one with --template"}[o.Plain])
	}
	if o.Keep != 0 && (!o.Shift || m.Talks() && !o.Plain) {
		return usagef("--keep is for --shift with --plain; of a conversation what stands before the first message stays")
	}
	if most := m.Config.Length - 2; o.Keep > most {
		return usagef("--keep %d: of room for %d tokens it is 0 to %d", o.Keep, m.Config.Length, most)
	}
	s, err := m.NewSession(ctx)
	if err != nil {
		return err
	}
	answer := func(text string) error {
		s.Reset()
		_, err := p.print(s, func(g llm.Generation) iter.Seq2[string, error] { return s.Generate(ctx, text, g) }, o)
		return err
	}
	if m.Talks() && !o.Plain {
		answer = p.conversation(ctx, m, s, o)
	}
	if once {
		return answer(o.Prompt)
	}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(p.log, "Each line is answered; Ctrl-D ends.")
	}
	return p.answerLines(ctx, in, m.Talks() && !o.Plain, answer)
}

// answerLines answers each line of a text. One that does not fit is told, and the next is answered.
func (p *program) answerLines(ctx context.Context, in io.Reader, skipEmpty bool, answer func(text string) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	text := bufio.NewScanner(in)
	text.Buffer(nil, longestLine)
	next := make(chan string)
	go func() { // an interrupt does not wait for a line
		defer close(next)
		for text.Scan() {
			select {
			case next <- text.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	var unanswered []string
	for n := 1; ; n++ {
		var line string
		more := false
		select {
		case line, more = <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !more {
			break
		}
		if strings.TrimSpace(line) == "" && skipEmpty {
			continue
		}
		err := answer(line)
		if noRoom := (*llm.NoRoom)(nil); errors.As(err, &noRoom) || errors.Is(err, errCut) {
			fmt.Fprintf(p.log, "weft: line %d is not answered: %s\n", n, lines(err))
			unanswered = append(unanswered, strconv.Itoa(n))
		} else if err != nil {
			return err
		}
	}
	switch {
	case errors.Is(text.Err(), bufio.ErrTooLong):
		return fmt.Errorf("standard input: a line has more than %s", sizeText(longestLine))
	case text.Err() == nil && len(unanswered) > 0:
		return fmt.Errorf("lines of standard input that were not answered: %s", strings.Join(unanswered, ", "))
	}
	return text.Err()
}

const longestLine = 1 << 20

// conversation answers messages, one after the other. Of the tokens that the model has read, those with which the longer conversation begins
// are not read again.
func (p *program) conversation(ctx context.Context, m *llm.Model, s *llm.Session, o chatOptions) func(text string) error {
	var messages []chat.Message
	if o.System != "" {
		messages = append(messages, chat.Message{Role: "system", Content: o.System})
	}
	return func(text string) error {
		said := append(messages[:len(messages):len(messages)], chat.Message{Role: "user", Content: text}) // messages stay where it is not answered
		in := chat.Input{Messages: said, Answer: true}
		prompt, err := m.Prompt(in)
		if err == nil && o.Shift {
			if o.Keep, err = m.Head(in); err == nil {
				prompt, err = m.Shifted(prompt, o.Keep)
			}
		}
		if err != nil {
			return err
		}
		keep, read := 0, s.Text()
		for keep < min(len(prompt)-1, len(read)) && read[keep] == prompt[keep] {
			keep++
		}
		if err := s.Back(keep); err != nil {
			return err
		}
		reply, err := p.print(s, func(g llm.Generation) iter.Seq2[string, error] { return s.Answer(ctx, prompt[keep:], g) }, o)
		if err == nil {
			messages = append(said, chat.Message{Role: "assistant", Content: reply})
		}
		return err
	}
}

// errCut says that an answer is only the beginning of what a schema or grammar lets it be.
var errCut = errors.New("the answer was cut before it was whole by its schema or grammar: more --tokens are needed, or more room by --length")

// print prints an answer as it comes, and how fast it came.
func (p *program) print(s *llm.Session, answer func(llm.Generation) iter.Seq2[string, error], o chatOptions) (said string, err error) {
	begin, first := time.Now(), time.Time{}
	before, read, forgotten := s.Position(), 0, s.Forgotten()
	var all strings.Builder
	for text, err := range answer(llm.Generation{Tokens: o.Tokens, Sampler: &o.Sampler, Stop: o.Stop, Grammar: o.grammar, Lookup: o.Lookup,
		Shift: o.Shift, Keep: o.Keep}) {
		var noRoom *llm.NoRoom
		if errors.As(err, &noRoom) {
			err = fmt.Errorf("%w; --shift forgets what is old, --length makes more room where the model has it", err)
		}
		if err != nil {
			return "", err
		}
		if first.IsZero() {
			first, read = time.Now(), s.Position()+s.Forgotten()-forgotten
		}
		all.WriteString(text)
		if _, err := fmt.Fprint(p.out, text); err != nil { // nobody hears what else is said
			return "", err
		}
	}
	fmt.Fprintln(p.out)
	forgotten = s.Forgotten() - forgotten
	if forgotten > 0 {
		fmt.Fprintf(p.log, "there was no room left: %d tokens are forgotten\n", forgotten)
	}
	if made := s.Position() + forgotten - read; made > 0 && !first.IsZero() {
		fmt.Fprintf(p.log, "%d tokens read in %v; %.1f tokens a second\n", read-before, first.Sub(begin).Round(time.Millisecond), float64(made)/time.Since(first).Seconds())
	}
	if o.grammar != nil && len(o.Stop) == 0 {
		if state, ok := o.grammar.Start().Next([]byte(all.String())); !ok || !state.Whole() {
			return "", errCut
		}
	}
	return all.String(), nil
}
