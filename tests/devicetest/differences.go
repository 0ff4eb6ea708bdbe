package devicetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// RunDifferences checks every gradient on a device against central differences in float64, along random directions.
func RunDifferences(t *testing.T, device string) {
	e, err := engine.Open(device, engine.Options{})
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	for _, c := range differentiables() {
		if c.name == heldBack {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			h := fnv.New64a()
			h.Write([]byte(c.name))
			c.check(t, e, h.Sum64())
		})
	}
}

// check compares gradient·v with (f(x + hv) − f(x − hv)) / 2h.
func (c differentiable) check(t *testing.T, e *engine.Engine, seed uint64) {
	ctx := context.Background()
	const h = 1e-6
	in := newInputs(e, seed)
	xs := make([]*tensor.Tensor, len(c.shapes))
	vs := make([]*tensor.Tensor, len(c.shapes))
	for i, s := range c.shapes {
		xs[i], vs[i] = in.Tensor(dtype.F64, c.fill, s...), in.Tensor(dtype.F64, Smooth, s...)
	}
	along := func(step float64) []*tensor.Tensor {
		out := make([]*tensor.Tensor, len(xs))
		for i, x := range xs {
			out[i] = x.Add(vs[i].Mul(step))
		}
		return out
	}
	value := func(xs []*tensor.Tensor) *tensor.Tensor { return c.value(newInputs(e, seed+1), xs) } // the same weights
	up, down := value(along(h)), value(along(-h))
	slope := tensor.Full(0, dtype.F64)
	for i, g := range value(xs).Grad(xs...) {
		require.Equal(t, c.shapes[i], g.Shape())
		slope = slope.Add(g.Mul(vs[i]).Sum())
	}
	require.NoError(t, tensor.Realize(ctx, up, down, slope))
	item := func(x *tensor.Tensor) float64 {
		v, err := x.Item(ctx)
		require.NoError(t, err)
		return v
	}
	want, got := (item(up)-item(down))/(2*h), item(slope)
	limit := 1e-6 * (1 + math.Abs(want) + math.Abs(item(up)))
	assert.True(t, math.Abs(got-want) <= limit, fmt.Sprintf("%s: gradient along a direction %v, difference quotient %v", c.name, got, want))
}
