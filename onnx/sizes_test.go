package onnx

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// cached is attention that takes rows x, and the keys and values of rows before them, and gives what it sees and all keys: ranks are known, sizes are not.
var cached = modelMsg(graphMsg(msgs(
	nodeMsg("MatMul", list("x", "w"), list("new")),
	nodeMsg("Concat", list("past", "new"), list("keys"), intAttr("axis", 1)),
	nodeMsg("Transpose", list("keys"), list("turned"), intsAttr("perm", 0, 2, 1)),
	nodeMsg("MatMul", list("x", "turned"), list("scores")),
	nodeMsg("Softmax", list("scores"), list("weights"), intAttr("axis", -1)),
	nodeMsg("MatMul", list("weights", "keys"), list("seen")),
	nodeMsg("ReduceMean", list("keys"), list("mean"), intsAttr("axes", 1)),
	nodeMsg("Add", list("seen", "mean"), list("y")),
), msgs(tensorMsg("w", Float32, floatsValue([]int{2, 2}, 0.5, -0.25, 0.75, 1).raw, 2, 2)),
	msgs(portMsg("x", Float32, -1, -1, 2), portMsg("past", Float32, -1, -1, 2)),
	msgs(portMsg("y", Float32, -1, -1, 2), portMsg("keys", Float32, -1, -1, 2))))

// attended is what it gives, computed in float64.
func attended(x, keys []float64, w [4]float64) (y, all []float64) {
	all = append(all, keys...)
	for i := 0; i < len(x); i += 2 {
		all = append(all, x[i]*w[0]+x[i+1]*w[2], x[i]*w[1]+x[i+1]*w[3])
	}
	n := len(all) / 2
	for i := 0; i < len(x); i += 2 {
		var sum, a, b, ma, mb float64
		for k := range n {
			e := math.Exp(x[i]*all[2*k] + x[i+1]*all[2*k+1])
			sum, a, b = sum+e, a+e*all[2*k], b+e*all[2*k+1]
			ma, mb = ma+all[2*k], mb+all[2*k+1]
		}
		y = append(y, a/sum+ma/float64(n), b/sum+mb/float64(n))
	}
	return y, all
}

func floats32(list []float64) (out []float32) {
	for _, x := range list {
		out = append(out, float32(x))
	}
	return out
}

// A cache that grows by a row at each run has two plans of its own and one for each time that it has doubled.
func TestGrowingCacheSharesPlans(t *testing.T) {
	ctx := context.Background()
	m := read(t, cached)
	past, known := on(tensor.Zeros(1, 1, 2)), []float64{0, 0}
	compiled := -1
	for i := range 50 {
		x := []float64{math.Sin(float64(i)), math.Cos(float64(3 * i))}
		out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": on(tensor.Of(floats32(x), 1, 1, 2)), "past": past})
		require.NoError(t, err)
		var y []float64
		y, known = attended(x, known, [4]float64{0.5, -0.25, 0.75, 1})
		for name, want := range map[string][]float64{"y": y, "keys": known} {
			require.Equal(t, []int{1, len(want) / 2, 2}, out[name].Shape())
			got, err := tensor.Data[float32](ctx, out[name])
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got, 1e-4, "%s after %d rows", name, i+1)
		}
		past = out["keys"]
		if i == 3 {
			compiled = past.Engine().Stats().Compiled
		}
	}
	require.LessOrEqual(t, past.Engine().Stats().Compiled-compiled, 4, "one for 32 and one for 64 rows, and one for what is read")
	require.Len(t, m.whole().families, 1)
}

// A batch, its rows and those of its cache are of any size each.
func TestThreeSizesSharePlans(t *testing.T) {
	ctx := context.Background()
	m := read(t, cached)
	compiled := -1
	var e *engine.Engine
	for i := range 24 {
		batch, rows, past := 1+i*5%7, 1+i*3%11, 1+i*7%13
		numbers := func(n, at int) (list []float64) {
			for k := range n {
				list = append(list, math.Sin(float64(at+i+3*k)))
			}
			return list
		}
		x, before := numbers(2*batch*rows, 1), numbers(2*batch*past, 2)
		out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": on(tensor.Of(floats32(x), batch, rows, 2)), "past": on(tensor.Of(floats32(before), batch, past, 2))})
		require.NoError(t, err)
		var y, keys []float64
		for b := range batch {
			seen, all := attended(x[2*b*rows:2*(b+1)*rows], before[2*b*past:2*(b+1)*past], [4]float64{0.5, -0.25, 0.75, 1})
			y, keys = append(y, seen...), append(keys, all...)
		}
		for name, want := range map[string][]float64{"y": y, "keys": keys} {
			got, err := tensor.Data[float32](ctx, out[name])
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got, 1e-4, "%s of %d, %d and %d", name, batch, rows, past)
		}
		if e = out["y"].Engine(); i == 3 {
			compiled = e.Stats().Compiled
		}
	}
	require.LessOrEqual(t, e.Stats().Compiled-compiled, 6, "graphs with more room, and what is read")
}

