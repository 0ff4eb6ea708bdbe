package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

func entries() []Entry {
	return []Entry{
		{"byte <&> \"quoted\"", "U8", []int64{3}, []byte{1, 2, 3}},
		{"scalar", "F64", nil, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{"w", "F32", []int64{2, 1}, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
		{"empty", "I64", []int64{4, 0, 1 << 62}, nil},
		{"half", "BF16", []int64{1}, []byte{9, 9}},
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.safetensors")
	meta := map[string]string{"format": "pt", "by": "weft"}
	require.NoError(t, Write(path, entries(), meta))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, []string{"empty", "scalar", "w", "half", "byte <&> \"quoted\""}, f.Names(), "widest first: all data aligned")
	assert.Equal(t, meta, f.Metadata())
	for _, e := range entries() {
		info, ok := f.Info(e.Name)
		require.True(t, ok)
		assert.Equal(t, e.DType, info.DType)
		assert.Equal(t, len(e.Shape), len(info.Shape))
		assert.Zero(t, f.h.at[e.Name]%8*int64(min(1, len(e.Data)/8)))
		raw, err := f.Bytes(e.Name)
		require.NoError(t, err)
		assert.Equal(t, string(e.Data), string(raw))
	}
	assert.ErrorContains(t, f.ReadInto(make([]byte, 7), "w"), "holds 8 bytes, wanted are 7")
	_, err = f.Bytes("v")
	assert.ErrorContains(t, err, `tensor "v": not among the 5 tensors`)

	// The order of the entries does not matter, and empty files are files.
	other := filepath.Join(t.TempDir(), "b.safetensors")
	e := entries()
	e[0], e[4] = e[4], e[0]
	require.NoError(t, Write(other, e, meta))
	a, _ := os.ReadFile(path)
	b, _ := os.ReadFile(other)
	assert.Equal(t, a, b)
	require.NoError(t, Write(other, nil, nil))
	f, err = Open(other)
	require.NoError(t, err)
	defer f.Close()
	assert.Empty(t, f.Names())
	assert.Nil(t, f.Metadata())
}

func TestWriteLeavesNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
	for cause, bad := range map[string]Entry{
		"occurs twice":                 {"w", "F32", []int64{2}, make([]byte, 8)},
		"7 bytes of data, F32":         {"x", "F32", []int64{2}, make([]byte, 7)},
		"unknown dtype \"F99\"":        {"x", "F99", []int64{2}, make([]byte, 8)},
		"overflows":                    {"x", "F32", []int64{1 << 40, 1 << 40}, nil},
		"negative size -1":             {"x", "F32", []int64{-1}, nil},
		"not a whole number of bytes":  {"x", "F4", []int64{3}, make([]byte, 1)},
		"its name is reserved":         {"__metadata__", "F32", []int64{1}, make([]byte, 4)},
		"its name is not UTF-8":        {"\xff", "F32", []int64{1}, make([]byte, 4)},
		"65 dims, at most 64 are read": {"x", "F32", make([]int64, 65), nil},
	} {
		assert.ErrorContains(t, Write(path, append(entries(), bad), nil), cause)
	}
	assert.ErrorContains(t, Write(path, nil, map[string]string{"a": "\xff"}), "not UTF-8")
	assert.ErrorContains(t, Write(dir, entries(), nil), "not a regular file")
	assert.ErrorContains(t, Write(filepath.Join(dir, "no", "a"), entries(), nil), "check that the folder exists")
	raw, _ := os.ReadFile(path)
	assert.Equal(t, "old", string(raw))

	require.NoError(t, os.Symlink("a.safetensors", filepath.Join(dir, "link")))
	require.NoError(t, Write(filepath.Join(dir, "link"), entries(), nil))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode(), "the file keeps its mode, and the link is followed")
	require.NoError(t, os.Chmod(path, 0o444))
	assert.ErrorContains(t, Write(path, entries(), nil), "read-only")
	left, _ := os.ReadDir(dir)
	assert.Len(t, left, 2, "no temporary file is left")
}

// file puts a header before n bytes of data.
func file(header string, n int) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

