package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// What takes neighbours by turns from several arrays, or from one and from zeros, is stored where a filter reads each element often: lanes would
// load them one by one. It is not where it is read a few times, where the arrays follow each other, or where many neighbours come from one.
func TestElementsByTurnsAreStored(t *testing.T) {
	t.Parallel()
	// filter is the sum of so many neighbours along the only axis.
	filter := func(x *uop.UOp, taps int) *uop.UOp {
		n := x.Shape()[0]
		return x.Reshape(n, 1).Expand(n, taps).Slide(0, 1, 1, 0, n).Reduce(uop.Sum, 1)
	}
	join := func(axis int, us ...*uop.UOp) *uop.UOp {
		starts, total := make([]int, len(us)), 0
		for i, u := range us {
			starts[i] = total
			total += u.Shape()[axis]
		}
		return uop.Join(axis, total, starts, us)
	}
	for _, c := range []struct {
		name    string
		build   func(w *world) *uop.UOp
		kernels int
	}{
		{"zeros between", func(w *world) *uop.UOp {
			return filter(w.input(dtype.F32, 50, 1).Pad([]int{0, 0}, []int{0, 2}).Reshape(150), 20)
		}, 2},
		{"two by turns", func(w *world) *uop.UOp {
			return filter(join(1, w.input(dtype.F32, 50, 1), w.input(dtype.F32, 50, 1)).Reshape(100), 20)
		}, 2},
		{"few taps", func(w *world) *uop.UOp {
			return filter(w.input(dtype.F32, 50, 1).Pad([]int{0, 0}, []int{0, 2}).Reshape(150), 3)
		}, 1},
		{"one after the other", func(w *world) *uop.UOp {
			return filter(join(0, w.input(dtype.F32, 50), w.input(dtype.F32, 50)), 20)
		}, 1},
		{"long rows by turns", func(w *world) *uop.UOp {
			return filter(join(1, w.input(dtype.F32, 3, 50), w.input(dtype.F32, 3, 50)).Reshape(300), 20)
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(7)
			g := &schedule.Graph{Table: w.t}
			g.Roots = append(g.Roots, schedule.Root{Value: c.build(w), Dest: -1})
			g.Inputs = w.inputs
			assert.Len(t, w.checkGraph(t, g, schedule.Config{}).Steps, c.kernels)
		})
	}
}
