package tensor_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// A run that only makes fresh results is handed to the device with all that it needs, and what the device made is the engine's afterwards.
func TestErrand(t *testing.T) {
	ctx := context.Background()
	e := alone(t, "INTERP")
	x, y, weights := array(t, e, 1, 2), array(t, e, 3, 4), array(t, e, 10, 20)
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{in[1].Mul(weights), in[0].Add(in[1]).Sum()}
	}, x, y)
	require.NoError(t, err)
	_, err = c.Run(ctx, x, y)
	require.NoError(t, err)
	r := c.Errand()
	require.NotNil(t, r)

	args := append([]runtime.Mem(nil), r.Args...)
	for i, in := range r.Inputs {
		at := in.Arg
		require.Nil(t, args[at])
		assert.Equal(t, uop.Shape{2}, in.Shape)
		assert.Equal(t, dtype.F32, in.DType)
		args[at] = e.Memory([]*tensor.Tensor{x, y}[i].Node())
		require.NotNil(t, args[at])
	}
	before := e.Stats()
	results := make([]runtime.Mem, len(r.Outputs))
	for i, o := range r.Outputs {
		require.Nil(t, args[o.Arg])
		results[i], err = e.Device().Alloc(o.Bytes)
		require.NoError(t, err)
		args[o.Arg] = results[i]
	}
	require.NoError(t, e.Device().Play(r.Plan, args, nil))
	c.Ran(1, 12)
	made, err := c.Adopt(results, x, y)
	require.NoError(t, err)
	got, err := tensor.Data[float32](ctx, made[0])
	require.NoError(t, err)
	assert.Equal(t, []float32{30, 80}, got)
	sum, err := made[1].Item(ctx)
	require.NoError(t, err)
	assert.Equal(t, 10., sum)
	now := e.Stats()
	assert.Equal(t, before.Plays+1, now.Plays)
	assert.Equal(t, before.Errands+1, now.Errands)
	assert.Equal(t, before.LiveBytes+12, now.LiveBytes)
	assert.ErrorContains(t, tensor.Try(func() { made[0].Sum().Grad(y) }), "has been realized since", "as after any other run")
	for _, m := range made {
		m.Discard()
	}
	assert.Equal(t, before.LiveBytes, e.Stats().LiveBytes)

	// Of some results there may be no memory any more, nor of inputs that were made of numbers.
	one, err := e.Device().Alloc(4)
	require.NoError(t, err)
	require.NoError(t, e.Device().Write(one, 0, binary.LittleEndian.AppendUint32(nil, math.Float32bits(7))))
	made, err = c.Adopt([]runtime.Mem{nil, one}, nil, y)
	require.NoError(t, err)
	assert.Nil(t, made[0])
	sum, err = made[1].Item(ctx)
	require.NoError(t, err)
	assert.Equal(t, 7., sum)
}

// What has to be known of here is nobody else's errand.
func TestNoErrand(t *testing.T) {
	ctx := context.Background()
	x := tensor.Of([]float32{1, 2}, 2).On("INTERP")
	state := tensor.Of([]float32{1, 2}, 2).On("INTERP").Own()
	at := tensor.Of([]int32{1}, 1).On("INTERP")
	require.NoError(t, tensor.Realize(ctx, x, state, at))
	n := tensor.NewVariable("n", 1, 2)
	type ts = []*tensor.Tensor
	for name, f := range map[string]func(x *tensor.Tensor) ts{
		"assigns":  func(x *tensor.Tensor) ts { state.Assign(state.Add(x)); return ts{x.Add(1)} },
		"draws":    func(x *tensor.Tensor) ts { return ts{tensor.RandLike(x).Add(x)} },
		"checks":   func(x *tensor.Tensor) ts { return ts{x.At(at)} },
		"sizes":    func(x *tensor.Tensor) ts { return ts{x.Add(1).Narrow(0, 0, n)} },
		"values":   func(x *tensor.Tensor) ts { return ts{x.Narrow(0, 0, n).Sum()} },
		"an input": func(x *tensor.Tensor) ts { return ts{x, x.Add(1)} },
		"twice":    func(x *tensor.Tensor) ts { y := x.Add(1); return ts{y, y} },
	} {
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return f(in[0]) }, x)
		require.NoError(t, err, name)
		if name == "sizes" || name == "values" {
			c = c.With(tensor.Values{n: 1})
		}
		_, err = c.Run(ctx, x)
		require.NoError(t, err, name)
		assert.Nil(t, c.Errand(), name)
	}
	checked := x.At(at) // nobody has looked yet whether that was right
	require.NoError(t, checked.Realize(ctx))
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Add(1)} }, checked)
	require.NoError(t, err)
	_, err = c.Run(ctx, checked)
	require.NoError(t, err)
	assert.NotNil(t, c.Errand(), "of other inputs")
	assert.Nil(t, checked.Engine().Memory(checked.Node()))
	_, err = checked.Item(ctx)
	require.NoError(t, err)
	c2, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Add(state)} }, x)
	require.NoError(t, err)
	_, err = c2.Run(ctx, x)
	require.NoError(t, err)
	assert.NotNil(t, c2.Errand(), "reads what others assign")
	state.Assign(state.Add(1))
	require.NoError(t, state.Realize(ctx))
	gone := tensor.Of([]float32{1, 2}, 2).On("INTERP")
	require.NoError(t, gone.Realize(ctx))
	_, err = c2.Run(ctx, gone)
	require.NoError(t, err)
	gone.Discard()
	assert.NotNil(t, c2.Errand(), "its last input is gone")
	assert.Nil(t, checked.Engine().Memory(x.Add(1).Node()), "what is not computed is no input")
}
