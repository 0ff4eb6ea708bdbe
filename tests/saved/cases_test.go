// Package saved tests that captured functions go on in another process as they would have gone on in theirs.
package saved

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

type T = tensor.Tensor

var ctx = context.Background()

var n = tensor.NewVariable("n", 0, 6)

// functions of a case, which have run before.
type functions map[string]*tensor.Captured

// form is the type and shape of an input.
type form struct {
	d     dtype.DType
	shape []int
}

// cases make functions on a device, and say what their inputs are.
var cases = map[string]struct {
	inputs map[string][]form
	make   func(t *testing.T, e *engine.Engine) functions
}{
	"inference": {map[string][]form{"main": {{dtype.F32, []int{5, 7}}}}, func(t *testing.T, e *engine.Engine) functions {
		w, b := random(t, e, 7, 3), random(t, e, 3)
		return functions{"main": capture(t, e, func(in ...*T) []*T {
			norm := w.Square().SumKeep(0).Sqrt() // computed once
			return []*T{in[0].MatMul(w.Div(norm)).Add(b).Softmax(-1), in[0], w}
		}, form{dtype.F32, []int{5, 7}})}
	}},
	"types": {map[string][]form{"main": {{dtype.Bool, []int{3, 1}}, {dtype.I64, []int{1, 4}}, {dtype.F16, nil}, {dtype.U8, []int{0, 2}}}},
		func(t *testing.T, e *engine.Engine) functions {
			return functions{"main": capture(t, e, func(in ...*T) []*T {
				x := in[0].Where(in[1], in[1].Neg())
				_, order := x.To(dtype.F32).Sort(1, true)
				return []*T{x, x.ArgMax(1), order, in[2].Add(1), in[3], in[3].Sum(0), x.CumSum(1), x.To(dtype.F32).Std(1)}
			}, form{dtype.Bool, []int{3, 1}}, form{dtype.I64, []int{1, 4}}, form{dtype.F16, nil}, form{dtype.U8, []int{0, 2}})}
		}},
	"training": {map[string][]form{"main": {{dtype.F32, []int{4, 1, 9, 9}}}, "read": {{dtype.F32, []int{4, 1, 9, 9}}}}, training},
	"variable": {map[string][]form{"main": {{dtype.F32, []int{3}}}}, func(t *testing.T, e *engine.Engine) functions {
		cache := random(t, e, 7, 3).Own()
		require.NoError(t, tensor.Realize(ctx, cache))
		c := capture(t, e, func(in ...*T) []*T {
			cache.SetAt(in[0], n)
			seen := cache.Narrow(0, 0, n.Plus(1))
			return []*T{seen, seen.Mean(0), n.Tensor()}
		}, form{dtype.F32, []int{3}})
		return functions{"main": c.Named([]string{"row"}, []string{"seen", "mean", "at"})}
	}},
	"alike": {map[string][]form{"main": {{dtype.F32, []int{64, 50}}, {dtype.F16, []int{64, 50}}}}, func(t *testing.T, e *engine.Engine) functions {
		layers := func(x *T) *T { // that differ in constants only, and are one kernel
			for i := range 7 {
				scale := 0.3 + 0.1*float64(i)
				for range 5 {
					x = x.Div(scale).Round().Add(i-3).Clamp(-9, 9).Mul(scale).Add(x.Sin()).Mul(0.7 - scale/2)
				}
				x = x.Sub(x.Max()).Contiguous()
			}
			return x
		}
		return functions{"main": capture(t, e, func(in ...*T) []*T { return []*T{layers(in[0]), layers(in[1])} }, form{dtype.F32, []int{64, 50}}, form{dtype.F16, []int{64, 50}})}
	}},
	"bytes": {map[string][]form{"main": {{dtype.U8, []int{70, 70}}, {dtype.I8, []int{5, 1777}}}}, func(t *testing.T, e *engine.Engine) functions {
		of := func(x *T, scale float64) *T { // a function of a byte, which kernels look up
			y := x.To(dtype.F32).Sub(3).Mul(scale)
			return y.Mul(y.Add(3).Clamp(0, 6)).Mul(y.Abs().Sqrt()).Add(y.Sin().Round()).Div(scale/4).Round().Clamp(-100, 100).To(x.DType())
		}
		return functions{"main": capture(t, e, func(in ...*T) []*T { return []*T{of(in[0], 0.0625), of(in[1].Flip(1), 0.125)} }, form{dtype.U8, []int{70, 70}}, form{dtype.I8, []int{5, 1777}})}
	}},
	"checked": {map[string][]form{"main": {{dtype.I32, []int{4}}}}, func(t *testing.T, e *engine.Engine) functions {
		w := random(t, e, 9, 2)
		return functions{"main": capture(t, e, func(in ...*T) []*T { return []*T{w.At(in[0]), in[0].Add(1)} }, form{dtype.I32, []int{4}})}
	}},
}

// training is a step with batch norm, dropout and Adam, and a function that reads the same weights.
func training(t *testing.T, e *engine.Engine) functions {
	tensor.Seed(3)
	net := struct {
		Conv *nn.Conv2d
		Norm *nn.BatchNorm
		Out  *nn.Linear
	}{nn.NewConv2d(1, 3, 3, tensor.Conv{}), nn.NewBatchNorm(3), nn.NewLinear(3*7*7, 4)}
	require.NoError(t, nn.Realize(ctx, &net))
	forward := func(x *T, training bool) *T {
		x = net.Norm.Forward(net.Conv.Forward(x).ReLU(), training).Reshape(4, -1)
		if training {
			x = x.Dropout(0.3)
		}
		return net.Out.Forward(x)
	}
	opt, err := nn.NewAdam(ctx, &net, nn.AdamOptions{Rate: 0.01})
	require.NoError(t, err)
	x := form{dtype.F32, []int{4, 1, 9, 9}}
	step := capture(t, e, func(in ...*T) []*T {
		loss := forward(in[0], true).CrossEntropy(tensor.Arange(4))
		opt.Update(loss)
		return []*T{loss}
	}, x)
	return functions{"main": step, "read": capture(t, e, func(in ...*T) []*T { return []*T{forward(in[0], false)} }, x)}
}

func random(t *testing.T, e *engine.Engine, shape ...int) *T {
	x := tensor.NewGenerator(1).Rand(shape...).On(e.Name())
	require.NoError(t, x.Realize(ctx))
	return x
}

// numbered are the elements of an input of a run.
func numbered(t *testing.T, e *engine.Engine, f form, run int) *T {
	count := 1
	for _, n := range f.shape {
		count *= n
	}
	v := make([]float32, count)
	for i := range v {
		v[i] = float32((i*7 + run*3) % 5)
	}
	x := tensor.Of(v, f.shape...).To(f.d).On(e.Name())
	require.NoError(t, x.Realize(ctx))
	return x
}

func capture(t *testing.T, e *engine.Engine, f func(in ...*T) []*T, inputs ...form) *tensor.Captured {
	var in []*T
	for _, x := range inputs {
		in = append(in, numbered(t, e, x, 0))
	}
	c, err := tensor.Capture(ctx, f, in...)
	require.NoError(t, err)
	return c
}
