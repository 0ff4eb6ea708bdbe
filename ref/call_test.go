package ref_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

func TestCallsAreEvaluated(t *testing.T) {
	in := uop.NewStandIn(dtype.F64, 2)
	body := &uop.Body{Name: "square", Params: []*uop.UOp{in}, Outs: []*uop.UOp{in.Mul(in)}}
	x := uop.NewBuffer(1, 2, "REF", dtype.F64)
	got := ref.Eval(func(*uop.UOp) []uop.Value {
		return []uop.Value{uop.FloatValue(dtype.F64, 2), uop.FloatValue(dtype.F64, 3)}
	}, body.Call(body.Call(x)[0])[0].Neg())
	require.Equal(t, [][]uop.Value{{uop.FloatValue(dtype.F64, -16), uop.FloatValue(dtype.F64, -81)}}, got)
}
