package capture

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
)

// beside captures f in a goroutine and, once f has been called and before it goes on, calls other in this one.
func beside(t *testing.T, f func(in *tensor.Tensor) []*tensor.Tensor, in *tensor.Tensor, other func()) *tensor.Captured {
	t.Helper()
	inside, leave := make(chan bool), make(chan bool)
	var c *tensor.Captured
	var err error
	var all sync.WaitGroup
	all.Go(func() {
		c, err = tensor.Capture(context.Background(), func(in ...*tensor.Tensor) []*tensor.Tensor {
			first := f(in[0])
			inside <- true
			<-leave
			return append(f(in[0]), first...)
		}, in)
	})
	<-inside
	other()
	leave <- true
	all.Wait()
	require.NoError(t, err)
	return c
}

func TestOthersGoOnWhileAFunctionIsCaptured(t *testing.T) {
	ctx := onCPU(t)
	x, w := tensor.Of([]float32{1, 2, 3}), tensor.Of([]float32{10, 20, 30}).Own()
	mine, theirs := tensor.Zeros(3).Own(), tensor.Of([]float32{5, 5, 5}).Own()
	require.NoError(t, tensor.Realize(ctx, w, mine, theirs))
	c := beside(t, func(in *tensor.Tensor) []*tensor.Tensor {
		mine.Assign(mine.Add(1))
		return []*tensor.Tensor{in.Mul(w)}
	}, x, func() {
		assert.Equal(t, []float32{3, 4, 5}, values(t, x.Add(2)), "expressions are computed")
		assert.Equal(t, []float32{1, 2, 3}, values(t, x), "and arrays read")
		theirs.Assign(theirs.Add(1))
		w.Assign(w.Mul(2)) // the captured function reads it, now in two versions
		require.NoError(t, tensor.Realize(ctx, theirs, w))
		r := tensor.Rand(4)
		require.NoError(t, r.Realize(ctx))
		assert.NotEqual(t, values(t, r), values(t, tensor.Rand(4)))
	})
	assert.Equal(t, []float32{6, 6, 6}, values(t, theirs), "assignments stay and are not undone")
	assert.Equal(t, []float32{20, 40, 60}, values(t, w))
	assert.Equal(t, []float32{0, 0, 0}, values(t, mine))
	for i := range 3 {
		out, err := c.Run(ctx, x)
		require.NoError(t, err)
		assert.Equal(t, []float32{20, 80, 180}, values(t, out[0]))
		assert.Equal(t, []float32{20, 80, 180}, values(t, out[1]), "what is read is read as it is now")
		k := float32(2 * (i + 1))
		assert.Equal(t, []float32{k, k, k}, values(t, mine))
		assert.Equal(t, []float32{6, 6, 6}, values(t, theirs), "assignments of others are no part of it")
	}
}

func TestCapturesWaitForEachOther(t *testing.T) {
	ctx := onCPU(t)
	x := tensor.Of([]float32{1, 2, 3})
	double := func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Mul(2)} }
	var second *tensor.Captured
	var all sync.WaitGroup
	beside(t, func(in *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in.Add(1)} }, x, func() {
		short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
		defer stop()
		_, err := tensor.Capture(short, double, x)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "for no longer than the context lasts")
		all.Go(func() {
			var err error
			second, err = tensor.Capture(ctx, double, x)
			assert.NoError(t, err)
		})
	})
	all.Wait()
	out, err := second.Run(ctx, x)
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4, 6}, values(t, out[0]))

	_, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		_, err := tensor.Capture(ctx, double, x)
		assert.ErrorContains(t, err, "another function is being captured; capture the outer one only")
		_, err = second.Run(ctx, x)
		assert.ErrorContains(t, err, "a captured function is run inside one that is being captured")
		return in
	}, x)
	assert.ErrorContains(t, err, "computes nothing")
}

func TestStandInsHaveNoValue(t *testing.T) {
	ctx := onCPU(t)
	x := tensor.Of([]float32{1, 2, 3})
	var stand, built *tensor.Tensor
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		stand, built = in[0], in[0].Add(1)
		var all sync.WaitGroup
		defer all.Wait()
		all.Go(func() { // no part of the recording
			_, err := tensor.Data[float32](ctx, built)
			assert.ErrorContains(t, err, "stands for an input of a captured function")
		})
		return []*tensor.Tensor{built}
	}, x)
	require.NoError(t, err)
	for _, y := range []*tensor.Tensor{stand, built, stand.Mul(2)} {
		_, err := tensor.Data[float32](ctx, y)
		assert.ErrorContains(t, err, "it has no value: return it and use what Run gives")
		assert.ErrorContains(t, y.Realize(ctx), "stands for an input")
		_, err = f.Run(ctx, y)
		assert.ErrorContains(t, err, "stands for an input")
		_, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Add(y)} }, x)
		assert.ErrorContains(t, err, "stands for an input")
	}
}

