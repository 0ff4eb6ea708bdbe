package codegen_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A number for all lanes is no gather where some of them do without it: a pool of a picture that is normalised by numbers for each channel has lanes along
// rows, not along channels that lie pages apart.
func TestANumberBehindAGateIsNoGather(t *testing.T) {
	k := newKit()
	o, x := k.param(dtype.F32, true, 64, 56, 56), k.param(dtype.F32, false, 64, 112, 112)
	mean, scale, bias := k.param(dtype.F32, false, 64), k.param(dtype.F32, false, 64), k.param(dtype.F32, false, 64)
	a := k.rngs(64, 56, 56, 3, 3)
	y, z := a[1].Mul(k.Index(2)).Add(a[3]), a[2].Mul(k.Index(2)).Add(a[4])
	gate := k.Index(0).Less(y).And(k.Index(0).Less(z))
	v := k.loadIf(x, gate, a[0], y.Add(k.Index(-1)), z.Add(k.Index(-1))).Sub(k.loadIf(mean, gate, a[0])).Mul(k.loadIf(scale, gate, a[0])).Add(k.loadIf(bias, gate, a[0]))
	edge := y.Equal(k.Index(0)).Or(z.Equal(k.Index(0)))
	v = edge.Where(v.Const(uop.FloatValue(dtype.F32, math.Inf(-1))), v.Max(v.Int(0)))
	k.out(o, a[:3], k.ReduceRanges(uop.MaxOf, []*uop.UOp{v}, a[3:]))
	require.Contains(t, codegen.DirectivesString(model.Choose(k.s, target())), "vector a2")
}
