package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// A query that masks forbid all keys has no weights, and its result is the bias of Out; nothing of it goes into a gradient.
func TestMultiheadAttentionToNothing(t *testing.T) {
	x := ramp(2, 3, 4)
	forbidden := tensor.Of([]bool{false, true, true, true, true, true, false, false, true}, 3, 3)
	for name, o := range map[string]nn.Attending{
		"bool":              {Mask: forbidden},
		"added":             {Mask: forbidden.Where(math.Inf(-1), 0).To(dtype.F32)},
		"padding":           {PaddingMask: tensor.Of([]bool{true, true, true, false, true, false}, 2, 3)},
		"padding and added": {Mask: ramp(3, 3), PaddingMask: tensor.Of([]bool{true, true, true, false, true, false}, 2, 3)},
		"padding and bool":  {Mask: forbidden, PaddingMask: tensor.Of([]bool{true, false, false, false, true, false}, 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			l := nn.NewMultiheadAttention(4, 2)
			l.BatchFirst = true
			l.Out.Bias = ramp(4).Add(1)
			o.EachHead = true
			y, p := l.Forward(x, x, x, o)
			empty := 0
			weights, rows := values(t, p.Mean(1).Sum(-1)), values(t, y)
			for i, w := range weights {
				if w != 0 {
					assert.InDelta(t, 1, w, 1e-6)
					continue
				}
				empty++
				assert.InDeltaSlice(t, values(t, l.Out.Bias), rows[4*i:4*i+4], 1e-6)
			}
			assert.Positive(t, empty)
			for _, g := range y.Square().Sum().Grad(l.Query.Weight, l.Key.Weight, l.Value.Weight, l.Out.Weight) {
				for _, v := range values(t, g) {
					assert.False(t, math.IsNaN(float64(v)))
				}
			}
		})
	}
}
