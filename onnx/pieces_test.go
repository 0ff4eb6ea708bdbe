package onnx

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// found is a model that looks for what is greater than zero in x·w, and adds the sum of its places, times a table, to it.
var found = modelMsg(graphMsg(msgs(
	nodeMsg("Mul", list("x", "w"), list("h")),
	nodeMsg("Relu", list("h"), list("r")),
	nodeMsg("Constant", nil, list("table"), message{}.text(1, "value").add(5, tensorMsg("", Float32, floatsValue(nil, 1, 10, 100).raw, 3)).num(20, 4)),
	nodeMsg("NonZero", list("r"), list("at")),
	nodeMsg("Cast", list("at"), list("f"), intAttr("to", int64(Float32))),
	nodeMsg("ReduceSum", list("f"), list("s"), intAttr("keepdims", 0)),
	nodeMsg("Mul", list("table", "s"), list("m")),
	nodeMsg("ReduceSum", list("m"), list("n"), intAttr("keepdims", 0)),
	nodeMsg("Add", list("h", "n"), list("y")),
), msgs(floatsMsg("w", 1, 2, 3, 4)), msgs(portMsg("x", Float32, 4)), msgs(portMsg("y", Float32, 4), portMsg("w", Float32, 4))))

// What comes before a node whose output only values decide is a plan, and what comes behind it is one, however the values differ; neither is made for values.
func TestPieces(t *testing.T) {
	m := read(t, found)
	for _, c := range []struct{ x, want []float32 }{
		{[]float32{1, -1, 1, -1}, []float32{223, 220, 225, 218}}, // at 0 and 2
		{[]float32{-1, 2, 3, -1}, []float32{332, 337, 342, 329}},
		{[]float32{-1, -1, 1, 1}, []float32{554, 553, 558, 559}},
		{[]float32{-1, -1, -1, 1}, []float32{332, 331, 330, 337}}, // one place: of another size
	} {
		got, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(c.x))})
		require.NoError(t, err)
		y, err := tensor.Data[float32](context.Background(), got["y"])
		require.NoError(t, err)
		require.Equal(t, c.want, y)
	}
	whole, rest := m.whole(), m.whole().behind(4)
	require.Len(t, whole.plans, 1)
	require.NotNil(t, whole.plans[0].plan)
	require.Equal(t, 3, whole.plans[0].stop)
	require.Equal(t, []string{"h", "table", "at"}, rest.ins)
	require.Len(t, rest.plans, 2)
	require.Len(t, rest.plans[1].args, 2, "the table is a constant there, too")
}

// Nor is one for the numbers that a piece hands on.
func TestNumbersHandedOn(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("NonZero", list("x"), list("at")),
		nodeMsg("Shape", list("at"), list("n")),
		nodeMsg("Cast", list("n"), list("f"), intAttr("to", int64(Float32))),
		nodeMsg("ReduceSum", list("f"), list("s"), intAttr("keepdims", 0)),
		nodeMsg("Add", list("z", "s"), list("y")),
	), nil, msgs(portMsg("x", Float32, 3), portMsg("z", Float32, 2)), msgs(portMsg("y", Float32, 2)))))
	for i := range 4 {
		z := floatsValue([]int{2}, float32(i), 7)
		outs, err := m.CallInOrder(context.Background(), []*Value{Of(on(tensor.Of([]float32{0, float32(i + 1), 1}))), z})
		require.NoError(t, err)
		y, err := tensor.Data[float32](context.Background(), outs[0].Tensor())
		require.NoError(t, err)
		require.Equal(t, []float32{float32(i) + 3, 10}, y)
	}
	require.Len(t, m.whole().plans, 1)
	require.Len(t, m.whole().behind(1).plans, 1)
}

// A condition of many numbers is found out in each run, and is no reason for a plan for these numbers.
func TestConditionsAreFoundOut(t *testing.T) {
	branch := func(op string) message {
		return graphMsg(msgs(nodeMsg(op, list("v", "two"), list("z"))), nil, nil, msgs(portMsg("z", Float32, -1)))
	}
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("Neg", list("x"), list("v")),
		nodeMsg("ReduceMax", list("v"), list("m"), intAttr("keepdims", 0)),
		nodeMsg("Less", list("m", "zero"), list("c")),
		nodeMsg("If", list("c"), list("y"), graphAttr("then_branch", branch("Mul")), graphAttr("else_branch", branch("Add"))),
	), msgs(tensorMsg("zero", Float32, floatsValue(nil, 0).raw), tensorMsg("two", Float32, floatsValue(nil, 2).raw)), msgs(portMsg("x", Float32, 2)), msgs(portMsg("y", Float32, 2)))))
	for range 2 {
		require.Equal(t, []float32{-2, -4}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2}))}))
		require.Equal(t, []float32{-4, -6}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{2, 3}))}))
		require.Equal(t, []float32{1, 7}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, -5}))}))
	}
	require.Len(t, m.whole().plans, 1)
	for k, o := range m.pieces {
		if k.g != m.proto.graph {
			require.Equal(t, []string{"two", "v"}, o.ins)
			require.Len(t, o.plans, 1)
		}
	}
}

