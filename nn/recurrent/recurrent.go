// Package recurrent has the layers of package nn that run over a sequence, without what files of models need: the engine of a page
// links it. Everybody else uses it as part of package nn.
package recurrent

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// CellKind is what a recurrent cell computes from its input x and its state h.
type CellKind uint8

// The kinds of cells. Their gates are stacked in the first axis of the weights, in the order of the names.
const (
	TanhCell CellKind = 0 // tanh(W·x + R·h)
	ReLUCell CellKind = 1 // ReLU(W·x + R·h)
	LSTMCell CellKind = 2 // input, forget, cell, output: Hochreiter and Schmidhuber (1997) with forget gates
	GRUCell  CellKind = 3 // reset, update, new: Cho and others (2014), the reset gate after the product
)

// Gates is how many gates a cell has.
func (k CellKind) Gates() int {
	switch k {
	case LSTMCell:
		return 4
	case GRUCell:
		return 3
	}
	return 1
}

// Cell is the weights of a recurrent cell: Input[gates·hidden, in], Hidden[gates·hidden, hidden], and biases that may
// be nil. Projection[size, hidden], of LSTM cells only and usually nil, makes the state that is passed on smaller.
type Cell struct {
	Kind                  CellKind
	Input, Hidden         *tensor.Tensor
	InputBias, HiddenBias *tensor.Tensor
	Projection            *tensor.Tensor
}

// States are the state of a cell: H[n, size] and, of LSTM cells, C[n, hidden].
type States struct{ H, C *tensor.Tensor }

// Zero is the state to begin with, for inputs of n rows.
func (l *Cell) Zero(n int) States {
	d := l.Hidden.DType()
	s := States{H: tensor.Full(0, d, n, l.Hidden.Dim(1))}
	if l.Kind == LSTMCell {
		s.C = tensor.Full(0, d, n, l.Hidden.Dim(0)/4)
	}
	return s
}

// Forward returns the state after the input x[n, in].
func (l *Cell) Forward(x *tensor.Tensor, s States) States {
	return l.step(x.Linear(l.Input, l.InputBias), s)
}

// step goes on from the part of the gates that the input makes.
func (l *Cell) step(in *tensor.Tensor, s States) States {
	back := s.H.Linear(l.Hidden, l.HiddenBias)
	switch l.Kind {
	case LSTMCell:
		g := in.Add(back).Chunk(-1, 4)
		c := g[1].Sigmoid().Mul(s.C).Add(g[0].Sigmoid().Mul(g[2].Tanh()))
		h := g[3].Sigmoid().Mul(c.Tanh())
		if l.Projection != nil {
			h = h.Linear(l.Projection, nil)
		}
		return States{h, c}
	case GRUCell:
		g, b := in.Chunk(-1, 3), back.Chunk(-1, 3)
		update := g[1].Add(b[1]).Sigmoid()
		fresh := g[2].Add(g[0].Add(b[0]).Sigmoid().Mul(b[2])).Tanh()
		return States{H: fresh.Add(update.Mul(s.H.Sub(fresh)))}
	case ReLUCell:
		return States{H: in.Add(back).ReLU()}
	}
	return States{H: in.Add(back).Tanh()}
}

// Recurrent runs layers of cells over a sequence. Each layer has a cell, or two for both directions, whose outputs are
// joined and are the input of the next layer.
type Recurrent struct {
	Layers     [][]*Cell // [layer][direction]
	BatchFirst bool      // sequences are [n, time, in] instead of [time, n, in]
	Dropout    float64   // between layers, in training
}

// Forward returns the outputs of the last layer at all times and the last states, stacked by layer and direction: H
// and C [layers·directions, n, …]. start holds states in that form; its tensors may be nil, meaning zeros. A sequence
// [time, in] without the axis n has states and outputs without it.
func (r *Recurrent) Forward(x *tensor.Tensor, start States, training bool) (*tensor.Tensor, States) {
	single := x.Rank() == 2
	if single {
		x = x.Unsqueeze(1)
		start = start.each(func(t *tensor.Tensor) *tensor.Tensor { return t.Unsqueeze(1) })
	} else if r.BatchFirst {
		x = x.Transpose(0, 1)
	}
	if x.Rank() != 3 || len(r.Layers) == 0 {
		panic(&tensor.ArgumentError{Op: "Recurrent", Reason: fmt.Sprintf("input %v for %d layers; it needs [time, n, in]", x.Shape(), len(r.Layers)), At: tensor.Caller()})
	}
	var h, c []*tensor.Tensor
	for i, cells := range r.Layers {
		if i > 0 && training && r.Dropout > 0 {
			x = x.Dropout(r.Dropout)
		}
		ways := make([]*tensor.Tensor, len(cells))
		for j, cell := range cells {
			s := start.of(cell, len(h), x.Dim(1))
			ways[j], s = cell.run(x, s, j == 1)
			h, c = append(h, s.H), append(c, s.C)
		}
		x = tensor.Cat(-1, ways...)
	}
	last := States{H: tensor.Stack(0, h...)}
	if c[0] != nil {
		last.C = tensor.Stack(0, c...)
	}
	switch {
	case single:
		return x.Select(1, 0), last.each(func(t *tensor.Tensor) *tensor.Tensor { return t.Select(1, 0) })
	case r.BatchFirst:
		return x.Transpose(0, 1), last
	}
	return x, last
}

func (s States) each(f func(t *tensor.Tensor) *tensor.Tensor) States {
	if s.H != nil {
		s.H = f(s.H)
	}
	if s.C != nil {
		s.C = f(s.C)
	}
	return s
}

// of is the state of the i-th cell.
func (s States) of(cell *Cell, i, n int) States {
	own := cell.Zero(n)
	if s.H != nil {
		own.H = s.H.Select(0, i)
	}
	if s.C != nil {
		own.C = s.C.Select(0, i)
	}
	return own
}

// run gives the output at each time and the last state. What the input contributes is one product for all times.
func (l *Cell) run(x *tensor.Tensor, s States, backward bool) (*tensor.Tensor, States) {
	in := x.Linear(l.Input, l.InputBias)
	wide := l.step(tensor.Full(0, in.DType(), in.Shape()[1:]...), s).H.DType() // of inputs, weights and states of several types
	s = s.each(func(t *tensor.Tensor) *tensor.Tensor { return t.To(wide) })
	all, _ := tensor.Scan(func(carried, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return l.list(l.step(in[0], l.states(carried))), nil
	}, l.list(s), []*tensor.Tensor{in}, tensor.ScanOptions{Back: backward})
	last := x.Dim(0) - 1
	switch {
	case last < 0:
		return all[0], s
	case backward:
		last = 0
	}
	return all[0], l.states(all).each(func(t *tensor.Tensor) *tensor.Tensor { return t.Select(0, last) })
}

// list is H and, of LSTM cells, C.
func (l *Cell) list(s States) []*tensor.Tensor {
	if l.Kind == LSTMCell {
		return []*tensor.Tensor{s.H, s.C}
	}
	return []*tensor.Tensor{s.H}
}

// states are those of a list.
func (l *Cell) states(list []*tensor.Tensor) States {
	if l.Kind == LSTMCell {
		return States{list[0], list[1]}
	}
	return States{H: list[0]}
}
