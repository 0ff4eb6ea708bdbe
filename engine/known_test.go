package engine_test

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// knows runs f with other elements until its graph is known, and checks each time what it gives.
func knows(t *testing.T, e *engine.Engine, f func(run float32)) {
	t.Helper()
	for i := 0; e.Stats().Plays < engine.FirstPlays; i++ {
		require.NoError(t, e.Realize(context.Background(), floats(t, e, []float32{1}, 1).Add(floats(t, e, []float32{float32(i)}, 1))))
	}
	before := e.Stats().Known
	for run := range 4 {
		f(float32(run))
	}
	require.GreaterOrEqual(t, e.Stats().Known-before, 2)
}

// known runs f on all devices that play plans.
func known(t *testing.T, f func(t *testing.T, e *engine.Engine)) {
	for _, name := range engine.Names() {
		if name == "NULL" || name == "REF" { // one gives no values, the other plays no plans
			continue
		}
		t.Run(name, func(t *testing.T) {
			e, err := engine.Use(name)
			require.NoError(t, err)
			f(t, e)
		})
	}
}

// A graph that is made again over other arrays is computed with those.
func TestKnownGraphs(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		knows(t, e, func(run float32) {
			x, y := floats(t, e, []float32{run, 2}, 2), floats(t, e, []float32{5, run * run}, 2)
			u, v := y.Sub(x), x.Reduce(uop.Sum, 0)
			require.NoError(t, e.Realize(ctx, u, v, u))
			assert.Equal(t, []float32{5 - run, run*run - 2}, read(t, e, u))
			assert.Equal(t, []float32{run + 2}, read(t, e, v))
		})
		knows(t, e, func(run float32) { // equal arrays are another graph
			x := floats(t, e, []float32{run, 2}, 2)
			u := x.Sub(x)
			require.NoError(t, e.Realize(ctx, u))
			assert.Equal(t, []float32{0, 0}, read(t, e, u))
		})
		knows(t, e, func(run float32) { // and so are other numbers
			for _, n := range []float64{2, 3} {
				u := floats(t, e, []float32{run, 1}, 2)
				u = u.Mul(u.Float(n)).Exp2()
				require.NoError(t, e.Realize(ctx, u))
				assert.InDeltaSlice(t, []float64{float64(uint(1) << (int(run) * int(n))), float64(uint(1) << int(n))}, read(t, e, u), 1e-4)
			}
		})
	})
}

// Variables have the values of their own run.
func TestKnownVariables(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		knows(t, e, func(run float32) {
			x := floats(t, e, []float32{run, 1}, 2)
			variable := func(n int) *uop.UOp {
				return x.Home().Make(uop.Var, dtype.Index, uop.VarArg{Name: "n", Lo: 0, Hi: 9, Bound: true, Value: n})
			}
			u := x.Mul(variable(int(run)).Cast(dtype.F32).Reshape(1).Expand(2)).Sub(variable(7 - int(run)).Cast(dtype.F32).Reshape(1).Expand(2))
			require.NoError(t, e.Realize(ctx, u))
			assert.Equal(t, []float32{run*run + run - 7, 2*run - 7}, read(t, e, u))
		})
	})
}

// So have those that only sizes speak of, and those that had one value before.
func TestKnownSizes(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		variable := func(n int) uop.VarArg { return uop.VarArg{Name: "n", Lo: 1, Hi: 4, Bound: true, Value: n} }
		rows := func(run float32, n int) *uop.UOp {
			const width = 24
			x := make([]float32, 4*width)
			x[0], x[width], x[2*width], x[3*width] = run, 2, 3, 4
			return floats(t, e, x, 4, width).Limit(0, uop.SizeOf(variable(n))).Reduce(uop.Sum, 1)
		}
		knows(t, e, func(run float32) {
			u := rows(run, int(run)+1)
			require.NoError(t, e.Realize(ctx, u))
			assert.Equal(t, []float32{run, 2, 3, 4}[:int(run)+1], read(t, e, u)[:int(run)+1])
		})
		for run, n := range []int{3, 3, 1, 1, 1} { // once it is the other variable, and then not
			u := rows(float32(run), 3)
			u = u.Mul(u.Home().Make(uop.Var, dtype.Index, variable(n)).Cast(dtype.F32))
			require.NoError(t, e.Realize(ctx, u))
			assert.Equal(t, []float32{float32(run * n), float32(2 * n), float32(3 * n)}, read(t, e, u)[:3])
		}
	})
}

