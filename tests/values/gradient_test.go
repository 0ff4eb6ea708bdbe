package values

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// A gradient through something that has been realized since is an error, not a silent 0.
func TestGradientThroughRealized(t *testing.T) {
	b := open(t, "INTERP", engine.Options{})
	x := b.floats(1, 2, 3)
	real := func(y *T) *T {
		require.NoError(t, y.Realize(ctx))
		return y
	}
	refused := func(loss *T, w *T) {
		t.Helper()
		err := tensor.Try(func() { loss.Grad(w) })
		var wrong *tensor.ArgumentError
		require.ErrorAs(t, err, &wrong)
		require.ErrorContains(t, err, "Grad: tensor 0 is not reached: what was computed from it has been realized since")
		require.Contains(t, wrong.At, "gradient_test.go")
		require.ErrorAs(t, tensor.Try(func() { loss.Backward(w) }), &wrong)
	}
	y := real(x.Mul(2))
	refused(y.Sum(), x)
	refused(real(y.Add(1)).Square().Sum(), x) // further back
	refused(y.Mul(y.Square()).Sum().Exp(), x)

	lazy := x.Mul(3) // asked for by its graph
	z := real(lazy.Add(1))
	refused(z.Sum(), lazy)
	refused(z.Sum(), real(lazy)) // and by its buffer

	g := x.Square().Sum().Grad(x)[0]
	refused(real(g).Sum(), x) // second derivatives

	step, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Mul(x)} }, b.floats(0, 0, 0))
	require.NoError(t, err)
	v := b.floats(1, 1, 1)
	for range 2 {
		out, err := step.Run(ctx, v)
		require.NoError(t, err)
		refused(out[0].Sum(), x)
		refused(out[0].Sum(), v)
		zero(t, out[0].Sum(), b.floats(5))
	}
	state := x // read so often that its history went
	for range 40 {
		state = state.Mul(1.5)
		_, err := state.ToList(ctx)
		require.NoError(t, err)
	}
	refused(state.Sum(), x)
}

// zero asserts that a gradient is 0 without complaint.
func zero(t *testing.T, loss *T, w *T) {
	t.Helper()
	v, err := loss.Grad(w)[0].Sum().Item(ctx)
	require.NoError(t, err)
	require.Zero(t, v)
}

// What a loss does not depend on, or not by a gradient, has the gradient 0 as ever.
func TestUnusedHasNoGradient(t *testing.T) {
	b := open(t, "INTERP", engine.Options{})
	x, w, other := b.floats(1, 2, 3), b.floats(4, 5, 6), b.floats(7, 8, 9)
	y := x.Mul(2)
	require.NoError(t, y.Realize(ctx))
	loss := y.Mul(w).Sum()
	zero(t, loss, other)
	zero(t, loss, x.Mul(3)) // made of x, but y was not made of it
	zero(t, y.Detach().Mul(w).Sum(), x)
	gone := x.Detach().Mul(2)
	require.NoError(t, gone.Realize(ctx))
	zero(t, gone.Mul(w).Sum(), x)
	picked := w.At(x.ArgMax(0))
	require.NoError(t, picked.Realize(ctx))
	zero(t, picked.Mul(w.Sum()).Sum(), x)
	zero(t, x.Trunc().Sum(), x)
	z := x.Mul(w)
	require.NoError(t, tensor.Realize(ctx, z))
	v, err := tensor.Data[float32](ctx, z.Sum().Add(x.Sum()).Grad(x)[0]) // x is reached another way
	require.NoError(t, err)
	require.Equal(t, []float32{1, 1, 1}, v)
}

// Training loops take gradients of all parameters, also of those that a step does not use, or that a step before used.
func TestTrainingLoopsAreLeftAlone(t *testing.T) {
	engine.Configure(engine.Options{}, "INTERP")
	t.Cleanup(func() { engine.Configure(engine.Options{}, "") })
	tensor.Seed(1)
	type net struct{ Make, Judge, Unused *nn.Linear }
	n := &net{nn.NewLinear(3, 3), nn.NewLinear(3, 1), nn.NewLinear(3, 3)}
	opt, err := nn.NewAdam(ctx, n, nn.AdamOptions{})
	require.NoError(t, err)
	judge, err := nn.NewSGD(ctx, n.Judge, nn.SGDOptions{Momentum: 0.9})
	require.NoError(t, err)
	mean := tensor.Zeros(3)
	require.NoError(t, mean.Own().Realize(ctx))
	for i := range 5 {
		noise := tensor.Randn(4, 3)
		fake := n.Make.Forward(noise)
		mean.Assign(mean.Mul(0.9).Add(fake.Mean(0).Mul(0.1)))
		cut := fake.Detach()
		require.NoError(t, tensor.Realize(ctx, cut, mean))
		require.NoError(t, judge.Step(ctx, n.Judge.Forward(cut.Sub(mean)).Square().Mean()))
		loss := n.Judge.Forward(n.Make.Forward(noise).Sub(mean)).Mean()
		if i%2 == 1 { // now and then another layer takes part, and its result stays
			loss = loss.Add(n.Unused.Forward(noise).Mean())
		}
		require.NoError(t, opt.Step(ctx, loss))
		_, err := loss.Item(ctx)
		require.NoError(t, err)
	}
}
