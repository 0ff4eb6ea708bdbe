package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Where many invocations have to be kept busy, sums of columns are sums of some rows first; those of rows, of few rows, and of columns that are
// rows as they lie, are not.
func TestColumnsAreCutByRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		build   func(w *world) *uop.UOp
		kernels int
	}{
		{"columns", func(w *world) *uop.UOp { return w.input(dtype.F32, 1290, 64).Reduce(uop.Sum, 0) }, 2},
		{"of what is computed", func(w *world) *uop.UOp {
			x := w.input(dtype.F32, 5, 256, 40)
			return x.Mul(x).Reduce(uop.Sum, 0, 1)
		}, 2},
		{"rows", func(w *world) *uop.UOp { return w.input(dtype.F32, 64, 1290).Reduce(uop.Sum, 1) }, 1},
		{"few rows", func(w *world) *uop.UOp { return w.input(dtype.F32, 200, 64).Reduce(uop.Sum, 0) }, 1},
		{"columns of a transpose", func(w *world) *uop.UOp { return w.input(dtype.F32, 64, 1290).Permute(1, 0).Reduce(uop.Sum, 0) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(7)
			g := &schedule.Graph{Table: w.t}
			g.Roots = append(g.Roots, schedule.Root{Value: c.build(w), Dest: -1})
			g.Inputs = w.inputs
			assert.Len(t, w.checkGraph(t, g, schedule.Config{Parallel: 1 << 16}).Steps, c.kernels)
		})
	}
}
