package nn

import "github.com/weft-ml/weft/nn/recurrent"

type (
	// CellKind is what a recurrent cell computes from its input x and its state h.
	CellKind = recurrent.CellKind
	// Cell is the weights of a recurrent cell: Input[gates·hidden, in], Hidden[gates·hidden, hidden], and biases that may
	// be nil. Projection[size, hidden], of LSTM cells only and usually nil, makes the state that is passed on smaller.
	//
	//	func (l *Cell) Forward(x *tensor.Tensor, s States) States // the state after the input x[n, in]
	//	func (l *Cell) Zero(n int) States                         // the state to begin with, for inputs of n rows
	Cell = recurrent.Cell
	// States are the state of a cell: H[n, size] and, of LSTM cells, C[n, hidden].
	States = recurrent.States
	// Recurrent runs layers of cells over a sequence. Each layer has a cell, or two for both directions, whose outputs are
	// joined and are the input of the next layer.
	//
	//	type Recurrent struct {
	//		Layers     [][]*Cell // [layer][direction]
	//		BatchFirst bool      // sequences are [n, time, in] instead of [time, n, in]
	//		Dropout    float64   // between layers, in training
	//	}
	//
	//	func (r *Recurrent) Forward(x *tensor.Tensor, start States, training bool) (*tensor.Tensor, States)
	//
	// Forward returns the outputs of the last layer at all times, [time, n, size·directions] of x[time, n, in], and the last states, stacked by
	// layer and direction: H and C [layers·directions, n, …]. start holds states in that form; its tensors may be nil, meaning zeros. A
	// sequence [time, in] without the axis n has states and outputs without it.
	Recurrent = recurrent.Recurrent
)

// The kinds of cells. Their gates are stacked in the first axis of the weights, in the order of the names.
const (
	TanhCell = recurrent.TanhCell // tanh(W·x + R·h)
	ReLUCell = recurrent.ReLUCell // ReLU(W·x + R·h)
	LSTMCell = recurrent.LSTMCell // input, forget, cell, output: Hochreiter and Schmidhuber (1997) with forget gates
	GRUCell  = recurrent.GRUCell  // reset, update, new: Cho and others (2014), the reset gate after the product
)

// NewCell makes a cell with weights uniform in ±1/√hidden.
func NewCell(kind CellKind, in, hidden int) *Cell {
	n := kind.Gates() * hidden
	return &Cell{Kind: kind, Input: uniform(hidden, n, in), Hidden: uniform(hidden, n, hidden),
		InputBias: uniform(hidden, n), HiddenBias: uniform(hidden, n)}
}

// NewRecurrent makes layers of cells with weights uniform in ±1/√hidden.
func NewRecurrent(kind CellKind, in, hidden, layers int, bothWays bool) *Recurrent {
	r := &Recurrent{}
	ways := 1
	if bothWays {
		ways = 2
	}
	for range layers {
		var cells []*Cell
		for range ways {
			cells = append(cells, NewCell(kind, in, hidden))
		}
		r.Layers = append(r.Layers, cells)
		in = ways * hidden
	}
	return r
}
