package grad

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// A view of a leaf that has been realized is the leaf's buffer seen otherwise: the gradient comes by once.
func TestRealizedViewCountsOnce(t *testing.T) {
	b := uop.NewBuffer(1, 2, "REF", dtype.F64)
	y := b.Reshape(1, 2)
	z := y.Reshape(2)
	z.SetRealized(z)
	sum := z.Reduce(uop.Sum, 0)
	load := func(*uop.UOp) []uop.Value {
		return []uop.Value{uop.FloatValue(dtype.F64, 3), uop.FloatValue(dtype.F64, 4)}
	}
	for _, w := range []*uop.UOp{y, z, b} {
		g := ref.Eval(load, Of(sum, sum.Float(1), w)[0])[0]
		require.Equal(t, []float64{1, 1}, []float64{g[0].Float(), g[1].Float()})
	}
}
