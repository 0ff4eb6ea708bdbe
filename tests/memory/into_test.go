package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Results lie where they are told to, run after run, beside states.
func TestRunIntoWritesInPlace(t *testing.T) {
	onAll(t, func(b *bench) {
		count, weight := b.own(0), b.floats(10, 20, 30)
		f := b.capture(func(in ...*T) []*T {
			count.Assign(count.Add(1))
			return []*T{in[0].Mul(weight).Add(count), in[0].Sum()}
		}, b.floats(0, 0, 0))
		dst := []*T{b.own(7, 7, 7), nil}
		first := b.where(dst[0])
		live := int64(0)
		for i := range 5 {
			x := float32(i)
			outs, err := f.RunInto(ctx, dst, b.floats(x, x, x))
			require.NoError(b.t, err)
			n := float32(i + 1)
			require.Equal(b.t, []float32{10*x + n, 20*x + n, 30*x + n}, b.values(outs[0]))
			require.Equal(b.t, []float32{3 * x}, b.values(outs[1]))
			require.Equal(b.t, first, b.where(outs[0]))
			require.Same(b.t, dst[0], outs[0])
			require.Equal(b.t, b.values(dst[0].Mul(2)), b.values(outs[0].Add(outs[0])), "what is built on it")
			if dst = outs; i > 0 {
				continue
			}
			live = b.Stats().LiveBytes
		}
		assert.LessOrEqual(b.t, b.Stats().LiveBytes-live, int64(2048), "little beside inputs and what was read")
	})
}

// Each run draws other random numbers, on the default device.
func TestRunIntoDrawsAnew(t *testing.T) {
	e, err := engine.Use("")
	require.NoError(t, err)
	if e.Name() == "REF" {
		t.Skip("REF cannot capture")
	}
	f, err := tensor.Capture(ctx, func(...*T) []*T { return []*T{tensor.Rand(4)} })
	require.NoError(t, err)
	dst, seen := tensor.Zeros(4), [][]float32{}
	for range 3 {
		_, err := f.RunInto(ctx, []*T{dst})
		require.NoError(t, err)
		v, err := tensor.Data[float32](ctx, dst)
		require.NoError(t, err)
		require.NotContains(t, seen, v)
		seen = append(seen, v)
	}
}

// A loop may begin with no tensors.
func TestRunIntoFromNothing(t *testing.T) {
	b := open(t, "INTERP", engine.Options{})
	f := b.capture(func(in ...*T) []*T { return []*T{in[0].Add(1), in[0].Mul(2)} }, b.floats(0, 0))
	outs := make([]*T, 2)
	var at any
	for i := range 4 {
		var err error
		outs, err = f.RunInto(ctx, outs, b.floats(float32(i), 5))
		require.NoError(t, err)
		assert.Equal(t, []float32{float32(i) + 1, 6}, b.values(outs[0]))
		assert.Equal(t, []float32{2 * float32(i), 10}, b.values(outs[1]))
		if i == 0 {
			at = b.where(outs[0])
		}
		assert.Equal(t, at, b.where(outs[0]))
	}
}

// What another tensor sees is never written over.
func TestRunIntoLeavesOthersAlone(t *testing.T) {
	onAll(t, func(b *bench) {
		f := b.capture(func(in ...*T) []*T { return []*T{in[0].Add(1)} }, b.floats(0, 0))
		run := func(dst *T, v float32) {
			b.t.Helper()
			outs, err := f.RunInto(ctx, []*T{dst}, b.floats(v, v))
			require.NoError(b.t, err)
			require.Equal(b.t, []float32{v + 1, v + 1}, b.values(outs[0]))
		}
		x := b.floats(1, 2) // as others may have it
		view := x.Reshape(2, 1).Reshape(2)
		run(view, 3)
		assert.Equal(b.t, []float32{1, 2}, b.values(x))
		at := b.where(view)
		run(view, 4)
		assert.Equal(b.t, at, b.where(view), "its own from then on")

		fresh, err := f.Run(ctx, x)
		require.NoError(b.t, err)
		again := fresh[0].Reshape(1, 2)
		run(fresh[0], 5)
		assert.Equal(b.t, []float32{2, 3}, b.values(again), "a view of a result")

		kept := view.Reshape(1, 2)
		require.NoError(b.t, kept.Realize(ctx))
		run(view, 6)
		assert.Equal(b.t, []float32{5, 5}, b.values(kept), "what was realized as a view")
		assert.NotEqual(b.t, at, b.where(view))

		lazy, done := view.Mul(2), view.Mul(3)
		require.NoError(b.t, done.Realize(ctx))
		run(view, 8)
		assert.Equal(b.t, []float32{21, 21}, b.values(done))
		_, err = lazy.Bytes(ctx)
		var stale *engine.StaleError
		assert.ErrorAs(b.t, err, &stale, "what was built before and is computed after")

		pending := b.own(0, 0)
		pending.Assign(9) // is made good for
		run(pending, 1)
		unknown := tensor.Zeros(2)
		run(unknown, 2)
	})
}