func tensor(name, dtype, shape string, from, to int) string {
	return fmt.Sprintf(`"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}`, name, dtype, shape, from, to)
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[", 20_000)
	for name, c := range map[string]struct {
		raw  []byte
		want string
	}{
		"empty":             {nil, "truncated: 0 bytes"},
		"seven bytes":       {make([]byte, 7), "truncated: 7 bytes"},
		"huge header":       {append(bytes.Repeat([]byte{0xff}, 8), make([]byte, 100)...), "at most 100000000 are read"},
		"negative header":   {append([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, make([]byte, 100)...), "at most 100000000 are read"},
		"long header":       {file("{}", 0)[:9], "truncated: the header length is 2 bytes, 1 are there"},
		"no header":         {file("", 0), "does not begin with '{'"},
		"array":             {file("[]", 0), "does not begin with '{'"},
		"space first":       {file(" {}", 0), "does not begin with '{'"},
		"not UTF-8":         {file("{\"\xff\":1}", 0), "not valid UTF-8"},
		"cut JSON":          {file(`{"a":{"dtype":"U8",`, 0), "unexpected EOF"},
		"broken JSON":       {file(`{"a" 1}`, 0), "at byte"},
		"trailing comma":    {file(`{`+tensor("a", "U8", "[1]", 0, 1)+`,}`, 1), "at byte"},
		"junk after":        {file("{} {}", 0), `"{}" follows the header`},
		"newline after":     {file("{}\n", 0), "follows the header"},
		"deep":              {file(`{"a":`+deep+"}", 0), "where { belongs"},
		"deep shape":        {file(`{"a":{"dtype":"U8","shape":`+deep+"}", 0), "is no size"},
		"twice":             {file("{"+tensor("a", "U8", "[1]", 0, 1)+","+tensor("a", "U8", "[1]", 1, 2)+"}", 2), `"a" occurs twice`},
		"field twice":       {file(`{"a":{"dtype":"U8","dtype":"U8"}}`, 0), `"dtype" occurs twice`},
		"unknown field":     {file(`{"a":{"dtype":"U8","strides":[1]}}`, 0), `unknown field "strides"`},
		"no dtype":          {file(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1), "no dtype"},
		"no shape":          {file(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1), "no shape"},
		"no offsets":        {file(`{"a":{"dtype":"U8","shape":[1]}}`, 1), "no data_offsets"},
		"null":              {file(`{"a":null}`, 1), "where { belongs"},
		"dtype number":      {file(`{"a":{"dtype":7}}`, 1), "where text belongs"},
		"unknown dtype":     {file("{"+tensor("a", "Q4", "[1]", 0, 1)+"}", 1), `tensor "a": unknown dtype "Q4"`},
		"negative dim":      {file("{"+tensor("a", "U8", "[-1]", 0, 1)+"}", 1), "-1 is no size"},
		"fraction":          {file("{"+tensor("a", "U8", "[1.0]", 0, 1)+"}", 1), "1.0 is no size"},
		"text dim":          {file("{"+tensor("a", "U8", `["1"]`, 0, 1)+"}", 1), "1 is no size"},
		"too big a dim":     {file("{"+tensor("a", "U8", "[9223372036854775808]", 0, 1)+"}", 1), "is no size below 2^63"},
		"overflow":          {file("{"+tensor("a", "F64", "[4294967296,4294967296]", 0, 1)+"}", 1), "overflows"},
		"overflow to small": {file("{"+tensor("a", "U8", "[4294967296,4294967296,2]", 0, 1)+"}", 1), "overflows"},
		"rank":              {file("{"+tensor("a", "U8", "["+strings.Repeat("1,", 64)+"1]", 0, 1)+"}", 1), "more than 64 numbers"},
		"half bytes":        {file("{"+tensor("a", "F4", "[3]", 0, 1)+"}", 1), "whole number of bytes"},
		"one offset":        {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1]}}`, 1), "has 1 numbers, not 2"},
		"three offsets":     {file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}}`, 1), "more than 2 numbers"},
		"backwards":         {file("{"+tensor("a", "U8", "[1]", 1, 0)+"}", 1), "end before they begin"},
		"beyond":            {file("{"+tensor("a", "U8", "[9]", 0, 9)+"}", 8), "reach beyond the 8 bytes"},
		"size mismatch":     {file("{"+tensor("a", "F32", "[2]", 0, 4)+"}", 4), "span 4 bytes, F32 of shape [2] needs 8"},
		"overlap":           {file("{"+tensor("a", "U8", "[4]", 0, 4)+","+tensor("b", "U8", "[4]", 2, 6)+"}", 6), `tensor "b": bad header: its data at 2 overlaps`},
		"same place":        {file("{"+tensor("a", "U8", "[4]", 0, 4)+","+tensor("b", "U8", "[4]", 0, 4)+"}", 4), "overlaps"},
		"empty inside":      {file("{"+tensor("a", "U8", "[4]", 0, 4)+","+tensor("b", "U8", "[0]", 2, 2)+"}", 4), "overlaps"},
		"hole":              {file("{"+tensor("a", "U8", "[2]", 0, 2)+","+tensor("b", "U8", "[2]", 4, 6)+"}", 6), "2 bytes before its data at 4 belong to no tensor"},
		"hole at start":     {file("{"+tensor("a", "U8", "[2]", 2, 4)+"}", 4), "belong to no tensor"},
		"data left":         {file("{}", 3), "the last 3 of 3 bytes of data belong to no tensor"},
		"metadata number":   {file(`{"__metadata__":{"a":1}}`, 0), "__metadata__: at byte"},
		"metadata twice":    {file(`{"__metadata__":{},"__metadata__":{}}`, 0), "occurs twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.safetensors", bytes.NewReader(c.raw), int64(len(c.raw)))
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "safetensors: x.safetensors: ")
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 400)
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for name, raw := range map[string][]byte{
		"padding":         file("{}   ", 0),
		"unordered names": file("{"+tensor("a", "U8", "[2]", 2, 4)+","+tensor("b", "U8", "[2]", 0, 2)+"}", 4),
		"empty between":   file("{"+tensor("a", "U8", "[2]", 0, 2)+","+tensor("b", "U8", "[0]", 2, 2)+","+tensor("c", "F4", "[2]", 2, 3)+"}", 3),
	} {
		_, err := Parse(name, bytes.NewReader(raw), int64(len(raw)))
		assert.NoError(t, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "no"))
	assert.ErrorContains(t, err, "no such file")
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir)
	assert.ErrorContains(t, err, "not a regular file")
	// A file that shrinks after it was opened.
	path := filepath.Join(dir, "a.safetensors")
	require.NoError(t, Write(path, entries(), nil))
	f, err := Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Truncate(path, 20))
	_, err = f.Bytes("w")
	assert.ErrorContains(t, err, "only 0 of 8 bytes could be read")
}

