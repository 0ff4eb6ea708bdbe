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
