package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A reduction that is read behind several gates is one, as each cell of a table is that three others are made of: else there would be three for
// each of those, and so on.
func TestReductionsBehindGatesAreOne(t *testing.T) {
	w := newWorld(5)
	x := w.input(dtype.F32, 1)
	const cells = 8
	a, b := x.Exp2(), x.Sin()
	for range cells { // the greater of both, each weighed, is the next
		pair := a.Pad([]int{0}, []int{1}).Add(b.Mul(b.Float(0.5)).Pad([]int{1}, []int{0}))
		a, b = pair.Reduce(uop.MaxOf, 0).Reshape(1).Add(x), a
	}
	r := w.check(t, a)
	reductions := 0
	for _, s := range r.Steps {
		for _, u := range uop.Topo(s.Spec.Outs[0].Value) {
			if u.Op() == uop.Reduce {
				reductions++
			}
		}
	}
	require.NotEmpty(t, r.Steps)
	assert.LessOrEqual(t, reductions, cells)
}
