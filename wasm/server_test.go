package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/wasm/wire"
)

// client plays the page: it writes batches and keeps answers.
type client struct {
	*server
	answers map[int]any
	errs    map[int]error
	news    []any
}

func newClient(t *testing.T) *client {
	c := &client{server: newServer(), answers: map[int]any{}, errs: map[int]error{}}
	c.send = func(number int, value any, err error) { c.answers[number], c.errs[number] = value, err }
	c.flush = func() {}
	c.progress = func(_ int, value any) { c.news = append(c.news, value) }
	engine.Configure(engine.Options{}, "INTERP")
	return c
}

func (c *client) post(list ...[]any) {
	var b []byte
	for _, q := range list {
		b = wire.Append(b, q)
	}
	c.handle(context.Background(), b)
}

func f32(values ...float32) wire.Array { return floats(values) }

func TestTensors(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2, 3, 4), []any{2, 2}},
		[]any{3, "matmul", []any{wire.Ref(2)}, wire.Ref(1), wire.Ref(1)},
		[]any{4, "sum", []any{wire.Ref(3)}, wire.Ref(2), wire.Record{{Name: "axis", Value: 0}, {Name: "keep", Value: true}}},
		[]any{5, "data", []any{}, wire.Ref(3)},
	)
	require.NoError(t, c.errs[5])
	r := c.answers[5].(wire.Record)
	assert.Equal(t, []any{1, 2}, r.Get("shape"))
	assert.Equal(t, f32(22, 32), r.Get("data"))
	assert.Equal(t, 4, c.answers[0].(wire.Record).Get("done"), "the last operation")
}

// A loop takes what is carried and what it goes along in one list, the function as what it recorded, and gives the states before the rest.
func TestScan(t *testing.T) {
	c := newClient(t)
	const state, entry, next, twice = wire.Ref(10), wire.Ref(11), wire.Ref(12), wire.Ref(13)
	step := []any{[]any{3, "add", []any{next}, state, entry}, []any{4, "mul", []any{twice}, next, 2}}
	scan := func(number int, out wire.Ref, steps int, back bool, entries wire.Ref) []any {
		return []any{number, "scan", []any{out, out + 1}, []any{wire.Ref(1), entries}, []any{state, entry}, step, []any{next, twice}, 1, steps, back}
	}
	c.post(
		[]any{1, "full", []any{wire.Ref(1)}, []any{}, 10},
		[]any{2, "tensor", []any{wire.Ref(2)}, f32(1, 2, 3, 4, 5), []any{5}},
		scan(5, 20, 0, false, 2),
		[]any{6, "data", []any{}, wire.Ref(20)},
		[]any{7, "data", []any{}, wire.Ref(21)},
		scan(8, 22, 5, true, 2),
		[]any{9, "data", []any{}, wire.Ref(22)},
		scan(10, 24, 4, false, 2),
		[]any{11, "data", []any{}, wire.Ref(24)},
	)
	for number, want := range map[int]wire.Array{6: f32(11, 13, 16, 20, 25), 7: f32(22, 26, 32, 40, 50), 9: f32(25, 24, 22, 19, 15)} {
		require.NoError(t, c.errs[number])
		assert.Equal(t, want, c.answers[number].(wire.Record).Get("data"), "%d", number)
	}
	require.ErrorContains(t, c.errs[11], "array 0 has 5 entries for 4 steps")
	assert.Nil(t, c.tensors[next], "what a step made is the page's no more")
}

func TestFailuresStayInTheirTensors(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "full", []any{wire.Ref(1)}, []any{2, 3}, 1},
		[]any{3, "matmul", []any{wire.Ref(2)}, wire.Ref(1), wire.Ref(1)},
		[]any{4, "relu", []any{wire.Ref(3)}, wire.Ref(2)},
		[]any{5, "data", []any{}, wire.Ref(3)},
		[]any{6, "data", []any{}, wire.Ref(1)},
		[]any{7, "nonsense", []any{wire.Ref(4)}, wire.Ref(1)},
	)
	require.Error(t, c.errs[5])
	assert.Equal(t, "matmul: [2, 3] and [2, 3]: inner sizes 3 and 2 differ", c.errs[5].Error())
	assert.Equal(t, 3, describeError(c.errs[5]).Get("number"))
	assert.NoError(t, c.errs[6])
	assert.Equal(t, []any{3, 7}, c.answers[0].(wire.Record).Get("failed"))
	c.post([]any{8, "data", []any{}, wire.Ref(77)}, []any{9, "dispose", []any{}, []any{wire.Ref(1), wire.Ref(2), wire.Ref(3)}})
	assert.ErrorContains(t, c.errs[8], "disposed of")
	assert.Len(t, c.tensors, 1)
}