// Assignments find the memory of their own run, and what is stale stays so.
func TestKnownAssignments(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		sum, want := floats(t, e, []float32{0, 0}, 2), float32(0)
		knows(t, e, func(run float32) {
			x := floats(t, e, []float32{run, 1}, 2)
			next := assign(sum, sum.Add(x))
			old := sum
			require.NoError(t, e.Realize(ctx, next, next.Reshape(1, 2)))
			sum = next.Realized()
			want += run
			assert.Equal(t, want, read(t, e, sum)[0])
			var stale *engine.StaleError
			require.ErrorAs(t, e.Realize(ctx, assign(old, old.Add(floats(t, e, []float32{1, 1}, 2)))), &stale)
		})
	})
}

// A part of an array is written where it lies, also when it was read before.
func TestKnownParts(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		for i := range 3 {
			knows(t, e, func(run float32) {
				x, want := floats(t, e, []float32{9, 9, 9}, 3), []float32{9, 9, 9}
				at := i
				part := x.Shrink([]int{at}, []int{at + 1})
				require.NoError(t, e.Realize(ctx, part))
				next := x.After(part.Store(floats(t, e, []float32{run}, 1)))
				require.NoError(t, e.Realize(ctx, next))
				want[at] = run
				assert.Equal(t, want, read(t, e, next))
			})
		}
	})
}

// What values tell is told of the arrays of a run.
func TestKnownChecks(t *testing.T) {
	ctx := context.Background()
	known(t, func(t *testing.T, e *engine.Engine) {
		knows(t, e, func(run float32) {
			x := floats(t, e, []float32{run, 1}, 2)
			i := integers(t, e, int32(run), 1)
			bad, good := checked(x.Mul(x.Int(7)), i, 3, "Take"), x.Mul(x.Int(6))
			require.NoError(t, e.Realize(ctx, bad, good))
			assert.Equal(t, []float32{6 * run, 6}, read(t, e, good))
			if run < 3 {
				assert.Equal(t, []float32{7 * run, 7}, read(t, e, bad))
				return
			}
			var wrong *engine.ValueError
			require.ErrorAs(t, readError(e, bad), &wrong)
			require.Contains(t, wrong.Reason, "number 3 of Take")
		})
	})
}

// Nothing of a run is held by what is kept of its graph.
func TestKnownGraphsHoldNoArrays(t *testing.T) {
	ctx := context.Background()
	e := open(t, engine.Options{})
	step := func() {
		x, err := e.FromBytes(dtype.F32, []int{1 << 18}, make([]byte, 4<<18))
		require.NoError(t, err)
		require.NoError(t, e.Realize(ctx, x.Mul(x).Reduce(uop.Sum, 0)))
	}
	for range engine.FirstPlays + 3 {
		step()
	}
	uop.EndGeneration()
	uop.EndGeneration()
	require.Equal(t, 1, e.Stats().Known)
	require.Eventually(t, func() bool {
		runtime.GC()
		return e.Stats().LiveBytes < 1<<20
	}, time.Minute, 20*time.Millisecond)
}

// A graph of sizes that come by in turns is computed by the plan for many sizes, and is known as well.
func TestKnownGraphsOfManySizes(t *testing.T) {
	ctx := context.Background()
	e := open(t, engine.Options{EarlySizes: true})
	for e.Stats().Plays < engine.FirstPlays {
		require.NoError(t, e.Realize(ctx, floats(t, e, []float32{1}, 1).Add(floats(t, e, []float32{2}, 1))))
	}
	sum, total := floats(t, e, []float32{0}, 1), float32(0)
	round := func(k int) {
		for n := 3; n < 13; n++ {
			list, twice, all := make([]float32, n), make([]float32, n), float32(0)
			for i := range list {
				list[i] = float32(i*k + n)
				twice[i], all = 2*list[i], all+list[i]
			}
			x := floats(t, e, list, n)
			at := integers(t, e, int32(k), 1) // number 3 and those that follow do not exist
			s := x.Reduce(uop.Sum, 0)
			y, bad := x.Add(x), checked(x.Mul(x.Int(7)), at, 3, "Take")
			next := assign(sum, sum.Add(s.Reshape(1)))
			require.NoError(t, e.Realize(ctx, y, next, bad, s))
			sum, total = next.Realized(), total+all
			require.Equal(t, twice, read(t, e, y))
			require.Equal(t, []float32{all}, read(t, e, s))
			require.Equal(t, []float32{total}, read(t, e, sum))
			if k < 3 {
				require.Equal(t, float32(7*n), read(t, e, bad)[0])
			} else {
				var wrong *engine.ValueError
				require.ErrorAs(t, readError(e, bad), &wrong)
			}
		}
	}
	for k := range 3 {
		round(k)
	}
	before := e.Stats()
	round(3)
	round(1)
	after := e.Stats()
	assert.Equal(t, 20, after.Known-before.Known)
	assert.Greater(t, after.Shared-before.Shared, 14, "those with room for the most have it")
	assert.Equal(t, before.Compiled, after.Compiled)
}

