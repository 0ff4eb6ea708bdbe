package grad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

// A call has the derivatives of the graph that it stands for, and none of arguments that it does not use.
func TestCallsHaveTheDerivativesOfTheirGraphs(t *testing.T) {
	a, b, c := uop.NewStandIn(dtype.F32, 3), uop.NewStandIn(dtype.F32, 3), uop.NewStandIn(dtype.F32, 3)
	body := &uop.Body{Name: "product", Params: []*uop.UOp{a, b, c}, Outs: []*uop.UOp{a.Mul(b).Mul(a)}}
	x, y, z := uop.NewBuffer(1, 3, "CPU", dtype.F32), uop.NewBuffer(2, 3, "CPU", dtype.F32), uop.NewBuffer(3, 3, "CPU", dtype.F32)
	seed := uop.NewBuffer(4, 3, "CPU", dtype.F32)
	called, plain := body.Call(x.Neg(), y, z)[0].Neg(), x.Neg().Mul(y).Mul(x.Neg()).Neg()
	got, reached := grad.Find(called, seed, x, y, z)
	want, _ := grad.Find(plain, seed, x, y, z)
	require.Equal(t, want[:2], got[:2])
	require.True(t, reached[0] && reached[1])
	along := map[*uop.UOp]*uop.UOp{x: seed, y: seed.Neg()}
	require.Equal(t, grad.Forward(along, plain), grad.Forward(along, called))
}

// Arguments may be equal, and made of each other.
func TestCallsOfTheSameArguments(t *testing.T) {
	a, b := uop.NewStandIn(dtype.F32, 3), uop.NewStandIn(dtype.F32, 3)
	body := &uop.Body{Name: "product", Params: []*uop.UOp{a, b}, Outs: []*uop.UOp{a.Mul(b)}}
	x, seed := uop.NewBuffer(1, 3, "CPU", dtype.F32), uop.NewBuffer(4, 3, "CPU", dtype.F32)
	load := func(leaf *uop.UOp) []uop.Value {
		v := uop.FloatValue(dtype.F32, float64(leaf.Arg().(uop.BufferArg).ID+2))
		return []uop.Value{v, v, v}
	}
	for _, y := range []*uop.UOp{x, x.Mul(x)} {
		got, _ := grad.Find(body.Call(x, y)[0], seed, x)
		want, _ := grad.Find(x.Mul(y), seed, x)
		require.Equal(t, ref.Eval(load, want...), ref.Eval(load, got...))
	}
}