// placed adds to rows x what depends on sizes: rows of a table by their places after those of a cache, entries of another by how far apart all are, and
// how many the cache has.
var placed = modelMsg(graphMsg(msgs(
	nodeMsg("Shape", list("past"), list("pastShape")), nodeMsg("Gather", list("pastShape", "one"), list("before")),
	nodeMsg("Shape", list("x"), list("shape")), nodeMsg("Gather", list("shape", "one"), list("rows")),
	nodeMsg("Range", list("zero", "rows", "one"), list("own")), nodeMsg("Add", list("own", "before"), list("places")),
	nodeMsg("Gather", list("table", "places"), list("at")),
	nodeMsg("Add", list("before", "rows"), list("all")), nodeMsg("Range", list("zero", "all", "one"), list("line")),
	nodeMsg("Unsqueeze", list("line", "axis"), list("column")), nodeMsg("Sub", list("column", "line"), list("apart")), nodeMsg("Abs", list("apart"), list("far")),
	nodeMsg("Min", list("far", "most"), list("bucket")), nodeMsg("Gather", list("distances", "bucket"), list("bias")),
	nodeMsg("ReduceSum", list("bias", "both"), list("sum"), intAttr("keepdims", 0)),
	nodeMsg("Add", list("x", "at"), list("moved")), nodeMsg("Add", list("moved", "sum"), list("shifted")),
	nodeMsg("Cast", list("before"), list("number"), intAttr("to", int64(Float32))), nodeMsg("Add", list("shifted", "number"), list("y")),
	nodeMsg("Concat", list("past", "moved"), list("keys"), intAttr("axis", 1)),
), msgs(tensorMsg("zero", Int64, little([]int64{0}, 8)), tensorMsg("one", Int64, little([]int64{1}, 8)), tensorMsg("most", Int64, little([]int64{3}, 8)),
	intsMsg("axis", 1), intsMsg("both", 0, 1),
	tensorMsg("table", Float32, floatsValue([]int{64}, ramp(64)...).raw, 64, 1), tensorMsg("distances", Float32, floatsValue([]int{4}, 1, 0.5, -0.25, 2).raw, 4)),
	msgs(portMsg("x", Float32, 1, -1, 1), portMsg("past", Float32, 1, -1, 1)),
	msgs(portMsg("y", Float32, 1, -1, 1), portMsg("keys", Float32, 1, -1, 1))))

func ramp(n int) (out []float32) {
	for i := range n {
		out = append(out, float32(i)/8)
	}
	return out
}

// A size that goes into what is computed, and elements of tables whose places are computed from sizes, do not keep sizes from sharing a plan.
func TestPlacesFromSizesSharePlans(t *testing.T) {
	ctx := context.Background()
	m := read(t, placed)
	past, keys := on(tensor.Zeros(1, 1, 1)), []float64{0}
	distances := [4]float64{1, 0.5, -0.25, 2}
	compiled := -1
	for i := range 40 {
		out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{float32(i)}, 1, 1, 1)), "past": past})
		require.NoError(t, err)
		keys = append(keys, float64(i)+float64(len(keys))/8)
		var sum float64
		for a := range keys {
			for b := range keys {
				sum += distances[min(3, max(a-b, b-a))]
			}
		}
		for name, want := range map[string][]float64{"y": {keys[i+1] + sum + float64(i+1)}, "keys": keys} {
			got, err := tensor.Data[float32](ctx, out[name])
			require.NoError(t, err)
			require.InDeltaSlice(t, want, got, 1e-2, "%s after %d rows", name, i+1)
		}
		past = out["keys"]
		if i == 20 { // the first ones of so small a graph have plans of their own
			compiled = past.Engine().Stats().Compiled
		}
	}
	require.LessOrEqual(t, past.Engine().Stats().Compiled-compiled, 4, "one for 64 rows, and one for what is read")
	for _, p := range m.whole().plans[:16] {
		require.NotNil(t, p.instance)
	}
}

