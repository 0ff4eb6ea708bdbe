package shards

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// kinds of devices that there are two of.
var kinds = []string{"CPU", "INTERP", "WASM"}

func eachKind(t *testing.T, f func(t *testing.T, devices []string)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { f(t, on(t, kind, 2)) })
	}
}

// twice compares what a function gives with what it gives captured, at several inputs; how says of results how near.
func twice(t *testing.T, f func(in ...*T) []*T, inputs ...[]*T) *tensor.Captured {
	t.Helper()
	c, err := tensor.Capture(ctx, f, inputs[0]...)
	require.NoError(t, err)
	for _, in := range inputs {
		want := f(in...)
		got, err := c.Run(ctx, in...)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		for i := range want {
			assert.Equal(t, want[i].Device(), got[i].Device())
			assert.Equal(t, list(t, want[i]), list(t, got[i]), "result %d", i)
		}
	}
	return c
}

func row(device string, v ...float32) *T { return tensor.Of(v, len(v)).On(device) }

// A captured function goes from device to device and back, several times and by several ways.
func TestCaptureGoesFromDeviceToDevice(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		w := row(d[1], 1, 2, 3, 4)
		require.NoError(t, w.Realize(ctx))
		ins := [][]*T{{row(d[0], 1, 2, 3, 4)}, {row(d[0], 5, 6, 7, 8)}, {row(d[0], -1, 0, 1, 2)}}
		for _, in := range ins {
			require.NoError(t, in[0].Realize(ctx))
		}
		c := twice(t, func(in ...*T) []*T {
			x := in[0]
			there := x.Exp().On(d[1])                    // computed here, used there
			plain := x.On(d[1])                          // an input as it is
			back := there.Add(plain).Mul(w).On(d[0])     // and back
			again := back.Sum().On(d[1]).Mul(w).On(d[0]) // and once more
			gone := w.On(d[0])                           // what no run changes
			return []*T{back.Sub(x), again.Add(gone), x.Add(1), back.On(d[1]).On(d[0])}
		}, ins...)
		require.Greater(t, c.Launches(), 2)
		var file bytes.Buffer
		require.ErrorContains(t, c.Save(ctx, &file), "computes on several devices")
		// What there is assigned meanwhile is seen by the next run.
		w.Own()
		require.NoError(t, w.Realize(ctx))
	})
}

// Gradients go back to where values came from.
func TestCaptureOfGradientsAcross(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		w := row(d[0], 1, 2, 3)
		require.NoError(t, w.Realize(ctx))
		x := row(d[1], 3, 2, 1)
		require.NoError(t, x.Realize(ctx))
		twice(t, func(in ...*T) []*T {
			y := w.On(d[1]).Mul(in[0]).Square().Sum()
			return []*T{y, w.Mul(2).On(d[1]).Mul(in[0]).Sum().Grad(w)[0].On(d[1])}
		}, []*T{x}, []*T{row(d[1], 1, 1, 1)})
	})
}

// Tensors of several devices are assigned by one captured function.
func TestCaptureAssignsElsewhere(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		here, there := row(d[0], 1, 1).Own(), row(d[1], 2, 2).Own()
		require.NoError(t, tensor.Realize(ctx, here))
		require.NoError(t, tensor.Realize(ctx, there))
		c, err := tensor.Capture(ctx, func(in ...*T) []*T {
			old := there.On(d[0])
			there.Assign(there.Add(in[0].On(d[1])))
			here.Assign(here.Mul(old))
			return []*T{old.Add(0), there.On(d[0])}
		}, row(d[0], 1, 10))
		require.NoError(t, err)
		out, err := c.Run(ctx, row(d[0], 1, 10))
		require.NoError(t, err)
		assert.Equal(t, []float64{2, 2}, list(t, out[0]))
		assert.Equal(t, []float64{3, 12}, list(t, out[1]))
		assert.Equal(t, []float64{2, 2}, list(t, here))
		assert.Equal(t, []float64{3, 12}, list(t, there))
		out, err = c.Run(ctx, row(d[0], 2, 20))
		require.NoError(t, err)
		assert.Equal(t, []float64{3, 12}, list(t, out[0]))
		assert.Equal(t, []float64{6, 24}, list(t, here))
		assert.Equal(t, []float64{5, 32}, list(t, there))
	})
}

// What is random inside a function over shards is drawn in each run, and is what the function gives when it is not captured.
func TestCaptureDrawsOverShards(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		x := tensor.Arange(8).To(dtype.F32).Reshape(4, 2).Shard(d, 0)
		require.NoError(t, x.Realize(ctx))
		f := func(in ...*T) []*T {
			a := tensor.Rand(4, 2).Shard(d, 0)           // drawn on the default device
			b := tensor.RandLike(in[0])                  // on those of the tensor
			c := tensor.Randn(4, 2).On(d[1]).Shard(d, 0) // by way of another
			return []*T{in[0].Add(a), in[0].Mul(b).Add(c), a.Add(a), in[0].Dropout(0.5)}
		}
		g := func(seed uint32, run func() []*T) (all [][]float64) {
			tensor.Seed(seed)
			for range 3 {
				for _, y := range run() {
					all = append(all, list(t, y))
				}
			}
			return all
		}
		want := g(7, func() []*T { return f(x) })
		got := g(7, func() (out []*T) {
			return nil
		})
		require.Empty(t, got)
		tensor.Seed(7)
		c, err := tensor.Capture(ctx, f, x)
		require.NoError(t, err)
		for range 3 {
			out, err := c.Run(ctx, x)
			require.NoError(t, err)
			for _, y := range out {
				got = append(got, list(t, y))
			}
		}
		require.Equal(t, want, got)
		require.NotEqual(t, got[0], got[4])
	})
}

