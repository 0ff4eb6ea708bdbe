package tensor_test

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func TestReadingKeepsHistory(t *testing.T) {
	x := f32(3)
	h := x.Mul(2)
	same(t, []float64{6}, h)
	loss := h.Square().Sum()
	same(t, []float64{36}, loss)
	same(t, []float64{24}, loss.Grad(x)[0])

	require.NoError(t, h.Realize(ctx)) // now it counts as given
	again := h.Square().Sum()
	require.ErrorContains(t, tensor.Try(func() { again.Grad(x) }), "tensor 0 is not reached")
	same(t, []float64{0}, h.Detach().Square().Sum().Grad(x)[0])
	same(t, []float64{12}, again.Grad(h)[0])
	require.NoError(t, again.Realize(ctx))
	require.ErrorContains(t, tensor.Try(func() { again.Grad(h) }), "history is gone")
}

// A loop that only reads must not remember all its past.
func TestReadingLoopsForget(t *testing.T) {
	state := f32(1)
	most := 0
	for i := range 200 {
		state = state.Mul(0.5).Add(1)
		_, err := tensor.Data[float32](ctx, state)
		require.NoError(t, err)
		n := len(uop.Topo(state.Node()))
		if i > 100 {
			require.LessOrEqual(t, n, most)
		}
		most = max(most, n)
	}
	near(t, []float64{2}, state, 1e-6)
}

// A loop that assigns, and only reads what it computes of the old elements, must not compute all of its past anew in each step.
func TestAssigningLoopsForget(t *testing.T) {
	for name, reads := range map[string]bool{"losses are read": true, "nothing is read": false} {
		t.Run(name, func(t *testing.T) {
			x, y, before := f32(1, 2), f32(1, 2), []*tensor.Tensor{}
			for i := range 20 {
				before = append(before, x.Mul(10))
				loss := x.Square().Sum()
				for _, v := range []*tensor.Tensor{x, y} {
					v.Assign(v.Mul(0.5).Add(x.Sum()))
					require.Less(t, len(uop.Topo(v.Node())), 120)
				}
				if reads {
					_, err := loss.Item(ctx)
					require.NoError(t, err)
				}
				require.Less(t, len(uop.Topo(x.Node())), 120, "step %d", i)
			}
			a, b := []float64{1, 2}, []float64{1, 2}
			for i := range 20 { // what was built on elements that are assigned over since has them still
				near(t, []float64{10 * a[0], 10 * a[1]}, before[i], 1e-5*a[0])
				sum := a[0] + a[1]
				a[0], a[1] = a[0]/2+sum, a[1]/2+sum
				sum = a[0] + a[1]
				b[0], b[1] = b[0]/2+sum, b[1]/2+sum
			}
			near(t, a, x, 1e-5*a[0])
			near(t, b, y, 1e-5*b[0])
		})
	}
}

// Tensors that were assigned the same value are two, also after the assignments were carried out for others to be read.
func TestLateAssignmentsOwnTheirMemory(t *testing.T) {
	x, y, z := f32(1, 2), f32(3, 4), f32(0)
	for range 2 {
		v := x.Add(y)
		x.Assign(v)
		y.Assign(v)
	}
	same(t, []float64{0}, z.Mul(2))
	require.NoError(t, tensor.Realize(ctx, x.AddAssign(1)))
	same(t, []float64{9, 13}, x)
	same(t, []float64{8, 12}, y)
}

// What is wrong with a late assignment is told to whoever reads the tensor, and to nobody else.
func TestLateAssignmentsFailAlone(t *testing.T) {
	x, z := f32(1, 2), f32(5)
	old := x.Mul(2)
	require.NoError(t, tensor.Realize(ctx, x.AddAssign(1)))
	y := f32(0, 0)
	for range 6 {
		y.Assign(y.Add(old)) // which is stale
	}
	same(t, []float64{10}, z.Mul(2))
	var stale *engine.StaleError
	require.ErrorAs(t, y.Realize(ctx), &stale)
}