// Two sizes that vary at once share a plan as well, and one that comes often has one of its own.
func TestTwoSizesSharePlans(t *testing.T) {
	ctx := context.Background()
	m := read(t, cached)
	once := func(batch, rows int) {
		x := make([]float64, 2*rows)
		for i := range x {
			x[i] = math.Sin(float64(i * rows))
		}
		want, _ := attended(x, []float64{1, -1, 0.5, 0.25}, [4]float64{0.5, -0.25, 0.75, 1})
		var xs, keys []float32
		for range batch {
			xs, keys = append(xs, floats32(x)...), append(keys, 1, -1, 0.5, 0.25)
		}
		out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": on(tensor.Of(xs, batch, rows, 2)), "past": on(tensor.Of(keys, batch, 2, 2))})
		require.NoError(t, err)
		got, err := tensor.Data[float32](ctx, out["y"])
		require.NoError(t, err)
		for b := range batch {
			require.InDeltaSlice(t, want, got[b*len(want):(b+1)*len(want)], 1e-4, "row %d of %d, %d long", b, batch, rows)
		}
	}
	for _, s := range [][2]int{{2, 3}, {3, 7}, {4, 4}, {5, 9}, {2, 8}, {6, 2}} {
		once(s[0], s[1])
	}
	shared := 0
	for _, p := range m.whole().plans {
		if p.instance != nil {
			shared++
		}
	}
	require.Equal(t, 4, shared)
	for range 8 {
		once(6, 2)
	}
	require.Nil(t, m.whole().plans[0].instance)
}

// A run that is cut short while the plan for many sizes is made does not keep later runs from it.
func TestSharedPlanAfterACancelledRun(t *testing.T) {
	m := read(t, cached)
	once := func(ctx context.Context, rows int) error {
		x := on(tensor.Of(make([]float32, 2*rows), 1, rows, 2))
		require.NoError(t, tensor.Realize(context.Background(), x))
		_, err := m.Run(ctx, map[string]*tensor.Tensor{"x": x, "past": x})
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.NoError(t, once(context.Background(), 3))
	require.NoError(t, once(context.Background(), 5))
	require.ErrorIs(t, once(ended, 6), context.Canceled)
	require.NoError(t, once(context.Background(), 6))
	require.NotNil(t, m.whole().plans[0].instance)
	require.NoError(t, once(context.Background(), 7))
	require.NotNil(t, m.whole().plans[0].instance)
}

// picked takes rows of nodes by the ends of edges and adds them where the edges lead: as many nodes as there are, as many edges.
var picked = modelMsg(graphMsg(msgs(
	nodeMsg("Gather", list("x", "from"), list("sent")),
	nodeMsg("Mul", list("sent", "sent"), list("squares")),
	nodeMsg("Gather", list("x", "to"), list("met")),
	nodeMsg("Mul", list("squares", "met"), list("message")),
	nodeMsg("ReduceSum", list("message"), list("total"), intAttr("keepdims", 0)),
), nil, msgs(portMsg("x", Float32, -1), portMsg("from", Int64, -1), portMsg("to", Int64, -1)), msgs(portMsg("message", Float32, -1), portMsg("total", Float32))))

// Indices of arrays of ever new sizes share a plan, and each is checked against its own array.
func TestCheckedSizesSharePlans(t *testing.T) {
	ctx := context.Background()
	m := read(t, picked)
	run := func(nodes, edges int, bad int64) (total float64, want float64, err error) {
		x, from, to := make([]float32, nodes), make([]int64, edges), make([]int64, edges)
		for i := range x {
			x[i] = float32(i%7) - 2
		}
		for i := range from {
			from[i], to[i] = int64(i*5%nodes), int64(i*3%nodes)
			want += float64(x[from[i]] * x[from[i]] * x[to[i]])
		}
		if bad != 0 {
			to[edges-1] = bad
		}
		out, err := m.Run(ctx, map[string]*tensor.Tensor{"x": on(tensor.Of(x, nodes)), "from": on(tensor.Of(from, edges)), "to": on(tensor.Of(to, edges))})
		if err == nil {
			total, err = out["total"].Item(ctx)
		}
		return total, want, err
	}
	shared := 0
	for i := range 40 {
		got, want, err := run(5+i, 8+i*7%30, 0)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-3)
		if m.whole().plans[0].instance != nil {
			shared++
		}
		_, _, err = run(5+i, 8+i*7%30, int64(5+i)) // the first that there is none of
		require.ErrorContains(t, err, fmt.Sprintf("index %[1]d is out of range for axis 0 of size %[1]d", 5+i))
	}
	require.Greater(t, shared, 15)
}
