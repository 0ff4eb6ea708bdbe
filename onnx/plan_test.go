package onnx

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func read(t *testing.T, b []byte) *Model {
	t.Helper()
	m, err := Read(b, Options{Name: "test.onnx", Device: "INTERP"})
	require.NoError(t, err)
	return m
}

// on is a tensor on INTERP, of which no kernel has to be compiled.
func on(x *tensor.Tensor) *tensor.Tensor { return x.On("INTERP") }

func run(t *testing.T, m *Model, in map[string]*tensor.Tensor) []float32 {
	t.Helper()
	out, err := m.Run(context.Background(), in)
	require.NoError(t, err)
	v, err := tensor.Data[float32](context.Background(), out["y"])
	require.NoError(t, err)
	return v
}

// A plan is made for each shape, and used again.
func TestPlanForEachShape(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("Shape", list("x"), list("s")), // sizes are known when the plan is made
		nodeMsg("Gather", list("s", "zero"), list("n")),
		nodeMsg("Concat", list("n", "minus"), list("to"), intAttr("axis", 0)),
		nodeMsg("Reshape", list("x", "to"), list("flat")),
		nodeMsg("Relu", list("flat"), list("y")),
	), msgs(intsMsg("zero", 0), intsMsg("minus", -1)), msgs(portMsg("x", Float32, -1, 2)), msgs(portMsg("y", Float32, -1, -1)))))
	for range 3 {
		require.Equal(t, []float32{0, 2, 3, 0}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{-1, 2, 3, -4}, 2, 2))}))
	}
	require.Len(t, m.whole().plans, 1)
	require.NotNil(t, m.whole().plans[0].plan)
	require.Equal(t, 1, m.whole().plans[0].plan.Launches())
	require.Equal(t, []float32{5, 0}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{5, -6}, 1, 2))}))
	require.Len(t, m.whole().plans, 2)
}

// A small input that decides about shapes is part of what a plan is for.
func TestPlanForValues(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Tile", list("x", "n"), list("y"))), nil,
		msgs(portMsg("x", Float32, -1), portMsg("n", Int64, 1)), msgs(portMsg("y", Float32, -1)))))
	for _, n := range []int64{2, 3, 2} {
		got := run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2})), "n": on(tensor.Of([]int64{n}))})
		require.Len(t, got, int(2*n))
	}
	require.Len(t, m.whole().plans, 2)
}

// Where only values tell what is computed, each run reads them.
func TestValuesDecide(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("NonZero", list("x"), list("at")),
		nodeMsg("Cast", list("at"), list("y"), intAttr("to", int64(Float32))),
	), nil, msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1, -1)))))
	x := make([]float32, 100)
	x[3], x[70] = 1, 2
	require.Equal(t, []float32{3, 70}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x))}))
	x[5] = 1
	require.Equal(t, []float32{3, 5, 70}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x))}))
}

// A normalization after a convolution is folded into its weights: one kernel, and the same numbers.
func TestNormFolds(t *testing.T) {
	nodes := msgs(nodeMsg("Conv", list("x", "w", "b"), list("c"), intsAttr("kernel_shape", 2)),
		nodeMsg("BatchNormalization", list("c", "scale", "shift", "mean", "var"), list("y")))
	inits := msgs(tensorMsg("w", Float32, floatsValue([]int{4}, 1, 2, 3, 4).raw, 2, 1, 2), floatsMsg("b", 1, 0), floatsMsg("scale", 2, 3), floatsMsg("shift", 0.5, 1),
		floatsMsg("mean", 1, 2), floatsMsg("var", 4, 1))
	m := read(t, modelMsg(graphMsg(nodes, inits, msgs(portMsg("x", Float32, 1, 1, 3)), msgs(portMsg("y", Float32, 1, 2, 2)))))
	in := map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2, 3}, 1, 1, 3))}
	got := run(t, m, in)
	want := []float32{5.5, 8.5, 28, 49} // (c − mean)·scale/√var + shift of c = 6 9 | 11 18
	for i := range want {
		require.InDelta(t, want[i], got[i], 1e-3)
	}
	run(t, m, in)
	require.Equal(t, 1, m.whole().plans[0].plan.Launches())
}

