package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A picture that was stored as a list of pixels, as behind a norm of groups, is read by rows and columns: a copy of a window's rows
// has a gate on each of them.
func TestStoredPixelsAreReadByRowsAndColumns(t *testing.T) {
	w := newWorld(3)
	stored := w.input(dtype.F32, 4, 36).Exp2().Contiguous()
	picture := stored.Reshape(4, 6, 6)
	windows := picture.Reshape(4, 6, 6, 1, 1).Expand(4, 6, 6, 3, 3).Slide(1, 3, 1, -1, 6).Slide(2, 4, 1, -1, 6)
	r := w.check(t, windows.Reduce(uop.Sum, 3, 4))
	require.Len(t, r.Steps, 2)
	for _, p := range r.Steps[1].Spec.Params {
		assert.Equal(t, []int{4, 6, 6}, p.Dims)
	}
}

// So has one whose windows' sums are read as a list of pixels, as before a norm of groups: the gates take rows and columns apart, so that the index
// has them apart too.
func TestWindowsOfPixelsAreReadByRowsAndColumns(t *testing.T) {
	w := newWorld(5)
	picture := w.input(dtype.F32, 4, 6, 6).Exp2().Contiguous()
	windows := picture.Reshape(4, 6, 6, 1, 1).Expand(4, 6, 6, 3, 3).Slide(1, 3, 1, -1, 6).Slide(2, 4, 1, -1, 6)
	r := w.check(t, windows.Reduce(uop.Sum, 3, 4).Reshape(2, 72).Exp2())
	require.Len(t, r.Steps, 2)
	for _, p := range r.Steps[1].Spec.Params {
		if !p.Write {
			assert.Equal(t, []int{4, 6, 6}, p.Dims)
		}
	}
}