// A function without inputs runs where its results lie.
func TestCaptureWithoutInputsOverShards(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		w := tensor.Arange(4).To(dtype.F32).Shard(d, 0)
		require.NoError(t, w.Realize(ctx))
		f := func(...*T) []*T { return []*T{tensor.Rand(4).Shard(d, 0).Add(w), w.Mul(2)} }
		tensor.Seed(3)
		want := [][]float64{list(t, f()[0]), list(t, f()[0])}
		tensor.Seed(3)
		c, err := tensor.Capture(ctx, f)
		require.NoError(t, err)
		for _, v := range want {
			out, err := c.Run(ctx)
			require.NoError(t, err)
			assert.Equal(t, v, list(t, out[0]))
			assert.Equal(t, []float64{0, 2, 4, 6}, list(t, out[1]))
			assert.Equal(t, d, out[0].Devices())
		}
	})
}

// Shards are made, cut otherwise and put together inside.
func TestCaptureOfShards(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		w := tensor.Arange(12).To(dtype.F32).Reshape(3, 4).Shard(d, 1)
		require.NoError(t, w.Realize(ctx))
		x := tensor.Arange(6).To(dtype.F32).Reshape(2, 3).On(d[0])
		require.NoError(t, x.Realize(ctx))
		twice(t, func(in ...*T) []*T {
			y := in[0].Shard(d, tensor.Replicated).MatMul(w)
			return []*T{y.On(d[0]).Sum(1), in[0].Shard(d, 0).Sum().On(d[1]).On(d[0])}
		}, []*T{x}, []*T{x.Add(1)})
	})
}

// Sizes that vary, and results that are written into tensors that there are.
func TestCaptureAcrossOfSizes(t *testing.T) {
	d := on(t, "INTERP", 2)
	n := tensor.NewVariable("n", 1, 4)
	x := row(d[0], 1, 2, 3, 4)
	require.NoError(t, x.Realize(ctx))
	c, err := tensor.Capture(ctx, func(in ...*T) []*T {
		return []*T{in[0].Narrow(0, 0, n).Sum().On(d[1]).Mul(2).On(d[0])}
	}, x)
	require.NoError(t, err)
	for k, want := range []float64{2, 6, 12, 20} {
		out, err := c.With(tensor.Values{n: k + 1}).Run(ctx, x)
		require.NoError(t, err)
		assert.Equal(t, []float64{want}, list(t, out[0]))
	}
	_, err = c.Run(ctx, x)
	require.ErrorContains(t, err, "n")
	into := tensor.Of([]float32{0}, 1).Reshape().On(d[0]).Own()
	require.NoError(t, into.Realize(ctx))
	_, err = c.With(tensor.Values{n: 3}).RunInto(ctx, []*T{into}, x)
	require.NoError(t, err)
	assert.Equal(t, []float64{12}, list(t, into))
}

// Any number of goroutines run it; each run is what its inputs say. A value is not read inside, also not by the way of another device.
func TestCaptureAcrossAtOnceAndErrors(t *testing.T) {
	d := on(t, "INTERP", 2)
	x := row(d[0], 1, 2)
	require.NoError(t, x.Realize(ctx))
	c, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Add(1).On(d[1]).Mul(3).On(d[0])} }, x)
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			out, err := c.Run(ctx, row(d[0], float32(i), 0))
			if assert.NoError(t, err) {
				assert.Equal(t, []float64{3 * float64(i+1), 3}, list(t, out[0]))
			}
		})
	}
	all.Wait()

	_, err = tensor.Capture(ctx, func(in ...*T) []*T {
		_, _ = in[0].On(d[1]).ToList(ctx)
		return []*T{in[0].Add(1)}
	}, x)
	require.ErrorContains(t, err, "a value is read inside")
	_, err = tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].On(d[1])} }, x)
	require.ErrorContains(t, err, "result 0 lies on INTERP:1")
	index := tensor.Of([]int32{5}, 1)
	c, err = tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].On(d[1]).At(index.On(d[1])).On(d[0])} }, x)
	require.NoError(t, err)
	_, err = c.Run(ctx, x)
	require.ErrorContains(t, err, "index")
	_, err = c.Run(ctx, x) // and is again
	require.ErrorContains(t, err, "index")
	_, err = tensor.Capture(ctx, func(in ...*T) []*T {
		require.Error(t, func() error { _, err := in[0].Shard(d, 0).CutAxis(); return err }())
		return []*T{in[0].Add(1)}
	}, x)
	require.NoError(t, err)
	e, err := engine.Use(d[1])
	require.NoError(t, err)
	require.NotNil(t, e)
}

// A captured function that goes from device to device gives one result in several places, and each in its own.
func TestCaptureGivesAResultTwice(t *testing.T) {
	eachKind(t, func(t *testing.T, d []string) {
		ins := [][]*T{{row(d[0], 1, 2, 3, 4)}, {row(d[0], 5, 6, 7, 8)}}
		for _, in := range ins {
			require.NoError(t, in[0].Realize(ctx))
		}
		twice(t, func(in ...*T) []*T {
			x := in[0]
			a, b := x.Add(2), x.On(d[1]).Mul(3).On(d[0])
			return []*T{a, a.Reshape(4), b, x.Sub(5), b.Reshape(4), a.Exp()}
		}, ins...)
	})
}
