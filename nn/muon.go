package nn

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-ml/weft/tensor"
)

// MuonOptions are the settings of NewMuon.
type MuonOptions struct {
	Rate       float64    // learning rate; 0 means 1e-3
	Decay      float64    // weight decay; 0 means 0.1
	NoDecay    bool       // no weight decay
	Momentum   float64    // 0 means 0.95; a negative number: none
	Plain      bool       // without Nesterov's look ahead
	Newton     [3]float64 // coefficients of the iteration; zeros mean 3.4445, −4.775, 2.0315
	Eps        float64    // 0 means 1e-7; a negative number: 0
	Iterations int        // 0 means 5
	MatchAdam  bool       // scale steps to the size of Adam's, instead of by the root of the ratio of the sides
}

// NewMuon makes the optimiser of Jordan (2024) for a model whose parameters all have two axes or more, and realizes the model. A step
// follows the orthogonal matrix nearest to the momentum, found by Newton's and Schulz's iteration. A parameter with more axes, as the
// filters of a convolution, is the matrix [first axis, all others]. For a model that has others too, see Groups.
func NewMuon(ctx context.Context, model any, o MuonOptions) (*Optimizer, error) {
	decay, momentum, eps := or(o.Decay, 0.1), share(o.Momentum, 0.95), share(o.Eps, 1e-7)
	if o.NoDecay {
		decay = 0
	}
	if err := checked("Muon", number("Rate", o.Rate), number("Momentum", momentum), number("Decay", decay), number("Eps", eps), number("Iterations", float64(o.Iterations))); err != nil {
		return nil, err
	}
	if o.Newton == [3]float64{} {
		o.Newton = [3]float64{3.4445, -4.775, 2.0315}
	}
	if o.Iterations == 0 {
		o.Iterations = 5
	}
	for _, p := range Parameters(model) {
		if p.Rank() < 2 {
			return nil, fmt.Errorf("nn: Muon trains matrices only, not a parameter of shape %v; give the others to NewAdamW, and join both by NewGroups", p.Shape())
		}
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), []string{"momentum"}, func(c *Change) *tensor.Tensor {
		m := c.Keep("momentum", mix(c.Slot("momentum"), c.Gradient, momentum))
		if !o.Plain {
			m = mix(m, c.Gradient, momentum)
		}
		m = m.Reshape(m.Dim(0), m.Numel()/max(m.Dim(0), 1))
		rows, columns := float64(m.Dim(0)), float64(m.Dim(1))
		scale := math.Sqrt(math.Max(1, rows/columns))
		if o.MatchAdam {
			scale = 0.2 * math.Sqrt(math.Max(rows, columns))
		}
		step := m.NewtonSchulz(o.Iterations, o.Newton, eps).Mul(c.Rate.Mul(scale)).Reshape(c.Parameter.Shape()...)
		return c.Parameter.Sub(c.Parameter.Mul(c.Rate.Mul(decay))).Sub(step)
	})
}
