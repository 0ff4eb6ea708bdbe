package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
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
