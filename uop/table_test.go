package uop_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// The tests of this file age the global table and do not run in parallel.

func TestEqualNodesAreOne(t *testing.T) {
	a := uop.NewArena()
	x, y := a.Param(0, 4, dtype.F32), a.Param(1, 4, dtype.F32)
	require.Same(t, x.Add(y), x.Add(y))
	require.NotSame(t, x.Add(y), y.Add(x))
	require.NotSame(t, x.Add(y), x.Mul(y))
	require.NotSame(t, a.Int(dtype.I32, 1), a.Int(dtype.I64, 1))
	require.NotSame(t, a.Int(dtype.F32, 0), a.ConstOf(dtype.F32, uop.FloatValue(dtype.F32, -1)).Mul(a.Int(dtype.F32, 0)))
	require.Same(t, a.Range(1, 8, "i"), a.Range(1, 8, "i"))
	require.NotSame(t, a.Range(1, 8, "i"), a.Range(1, 8, "j"))
	other := uop.NewArena()
	require.NotSame(t, x, other.Param(0, 4, dtype.F32))
	require.Equal(t, x.Add(y).Hash(), other.Param(0, 4, dtype.F32).Add(other.Param(1, 4, dtype.F32)).Hash())
	require.Same(t, other, uop.Substitute(other, nil, x.Add(y))[0].Home())
}

func TestTwoGenerations(t *testing.T) {
	x := uop.NewBuffer(1<<40, 4, "CPU", dtype.F32)
	u := x.Sqrt()
	uop.EndGeneration()
	require.Same(t, u, x.Sqrt(), "in the previous generation")
	uop.EndGeneration()
	require.Same(t, u, x.Sqrt(), "it had moved up")
	uop.EndGeneration()
	uop.EndGeneration()
	again := x.Sqrt()
	require.NotSame(t, u, again, "forgotten after two generations")
	require.Equal(t, u.Hash(), again.Hash())
}

// TestHistoryIsDropped keeps one leaf of every step alive: with strong tables or slabs each would keep its step's graph.
func TestHistoryIsDropped(t *testing.T) {
	var survivors []*uop.UOp
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	id := uint64(1 << 41)
	x := uop.NewBuffer(id, 64, "CPU", dtype.F32)
	run := func(steps int) {
		for range steps {
			y := x
			for range 100 {
				y = y.Mul(x).Add(y.Float(0.5)).Sqrt()
			}
			id++
			leaf := uop.NewBuffer(id, 64, "CPU", dtype.F32)
			y.SetRealized(leaf)
			survivors = append(survivors, leaf)
			x = leaf
			uop.EndGeneration()
		}
	}
	run(200)
	before, nodes := heap(), uop.Live()
	run(2000) // 600,000 nodes: more than 100 MB if they stayed
	grown := heap() - before
	require.Less(t, grown/2000, 1000, "bytes a step")
	require.InDelta(t, nodes, uop.Live(), 100)
	runtime.KeepAlive(survivors)
}

func TestGenerationsAreBounded(t *testing.T) {
	x := uop.NewBuffer(1<<42, 1, "CPU", dtype.I64)
	for i := range 200_000 { // nobody ends a generation
		x.Add(x.Int(i))
	}
	require.LessOrEqual(t, uop.Live(), 2<<16)
}

func TestBuildingFromManyGoroutines(t *testing.T) {
	x := uop.NewBuffer(1<<43, 8, "CPU", dtype.F32)
	const workers = 8
	var got [workers][100]*uop.UOp
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range got[w] {
				got[w][i] = x.Mul(x.Int(i)).Sqrt()
				if w == 0 && i == 50 {
					uop.EndGeneration()
				}
			}
		})
	}
	wg.Wait()
	for w := range got {
		require.Equal(t, got[0], got[w])
	}
}

func TestLocalValues(t *testing.T) {
	type key struct{}
	made := 0
	init := func() any { made++; return &made }
	a := uop.NewArena()
	require.Same(t, a.Local(key{}, init), a.Local(key{}, init))
	require.Equal(t, 1, made)
	uop.NewArena().Local(key{}, init)
	require.Equal(t, 2, made)
	global := uop.NewInt(dtype.I32, 1).Home()
	require.False(t, global.IsArena())
	global.Local(key{}, init)
	global.Local(key{}, init)
	require.Equal(t, 4, made, "nothing is kept on the global table")
}

func BenchmarkIntern(b *testing.B) {
	x := uop.NewBuffer(1<<44, 1, "CPU", dtype.I64)
	i := 0
	for b.Loop() {
		i++
		x.Add(x.Int(i))
	}
}