// A loop whose assignments are late has the values that it has alone, while others compute.
func TestLateAssignmentsBesideOthers(t *testing.T) {
	const steps, loops = 60, 4
	loop := func(seed float32) ([]float64, error) {
		x, m := f32(seed, 1, 0.5), f32(0, 0, 0)
		var losses []float64
		for range steps {
			loss := x.Square().Sum()
			m.Assign(m.Mul(0.5).Add(x))
			x.Assign(x.Sub(m.Mul(0.1)))
			v, err := loss.Item(ctx)
			if err != nil {
				return nil, err
			}
			losses = append(losses, v)
		}
		return losses, nil
	}
	var want [loops][]float64
	for i := range want {
		var err error
		want[i], err = loop(float32(i))
		require.NoError(t, err)
	}
	var all sync.WaitGroup
	var got [loops][]float64
	var errs [loops]error
	for i := range loops {
		all.Go(func() { got[i], errs[i] = loop(float32(i)) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 1e-6, "loop %d", i)
	}
}

// A captured function reads and assigns the memory that a tensor had when it was captured: there assignments that pile up stay, and runs find them.
func TestLateAssignmentsBesideCapturedFunctions(t *testing.T) {
	loop := func(x *tensor.Tensor, n int) {
		for range n {
			before := x.Sum()
			x.Assign(x.Mul(2))
			_, err := before.Item(ctx)
			require.NoError(t, err)
		}
	}
	first := func(out []*tensor.Tensor, err error) *tensor.Tensor {
		require.NoError(t, err)
		return out[0]
	}
	for _, n := range []int{2, 3, 9} {
		times := math.Ldexp(1, n)
		x, ten := f32(1, 2).On("INTERP").Own(), f32(10, 10).On("INTERP")
		require.NoError(t, tensor.Realize(ctx, x, ten))
		read, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{x.Mul(in[0])} }, ten)
		require.NoError(t, err)
		same(t, []float64{10, 20}, first(read.Run(ctx, ten)))
		loop(x, n)
		require.NoError(t, x.Realize(ctx)) // a function that only reads takes what is there
		same(t, []float64{10 * times, 20 * times}, first(read.Run(ctx, ten)))

		y := f32(1, 2).On("INTERP").Own()
		require.NoError(t, y.Realize(ctx))
		add, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{y.Assign(y.Add(in[0]))}
		}, f32(1, 1).On("INTERP"))
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, add.Save(ctx, &file))
		loaded, err := tensor.LoadCaptured(ctx, &file, "INTERP")
		require.NoError(t, err)
		z := loaded.States()[0]
		loop(y, n)
		loop(z, n)
		same(t, []float64{times + 1, 2*times + 1}, first(add.Run(ctx, f32(1, 1).On("INTERP"))))
		same(t, []float64{times + 1, 2*times + 1}, first(loaded.Run(ctx, f32(1, 1).On("INTERP"))))
		same(t, []float64{times + 1, 2*times + 1}, y)
		same(t, []float64{times + 1, 2*times + 1}, z)
	}
}

// A gradient through assignments that were carried out without having been asked for is an error, not a part of it or 0; with respect to states,
// which begin anew, it is what it was.
func TestLateAssignmentsHaveAPast(t *testing.T) {
	var wrong *tensor.ArgumentError
	w := f32(0.5)
	buf, h := tensor.Zeros(4), w
	for i := range 4 {
		buf.SetAt(h, tensor.R(i, i+1))
		h = h.Mul(w)
	}
	require.ErrorAs(t, tensor.Try(func() { buf.Sum().Grad(w) }), &wrong)
	acc := tensor.Zeros(1)
	for range 6 {
		acc.AddAssign(w.Square())
	}
	require.ErrorAs(t, tensor.Try(func() { acc.Sum().Grad(w) }), &wrong)
	require.NoError(t, tensor.Realize(ctx, acc.AddAssign(1)))
	same(t, []float64{0}, acc.Sum().Grad(w)[0])
	p, q := f32(1, 2).Own(), f32(1).Own()
	for range 9 {
		g := p.Square().Sum().Mul(q).Grad(p, q)
		p.SubAssign(g[0].Mul(0.1))
		q.SubAssign(g[1].Mul(0.01))
	}
	require.NoError(t, tensor.Try(func() { p.Sum().Grad(q) }))
}

// A gradient with respect to a state that was assigned after the tensor was built is an error.
func TestGradientOfWhatWasAssignedSince(t *testing.T) {
	var wrong *tensor.ArgumentError
	w := f32(1, 2).Own()
	first, second := w.Square().Sum(), w.Exp().Sum()
	w.SubAssign(first.Grad(w)[0].Mul(0.1))
	require.ErrorAs(t, tensor.Try(func() { second.Grad(w) }), &wrong)
	require.ErrorContains(t, wrong, "assigned since")
	require.ErrorAs(t, tensor.Try(func() { second.Backward(w) }), &wrong)
	same(t, []float64{1, 1}, w.Sum().Grad(w)[0])
}