// A known graph for whose room there is no memory any more gets a plan of its own.
func TestKnownGraphsOfManySizesWithoutMemory(t *testing.T) {
	ctx := context.Background()
	const least = 1<<17 + 1 // 512 kB; the room is twice as much
	e := open(t, engine.Options{EarlySizes: true, MemoryLimit: 8 << 20})
	for e.Stats().Plays < engine.FirstPlays {
		require.NoError(t, e.Realize(ctx, floats(t, e, []float32{1}, 1).Add(floats(t, e, []float32{2}, 1))))
	}
	round := func() {
		for n := least; n < least+5; n++ {
			list := make([]float32, n)
			list[n-1] = float32(n - least)
			x := floats(t, e, list, n)
			y, z := x.Add(x.Float(1)), x.Mul(x.Float(2))
			require.NoError(t, e.Realize(ctx, y, z), n)
			require.Equal(t, float32(n-least+1), read(t, e, y)[n-1])
			require.Equal(t, float32(2*(n-least)), read(t, e, z)[n-1])
			for _, u := range []*uop.UOp{x, y, z} {
				e.Discard(u)
			}
		}
	}
	round()
	round()
	before := e.Stats()
	round()
	require.Equal(t, 5, e.Stats().Known-before.Known)
	require.Positive(t, e.Stats().Shared-before.Shared)
	held := floats(t, e, make([]float32, 1<<20), 1<<20) // 4 MB: the arrays themselves fit
	before = e.Stats()
	round()
	require.Zero(t, e.Stats().Shared-before.Shared)
	require.Positive(t, e.Stats().Compiled-before.Compiled)
	require.Zero(t, read(t, e, held)[0])
}

// numbered runs f with other numbers on an engine until they are left open, and expects that graphs with new ones are known then. Each result has the bits
// that an engine gives that knows no graph.
func numbered(t *testing.T, f func(e *engine.Engine, run int) []float32, known int) {
	t.Helper()
	ctx := context.Background()
	e, fresh := open(t, engine.Options{}), open(t, engine.Options{})
	for i := 0; e.Stats().Plays < engine.FirstPlays; i++ {
		require.NoError(t, e.Realize(ctx, floats(t, e, []float32{1}, 1).Add(floats(t, e, []float32{float32(i)}, 1))))
	}
	before := 0
	for run := range 12 {
		if run == 4 {
			before = e.Stats().Known
		}
		require.Equal(t, bits(f(fresh, run)), bits(f(e, run)), run)
	}
	require.Zero(t, fresh.Stats().Known)
	require.Equal(t, known, e.Stats().Known-before)
}

func bits(list []float32) (out []uint32) {
	for _, x := range list {
		out = append(out, math.Float32bits(x))
	}
	return out
}

// A graph with other numbers is that of its family: scalars of several types, and where something begins.
func TestKnownNumbers(t *testing.T) {
	ctx := context.Background()
	rows := make([]float32, 16*3)
	for i := range rows {
		rows[i] = float32(i*i%17) - 5
	}
	numbered(t, func(e *engine.Engine, run int) []float32 {
		x := floats(t, e, rows, 16, 3).Shrink([]int{run, 0}, []int{run + 2, 3})
		y := x.Mul(x.Float(0.1 * float64(run))).Add(x.Cast(dtype.I32).Add(x.Cast(dtype.I32).Int(run)).Cast(dtype.F32))
		y = y.Pad([]int{run % 3, 0}, []int{2 - run%3, 0}).Sub(y.Cast(dtype.F64).Mul(y.Cast(dtype.F64).Float(1/float64(run+1))).Reduce(uop.Sum, 0, 1).Cast(dtype.F32).Reshape(1, 1).Expand(4, 3))
		require.NoError(t, e.Realize(ctx, y))
		return read(t, e, y)
	}, 8)
}

