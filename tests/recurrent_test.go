package tests

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// The steps of a recurrent layer share their kernels, forwards and backwards: a sequence three times as long takes hardly more of them.
// Shapes are such that the rows of a step begin at no round number.
func TestStepsShareKernels(t *testing.T) {
	ctx := context.Background()
	for _, kind := range []nn.CellKind{nn.GRUCell, nn.LSTMCell} {
		var want [][]float64
		for _, device := range []string{"REF", map[nn.CellKind]string{nn.GRUCell: "INTERP", nn.LSTMCell: "CPU"}[kind]} {
			compiled := map[int]int{}
			for i, steps := range []int{20, 60} {
				b := newBench(t, device, engine.Options{})
				gates := map[nn.CellKind]int{nn.GRUCell: 3, nn.LSTMCell: 4}[kind]
				cell := &nn.Cell{Kind: kind, Input: b.floats(gates*7, 5), Hidden: b.floats(gates*7, 7), InputBias: b.floats(gates * 7), HiddenBias: b.floats(gates * 7)}
				x := b.floats(steps, 3, 5)
				y, _ := (&nn.Recurrent{Layers: [][]*nn.Cell{{cell}}}).Forward(x, nn.States{}, true)
				grads := y.Mul(y).Sum().Grad(x, cell.Input, cell.Hidden, cell.HiddenBias)
				require.NoError(t, tensor.Realize(ctx, append(grads, y)...), device)
				compiled[steps] = b.Stats().Kernels
				var got []float64
				for _, g := range append(grads, y) {
					v, err := tensor.Data[float64](ctx, g.To(dtype.F64))
					require.NoError(t, err)
					got = append(got, v...)
				}
				if device == "REF" {
					want = append(want, got)
					continue
				}
				require.InDeltaSlice(t, want[i], got, 1e-3, "%v of %d steps on %s", kind, steps, device)
			}
			t.Log(device, kind, compiled)
			require.LessOrEqual(t, compiled[60], 12, "kernels of %v on %s: %v", kind, device, compiled)
		}
	}
}