// A tensor that an operation could not change in place has that failure until a call has told it, and then what it held before.
func TestFailedAssignmentsAreToldOnce(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2), []any{2}},
		[]any{3, "own", []any{wire.Ref(1)}, wire.Ref(1)},
		[]any{4, "tensor", []any{wire.Ref(2)}, f32(5, 6), []any{2}},
		[]any{5, "own", []any{wire.Ref(2)}, wire.Ref(2)},
		[]any{6, "reshape", []any{wire.Ref(3)}, wire.Ref(1), []any{3}},
		[]any{7, "assign", []any{wire.Ref(1)}, wire.Ref(1), wire.Ref(3)},
		[]any{8, "add", []any{wire.Ref(4)}, wire.Ref(1), 1},
		[]any{9, "assign", []any{wire.Ref(2)}, wire.Ref(2), wire.Ref(4)},
		[]any{10, "data", []any{}, wire.Ref(2)},
		[]any{11, "data", []any{}, wire.Ref(2)},
		[]any{12, "data", []any{}, wire.Ref(1)},
		[]any{13, "addAssign", []any{wire.Ref(1)}, wire.Ref(1), 1},
		[]any{14, "data", []any{}, wire.Ref(1)},
		[]any{15, "data", []any{}, wire.Ref(4)},
	)
	require.Error(t, c.errs[10])
	assert.Equal(t, 6, describeError(c.errs[10]).Get("number"), "the operation that failed first")
	for number, want := range map[int]wire.Array{11: f32(5, 6), 12: f32(1, 2), 14: f32(2, 3)} {
		require.NoError(t, c.errs[number])
		assert.Equal(t, want, c.answers[number].(wire.Record).Get("data"), "%d", number)
	}
	assert.Error(t, c.errs[15], "what was made of it meanwhile is not there")
}

// What a captured function assigns is the page's before and after.
func TestCapturedFunctionsAssign(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2), []any{2}},
		[]any{3, "own", []any{wire.Ref(1)}, wire.Ref(1)},
		[]any{4, "realize", []any{}, []any{wire.Ref(1)}},
		[]any{5, "capture", []any{wire.Ref(9)}, []any{wire.Ref(1)}, []any{wire.Ref(2)}, []any{
			[]any{6, "add", []any{wire.Ref(3)}, wire.Ref(1), wire.Ref(2)},
			[]any{7, "assign", []any{wire.Ref(1)}, wire.Ref(1), wire.Ref(3)},
		}, []any{wire.Ref(3)}},
		[]any{8, "tensor", []any{wire.Ref(4)}, f32(10, 20), []any{2}},
		[]any{9, "run", []any{wire.Ref(5)}, wire.Ref(9), []any{wire.Ref(4)}},
		[]any{10, "data", []any{}, wire.Ref(1)},
	)
	for _, n := range []int{4, 5, 9, 10} {
		require.NoError(t, c.errs[n], n)
	}
	assert.Equal(t, f32(11, 22), c.answers[10].(wire.Record).Get("data"))
	assert.Len(t, c.tensors, 3)
}

// What a captured function gave, and nothing was made of, has no memory any more once the page forgets it.
func TestForgottenOutputsHaveNoMemory(t *testing.T) {
	c := newClient(t)
	e, err := engine.Use("INTERP")
	require.NoError(t, err)
	double := []any{4, "add", []any{wire.Ref(12)}, wire.Ref(11), wire.Ref(11)}
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(make([]float32, 1000)...), []any{1000}},
		[]any{3, "realize", []any{}, []any{wire.Ref(1)}},
		[]any{5, "capture", []any{wire.Ref(2)}, []any{wire.Ref(1)}, []any{wire.Ref(11)}, []any{double}, []any{wire.Ref(12)}},
		[]any{6, "capture", []any{wire.Ref(3)}, []any{wire.Ref(1)}, []any{wire.Ref(11)}, []any{double}, []any{wire.Ref(12), wire.Ref(12), wire.Ref(11)}},
	)
	before := e.Stats().LiveBytes
	c.post(
		[]any{7, "run", []any{wire.Ref(21)}, wire.Ref(2), []any{wire.Ref(1)}},
		[]any{8, "data", []any{}, wire.Ref(21)},
		[]any{9, "shape", []any{}, wire.Ref(21)},
		[]any{10, "dispose", []any{}, []any{wire.Ref(21)}},
	)
	require.NoError(t, c.errs[8])
	assert.LessOrEqual(t, e.Stats().LiveBytes, before) // less where the collector frees what other tests left

	c.post( // outputs that share memory, with each other or with an input, and one that another was made of
		[]any{11, "run", []any{wire.Ref(31), wire.Ref(32), wire.Ref(33)}, wire.Ref(3), []any{wire.Ref(1)}},
		[]any{12, "run", []any{wire.Ref(34)}, wire.Ref(2), []any{wire.Ref(1)}},
		[]any{13, "sum", []any{wire.Ref(35)}, wire.Ref(34)},
		[]any{14, "dispose", []any{}, []any{wire.Ref(31), wire.Ref(33), wire.Ref(34)}},
		[]any{15, "data", []any{}, wire.Ref(32)},
		[]any{16, "data", []any{}, wire.Ref(35)},
		[]any{17, "data", []any{}, wire.Ref(1)},
	)
	for _, n := range []int{15, 16, 17} {
		assert.NoError(t, c.errs[n], n)
	}
}