// A loop whose count is known is part of the plan; one whose condition the values decide is not.
func TestLoops(t *testing.T) {
	body := func(more ...message) message {
		nodes := append(more, nodeMsg("Add", list("v", "v"), list("w")))
		return graphMsg(nodes, nil, msgs(portMsg("i", Int64), portMsg("go", Bool), portMsg("v", Float32, -1)), msgs(portMsg("on", Bool), portMsg("w", Float32, -1)))
	}
	counted := graphMsg(msgs(nodeMsg("Loop", list("n", "", "x"), list("y"), graphAttr("body", body(nodeMsg("Identity", list("go"), list("on")))))),
		msgs(tensorMsg("n", Int64, little([]int64{5}, 8))), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))
	m := read(t, modelMsg(counted))
	in := map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 3}))}
	require.Equal(t, []float32{32, 96}, run(t, m, in))
	require.NotNil(t, m.whole().plans[0].plan)

	until := graphMsg(msgs(nodeMsg("Loop", list("", "yes", "x"), list("y"), graphAttr("body", body(
		nodeMsg("ReduceMax", list("v"), list("m"), intAttr("keepdims", 0)), nodeMsg("Less", list("m", "limit"), list("on")))))),
		msgs(tensorMsg("yes", Bool, []byte{1}), tensorMsg("limit", Float32, floatsValue(nil, 100).raw)), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))
	m = read(t, modelMsg(until))
	x := make([]float32, 80)
	x[0] = 1
	require.Equal(t, float32(256), run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x))})[0])
}

// A loop without an end, and without a node, comes to an end.
func TestEndlessLoop(t *testing.T) {
	body := graphMsg(nil, nil, msgs(portMsg("i", Int64), portMsg("go", Bool), portMsg("v", Float32, -1)), msgs(portMsg("go", Bool), portMsg("v", Float32, -1)))
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Loop", list("", "yes", "x"), list("y"), graphAttr("body", body))), msgs(tensorMsg("yes", Bool, []byte{1})),
		msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))))
	_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1}))})
	require.ErrorContains(t, err, "more than")
	require.ErrorContains(t, err, "Loop")
}

func TestWrongInputs(t *testing.T) {
	m := read(t, modelMsg(simple(nodeMsg("Relu", list("x"), list("y")))))
	for says, in := range map[string]map[string]*tensor.Tensor{
		`"x" (float32[n]) is not given`: {},
		"no input \"z\"":                {"x": tensor.Of([]float32{1}), "z": tensor.Of([]float32{1})},
		"int32":                         {"x": tensor.Of([]int32{1})},
		"the shape [1 1]":               {"x": tensor.Of([]float32{1}, 1, 1).Add(0)},
	} {
		if says == "the shape [1 1]" {
			in["x"] = tensor.Of([]float32{1, 2}, 1, 2)
			says = "the shape [1 2]"
		}
		_, err := m.Run(context.Background(), in)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "test.onnx")
	}
}

// Inputs and outputs in order are those by their names, also where the memory of results is taken ahead.
func TestCallInOrder(t *testing.T) {
	ctx := context.Background()
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Sub", list("a", "b"), list("y")), nodeMsg("Neg", list("a"), list("z"))), nil,
		msgs(portMsg("a", Float32, -1), portMsg("b", Float32, -1)), msgs(portMsg("z", Float32, -1), portMsg("y", Float32, -1)))))
	a, b := Of(on(tensor.Of([]float32{5, 6}))), Of(on(tensor.Of([]float32{1, 3})))
	m.Ahead() // there is no plan
	for range 3 {
		outs, err := m.CallInOrder(ctx, []*Value{a, b})
		require.NoError(t, err)
		m.Ahead()
		for i, want := range [][]float32{{-5, -6}, {4, 3}} {
			got, err := tensor.Data[float32](ctx, outs[i].Tensor())
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	_, err := m.CallInOrder(ctx, []*Value{a, nil})
	require.ErrorContains(t, err, `input "b"`)
	_, err = m.CallInOrder(ctx, []*Value{a})
	require.ErrorContains(t, err, "1 inputs are given, and there are 2")
}

// What is wrong at a node names it.
func TestErrorNamesNode(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Reshape", list("x", "to"), list("y"))), msgs(intsMsg("to", 7, 7)), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1, -1)))))
	_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2}))})
	require.ErrorContains(t, err, "test.onnx")
	require.ErrorContains(t, err, `Reshape "the Reshape"`)
}

// Elements in a file of their own are read from the model's folder, and links do not lead out of it.
func TestExternalFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "w.bin"), floatsValue(nil, 9, 10, 20).raw, 0o600))
	file := withInit(outside("location", "w.bin", "offset", "4"))
	path := filepath.Join(dir, "m.onnx")
	require.NoError(t, os.WriteFile(path, file, 0o600))
	m, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, []float32{11, 22}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2}))}))

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, make([]byte, 100), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "w.bin")))
	if os.Symlink(secret, filepath.Join(dir, "w.bin")) != nil {
		t.Skip("no symbolic links here")
	}
	_, err = Open(path)
	require.ErrorContains(t, err, "m.onnx")
	require.ErrorContains(t, err, "w.bin")
}

