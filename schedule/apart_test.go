package schedule_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Patches of pictures, of which channels, rows and columns became one axis, are written along each of them: no index divides.
func TestPatchesAreWrittenWithoutDivisions(t *testing.T) {
	t.Parallel()
	w := newWorld(7)
	x := w.input(dtype.F32, 2, 3, 4, 6, 4, 6).Permute(0, 2, 4, 1, 3, 5).Reshape(2, 16, 108)
	g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: x.Contiguous(), Dest: -1}}, Inputs: w.inputs}
	for _, step := range w.checkGraph(t, g, schedule.Config{}).Steps {
		for _, o := range step.Spec.Outs {
			require.False(t, slices.ContainsFunc(uop.Topo(append(slices.Clone(o.Index), o.Value)...), func(u *uop.UOp) bool {
				return u.Op() == uop.IDiv || u.Op() == uop.Mod
			}), "%v", o.Value)
		}
	}
}

// Axes that an array has apart, and that a reader goes along as one, do not keep another axis from being apart: what was shuffled, of an array that has its
// channels in groups, is read along each axis, and so is what is summed beside it.
func TestGroupsThatAreOneAxis(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	groups := w.input(dtype.F32, 4, 7, 6, 6).Neg().Contiguous().Reshape(28, 6, 6).Shrink([]int{0, 0, 0}, []int{12, 6, 6})
	weights := w.input(dtype.F32, 20, 12)
	sums := w.input(dtype.F32, 20, 6, 6).Reshape(20, 1, 6, 6).Expand(20, 12, 6, 6).Mul(weights.Reshape(20, 12, 1, 1).Expand(20, 12, 6, 6)).Reduce(uop.Sum, 0)
	unshuffled := func(x *uop.UOp) *uop.UOp { return x.Reshape(12, 3, 2, 3, 2).Permute(0, 2, 4, 1, 3).Reshape(48, 3, 3) }
	x := unshuffled(sums.Reshape(12, 6, 6).Add(groups)).Mul(w.input(dtype.F32, 48, 3, 3))
	g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: x, Dest: -1}}, Inputs: w.inputs}
	for _, step := range w.checkGraph(t, g, schedule.Config{}).Steps {
		for _, o := range step.Spec.Outs {
			require.False(t, slices.ContainsFunc(uop.Topo(append(slices.Clone(o.Index), o.Value)...), func(u *uop.UOp) bool {
				return u.Op() == uop.IDiv || u.Op() == uop.Mod
			}), "%v", o.Value)
		}
	}
}
