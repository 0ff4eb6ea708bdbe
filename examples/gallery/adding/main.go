// Command adding trains an LSTM (Hochreiter and Schmidhuber 1997) on the task that its authors used: a sequence of random numbers, two
// of which are marked, and the sum of these two is the answer. What always guesses 1 has a mean square error of 1/6.
//
//	go run ./examples/gallery/adding
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
	length = 16
	batch  = 64
	hidden = 32
	steps  = 600
)

// model reads a number and a mark at a time, and answers after the last.
type model struct {
	Read   *nn.Recurrent
	Answer *nn.Linear
}

func (m *model) forward(x *tensor.Tensor) *tensor.Tensor {
	_, last := m.Read.Forward(x, nn.States{}, false)
	return m.Answer.Forward(last.H.Select(0, 0)).Squeeze(-1)
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run gives the mean of the last 50 losses.
func run(ctx context.Context, out io.Writer) (loss float64, err error) {
	err = tensor.Try(func() { loss = tensor.Must(train(ctx, out)) })
	return loss, err
}

func train(ctx context.Context, out io.Writer) (mean float64, err error) {
	tensor.Seed(3)
	m := &model{nn.NewRecurrent(nn.LSTMCell, 2, hidden, 1, false), nn.NewLinear(hidden, 1)}
	opt, err := nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.01})
	if err != nil {
		return 0, err
	}
	step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		x, sum := task()
		loss := m.forward(x).MSE(sum)
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	})
	if err != nil {
		return 0, err
	}
	const last = 50
	for i := range steps {
		outs, err := step.Run(ctx)
		if err != nil {
			return 0, err
		}
		show := i%100 == 0
		if i < steps-last && !show {
			continue // a loss that nobody reads is not waited for
		}
		l, err := outs[0].Item(ctx)
		if err != nil {
			return 0, err
		}
		if show {
			fmt.Fprintf(out, "step %4d  loss %.4f\n", i, l)
		}
		if i >= steps-last {
			mean += l / last
		}
	}
	fmt.Fprintf(out, "mean of the last %d losses: %.4f; guessing 1 would give %.4f\n", last, mean, 1./6)
	return mean, nil
}

// task draws sequences x[length, batch, 2] of numbers and marks, and sums[batch]: one mark lies in each half.
func task() (x, sums *tensor.Tensor) {
	numbers := tensor.Rand(length, batch)
	place := func(low, high int) *tensor.Tensor {
		return tensor.Arange(length).Unsqueeze(1).Eq(tensor.RandInt(low, high, batch)).To(dtype.F32)
	}
	marks := place(0, length/2).Add(place(length/2, length))
	return tensor.Stack(2, numbers, marks), numbers.Mul(marks).Sum(0)
}
