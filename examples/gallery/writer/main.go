// Command writer trains a transformer (Vaswani and others 2017, normalised before each block) to say which character comes next in a
// nursery rhyme, and lets it write.
//
//	go run ./examples/gallery/writer
package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// text is a rhyme that nobody owns.
const text = `This is the house that Jack built.
This is the malt that lay in the house that Jack built.
This is the rat that ate the malt that lay in the house that Jack built.
This is the cat that chased the rat that ate the malt that lay in the house that Jack built.
This is the dog that worried the cat that chased the rat that ate the malt that lay in the house that Jack built.
`

const (
	window = 32 // characters that are looked at
	size   = 64
	heads  = 4
	layers = 2
	batch  = 16
	steps  = 300
)

// model gives the logits of the next character at each place of words[n, window].
type model struct {
	Characters *nn.Embedding
	Places     *nn.Embedding
	Layers     []*nn.TransformerLayer
	Norm       *nn.LayerNorm
	Out        *nn.Linear
}

func newModel(characters int) *model {
	m := &model{Characters: nn.NewEmbedding(characters, size), Places: nn.NewEmbedding(window, size), Norm: nn.NewLayerNorm(size), Out: nn.NewLinear(size, characters)}
	for range layers {
		l := nn.NewTransformerLayer(size, heads, 4*size, false)
		l.SelfAttention.BatchFirst, l.NormFirst, l.GELU = true, true, true
		m.Layers = append(m.Layers, l)
	}
	return m
}

func (m *model) forward(words *tensor.Tensor) *tensor.Tensor {
	x := m.Characters.Forward(words).Add(m.Places.Weight)
	for _, l := range m.Layers {
		x = l.Forward(x, nil, nn.Attending{Causal: true}, nn.Attending{})
	}
	return m.Out.Forward(m.Norm.Forward(x))
}

// written is what came of it.
type written struct {
	Loss float64 // the last one
	Text string
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (r written, err error) {
	err = tensor.Try(func() { r = tensor.Must(train(ctx, out)) })
	return r, err
}

func train(ctx context.Context, out io.Writer) (r written, err error) {
	letters := alphabet(text)
	codes := encode(letters, text)
	tensor.Seed(5)
	m := newModel(len(letters))
	opt, err := nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: 3e-3})
	if err != nil {
		return r, err
	}
	all := tensor.Of(codes)
	step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		from := tensor.RandInt(0, len(codes)-window, batch, 1)
		words := all.At(from.Add(tensor.Arange(window + 1)))
		logits := m.forward(words.Narrow(1, 0, window))
		loss := logits.Reshape(-1, len(letters)).CrossEntropy(words.Narrow(1, 1, window).Reshape(-1))
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	})
	if err != nil {
		return r, err
	}
	for i := range steps {
		outs, err := step.Run(ctx)
		if err != nil {
			return r, err
		}
		if i%50 == 0 || i == steps-1 {
			if r.Loss, err = outs[0].Item(ctx); err != nil {
				return r, err
			}
			fmt.Fprintf(out, "step %4d  loss %.3f\n", i, r.Loss)
		}
	}
	r.Text, err = m.write(ctx, letters, "This is the", 120)
	fmt.Fprintln(out, r.Text)
	return r, err
}

// write goes on from a beginning, n characters, each drawn by its probability.
func (m *model) write(ctx context.Context, letters []rune, beginning string, n int) (string, error) {
	next, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{m.forward(in[0]).Select(0, 0).Softmax(-1)}
	}, tensor.Of(make([]int32, window), 1, window))
	if err != nil {
		return "", err
	}
	random := rand.New(rand.NewPCG(1, 2))
	codes := encode(letters, beginning)
	for range n {
		seen := codes[max(0, len(codes)-window):]
		in := append(slices.Clone(seen), make([]int32, window-len(seen))...) // what is behind a character does not matter to it
		outs, err := next.Run(ctx, tensor.Of(in, 1, window))
		if err != nil {
			return "", err
		}
		p, err := tensor.Data[float32](ctx, outs[0].Select(0, len(seen)-1))
		if err != nil {
			return "", err
		}
		codes = append(codes, int32(draw(random, p)))
	}
	var b strings.Builder
	for _, c := range codes {
		b.WriteRune(letters[c])
	}
	return b.String(), nil
}

func draw(random *rand.Rand, p []float32) int {
	left := random.Float32()
	for i, x := range p {
		if left -= x; left < 0 {
			return i
		}
	}
	return len(p) - 1
}

// alphabet lists the characters of a text.
func alphabet(s string) []rune {
	letters := []rune(s)
	slices.Sort(letters)
	return slices.Compact(letters)
}

func encode(letters []rune, s string) (codes []int32) {
	for _, c := range s {
		codes = append(codes, int32(slices.Index(letters, c)))
	}
	return codes
}
