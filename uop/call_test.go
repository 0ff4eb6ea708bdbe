package uop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func TestCalls(t *testing.T) {
	a, b := uop.NewStandIn(dtype.F32, 2, 3), uop.NewStandIn(dtype.F32, 3)
	body := &uop.Body{Name: "both", Params: []*uop.UOp{a, b}, Outs: []*uop.UOp{a.Reduce(uop.Sum, 0).Add(b), a.Cast(dtype.I32)}}
	x, y := uop.NewBuffer(1, 6, "CPU", dtype.F32).Reshape(2, 3), uop.NewBuffer(2, 3, "CPU", dtype.F32)
	outs := body.Call(x, y)
	require.Equal(t, uop.Shape{3}, outs[0].Shape())
	require.Equal(t, uop.Shape{2, 3}, outs[1].Shape())
	require.Equal(t, dtype.I32, outs[1].DType())
	require.Same(t, outs[0], body.Call(x, y)[0])
	require.NotSame(t, outs[0], body.Call(x, x.Reduce(uop.Sum, 0))[0])
	require.Same(t, x.Reduce(uop.Sum, 0).Add(y), outs[0].Inlined())
	require.Same(t, x.Cast(dtype.I32), outs[1].Inlined())
	twice := body.Call(x, outs[0])[0]
	require.Same(t, x.Reduce(uop.Sum, 0).Add(x.Reduce(uop.Sum, 0).Add(y)).Neg(), uop.Inline(twice.Neg())[0])
	require.Equal(t, "call both.f32[3]", outs[0].String())
	require.PanicsWithValue(t, "BUG: both is called with float32 [3] for float32 [2 3]", func() { body.Call(y, y) })
}