// Numbers that are special are bound as they are, and the one that the first graph had, which has a plan of its own, is known when it came twice.
func TestKnownSpecialNumbers(t *testing.T) {
	ctx := context.Background()
	negative := math.Copysign(0, -1)
	list := []float64{2, 3, 4, 5, negative, 0, math.Inf(1), math.NaN(), -1, 2, 2, 2}
	numbered(t, func(e *engine.Engine, run int) []float32 {
		x := floats(t, e, []float32{1, -2, 0, 3}, 4)
		y := x.Mul(x.Float(list[run])).Max(x.Float(-100))
		require.NoError(t, e.Realize(ctx, y))
		return read(t, e, y)
	}, 7)
}

// Numbers that were equal so far part, and others that differed are equal: the same nodes then.
func TestKnownNumbersPart(t *testing.T) {
	ctx := context.Background()
	list := [][2]float64{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 12}, {13, 13}, {14, 15}, {16, 16}}
	numbered(t, func(e *engine.Engine, run int) []float32 {
		x := floats(t, e, []float32{1, -2, 0, 3}, 4)
		y := x.Mul(x.Float(list[run][0])).Exp2().Add(x.Mul(x.Float(list[run][1])))
		require.NoError(t, e.Realize(ctx, y))
		return read(t, e, y)
	}, 6)
}

// What a number decides, as where elements lie or a truth value, is part of what is known.
func TestKnownNumbersThatDecide(t *testing.T) {
	ctx := context.Background()
	numbered(t, func(e *engine.Engine, run int) []float32 {
		x := floats(t, e, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12)
		at := x.Home().Iota(3).Mul(x.Home().Index(1 + run%2)).Add(x.Home().Index(5 + run%3))
		y := x.Gather(at, 0).Mul(x.Float(float64(run) + 0.5))
		y = y.Add(uop.NewInt(dtype.Bool, run%2).Where(x.Float(1), x.Float(2)).Reshape(1).Expand(3))
		require.NoError(t, e.Realize(ctx, y))
		return read(t, e, y)
	}, 8)
}

// A table is updated where a number says, also through a view that was read. The first row that is read has a plan of its own, known the third time.
func TestKnownUpdates(t *testing.T) {
	ctx := context.Background()
	tables := map[*engine.Engine]*uop.UOp{}
	for _, read1 := range []bool{false, true} {
		clear(tables)
		numbered(t, func(e *engine.Engine, run int) []float32 {
			table := tables[e]
			if table == nil {
				table = floats(t, e, make([]float32, 12), 4, 3)
			}
			row := table.Shrink([]int{run * 3 % 4, 0}, []int{run*3%4 + 1, 3})
			at := row.Shrink([]int{0, run % 3}, []int{1, run%3 + 1})
			if read1 {
				require.NoError(t, e.Realize(ctx, row))
			}
			next := table.After(at.Store(at.Add(at.Float(float64(run) + 0.5))))
			require.NoError(t, e.Realize(ctx, next))
			tables[e] = next.Realized()
			return read(t, e, next)
		}, map[bool]int{false: 8, true: 15}[read1])
	}
}

// What values tell is told of a graph with other numbers too.
func TestKnownNumbersChecked(t *testing.T) {
	ctx := context.Background()
	numbered(t, func(e *engine.Engine, run int) []float32 {
		x, i := floats(t, e, []float32{1, 2}, 2), integers(t, e, int32(run), 1)
		bad, good := checked(x.Mul(x.Float(float64(run))), i, 9, "Take"), x.Add(x.Float(0.5*float64(run)))
		require.NoError(t, e.Realize(ctx, bad, good))
		if run < 9 {
			return append(read(t, e, bad), read(t, e, good)...)
		}
		var wrong *engine.ValueError
		require.ErrorAs(t, readError(e, bad), &wrong)
		return read(t, e, good)
	}, 8)
}

// A family and its plan may be forgotten.
func TestKnownNumbersForgotten(t *testing.T) {
	ctx := context.Background()
	e := open(t, engine.Options{})
	step := func(n float32) []float32 {
		x := floats(t, e, []float32{1, 2}, 2)
		y := x.Mul(x.Float(float64(n)))
		require.NoError(t, e.Realize(ctx, y))
		return read(t, e, y)
	}
	for i := range engine.FirstPlays + 4 {
		step(float32(i))
	}
	before := e.Stats().Known
	require.Equal(t, []float32{500, 1000}, step(500))
	require.Equal(t, 1, e.Stats().Known-before)
	e.ForgetPlans()
	require.Equal(t, []float32{501, 1002}, step(501))
	require.Equal(t, []float32{502, 1004}, step(502))
	require.Equal(t, []float32{503, 1006}, step(503))
	require.Equal(t, 2, e.Stats().Known-before)
}
