package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Windows of narrow numbers are laid out where the target multiplies matrices of these: with what lies densely among the results, or among what
// is summed, and the other factor too where it is moved. What is too small, or of other types, stays as it is.
func TestWindowsAreLaidOut(t *testing.T) {
	t.Parallel()
	// windowed is x[in, n] in windows of k, as [out, n, in, k] or, where the windows are summed, [out, k, in, n].
	windowed := func(w *world, d, wide dtype.DType, out, in, n, k int, summed bool) *uop.UOp {
		x := w.input(d, in, n).Cast(wide).Permute(1, 0)
		if summed {
			x = w.input(d, in, n).Cast(wide)
			return x.Reshape(1, 1, in, n).Expand(out, k, in, n).Slide(3, 1, 1, -1, n)
		}
		return x.Reshape(1, n, in, 1).Expand(out, n, in, k).Slide(1, 3, 1, -1, n)
	}
	for name, test := range map[string]struct {
		build func(w *world) *uop.UOp
		laid  []string
	}{
		"results": {func(w *world) *uop.UOp {
			x := windowed(w, dtype.BF16, dtype.F32, 48, 8, 20, 4, false)
			f := w.input(dtype.BF16, 48, 8, 4).Cast(dtype.F32).Reshape(48, 1, 8, 4).Expand(48, 20, 8, 4)
			return x.Mul(f).Reduce(uop.Sum, 2, 3)
		}, []string{"contiguous.bf16[1 8 4 20]"}},
		"summed": {func(w *world) *uop.UOp {
			x := windowed(w, dtype.I8, dtype.I32, 50, 6, 64, 3, true)
			f := w.input(dtype.I8, 64, 50).Cast(dtype.I32).Permute(1, 0).Reshape(50, 1, 1, 64).Expand(50, 3, 6, 64)
			return f.Mul(x).Reduce(uop.Sum, 3)
		}, []string{"contiguous.i8[1 3 6 64]", "contiguous.i8[50 1 1 64]"}},
		"a moved filter": {func(w *world) *uop.UOp {
			x := windowed(w, dtype.U8, dtype.I32, 48, 16, 17, 4, false)
			f := w.input(dtype.I8, 16, 48, 4).Cast(dtype.I32).Flip(2).Permute(1, 0, 2).Reshape(48, 1, 16, 4).Expand(48, 17, 16, 4)
			return x.Mul(f).Reduce(uop.Sum, 2, 3)
		}, []string{"contiguous.i8[48 1 16 4]", "contiguous.u8[1 16 4 17]"}},
		"heads beside each other": {func(w *world) *uop.UOp {
			x := w.input(dtype.BF16, 20, 3*64).Cast(dtype.F32).Reshape(20, 3, 64, 1).Expand(20, 3, 64, 50)
			f := w.input(dtype.BF16, 3, 64, 50).Cast(dtype.F32).Reshape(1, 3, 64, 50).Expand(20, 3, 64, 50)
			return x.Mul(f).Reduce(uop.Sum, 2)
		}, nil},
		"few results": {func(w *world) *uop.UOp {
			x := windowed(w, dtype.BF16, dtype.F32, 16, 8, 20, 4, false)
			f := w.input(dtype.BF16, 16, 8, 4).Cast(dtype.F32).Reshape(16, 1, 8, 4).Expand(16, 20, 8, 4)
			return x.Mul(f).Reduce(uop.Sum, 2, 3)
		}, nil},
		"another type": {func(w *world) *uop.UOp {
			x := windowed(w, dtype.F16, dtype.F32, 48, 8, 20, 4, false)
			f := w.input(dtype.F16, 48, 8, 4).Cast(dtype.F32).Reshape(48, 1, 8, 4).Expand(48, 20, 8, 4)
			return x.Mul(f).Reduce(uop.Sum, 2, 3)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(5)
			g := &schedule.Graph{Table: w.t, Roots: []schedule.Root{{Value: test.build(w), Dest: -1}}}
			g.Inputs = w.inputs
			r := w.checkGraph(t, g, schedule.Config{Matrix: codegen.NewMatrixUnit(true, true)})
			var laid []string
			for _, d := range r.Reasons {
				if d.Stored && d.Why == "asked to be contiguous" {
					laid = append(laid, d.Node)
				}
			}
			assert.ElementsMatch(t, test.laid, laid)
		})
	}
}
