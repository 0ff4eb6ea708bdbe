// Command cartpole learns to balance a pole on a cart from nothing but how long it stood (REINFORCE, Williams 1992). The carts
// (Barto, Sutton and Anderson 1983) are simulated beside the network, all at once, as tensors.
//
//	go run ./examples/gallery/cartpole
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	carts    = 64
	horizon  = 200 // steps after which a pole has stood long enough
	episodes = 40
	hidden   = 32
	discount = 0.99
)

// policy gives the logit of pushing to the right for states[n, 4].
type policy struct{ In, Out *nn.Linear }

func (p *policy) forward(s *tensor.Tensor) *tensor.Tensor {
	return p.Out.Forward(p.In.Forward(s).Tanh()).Squeeze(-1)
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run gives how long poles stood in each episode, in the mean.
func run(ctx context.Context, out io.Writer) (stood []float64, err error) {
	err = tensor.Try(func() { stood = tensor.Must(learn(ctx, out)) })
	return stood, err
}

func learn(ctx context.Context, out io.Writer) (stood []float64, err error) {
	tensor.Seed(2)
	p := &policy{nn.NewLinear(4, hidden), nn.NewLinear(hidden, 1)}
	opt, err := nn.NewAdam(ctx, p, nn.AdamOptions{Rate: 0.02})
	if err != nil {
		return nil, err
	}
	start := tensor.Zeros(carts, 4)
	moment, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return p.moment(in[0], in[1]) }, start, tensor.Zeros(carts))
	if err != nil {
		return nil, err
	}
	stack, up := make([]*tensor.Tensor, horizon), make([]*tensor.Tensor, horizon)
	update, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		opt.Update(p.loss(in[0], in[1], in[2]))
		return []*tensor.Tensor{in[2].Sum(0).Mean()}
	}, tensor.Zeros(horizon, carts, 4), tensor.Zeros(horizon, carts), tensor.Zeros(horizon, carts))
	if err != nil {
		return nil, err
	}
	for episode := range episodes {
		state, alive := tensor.Rand(carts, 4).Sub(0.5).Mul(0.1), tensor.Full(1, dtype.F32, carts)
		right := make([]*tensor.Tensor, horizon)
		for i := range horizon {
			outs, err := moment.Run(ctx, realized(ctx, state), realized(ctx, alive))
			if err != nil {
				return nil, err
			}
			stack[i], up[i] = state, alive
			right[i], state, alive = outs[0], outs[1], outs[2]
		}
		outs, err := update.Run(ctx, realized(ctx, tensor.Stack(0, stack...)), realized(ctx, tensor.Stack(0, right...)), realized(ctx, tensor.Stack(0, up...)))
		if err != nil {
			return nil, err
		}
		n, err := outs[0].Item(ctx)
		if err != nil {
			return nil, err
		}
		if stood = append(stood, n); episode%10 == 0 || episode == episodes-1 {
			fmt.Fprintf(out, "episode %3d: poles stand for %.0f of %d steps\n", episode, n, horizon)
		}
	}
	return stood, nil
}

// realized is what a captured function takes: a tensor in memory.
func realized(ctx context.Context, t *tensor.Tensor) *tensor.Tensor {
	if err := t.Realize(ctx); err != nil {
		panic(err)
	}
	return t
}

// moment draws the directions in which carts are pushed, 1 to the right and 0 to the left, and gives what becomes of them: carts whose
// pole has fallen stay so.
func (p *policy) moment(state, alive *tensor.Tensor) []*tensor.Tensor {
	right := tensor.RandLike(alive).Lt(p.forward(state).Sigmoid()).To(dtype.F32)
	next := push(state, right)
	x, angle := next.Select(1, 0), next.Select(1, 2)
	standing := alive.Mul(x.Abs().Lt(2.4).And(angle.Abs().Lt(0.2095)).To(dtype.F32))
	return []*tensor.Tensor{right, next, standing}
}

// push follows the carts for 20 ms: position, speed, angle, speed of the angle.
func push(state, right *tensor.Tensor) *tensor.Tensor {
	const gravity, cart, pole, half, force, dt = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
	x, v, a, w := state.Select(1, 0), state.Select(1, 1), state.Select(1, 2), state.Select(1, 3)
	sin, cos := a.Sin(), a.Cos()
	pull := right.Mul(2 * force).Sub(force).Add(w.Square().Mul(sin).Mul(pole * half)).Mul(1 / (cart + pole))
	turn := sin.Mul(gravity).Sub(cos.Mul(pull)).Div(cos.Square().Mul(-pole / (cart + pole)).Add(4. / 3).Mul(half))
	speed := pull.Sub(turn.Mul(cos).Mul(pole * half / (cart + pole)))
	return tensor.Stack(1, x.Add(v.Mul(dt)), v.Add(speed.Mul(dt)), a.Add(w.Mul(dt)), w.Add(turn.Mul(dt)))
}

// loss is smaller the likelier the choices are that were followed by a long time: −Σ log p(choice)·(return − mean return), where the pole
// stood.
func (p *policy) loss(states, right, alive *tensor.Tensor) *tensor.Tensor {
	decay := tensor.Arange(horizon).To(dtype.F32)
	later := decay.Unsqueeze(0).Sub(decay.Unsqueeze(1)) // [now, then]
	weight := later.Ge(0).Where(tensor.Scalar(discount).Pow(later), 0)
	returns := weight.MatMul(alive) // [horizon, carts]
	all := alive.Sum(1).Maximum(1).Unsqueeze(1)
	mean := returns.Mul(alive).Sum(1).Unsqueeze(1).Div(all)
	gain := returns.Sub(mean).Mul(alive).Detach()
	logit := p.forward(states.Reshape(-1, 4)).Reshape(horizon, carts)
	likely := logit.Mul(right).Sub(logit.Softplus(1)) // log σ(logit) or log(1 − σ(logit))
	return likely.Mul(gain).Sum().Neg().Div(alive.Sum())
}
