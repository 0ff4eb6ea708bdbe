package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// A sum over the rows of a matrix that is as large as asked for is one of parts, which hold whole rows; where rows lie otherwise,
// are long, or each is used often, it is not.
func TestSumsOverRowsHaveParts(t *testing.T) {
	t.Parallel()
	const matrix = 1 << 14
	matrices := func(w *world, b, k, n int) *uop.UOp { // Σ x[b,k]·y[b,k,n]
		x, y := w.input(dtype.F32, b, k, 1).Expand(b, k, n), w.input(dtype.F32, b, k, n)
		return x.Mul(y).Reduce(uop.Sum, 1)
	}
	for name, c := range map[string]struct {
		of    func(w *world) *uop.UOp
		parts int // elements of all partial results
	}{
		"row":       {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 1, 256), w.input(dtype.F32, 256, 32)) }, 8 * 32},
		"odd sizes": {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 1, 167), w.input(dtype.F32, 167, 33)) }, 5 * 33},
		"few rows":  {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 4, 256), w.input(dtype.F32, 256, 32)) }, 8 * 4 * 32},
		"bias": {func(w *world) *uop.UOp {
			y := times(w.input(dtype.F32, 1, 256), w.input(dtype.F32, 256, 32)).Add(w.input(dtype.F32, 1, 32))
			return y.Max(y.Int(0))
		}, 8 * 32},
		"halves": {func(w *world) *uop.UOp {
			return times(w.input(dtype.F32, 1, 256), w.input(dtype.F16, 256, 48).Cast(dtype.F32))
		}, 8 * 48},
		"columns":       {func(w *world) *uop.UOp { return w.input(dtype.F32, 256, 32).Reduce(uop.Sum, 0) }, 8 * 32},
		"matrices":      {func(w *world) *uop.UOp { return matrices(w, 3, 160, 32) }, 5 * 3 * 32},
		"many matrices": {func(w *world) *uop.UOp { return matrices(w, 5, 160, 32) }, 0},
		"along rows": {func(w *world) *uop.UOp {
			return times(w.input(dtype.F32, 1, 256), w.input(dtype.F32, 32, 256).Permute(1, 0))
		}, 0},
		"many rows": {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 5, 256), w.input(dtype.F32, 256, 32)) }, 0},
		"long rows": {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 1, 128), w.input(dtype.F32, 128, 256)) }, 0},
		"small":     {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 1, 200), w.input(dtype.F32, 200, 20)) }, 0},
		"few steps": {func(w *world) *uop.UOp { return times(w.input(dtype.F32, 1, 120), w.input(dtype.F32, 120, 48)) }, 0},
		"parts of rows": {func(w *world) *uop.UOp {
			return times(w.input(dtype.F32, 1, 256), w.input(dtype.F32, 256, 64).Shrink([]int{0, 8}, []int{256, 40}))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(5)
			g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: c.of(w), Dest: -1}}}
			g.Inputs = w.inputs
			n := 0
			for _, x := range temporaries(w.checkGraph(t, g, schedule.Config{WholeRows: matrix})) {
				n += x
			}
			assert.Equal(t, c.parts, n)
		})
	}
}

// A reduction of all of a matrix is one of parts that lie together, unless its rows are few.
func TestPartsOfMatricesLieTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, columns, parts int }{{1000, 300, 50}, {4, 9600, 64}, {640, 90, 64}} {
		w := newWorld(5)
		g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: w.input(dtype.F32, c.rows, c.columns).Reduce(uop.Sum, 0, 1), Dest: -1}}}
		g.Inputs = w.inputs
		assert.Equal(t, []int{c.parts}, temporaries(w.checkGraph(t, g, schedule.Config{})), "%d×%d", c.rows, c.columns)
	}
}
