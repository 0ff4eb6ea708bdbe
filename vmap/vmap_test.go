package vmap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/lawtest"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

func TestBatchesAreTheSame(t *testing.T) { lawtest.CheckBatches(t, vmap.Batch, 4, 60) }

func TestEffectsAreRefused(t *testing.T) {
	b := uop.NewBuffer(1, 2, "REF", dtype.F64)
	x := uop.NewBuffer(2, 2, "REF", dtype.F64)
	y := b.After(b.Store(x)).Neg()
	require.PanicsWithError(t, "tensor: Vmap [2]: store cannot be done for many arrays at once; an assignment belongs outside of the function", func() {
		vmap.Batch(3, map[*uop.UOp]*uop.UOp{x: uop.NewBuffer(3, 6, "REF", dtype.F64).Reshape(3, 2)}, y)
	})
	require.Nil(t, vmap.Batch(3, map[*uop.UOp]*uop.UOp{x: x}, b.Neg())[0])
}

func TestCallsAreMadeForMany(t *testing.T) {
	a, b := uop.NewStandIn(dtype.F64, 2), uop.NewStandIn(dtype.F64, 2)
	body := &uop.Body{Name: "product", Params: []*uop.UOp{a, b}, Outs: []*uop.UOp{a.Mul(b), b.Neg()}}
	x, y, many := uop.NewBuffer(1, 2, "REF", dtype.F64), uop.NewBuffer(2, 2, "REF", dtype.F64), uop.NewBuffer(3, 6, "REF", dtype.F64).Reshape(3, 2)
	calls := body.Call(x, y)
	with := map[*uop.UOp]*uop.UOp{x: many}
	require.Equal(t, vmap.Batch(3, with, x.Mul(y)), vmap.Batch(3, with, calls[0]))
	require.Nil(t, vmap.Batch(3, with, calls[1])[0])
}
