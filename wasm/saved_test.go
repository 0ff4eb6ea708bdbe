//go:build !lean || models

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/wasm/wire"
)

// fileOf has a client capture a function that adds its input to what it keeps, and gives the file of it and of another that reads that.
func fileOf(t *testing.T, c *client) []byte {
	c.post(
		[]any{2, "tensor", []any{wire.Ref(1)}, f32(1, 2), []any{2}},
		[]any{3, "own", []any{wire.Ref(1)}, wire.Ref(1)},
		[]any{4, "realize", []any{}, []any{wire.Ref(1)}},
		[]any{5, "capture", []any{wire.Ref(9)}, []any{wire.Ref(1)}, []any{wire.Ref(2)}, []any{
			[]any{6, "add", []any{wire.Ref(3)}, wire.Ref(1), wire.Ref(2)},
			[]any{7, "assign", []any{wire.Ref(1)}, wire.Ref(1), wire.Ref(3)},
		}, []any{wire.Ref(3)}},
		[]any{8, "capture", []any{wire.Ref(10)}, []any{}, []any{}, []any{[]any{9, "mul", []any{wire.Ref(4)}, wire.Ref(1), 2}}, []any{wire.Ref(4)}},
		[]any{10, "saveFunctions", []any{}, []any{[]any{"add", wire.Ref(9), []any{"by"}, []any{"sums[0]"}}, []any{"twice", wire.Ref(10)}}},
	)
	for _, n := range []int{4, 5, 8, 10} {
		require.NoError(t, c.errs[n], n)
	}
	return c.answers[10].(wire.Record).Get("data").(wire.Array).Data
}

// What a page captured becomes a file, and the file functions with tensors of their own.
func TestFunctionsGoThroughFiles(t *testing.T) {
	file := fileOf(t, newClient(t))
	c := newClient(t)
	c.post(
		[]any{2, "loadFunctions", []any{wire.Ref(1)}, wire.Array{Type: "u8", Data: file}},
		[]any{3, "takeFunctions", []any{wire.Ref(2), wire.Ref(3), wire.Ref(4)}, wire.Ref(1)},
		[]any{4, "takeFunctions", []any{wire.Ref(2), wire.Ref(3), wire.Ref(4)}, wire.Ref(1)},
		[]any{5, "tensor", []any{wire.Ref(5)}, f32(10, 20), []any{2}},
		[]any{6, "run", []any{wire.Ref(6)}, wire.Ref(2), []any{wire.Ref(5)}},
		[]any{7, "run", []any{wire.Ref(7)}, wire.Ref(3), []any{}},
		[]any{8, "data", []any{}, wire.Ref(6)},
		[]any{9, "data", []any{}, wire.Ref(7)},
		[]any{10, "data", []any{}, wire.Ref(4)},
	)
	for _, n := range []int{2, 3, 6, 7, 8, 9, 10} {
		require.NoError(t, c.errs[n], n)
	}
	require.ErrorContains(t, c.errs[4], "not there any more")
	told := c.answers[2].(wire.Record)
	functions := told.Get("functions").([]any)
	require.Len(t, functions, 2)
	assert.Equal(t, "add", functions[0].(wire.Record).Get("name"))
	assert.Equal(t, []any{wire.Record{{Name: "name", Value: "by"}, {Name: "shape", Value: []any{2}}, {Name: "dtype", Value: "f32"}}}, functions[0].(wire.Record).Get("inputs"))
	assert.Equal(t, []any{wire.Record{{Name: "name", Value: "sums[0]"}, {Name: "dtype", Value: "f32"}, {Name: "shape", Value: []any{2}}}}, functions[0].(wire.Record).Get("results"))
	assert.Equal(t, []any{0}, functions[0].(wire.Record).Get("states"))
	assert.Len(t, told.Get("states"), 1)
	assert.Equal(t, f32(11, 22), c.answers[8].(wire.Record).Get("data"))
	assert.Equal(t, f32(22, 44), c.answers[9].(wire.Record).Get("data"), "what one assigns the other reads")
	assert.Equal(t, f32(11, 22), c.answers[10].(wire.Record).Get("data"))
	assert.Empty(t, c.nets)
}

// Of bytes that are no such file a page hears why, in its own words; and of a file that was cut or changed, at whatever place.
func TestHostileFilesOfFunctions(t *testing.T) {
	file := fileOf(t, newClient(t))
	said := func(data []byte) error {
		c := newClient(t)
		c.post([]any{2, "loadFunctions", []any{wire.Ref(1)}, wire.Array{Type: "u8", Data: data}})
		if c.errs[2] == nil {
			c.post([]any{3, "dispose", []any{}, []any{wire.Ref(1)}})
		}
		assert.Empty(t, c.nets)
		return c.errs[2]
	}
	require.NoError(t, said(file))
	for _, bad := range [][]byte{nil, []byte("weftfunc"), []byte("<!doctype html><title>404 Not Found</title>"), file[:len(file)-70], append([]byte("weftfunc\x09"), file[9:]...)} {
		err := said(bad)
		require.Error(t, err)
		for _, w := range []string{"SaveFunctions", "Captured.", "LoadFunctions", "tensor:", ".go"} {
			assert.NotContains(t, err.Error(), w)
		}
		t.Log(err)
	}
	for at := range file {
		changed := bytes.Clone(file)
		changed[at] ^= 0x41
		if err := said(changed); err != nil {
			assert.False(t, strings.Contains(err.Error(), "BUG"), "byte %d: %v", at, err)
		}
	}
}