// A function of the file gets its attributes, and misses the inputs that the call does not give.
func TestFunctions(t *testing.T) {
	ref := message{}.text(1, "alpha").text(21, "slope").num(20, 1)
	f := message{}.text(1, "Leaky").text(4, "a").text(5, "b").text(6, "slope").add(7, nodeMsg("LeakyRelu", list("a"), list("b"), ref)).
		add(9, message{}.text(1, "").num(2, 18)).text(10, "own")
	slope := message{}.text(1, "slope").float(2, 0.5).num(20, 1)
	m := read(t, modelMsg(simple(inDomain(nodeMsg("Leaky", list("x"), list("y"), slope), "own")), f))
	require.Equal(t, []float32{-2, 8}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{-4, 8}))}))
}

// Indices that are known are slices where they are few, else a table, and in either case nothing is checked while the plan runs.
func TestKnownIndices(t *testing.T) {
	x := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, places := range [][]int64{
		{3}, {0, 1, 2}, {4, 3, 2}, {5, 5, 5, 5}, {2, 1, 0, 1, 2, 3, -1, -2}, {9, -10}, {0, 0, 1, 1, 2}, {7, 1, 4, 0, 9, 2, -3, 5, 5}, {0, 2, 4, 6, 8}, {1, 2, 2, 2, 1, 0},
	} {
		m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Gather", list("x", "at"), list("y"), intAttr("axis", 1))), msgs(intsMsg("at", places...)),
			msgs(portMsg("x", Float32, 2, 10)), msgs(portMsg("y", Float32, 2, -1)))))
		var want []float32
		for row := range 2 {
			for _, i := range places {
				want = append(want, float32(10*row)+x[(i+10)%10])
			}
		}
		in := on(tensor.Arange(20).To(dtype.F32).Reshape(2, 10))
		for range 2 {
			require.Equal(t, want, run(t, m, map[string]*tensor.Tensor{"x": in}), "%v", places)
		}
		require.Equal(t, 1, m.whole().plans[0].plan.Launches(), "%v", places)
	}
	for _, places := range [][]int64{{0, 10}, {-11, 1}} {
		m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Gather", list("x", "at"), list("y"), intAttr("axis", 1))), msgs(intsMsg("at", places...)),
			msgs(portMsg("x", Float32, 2, 10)), msgs(portMsg("y", Float32, 2, -1)))))
		_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Zeros(2, 10))})
		require.ErrorContains(t, err, "is outside of axis 1 of [2 10]")
	}
}

// An input whose values decide about the plan is read again once it has been assigned.
func TestAssignedValues(t *testing.T) {
	ctx := context.Background()
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Tile", list("x", "n"), list("y"))), nil,
		msgs(portMsg("x", Float32, -1), portMsg("n", Int64, 1)), msgs(portMsg("y", Float32, -1)))))
	n, x := on(tensor.Of([]int64{2})).Own(), on(tensor.Of([]float32{1, 2}))
	require.NoError(t, n.Realize(ctx))
	for _, times := range []int64{2, 2, 3, 1} {
		n.Assign(on(tensor.Of([]int64{times})))
		for range 3 {
			require.Len(t, run(t, m, map[string]*tensor.Tensor{"x": x, "n": n}), int(2*times))
		}
	}
}

