package grad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Stated gradients cost as much whatever their operands are made of: else those of n functions in a row would take n².
func TestStatedGradientsDoNotWalkTheProgram(t *testing.T) {
	stated := func(depth int) (u, g *uop.UOp) {
		x := uop.NewStandIn(dtype.F32, 2)
		operand := x
		for range depth {
			operand = operand.Sin()
		}
		value, seed := operand.Neg(), uop.NewStandIn(dtype.F32, 2)
		d := seed.Mul(value).Add(operand)
		u = x.Home().Make(uop.Detach, dtype.F32, uop.FunctionArg{Name: "f", Slot: seed.Slot()}, value, operand, d)
		g = uop.NewStandIn(dtype.F32, 2)
		require.Equal(t, g.Mul(value).Add(operand), u.Arg().(uop.Stated).Gradients(u, g)[1])
		return u, g
	}
	cost := func(depth int) float64 {
		u, g := stated(depth)
		return testing.AllocsPerRun(10, func() { u.Arg().(uop.Stated).Gradients(u, g) })
	}
	require.Equal(t, cost(1), cost(10_000))
}