// A result that is a state is a copy of it, as the run left it: another run may change the state before it is read.
func TestReturnedStatesAreCopies(t *testing.T) {
	ctx := onCPU(t)
	count, other := tensor.Zeros(2).Own(), tensor.Of([]float32{7, 7}).Own()
	require.NoError(t, tensor.Realize(ctx, count, other))
	f, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		before := count.Reshape(2, 1)
		between := count.Assign(count.Add(0.5)).Reshape(1, 2)
		count.Assign(count.Add(0.5))
		return []*tensor.Tensor{count, between, before, other}
	})
	require.NoError(t, err)
	for i := range 3 {
		assert.True(t, f.Own(i), "result %d", i)
	}
	var outs [][]*tensor.Tensor
	for range 3 {
		out, err := f.Run(ctx)
		require.NoError(t, err)
		outs = append(outs, out)
	}
	for i, out := range outs {
		k := float32(i + 1)
		assert.Equal(t, []float32{k, k}, values(t, out[0]))
		assert.Equal(t, []float32{k - 0.5, k - 0.5}, values(t, out[1]))
		assert.Equal(t, []float32{k - 1, k - 1}, values(t, out[2]))
		assert.Equal(t, []float32{7, 7}, values(t, out[3]))
		out[0].Discard()
	}
	assert.Equal(t, []float32{3, 3}, values(t, count))
}

// Many goroutines realize and read the same tensors at once: a constant, an expression, one that a captured function assigns.
func TestTensorsAreShared(t *testing.T) {
	ctx := onCPU(t)
	for range 20 {
		constant := tensor.Full(3, dtype.F32, 4)
		sum := tensor.Of([]float32{1, 2, 3, 4}).Add(constant)
		state := tensor.Zeros(4).Own()
		require.NoError(t, state.Realize(ctx))
		step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{state.Assign(state.Add(1)).Sum()}
		})
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				switch i % 4 {
				case 0:
					assert.NoError(t, tensor.Realize(ctx, constant, sum))
				case 1:
					assert.Equal(t, []float32{3, 3, 3, 3}, values(t, constant))
					assert.Equal(t, []float32{7, 8, 9, 10}, values(t, constant.Add(sum)))
				case 2:
					_, err := step.Run(ctx)
					assert.NoError(t, err)
				case 3:
					for last := float32(0); last < 4; {
						v := values(t, state)
						assert.Equal(t, []float32{v[0], v[0], v[0], v[0]}, v)
						if !assert.GreaterOrEqual(t, v[0], last) {
							return
						}
						last = v[0]
						assert.NoError(t, state.Realize(ctx))
					}
				}
			})
		}
		all.Wait()
		assert.Equal(t, []float32{4, 4, 4, 4}, values(t, state))
	}
}

// A device that is closed while others use it gives right answers until then and errors since.
func TestClosedWhileInUse(t *testing.T) {
	ctx := onCPU(t)
	for range 5 {
		e, err := engine.Open("INTERP", engine.Options{})
		require.NoError(t, err)
		u, err := e.FromBytes(dtype.I32, []int{2}, []byte{1, 0, 0, 0, 2, 0, 0, 0})
		require.NoError(t, err)
		x := tensor.FromNode(u, e)
		f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{in[0].Mul(5), tensor.RandLike(in[0])}
		}, x)
		require.NoError(t, err)
		var all, started sync.WaitGroup
		for i := range 8 {
			started.Add(1)
			all.Go(func() {
				for round := 0; ; round++ {
					out, err := f.Run(ctx, x)
					if i%2 == 0 {
						out, err = []*tensor.Tensor{x.Mul(5)}, nil
					}
					var got []int32
					if err == nil {
						got, err = tensor.Data[int32](ctx, out[0])
					}
					if err != nil {
						var closed *runtime.Closed
						assert.True(t, errors.As(err, &closed), err)
						return
					}
					assert.Equal(t, []int32{5, 10}, got)
					if round == 2 {
						started.Done()
					}
				}
			})
		}
		started.Wait()
		require.NoError(t, e.Close())
		all.Wait()
	}
}

// Devices compile and compute at once, each for several goroutines.
func TestDevicesAtOnce(t *testing.T) {
	onCPU(t)
	var all sync.WaitGroup
	for _, name := range []string{"INTERP", "WASM", "REF"} {
		e, err := engine.Use(name)
		require.NoError(t, err)
		for i := range 3 {
			all.Go(func() {
				for n := 1; n < 12; n++ {
					u, err := e.FromBytes(dtype.U8, []int{n}, make([]byte, n))
					if !assert.NoError(t, err) {
						return
					}
					x := tensor.FromNode(u, e).To(dtype.F32).Add(i)
					assert.Equal(t, []float32{float32(2 * i * n)}, values(t, x.MatMul(x.Mul(0).Add(1).Unsqueeze(1)).Mul(2)))
					there := x.On("INTERP").Sum()
					assert.Equal(t, []float32{float32(i * n)}, values(t, there))
				}
			})
		}
	}
	all.Wait()
}
