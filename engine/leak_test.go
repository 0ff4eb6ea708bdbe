package engine_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// open gives a CPU engine of its own.
func open(t *testing.T, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open("CPU", o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Ten thousand steps, of each of which one small leaf stays alive: history must not stay with it. (A test that keeps no
// leaf passes even when every graph leaks.)
func TestManyStepsStayFlat(t *testing.T) {
	e := open(t, engine.Options{})
	ctx := context.Background()
	const steps = 10_000
	kept := make([]*uop.UOp, 0, steps)
	x := floats(t, e, []float32{1, 2, 3, 4}, 4)
	var heap, nodes [2]int64
	var device [2]int64
	measure := func(i int) {
		uop.EndGeneration()
		uop.EndGeneration()
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		heap[i], nodes[i], device[i] = int64(m.HeapAlloc), int64(uop.Live()), e.Stats().LiveBytes
	}
	for i := range steps {
		leaf := floats(t, e, []float32{float32(i)}, 1)
		y := x.Mul(leaf.Expand(4)).Add(x).Max(x.Int(0)).Mul(x.Float(0.5))
		require.NoError(t, e.Realize(ctx, y))
		x = y.Realized()
		kept = append(kept, leaf)
		if i == steps/10 {
			measure(0)
		}
	}
	measure(1)
	grown := int64(steps - steps/10)
	assert.Less(t, heap[1]-heap[0], grown*1200, "heap bytes") // a leaf with its memory handle, no history
	assert.Less(t, nodes[1], int64(100), "nodes after two generations")
	assert.Less(t, device[1]-device[0], grown*64+64<<20, "device bytes")
	assert.LessOrEqual(t, e.Stats().Compiled, 2, "one graph, compiled once")
	runtime.KeepAlive(kept)
}

// A program of many shapes keeps the plan that it uses all the time, and not all the others.
func TestPlansInUseStay(t *testing.T) {
	e, err := engine.Open("NULL", engine.Options{OwnSizes: true})
	require.NoError(t, err)
	defer e.Close()
	compile := func(n int) (times int) {
		before := e.Stats().Compiled
		x := floats(t, e, make([]float32, n), n)
		require.NoError(t, e.Realize(t.Context(), x.Mul(x)))
		return e.Stats().Compiled - before
	}
	const many = 1100
	require.Equal(t, 1, compile(1))
	for n := 2; n < many; n++ {
		require.Equal(t, 1, compile(n))
		require.Zero(t, compile(1), "the plan for 1 element is used all the time")
	}
	require.Zero(t, compile(many-1), "that was the last")
	require.Equal(t, 1, compile(2), "that was long ago")
}

// Memory that is not referred to any more is taken back under a limit; what cannot be is an error in words.
func TestMemoryLimit(t *testing.T) {
	e := open(t, engine.Options{MemoryLimit: 4 << 20})
	ctx := context.Background()
	for range 40 {
		x := floats(t, e, make([]float32, 1<<18), 1<<18) // 1 MiB each, dropped
		require.NoError(t, e.Realize(ctx, x.Neg()))
	}
	var kept []*uop.UOp
	var err error
	for range 8 {
		var u *uop.UOp
		if u, err = e.Empty(dtype.F32, []int{1 << 18}); err != nil {
			break
		}
		kept = append(kept, u)
	}
	require.Error(t, err)
	assert.Contains(t, err.Error(), "out of memory: asked for 1048576 bytes while")
	runtime.KeepAlive(kept)
}

// The number of threads never changes a bit of a result.
func TestThreadsAgree(t *testing.T) {
	ctx := context.Background()
	v := make([]float32, 64*1000)
	for i := range v {
		v[i] = float32(i%97)*0.37 - float32(i%13)
	}
	var want [][]float32
	for _, threads := range []int{1, 2, 5} {
		e := open(t, engine.Options{Threads: threads})
		x := floats(t, e, v, 64, 1000)
		soft := x.Sub(x.Reduce(uop.MaxOf, 1).Reshape(64, 1).Expand(64, 1000)).Exp2()
		roots := []*uop.UOp{
			x.Reduce(uop.Sum, 1), x.Reduce(uop.Sum, 0), x.Reduce(uop.Sum, 0, 1), soft.Div(soft.Reduce(uop.Sum, 1).Reshape(64, 1).Expand(64, 1000)),
			x.Reshape(64, 1, 1000).Expand(64, 64, 1000).Mul(x.Reshape(1, 64, 1000).Expand(64, 64, 1000)).Reduce(uop.Sum, 2),
		}
		require.NoError(t, e.Realize(ctx, roots...))
		var got [][]float32
		for _, r := range roots {
			got = append(got, read(t, e, r))
		}
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got, "%d threads", threads)
	}
}
