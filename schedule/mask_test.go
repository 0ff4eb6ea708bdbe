package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A reduction that is stored, and that nobody looks at but through a mask of indices, is stored with it; one that others look at as well is not.
func TestMaskIsStoredWithWhatItHides(t *testing.T) {
	for _, c := range []struct {
		name  string
		other bool // somebody looks at all of the reduction
		data  bool // the mask is an array
		want  bool
	}{{"index", false, false, true}, {"two look", true, false, false}, {"array", false, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(1)
			x, y := w.input(dtype.F32, 64, 1, 32).Expand(64, 48, 32), w.input(dtype.F32, 1, 48, 32).Expand(64, 48, 32)
			product := x.Mul(y).Reduce(uop.Sum, 2)
			before := w.t.Iota(48).Reshape(1, 48).Expand(64, 48).Less(w.t.Iota(64).Reshape(64, 1).Expand(64, 48))
			if c.data {
				before = w.input(dtype.F32, 64, 48).Less(w.t.Int(dtype.F32, 0).Reshape(1, 1).Expand(64, 48))
			}
			masked := before.Where(product, product.Int(-9).Reshape(1, 1).Expand(64, 48))
			roots := []*uop.UOp{masked.Reduce(uop.MaxOf, 1), masked.Reduce(uop.Sum, 0)}
			if c.other {
				roots = append(roots, product.Reduce(uop.Sum, 0))
			}
			if got := w.check(t, roots...).String(); c.want {
				require.Contains(t, got, "; with its mask")
				require.Contains(t, got, "inline reduce.f32[64 48]: its consumer is its epilogue")
			} else {
				require.NotContains(t, got, "; with its mask")
			}
		})
	}
}