// What is wrong with values of a run is said of its result, until another run writes there.
func TestRunIntoTellsOfWrongValues(t *testing.T) {
	onAll(t, func(b *bench) {
		table := b.floats(1, 2, 3)
		f := b.capture(func(in ...*T) []*T { return []*T{table.At(in[0])} }, b.ints(0))
		dst := []*T{b.own(0)}
		for i, want := range []float32{1, 2, 3} {
			_, err := f.RunInto(ctx, dst, b.ints(7))
			require.NoError(b.t, err)
			_, err = dst[0].Item(ctx)
			var wrong *engine.ValueError
			require.ErrorAs(b.t, err, &wrong)
			_, err = f.RunInto(ctx, dst, b.ints(i))
			require.NoError(b.t, err)
			require.Equal(b.t, []float32{want}, b.values(dst[0]))
		}
	})
}

func TestRunIntoErrors(t *testing.T) {
	b, other := open(t, "INTERP", engine.Options{}), open(t, "INTERP", engine.Options{})
	x, w, state := b.own(1, 2), b.own(3, 4), b.own(0, 0)
	unused := b.own(5, 6)
	f := b.capture(func(in ...*T) []*T {
		state.Assign(in[0])
		return []*T{in[0].Mul(w), in[0].Sum()}
	}, x, x)
	pair := b.own(8, 8)
	one := b.floats(0).Reshape().Own()
	for _, c := range []struct {
		what string
		dst  []*T
		want string
	}{
		{"count", []*T{nil}, "tensor: RunInto: 1 tensors for the 2 results of the captured function; give nil for those that are to be new (into_test.go:"},
		{"shape", []*T{b.own(1, 2, 3), nil}, "tensor: RunInto [3]: result 0 has shape [2] (into_test.go:"},
		{"second shape", []*T{nil, b.own(1)}, "result 1 has shape []"},
		{"type", []*T{b.ints(1, 2), nil}, "tensor: RunInto int32: result 0 is float32; give a tensor of that type"},
		{"device", []*T{other.own(1, 2), nil}, "or the tensor for result 0, belongs to another engine of INTERP"},
		{"input", []*T{x, nil}, "tensor: RunInto: result 0: the tensor for it is input 0 too, which would be overwritten while it is read; give another (into_test.go:"},
		{"view of an input", []*T{x.Reshape(2, 1).Reshape(2), nil}, "is input 0 too"},
		{"input that is not read", []*T{unused, nil}, "is input 1 too"},
		{"what is read", []*T{w, nil}, "the tensor for it is one that the function reads or assigns; give another"},
		{"what is assigned", []*T{state, nil}, "one that the function reads or assigns"},
	} {
		_, err := f.RunInto(ctx, c.dst, x, unused)
		require.ErrorContains(t, err, c.want, c.what)
	}
	_, err := f.RunInto(ctx, []*T{nil, nil}, x)
	require.ErrorContains(t, err, "takes 2 inputs, not 1")
	require.Equal(t, []float32{1, 2}, b.values(x), "nothing was written")
	require.Equal(t, []float32{3, 4}, b.values(w))
	_, err = f.RunInto(ctx, []*T{pair, one}, x, unused)
	require.NoError(t, err)
	require.Equal(t, []float32{3, 8}, b.values(pair))
	require.Equal(t, []float32{3}, b.values(one))

	g := b.capture(func(in ...*T) []*T {
		y := in[0].Add(1)
		return []*T{y, y, in[0], in[0].To(dtype.I32), in[0].Sub(1)}
	}, x)
	for i := range 3 {
		dst := make([]*T, 5)
		dst[i] = pair
		_, err = g.RunInto(ctx, dst, x)
		require.ErrorContains(t, err, "the function returns a tensor that exists, or the same one twice", "result %d", i)
	}
	h := b.capture(func(in ...*T) []*T { return []*T{in[0].Add(1), in[0].Sub(1)} }, x)
	_, err = h.RunInto(ctx, []*T{pair, pair}, x)
	require.ErrorContains(t, err, "result 1: result 0 is to be written into the same tensor; give each its own")

	_, err = tensor.Capture(ctx, func(in ...*T) []*T {
		_, err := h.RunInto(ctx, []*T{nil, nil}, in[0])
		require.ErrorContains(t, err, "a captured function is run inside one that is being captured")
		return []*T{in[0].Add(2)}
	}, x)
	require.NoError(t, err)
}

// Runs of several goroutines that share a place take turns, and each leaves its own whole result.
func TestRunIntoTakesTurns(t *testing.T) {
	b := open(t, "CPU", engine.Options{})
	const n = 1 << 16
	zeros := b.floats(make([]float32, n)...)
	f := b.capture(func(in ...*T) []*T { return []*T{in[0].Add(in[1])} }, zeros, b.floats(0))
	dst := zeros.Clone()
	require.NoError(t, dst.Realize(ctx))
	done := make(chan error)
	for g := range 3 {
		v := b.floats(float32(g + 1))
		go func() {
			for range 50 {
				if _, err := f.RunInto(ctx, []*T{dst}, zeros, v); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for running := 3; running > 0; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running--
		default:
			v := b.values(dst)
			for i := range v {
				require.True(t, v[i] == v[0], "element %d is %v and the first %v", i, v[i], v[0])
			}
		}
	}
}