// What a read value is made of is computed once, though others are made of it too and are read later, also in a graph inside.
func TestReadOnce(t *testing.T) {
	const layers = 8
	launches := func(reads int) int {
		nodes, from := msgs(), "x"
		for i := range layers {
			to := fmt.Sprint("layer", i)
			nodes = append(nodes, nodeMsg("MatMul", list(from, "w"), list(to)))
			from = to
		}
		var found []string
		for i := range reads { // the places of what is greater than i: their number is read
			above, at, first := fmt.Sprint("above", i), fmt.Sprint("at", i), fmt.Sprint("first", i)
			limit := fmt.Sprint("limit", i)
			nodes = append(nodes, nodeMsg("Constant", nil, list(limit), message{}.text(1, "value_float").float(2, float32(i)).num(20, 1)),
				nodeMsg("Greater", list(from, limit), list(above)))
			if i%2 == 1 {
				inside := graphMsg(msgs(nodeMsg("NonZero", list(above), list("in"))), nil, nil, msgs(portMsg("in", Int64, -1, -1)))
				nodes = append(nodes, nodeMsg("If", list("yes"), list(at), graphAttr("then_branch", inside), graphAttr("else_branch", inside)))
			} else {
				nodes = append(nodes, nodeMsg("NonZero", list(above), list(at)))
			}
			nodes = append(nodes, nodeMsg("Cast", list(at), list(first), intAttr("to", int64(Float32))))
			found = append(found, first)
		}
		nodes = append(nodes, nodeMsg("Concat", found, list("y"), intAttr("axis", 1)))
		const n = 64
		identity := make([]float32, n*n)
		for i := range n {
			identity[i*n+i] = 1
		}
		m := read(t, modelMsg(graphMsg(nodes, msgs(tensorMsg("w", Float32, floatsValue([]int{n * n}, identity...).raw, n, n), tensorMsg("yes", Bool, []byte{1})),
			msgs(portMsg("x", Float32, n, n)), msgs(portMsg("y", Float32, -1, -1)))))
		input := func() *tensor.Tensor { // another array each time: of the same one the values are there already
			return on(tensor.Of(append([]float32{0.5, 1.5, 9, 2.5}, make([]float32, n*n-4)...), n, n))
		}
		got := run(t, m, map[string]*tensor.Tensor{"x": input()})
		want := []float32{0, 1, 2, 3, 1, 2, 3, 2, 3, 2, 2, 2, 2, 2}[:map[int]int{2: 7, 8: 14}[reads]]
		require.Equal(t, append(make([]float32, len(want)), want...), got)
		x := input()
		before := x.Engine().Stats().Launches
		run(t, m, map[string]*tensor.Tensor{"x": x})
		return x.Engine().Stats().Launches - before
	}
	few, many := launches(2), launches(8)
	require.GreaterOrEqual(t, few, layers)
	require.Less(t, many-few, 3*6)
}

// So it is if the rounds of a loop read what is made of it, though how many there are was read before: none computes it anew.
func TestReadOnceInLoops(t *testing.T) {
	const n, layers = 64, 8
	launches := func(rounds int) int {
		nodes, from := msgs(), "x"
		for i := range layers {
			to := fmt.Sprint("layer", i)
			nodes = append(nodes, nodeMsg("MatMul", list(from, "w"), list(to)))
			from = to
		}
		body := graphMsg(msgs(nodeMsg("Cast", list("i"), list("limit"), intAttr("to", int64(Float32))), nodeMsg("Greater", list(from, "limit"), list("above")),
			nodeMsg("NonZero", list("above"), list("at")), nodeMsg("Size", list("at"), list("size")), nodeMsg("Identity", list("going"), list("on"))),
			nil, msgs(portMsg("i", Int64), portMsg("going", Bool)), msgs(portMsg("on", Bool), portMsg("size", Int64)))
		nodes = append(nodes, nodeMsg("ReduceMax", list("x"), list("most"), intAttr("keepdims", 0)), nodeMsg("Cast", list("most"), list("rounds"), intAttr("to", int64(Int64))),
			nodeMsg("Loop", list("rounds", ""), list("sizes"), graphAttr("body", body)),
			nodeMsg("Cast", list("sizes"), list("y"), intAttr("to", int64(Float32))))
		identity := make([]float32, n*n)
		for i := range n {
			identity[i*n+i] = 1
		}
		m := read(t, modelMsg(graphMsg(nodes, msgs(tensorMsg("w", Float32, floatsValue([]int{n * n}, identity...).raw, n, n)),
			msgs(portMsg("x", Float32, n, n)), msgs(portMsg("y", Float32, -1)))))
		input := func() *tensor.Tensor { // another array each time: of the same one the values are there already
			return on(tensor.Of(append([]float32{0.5, 1.5, float32(rounds), 2.5}, make([]float32, n*n-4)...), n, n))
		}
		require.Equal(t, map[int][]float32{3: {8, 6, 4}, 9: {8, 6, 4, 2, 2, 2, 2, 2, 2}}[rounds], run(t, m, map[string]*tensor.Tensor{"x": input()}))
		x := input()
		before := x.Engine().Stats().Launches
		run(t, m, map[string]*tensor.Tensor{"x": x})
		return x.Engine().Stats().Launches - before
	}
	few, many := launches(3), launches(9)
	require.GreaterOrEqual(t, few, layers)
	require.Less(t, many-few, 3*6)
}

// Shrink gives 0 to what is neither below nor above the limits, a NaN too.
func TestShrinkOfNaN(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Shrink", list("x"), list("y"))), nil,
		msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))))
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	require.Equal(t, []float32{0, 0, 2, -inf}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{nan, 0.25, 2, -inf}))}))
}
