package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Kernels that join keep the gates of what the second one read from the first: a load is 0 where its gate does not
// hold, and so is the value that replaces it.
func TestJoinedKernelsKeepGates(t *testing.T) {
	t.Parallel()
	t.Run("elements", func(t *testing.T) {
		w := newWorld(1)
		y := w.input(dtype.F32, 4).Exp2()
		assert.Len(t, w.check(t, y, y.Shrink([]int{0}, []int{2}).Pad([]int{0}, []int{2}).Neg()).Steps, 1)
	})
	t.Run("a sum in a padded sum", func(t *testing.T) {
		w := newWorld(2)
		x := w.input(dtype.F32, 2)
		s := x.Reduce(0, 0)
		padded := s.Reshape(1).Pad([]int{0}, []int{1})
		assert.Len(t, w.check(t, s, padded.Mul(x).Reduce(0, 0)).Steps, 1)
	})
}

// What follows a reduction, element by element, joins it, whatever axes of size 1 it has.
func TestEpiloguesOfSeveralResults(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 1, 32, 7)
	y := x.Reduce(uop.Sum, 2).Add(x.Reduce(uop.MaxOf, 2)) // [1 32]
	r := w.check(t, y, y.Reshape(32, 1).Exp2(), y.Reshape(1, 32, 1).Neg())
	require.Len(t, r.Steps, 1, r)
	// but not what reads it elsewhere
	require.Greater(t, len(w.check(t, y, y.Flip(1).Exp2()).Steps), 1)
}