// A value that makes no sense is told to who reads what was made of it, in words without Go's lines.
func TestWrongValuesAreTold(t *testing.T) {
	c := newClient(t)
	ids := wire.Array{Type: "i32", Data: []byte{0, 0, 0, 0, 5, 0, 0, 0}}
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2, 3), []any{3}},
		[]any{3, "tensor", []any{wire.Ref(2)}, ids, []any{2}},
		[]any{4, "indexSelect", []any{wire.Ref(3)}, wire.Ref(1), 0, wire.Ref(2)},
		[]any{5, "realize", []any{}, []any{wire.Ref(3)}},
		[]any{6, "data", []any{}, wire.Ref(3)},
		[]any{7, "data", []any{}, wire.Ref(1)},
	)
	require.NoError(t, c.errs[5])
	require.EqualError(t, c.errs[6], "indexSelect: index 5 is out of range for axis 0 of size 3")
	require.NoError(t, c.errs[7])
}

func TestBadBatches(t *testing.T) {
	c := newClient(t)
	c.handle(context.Background(), []byte{200})
	assert.ErrorContains(t, c.errs[0], "no tag 200")
	c.post([]any{1})
	assert.ErrorContains(t, c.errs[0], "of one build")
}

// Types have the names that weft.d.ts gives them: the page finds the typed array by them.
func TestTypeNames(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2), []any{2}},
		[]any{3, "lt", []any{wire.Ref(2)}, wire.Ref(1), 2},
		[]any{4, "data", []any{}, wire.Ref(2)},
		[]any{5, "shape", []any{}, wire.Ref(2)},
	)
	require.NoError(t, c.errs[4])
	assert.Equal(t, wire.Array{Type: "bool", Data: []byte{1, 0}}, c.answers[4].(wire.Record).Get("data"))
	assert.Equal(t, "bool", c.answers[5].(wire.Record).Get("dtype"))
}

// The page does not wait for a run: reading an output tells how it went.
func TestFailedRunsStayInTheirOutputs(t *testing.T) {
	c := newClient(t)
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2), []any{2}},
		[]any{3, "tensor", []any{wire.Ref(2)}, f32(1, 2, 3), []any{3}},
		[]any{4, "capture", []any{wire.Ref(3)}, []any{wire.Ref(1)}, []any{wire.Ref(10)}, []any{
			[]any{5, "add", []any{wire.Ref(11)}, wire.Ref(10), 1},
		}, []any{wire.Ref(11)}},
		[]any{6, "run", []any{wire.Ref(4)}, wire.Ref(3), []any{wire.Ref(1)}},
		[]any{7, "run", []any{wire.Ref(5)}, wire.Ref(3), []any{wire.Ref(2)}},
		[]any{8, "data", []any{}, wire.Ref(4)},
		[]any{9, "data", []any{}, wire.Ref(5)},
		[]any{10, "dispose", []any{}, []any{wire.Ref(4)}},
	)
	require.NoError(t, c.errs[4])
	require.NoError(t, c.errs[8])
	assert.Equal(t, f32(2, 3), c.answers[8].(wire.Record).Get("data"))
	require.Error(t, c.errs[7])
	require.Error(t, c.errs[9])
	assert.Equal(t, c.errs[7].Error(), c.errs[9].Error())
	assert.Equal(t, 7, describeError(c.errs[9]).Get("number"))
	_, answered := c.answers[10]
	assert.False(t, answered, "nobody waits for this")
}
