package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// What is made of a product element by element, and is read more than once, is stored in its place, also where little is computed; the product is where
// something else needs it, or where what is behind windows of a channel is a function.
func TestEpiloguesAreStored(t *testing.T) {
	twice := func(x *uop.UOp) *uop.UOp { return x.Flip(0).Add(x.Mul(x.Float(3))) }
	relu := func(x *uop.UOp) *uop.UOp { return x.Add(x.Float(-2)).Max(x.Float(0)) }
	depthwise := func(w *world) *uop.UOp {
		x := w.input(dtype.F32, 8, 40).Reshape(8, 40, 1).Expand(8, 40, 20).Slide(1, 2, 1, -10, 40)
		return x.Mul(w.input(dtype.F32, 8, 20).Reshape(8, 1, 20).Expand(8, 40, 20)).Reduce(uop.Sum, 2)
	}
	product := func(w *world) *uop.UOp { return w.matmul(w.input(dtype.F32, 150, 140), w.input(dtype.F32, 140, 160)) }
	for name, c := range map[string]struct {
		build func(w *world) []*uop.UOp
		want  string
	}{
		"a product":            {func(w *world) []*uop.UOp { return []*uop.UOp{twice(relu(product(w)))} }, "max.f32[150 160]"},
		"a function of it":     {func(w *world) []*uop.UOp { return []*uop.UOp{twice(product(w).Exp2())} }, "exp2.f32[150 160]"},
		"used in two ways":     {func(w *world) []*uop.UOp { p := product(w); return []*uop.UOp{twice(relu(p).Mul(p))} }, "mul.f32[150 160]"},
		"needed itself":        {func(w *world) []*uop.UOp { p := product(w); return []*uop.UOp{twice(relu(p)), p.Flip(1)} }, "reduce.f32[150 160]"},
		"windows":              {func(w *world) []*uop.UOp { return []*uop.UOp{twice(relu(depthwise(w)))} }, "max.f32[8 40]"},
		"a function of theirs": {func(w *world) []*uop.UOp { return []*uop.UOp{twice(depthwise(w).Exp2())} }, "reduce.f32[8 40]"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8)
			var roots []schedule.Root
			for _, v := range c.build(w) {
				roots = append(roots, schedule.Root{Value: v, Dest: -1})
			}
			r := schedule.New(&schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: roots}, schedule.Config{})
			var stored []string
			for _, x := range r.Reasons {
				if x.Stored && x.Why != "output" {
					stored = append(stored, x.Node)
				}
			}
			require.Equal(t, []string{c.want}, stored, r)
		})
	}
}
