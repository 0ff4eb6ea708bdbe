package main

import (
	"context"
	"math"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	moments       = 96 // of a swing that are told
	seconds       = 4.0
	swings        = 4096 // to learn from
	pendulumSteps = 1200
	pendulumBatch = 256
)

// The least and the most of what a pendulum is described by: the angle at which it is let go in degrees, its length in metres, and its friction, the share
// of its speed that it loses in a second.
var least, most = [3]float32{10, 0.3, 0}, [3]float32{150, 1.5, 1.5}

// swing gives the angles of a pendulum in degrees, by the method of Runge and Kutta of the fourth order.
func swing(angle, length, friction float64) []float32 {
	const parts = 20 // steps from one moment to the next
	h := seconds / (moments - 1) / parts
	at, speed := angle*math.Pi/180, 0.0
	force := func(at, speed float64) float64 { return -9.81/length*math.Sin(at) - friction*speed }
	out := make([]float32, moments)
	for i := range out {
		out[i] = float32(at * 180 / math.Pi)
		for range parts {
			a1, v1 := speed, force(at, speed)
			a2, v2 := speed+h/2*v1, force(at+h/2*a1, speed+h/2*v1)
			a3, v3 := speed+h/2*v2, force(at+h/2*a2, speed+h/2*v2)
			a4, v4 := speed+h*v3, force(at+h*a3, speed+h*v3)
			at, speed = at+h/6*(a1+2*a2+2*a3+a4), speed+h/6*(v1+2*v2+2*v3+v4)
		}
	}
	return out
}

// perceptron gives angles at all moments.
type perceptron struct{ One, Two, Three, Out *nn.Linear }

// forward takes x[n, 3] as least and most have it, and gives degrees.
func (p *perceptron) forward(x *tensor.Tensor) *tensor.Tensor {
	low, high := tensor.Of(least[:]), tensor.Of(most[:])
	x = x.Sub(low).Div(high.Sub(low)).Mul(2).Sub(1)
	for _, l := range []*nn.Linear{p.One, p.Two, p.Three} {
		x = l.Forward(x).GELU()
	}
	return p.Out.Forward(x).Mul(100)
}

// pendulum is a function of an angle, a length and a friction that gives the angles of the swing.
func pendulum(ctx context.Context, o options) (*tensor.Captured, error) {
	given, want := make([]float32, 0, 3*swings), make([]float32, 0, moments*swings)
	for i := range swings {
		// Points of a sequence without gaps in three dimensions: Roberts 2018.
		for d, step := range []float64{0.8191725134, 0.6710436067, 0.5497004779} {
			_, part := math.Modf(0.5 + step*float64(i+1))
			given = append(given, least[d]+float32(part)*(most[d]-least[d]))
		}
		g := given[3*i:]
		want = append(want, swing(float64(g[0]), float64(g[1]), float64(g[2]))...)
	}
	x, y := tensor.Of(given, swings, 3), tensor.Of(want, swings, moments)
	if err := tensor.Realize(ctx, x, y); err != nil {
		return nil, err
	}
	tensor.Seed(2)
	p := &perceptron{nn.NewLinear(3, 96), nn.NewLinear(96, 96), nn.NewLinear(96, 96), nn.NewLinear(96, moments)}
	err := learn(ctx, o, "pendulum", p, pendulumSteps, func() *tensor.Tensor {
		some := tensor.RandInt(0, swings, pendulumBatch)
		return p.forward(x.At(some)).Sub(y.At(some)).Div(100).Square().Mean()
	})
	if err != nil {
		return nil, err
	}
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{p.forward(in[0])}
	}, tensor.Of(least[:], 1, 3))
	if err != nil {
		return nil, err
	}
	return c.Named([]string{"pendulum"}, []string{"degrees"}), nil
}
