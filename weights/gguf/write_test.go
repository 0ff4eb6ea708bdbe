package gguf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/weights"
)

// Blocks are those that the format's own Python package (gguf 0.19, quants.quantize) makes of the same numbers: normal ones, zeros, tiny and
// large ones, equal ones, whole ones.
func TestPack(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("testdata", "pack.f32"))
	require.NoError(t, err)
	src := make([]float32, len(raw)/4)
	for i := range src {
		src[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	require.Equal(t, []string{"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}, Packs())
	for _, name := range Packs() {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", "pack."+strings.ToLower(name)))
			require.NoError(t, err)
			got := make([]byte, len(want))
			require.NoError(t, Pack(name, got, src))
			assert.Equal(t, want, got)
			back := make([]float32, len(src))
			require.NoError(t, Unpack(name, back, got))
			require.ErrorContains(t, Pack(name, got, src[1:]), "do not fill")
			bad := append([]float32(nil), src...)
			bad[40] = float32(math.NaN())
			require.ErrorContains(t, Pack(name, got, bad), "element 40 is NaN")
			bad[40] = 1e6
			require.ErrorContains(t, Pack(name, got, bad), "element 40 is 1e+06")
		})
	}
	require.ErrorContains(t, Pack("Q4_K", nil, nil), `nothing is packed as "Q4_K"`)
}

// What is written is read again, and written from there once more it is the same file. A failure leaves the old file as it was.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	pairs := []Pair{{"general.architecture", "llama"}, {"a.count", uint32(7)}, {"a.number", float32(0.5)}, {"a.truth", true}, {"a.list", []float32{1, 2, 3}}}
	of := func(raw []byte) func() ([]byte, error) { return func() ([]byte, error) { return raw, nil } }
	entries := []Entry{{"x", "F32", []int64{3}, of(make([]byte, 12))}, {"packed", "Q8_0", []int64{2, 32}, of(make([]byte, 68))}, {"none", "I32", []int64{0, 4}, of(nil)},
		{"one", "F16", nil, of([]byte{0, 60})}}
	require.NoError(t, Write(context.Background(), path, pairs, entries))
	f, err := Open(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"general.architecture", "a.count", "a.number", "a.truth", "a.list"}, f.Keys())
	n, _ := f.Int("a.count")
	assert.EqualValues(t, 7, n)
	list, err := f.Floats("a.list")
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3}, list)
	info, ok := f.Info("packed")
	assert.True(t, ok)
	assert.Equal(t, weights.Info{DType: "Q8_0", Shape: []int64{2, 32}, Bytes: 68}, info)
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	again, err := f.Pairs()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, Write(context.Background(), path, again, entries))
	is, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, was, is)

	broken := errors.New("the disk is gone")
	for want, c := range map[string]struct {
		pairs   []Pair
		entries []Entry
	}{
		"key \"a\": cannot be written: occurs twice":           {[]Pair{{"a", "b"}, {"a", "c"}}, nil},
		"a value of int is not written":                        {[]Pair{{"a", 1}}, nil},
		"tensor \"x\": cannot be written: occurs twice":        {nil, append(entries, entries[0])},
		"there is no type \"Q9\"":                              {nil, []Entry{{"x", "Q9", nil, of(nil)}}},
		"5 bytes of data, F32 [3] has 12":                      {nil, []Entry{{"x", "F32", []int64{3}, of(make([]byte, 5))}}},
		"tensor \"x\": cannot write: " + broken.Error():        {nil, []Entry{{"x", "F32", []int64{3}, func() ([]byte, error) { return nil, broken }}}},
		fmt.Sprintf("negative size -1 in shape %v", []int{-1}): {nil, []Entry{{"x", "F32", []int64{-1}, of(nil)}}},
	} {
		require.ErrorContains(t, Write(context.Background(), path, c.pairs, c.entries), want)
	}
	now, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, was, now)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1)
	require.ErrorContains(t, Write(context.Background(), filepath.Dir(path), nil, nil), "not a regular file")
}
