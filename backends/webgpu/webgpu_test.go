package webgpu_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

func open(t *testing.T) *engine.Engine {
	e, err := engine.Use("WEBGPU")
	need.Device(t, "WEBGPU", err)
	t.Log(e.Info().Detail)
	return e
}

func floats(t *testing.T, e *engine.Engine, v []float32, shape ...int) *uop.UOp {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	u, err := e.FromBytes(dtype.F32, shape, raw)
	require.NoError(t, err)
	return u
}

func read(t *testing.T, e *engine.Engine, u *uop.UOp) []float32 {
	raw := make([]byte, 4*u.Shape().Numel())
	require.NoError(t, e.Read(context.Background(), u, raw))
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

func TestRealize(t *testing.T) {
	e := open(t)
	x := floats(t, e, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.Mul(x).Reduce(uop.Sum, 1)
	z := x.Sub(x.Reduce(uop.MaxOf, 1).Reshape(2, 1).Expand(2, 3)).Exp2()
	require.NoError(t, e.Realize(context.Background(), y, z))
	require.Equal(t, []float32{14, 77}, read(t, e, y))
	require.Equal(t, []float32{0.25, 0.5, 1, 0.25, 0.5, 1}, read(t, e, z))
}