func TestRealWeights(t *testing.T) {
	f, err := Open(need.Data(t, "models", "mnist-cnn-weights", "mnist.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	list, err := os.ReadFile(need.Data(t, "models", "mnist-cnn-weights", "tensors.tsv"))
	require.NoError(t, err)
	names := map[string]string{"F32": "float32", "I64": "int64"}
	seen := 0
	for line := range strings.Lines(string(list)) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		if col[0] != "mnist.safetensors" {
			continue
		}
		seen++
		info, ok := f.Info(col[1])
		require.True(t, ok, col[1])
		assert.Equal(t, col[2], names[info.DType])
		dims := []string{}
		for _, d := range info.Shape {
			dims = append(dims, strconv.FormatInt(d, 10))
		}
		if len(dims) > 0 {
			assert.Equal(t, col[3], strings.Join(dims, "x"))
		}
		raw, err := f.Bytes(col[1])
		require.NoError(t, err)
		sum := sha256.Sum256(raw)
		assert.Equal(t, col[4], hex.EncodeToString(sum[:]), col[1])
	}
	assert.Equal(t, 20, seen)
	assert.Len(t, f.Names(), seen)
}

func FuzzParse(f *testing.F) {
	f.Add(file("{}", 0))
	f.Add(file("{"+tensor("a", "U8", "[2]", 2, 4)+","+tensor("b", "U8", "[2]", 0, 2)+"}", 4))
	f.Add(file(`{"__metadata__":{"a":"b"},`+tensor("a", "F32", "[0,9]", 0, 0)+"}", 0))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Parse("fuzz", bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		// What is accepted can be written and read again, to the same tensors.
		var all []Entry
		for _, name := range file.Names() {
			info, _ := file.Info(name)
			data, err := file.Bytes(name)
			require.NoError(t, err)
			all = append(all, Entry{name, info.DType, info.Shape, data})
		}
		head, sorted, err := encode("fuzz", all, file.Metadata())
		require.NoError(t, err)
		for _, e := range sorted {
			head = append(head, e.Data...)
		}
		again, err := Parse("again", bytes.NewReader(head), int64(len(head)))
		require.NoError(t, err)
		assert.ElementsMatch(t, file.Names(), again.Names())
		assert.Equal(t, file.Metadata(), again.Metadata())
		for _, e := range all {
			data, err := again.Bytes(e.Name)
			require.NoError(t, err)
			assert.Equal(t, string(e.Data), string(data))
		}
	})
}
