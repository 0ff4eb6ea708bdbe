// Command diffusion learns to draw digits by taking noise away (Ho, Jain and Abbeel 2020, with the cosine schedule of Nichol and
// Dhariwal 2021): a network learns what small pictures were before noise was mixed in, and pictures come out of pure noise by taking away
// a little at a time.
//
//	go run ./examples/gallery/diffusion            # of synthetic digits
//	go run ./examples/gallery/diffusion DIR        # of MNIST's, from its four files in DIR
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	side   = 14 // of a picture; those of the data are twice as large
	pixels = side * side
	times  = 60 // levels of noise
	wide   = 256
	batch  = 128
	drawn  = 6
)

var steps = 900

// model says what pictures are without their noise.
type model struct {
	In, Time *nn.Linear
	Hidden   []*nn.Linear
	Norms    []*nn.LayerNorm
	Out      *nn.Linear
}

func newModel() *model {
	m := &model{In: nn.NewLinear(pixels, wide), Time: nn.NewLinear(2*waves, wide), Out: nn.NewLinear(wide, pixels)}
	for range 3 {
		m.Hidden, m.Norms = append(m.Hidden, nn.NewLinear(wide, wide)), append(m.Norms, nn.NewLayerNorm(wide))
	}
	return m
}

// forward is for pictures x[n, pixels] with noise of levels t[n].
func (m *model) forward(x, t *tensor.Tensor) *tensor.Tensor {
	h, at := m.In.Forward(x), m.Time.Forward(encode(t))
	for i, l := range m.Hidden {
		h = h.Add(l.Forward(m.Norms[i].Forward(h).Add(at).GELU()))
	}
	return m.Out.Forward(h.GELU())
}

const waves = 8

// encode gives sines and cosines of several frequencies.
func encode(t *tensor.Tensor) *tensor.Tensor {
	f := tensor.Linspace(0, math.Log(100), waves).Exp().Mul(2 * math.Pi / (4 * times))
	a := t.To(dtype.F32).Unsqueeze(1).Mul(f)
	return tensor.Cat(1, a.Sin(), a.Cos())
}

// kept is how much of the variance of a picture is left at each level.
func kept() []float32 {
	out := make([]float32, times)
	for i := range out {
		c := math.Cos((float64(i+1)/times + 0.008) / 1.008 * math.Pi / 2)
		out[i] = float32(max(c*c, 1e-4))
	}
	return out
}

// result is what came of it.
type result struct {
	First, Last float64   // losses
	Pictures    []float32 // [drawn, side, side], −1 … 1
	Ink         float64   // mean of the data's pixels
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (r result, err error) {
	set := data.Synthetic(1, 2000, 10)
	if len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-") {
		if set, err = data.LoadMNIST(os.Args[1]); err != nil {
			return r, err
		}
	}
	err = tensor.Try(func() { r = tensor.Must(learn(ctx, out, set.Train)) })
	return r, err
}

func learn(ctx context.Context, out io.Writer, s data.Split) (r result, err error) {
	tensor.Seed(11)
	x := tensor.FromBytes(dtype.U8, []int{s.N, 1, s.H, s.W}, s.Images).To(dtype.F32).Mul(2./255).Sub(1).AvgPool2D(2).Reshape(s.N, pixels)
	if err := tensor.Realize(ctx, x); err != nil {
		return r, err
	}
	if r.Ink, err = x.Mean().Item(ctx); err != nil {
		return r, err
	}
	m, left := newModel(), tensor.Of(kept())
	opt, err := nn.NewAdam(ctx, m, nn.AdamOptions{})
	if err != nil {
		return r, err
	}
	step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		clean, t := x.At(tensor.RandInt(0, s.N, batch)), tensor.RandInt(0, times, batch)
		noise, k := tensor.Randn(batch, pixels), left.At(t).Unsqueeze(1)
		mixed := clean.Mul(k.Sqrt()).Add(noise.Mul(k.Neg().Add(1).Sqrt()))
		loss := m.forward(mixed, t).MSE(clean)
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	})
	if err != nil {
		return r, err
	}
	rate := nn.CosineAnnealing(3e-3, steps, 0)
	for i := range steps {
		if err := opt.SetRate(ctx, rate(i)); err != nil {
			return r, err
		}
		outs, err := step.Run(ctx)
		if err != nil {
			return r, err
		}
		if i%100 == 0 || i == steps-1 {
			if r.Last, err = outs[0].Item(ctx); err != nil {
				return r, err
			}
			if i == 0 {
				r.First = r.Last
			}
			fmt.Fprintf(out, "step %4d  loss %.3f\n", i, r.Last)
		}
	}
	pictures, err := m.draw(ctx)
	if err != nil {
		return r, err
	}
	if r.Pictures, err = tensor.Data[float32](ctx, pictures); err != nil {
		return r, err
	}
	show(out, r.Pictures)
	return r, nil
}

// draw begins with noise and takes it away level by level, with the sampler that adds none (Song, Meng and Ermon 2021).
func (m *model) draw(ctx context.Context) (*tensor.Tensor, error) {
	x, k := tensor.Randn(drawn, pixels), kept()
	level, rates := tensor.Zeros(drawn), tensor.Zeros(2)
	if err := tensor.Realize(ctx, x, level, rates); err != nil {
		return nil, err
	}
	back, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		now, next := in[2].Select(0, 0), in[2].Select(0, 1)
		clean := m.forward(in[0], in[1]).Clamp(-1, 1)
		noise := in[0].Sub(clean.Mul(now.Sqrt())).Div(now.Neg().Add(1).Sqrt())
		return []*tensor.Tensor{clean.Mul(next.Sqrt()).Add(noise.Mul(next.Neg().Add(1).Sqrt()))}
	}, x, level, rates)
	if err != nil {
		return nil, err
	}
	for t := times - 1; t >= 0; t-- {
		next := float32(1)
		if t > 0 {
			next = k[t-1]
		}
		level, rates = tensor.Full(t, dtype.F32, drawn), tensor.Of([]float32{k[t], next})
		if err := tensor.Realize(ctx, level, rates); err != nil {
			return nil, err
		}
		outs, err := back.Run(ctx, x, level, rates)
		if err != nil {
			return nil, err
		}
		x = outs[0]
	}
	return x, nil
}

// show prints the pictures beside each other, two lines of pixels in one.
func show(out io.Writer, pictures []float32) {
	const shades = " .:-=+*#%@"
	for y := 0; y < side; y += 2 {
		var line strings.Builder
		for p := range drawn {
			for x := range side {
				v := (pictures[p*pixels+y*side+x] + pictures[p*pixels+(y+1)*side+x]) / 2
				line.WriteByte(shades[int(min(max((v+1)/2, 0), 1)*float32(len(shades)-1)+0.5)])
			}
			line.WriteString("  ")
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}