// The rounds of a loop whose end only values tell are one plan, the first among them, and so is what a graph inside of its body reads of those around.
func TestRoundsAreOnePlan(t *testing.T) {
	branch := func(op string) message {
		return graphMsg(msgs(nodeMsg(op, list("v", "w"), list("inner")), nodeMsg("Abs", list("inner"), list("z"))), nil, nil, msgs(portMsg("z", Float32, -1)))
	}
	body := graphMsg(msgs(
		nodeMsg("ReduceMax", list("v"), list("m"), intAttr("keepdims", 0)),
		nodeMsg("Less", list("m", "limit"), list("small")),
		nodeMsg("If", list("small"), list("next"), graphAttr("then_branch", branch("Mul")), graphAttr("else_branch", branch("Add"))),
		nodeMsg("ReduceMax", list("next"), list("n"), intAttr("keepdims", 0)),
		nodeMsg("Less", list("n", "end"), list("on")),
	), nil, msgs(portMsg("i", Int64), portMsg("go", Bool), portMsg("v", Float32, -1)), msgs(portMsg("on", Bool), portMsg("next", Float32, -1)))
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Loop", list("", "yes", "ones"), list("y0"), graphAttr("body", body)), nodeMsg("Add", list("y0", "x"), list("y"))),
		msgs(tensorMsg("yes", Bool, []byte{1}), floatsMsg("ones", 1, 1), tensorMsg("limit", Float32, floatsValue(nil, 10).raw), tensorMsg("end", Float32, floatsValue(nil, 17).raw)),
		msgs(portMsg("x", Float32, 2), portMsg("w", Float32, 2)), msgs(portMsg("y", Float32, 2)))))
	for _, w := range [][]float32{{2, 1}, {2, 1}, {3, 2}} { // 1 2 4 8 16 18, 1 3 9 27
		want := map[float32][]float32{2: {18, 2}, 3: {27, 8}}[w[0]]
		require.Equal(t, want, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{0, 0})), "w": on(tensor.Of(w))}))
	}
	for k, o := range m.pieces {
		if k.g == m.proto.graph {
			continue
		}
		require.LessOrEqual(t, len(o.plans), 1, "%v", o.ins)
		require.NotContains(t, o.ins, "inner")
	}
}

// A branch that reads a value and then makes another one of its name reads that of the graph around it.
func TestNamesMadeAnew(t *testing.T) {
	branch := func(op string) message {
		return graphMsg(msgs(nodeMsg(op, list("v"), list("w")), nodeMsg("Abs", list("w"), list("v"))), nil, nil, msgs(portMsg("v", Float32, -1)))
	}
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("Neg", list("x"), list("v")),
		nodeMsg("ReduceMax", list("v"), list("m"), intAttr("keepdims", 0)),
		nodeMsg("Less", list("m", "zero"), list("c")),
		nodeMsg("If", list("c"), list("y"), graphAttr("then_branch", branch("Neg")), graphAttr("else_branch", branch("Exp"))),
	), msgs(tensorMsg("zero", Float32, floatsValue(nil, 0).raw)), msgs(portMsg("x", Float32, 2)), msgs(portMsg("y", Float32, 2)))))
	for range 2 {
		require.Equal(t, []float32{1, 2}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2}))}))
		require.Equal(t, []float32{1, 1}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{0, 0}))}))
	}
}

// A model's constant that another one is given is any array there.
func TestConstantsOfOtherModels(t *testing.T) {
	ctx := context.Background()
	one := read(t, found)
	out, err := one.CallInOrder(ctx, []*Value{Of(on(tensor.Of([]float32{1, 1, 1, 1})))})
	require.NoError(t, err)
	for _, inside := range []*Value{out[1], Sequence(out[1])} {
		require.Zero(t, inside.loose().fixed)
		for _, item := range inside.loose().items {
			require.Zero(t, item.fixed)
		}
	}
	other := read(t, found)
	for range 2 {
		y, err := other.CallInOrder(ctx, []*Value{out[1]})
		require.NoError(t, err)
		got, err := tensor.Data[float32](ctx, y[0].Tensor())
		require.NoError(t, err)
		require.Equal(t, []float32{667, 670, 675, 682}, got)
	}
}

// Goroutines run the pieces of a model at once.
func TestPiecesOfManyGoroutines(t *testing.T) {
	m := read(t, found)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 6 {
				x, sum := []float32{-1, -1, -1, -1}, float32(0)
				for k := range 1 + (g+i)%4 {
					x[k] = 1
					sum += float32(111 * k)
				}
				got, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(x))})
				if !assert.NoError(t, err) {
					return
				}
				y, err := tensor.Data[float32](context.Background(), got["y"])
				if !assert.NoError(t, err) || !assert.Equal(t, []float32{x[0] + sum, 2*x[1] + sum, 3*x[2] + sum, 4*x[3] + sum}, y) {
					return
				}
			}
		})
	}
	all.Wait()
}
