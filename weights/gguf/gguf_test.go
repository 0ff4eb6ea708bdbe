package gguf

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights"
)

// Every storage type of the recorded files gives the recorded bits, whole and in parts.
func TestRecordedTypes(t *testing.T) {
	seen := 0
	for _, name := range []string{"quant-common", "quant-more"} {
		want, err := os.ReadFile(need.Data(t, "models", "gguf", name+".dequant.f32"))
		require.NoError(t, err)
		list, err := os.ReadFile(need.Data(t, "models", "gguf", name+".tsv"))
		require.NoError(t, err)
		f, err := Open(need.Data(t, "models", "gguf", name+".gguf"))
		require.NoError(t, err)
		defer f.Close()
		for line := range strings.Lines(string(list)) {
			if line[0] == '#' {
				continue
			}
			tensor := strings.Split(line, "\t")[0]
			seen++
			t.Run(tensor, func(t *testing.T) {
				recorded := want[:3072*4]
				want = want[3072*4:]
				info, ok := f.Info(tensor)
				require.True(t, ok)
				assert.Equal(t, []int64{3, 1024}, info.Shape)
				assert.Equal(t, strings.ToUpper(strings.TrimPrefix(tensor, "t.")), strings.ToUpper(info.DType))
				equalFloats(t, f, tensor, recorded)
			})
		}
	}
	assert.Equal(t, 23, seen)
}

// equalFloats compares a tensor as F32, F16 or BF16 with float32.
func equalFloats(t *testing.T, f *File, name string, want []byte) {
	info, ok := f.Unpacked().Info(name)
	require.True(t, ok)
	raw, err := weights.Bytes(f.Unpacked(), name)
	require.NoError(t, err)
	if info.DType != "F32" {
		wide := &bytes.Buffer{}
		for i := 0; i < len(raw); i += 2 {
			x := half(raw[i:])
			if info.DType == "BF16" {
				x = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[i:])) << 16)
			}
			binary.Write(wide, binary.LittleEndian, x)
		}
		raw = wide.Bytes()
	}
	require.True(t, bytes.Equal(want, raw), "not the recorded bits")
	if info.DType != "F32" {
		return
	}
	data, err := f.Unpacked().Data(name)
	require.NoError(t, err)
	for _, part := range [][2]int{{0, 1}, {1, 2}, {3, 9}, {1023, 5}, {4093, 4099}, {12287, 1}, {5000, 7288}, {127, 1024}} {
		got := make([]byte, part[1])
		n, err := data.ReadAt(got, int64(part[0]))
		require.Equal(t, part[1], n, "%v: %v", part, err)
		require.Equal(t, want[part[0]:][:part[1]], got, "%v", part)
	}
	n, err := data.ReadAt(make([]byte, 10), 12284)
	require.Equal(t, 4, n)
	require.ErrorIs(t, err, io.EOF)
	_, err = data.ReadAt(make([]byte, 1), 12288)
	require.ErrorIs(t, err, io.EOF)
}

func TestRecordedMetadata(t *testing.T) {
	f, err := Open(need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf"))
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, 3, f.Version())
	assert.Empty(t, f.Names())
	model, ok := f.Text("tokenizer.ggml.model")
	assert.True(t, ok)
	assert.Equal(t, "gpt2", model)
	tokens, err := f.Texts("tokenizer.ggml.tokens")
	require.NoError(t, err)
	assert.Len(t, tokens, 50257)
	assert.Equal(t, "<|endoftext|>", tokens[50256])
	kinds, err := f.Ints("tokenizer.ggml.token_type")
	require.NoError(t, err)
	assert.Len(t, kinds, 50257)
	assert.Equal(t, "text[50257]", f.Metadata()["tokenizer.ggml.tokens"])
	_, err = f.Texts("tokenizer.ggml.token_type")
	assert.ErrorContains(t, err, `key "tokenizer.ggml.token_type": is a list of int32, not a list of texts`)
	_, err = f.Texts("none")
	assert.ErrorContains(t, err, "is not in the metadata")
}

// maker writes GGUF files.
type maker struct {
	version uint32
	pairs   []byte
	tensors []byte
	nPairs  uint64
	nTensor uint64
	data    []byte
}

func (m *maker) count(b []byte, n uint64) []byte {
	if m.version == 1 {
		return binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return binary.LittleEndian.AppendUint64(b, n)
}

func (m *maker) text(b []byte, s string) []byte { return append(m.count(b, uint64(len(s))), s...) }

func (m *maker) pair(key string, k kind, raw ...byte) *maker {
	m.pairs = binary.LittleEndian.AppendUint32(m.text(m.pairs, key), uint32(k))
	m.pairs = append(m.pairs, raw...)
	m.nPairs++
	return m
}

func (m *maker) tensor(name string, id uint32, at uint64, dims ...uint64) *maker {
	m.tensors = binary.LittleEndian.AppendUint32(m.text(m.tensors, name), uint32(len(dims)))
	for _, d := range dims {
		m.tensors = m.count(m.tensors, d)
	}
	m.tensors = binary.LittleEndian.AppendUint32(m.tensors, id)
	m.tensors = binary.LittleEndian.AppendUint64(m.tensors, at)
	m.nTensor++
	return m
}

func (m *maker) bytes() []byte {
	out := binary.LittleEndian.AppendUint32([]byte("GGUF"), m.version)
	out = m.count(m.count(out, m.nTensor), m.nPairs)
	out = append(append(out, m.pairs...), m.tensors...)
	for len(m.data) > 0 && len(out)%32 != 0 {
		out = append(out, 0)
	}
	return append(out, m.data...)
}

func parse(raw []byte) (*File, error) { return Parse("x.gguf", bytes.NewReader(raw), int64(len(raw))) }

func TestVersions(t *testing.T) {
	for version := uint32(1); version <= 3; version++ {
		m := &maker{version: version, data: bytes.Repeat([]byte{1, 2, 3, 4}, 16)}
		m.pair("a", kindText, m.text(nil, "text")...).pair("n", kindI8, 0xff).pair("b", kindBool, 1)
		list := m.text(m.text(m.count(binary.LittleEndian.AppendUint32(nil, uint32(kindText)), 2), "one"), "")
		m.pair("l", kindList, list...)
		nested := m.count(binary.LittleEndian.AppendUint32(nil, uint32(kindList)), 2)
		for range 2 {
			nested = append(m.count(binary.LittleEndian.AppendUint32(nested, uint32(kindU16)), 1), 7, 0)
		}
		m.pair("ll", kindList, nested...).pair("f", kindF32, 0, 0, 0x80, 0x3f)
		m.tensor("w", 0, 32, 4, 2).tensor("e", 0, 0, 0, 5).tensor("v", 24, 0, 8)
		f, err := parse(m.bytes())
		require.NoError(t, err)
		assert.Equal(t, []string{"e", "v", "w"}, f.Names())
		assert.Equal(t, []string{"a", "n", "b", "l", "ll", "f"}, f.Keys())
		info, _ := f.Info("w")
		assert.Equal(t, weights.Info{DType: "F32", Shape: []int64{2, 4}, Bytes: 32}, info)
		raw, err := weights.Bytes(f, "w")
		require.NoError(t, err)
		assert.Equal(t, m.data[32:], raw)
		raw, err = weights.Bytes(f, "e")
		require.NoError(t, err)
		assert.Empty(t, raw)
		n, ok := f.Int("n")
		assert.True(t, ok)
		assert.Equal(t, int64(-1), n)
		for _, key := range []string{"none", "a", "l", "b"} {
			_, ok = f.Int(key)
			assert.False(t, ok, key)
		}
		_, ok = f.Float("none")
		assert.False(t, ok)
		_, ok = f.Bool("none")
		assert.False(t, ok)
		_, ok = f.Text("none")
		assert.False(t, ok)
		b, ok := f.Bool("b")
		assert.True(t, ok && b)
		x, ok := f.Float("f")
		assert.True(t, ok)
		assert.Equal(t, 1.0, x)
		texts, err := f.Texts("l")
		require.NoError(t, err)
		assert.Equal(t, []string{"one", ""}, texts)
		_, err = f.Ints("ll")
		require.ErrorContains(t, err, "is a list of list, not a list of integers")
		_, err = weights.Bytes(f, "z")
		require.ErrorContains(t, err, `tensor "z": not among the 3 tensors`)
	}
}

// liars are files that claim what is not so.
func liars() map[string]struct {
	raw  []byte
	want string
} {
	v3 := func() *maker { return &maker{version: 3} }
	u32 := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
	u64 := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	deep := v3()
	nested := []byte{}
	for range 6 {
		nested = append(append(nested, u32(9)...), u64(1)...)
	}
	deep.pair("k", kindList, append(append(nested, u32(0)...), u64(0)...)...)
	many := v3()
	many.nTensor = 1 << 60
	keys := v3()
	keys.nPairs = 1 << 61
	long := v3()
	long.pairs, long.nPairs = append(u64(1<<63), make([]byte, 40)...), 1
	with := func(m *maker, n int) []byte {
		m.data = make([]byte, n)
		return m.bytes()
	}
	return map[string]struct {
		raw  []byte
		want string
	}{
		"empty":             {nil, "at byte 0: truncated: 4 bytes belong here, 0 are left"},
		"magic":             {[]byte("GGML0000"), `it begins with "GGML"`},
		"version":           {append([]byte("GGUF"), u32(9)...), "version 9; 1, 2 and 3 are read"},
		"big-endian":        {[]byte("GGUF\x00\x00\x00\x03"), "big-endian"},
		"many tensors":      {many.bytes(), "1152921504606846976 tensors do not fit into the 0 bytes"},
		"many keys":         {keys.bytes(), "keys do not fit into the 0 bytes"},
		"long key":          {long.bytes(), "a text of 9223372036854775808 bytes where at most 65536 are read"},
		"key twice":         {v3().pair("k", kindU8, 1).pair("k", kindU8, 1).bytes(), `key 1 "k": at byte 52: occurs twice`},
		"value type":        {v3().pair("k", 13, 1).bytes(), "type number 13"},
		"list type":         {v3().pair("k", kindList, append(u32(77), u64(0)...)...).bytes(), "a list of type number 77"},
		"long list":         {v3().pair("k", kindList, append(u32(0), u64(1<<40)...)...).bytes(), "1099511627776 elements of a list do not fit"},
		"long list of text": {v3().pair("k", kindList, append(u32(8), u64(1<<61)...)...).bytes(), "elements of a list do not fit"},
		"text in list":      {v3().pair("k", kindList, append(append(u32(8), u64(1)...), u64(99)...)...).bytes(), "99 bytes of text do not fit"},
		"deep lists":        {deep.bytes(), "nested deeper than 4"},
		"bool":              {v3().pair("k", kindBool, 2).bytes(), "a bool is 0 or 1, not 2"},
		"bool in list":      {v3().pair("k", kindList, append(append(u32(7), u64(1)...), 3)...).bytes(), "a bool is 0 or 1, not 3"},
		"alignment":         {v3().pair("general.alignment", kindU32, 24, 0, 0, 0).bytes(), "general.alignment is 24; it must be a power of two"},
		"alignment 0":       {v3().pair("general.alignment", kindU32, 0, 0, 0, 0).bytes(), "general.alignment is 0"},
		"alignment text":    {v3().pair("general.alignment", kindBool, 1).bytes(), "general.alignment is true"},
		"dims":              {with(v3().tensor("w", 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1), 32), "9 dims, at most 8"},
		"huge dim":          {with(v3().tensor("w", 0, 0, 1<<63), 32), "a dim of 9223372036854775808"},
		"overflow":          {with(v3().tensor("w", 0, 0, 1<<32, 1<<32), 32), "overflows"},
		"packed overflow":   {with(v3().tensor("w", 41, 0, 1<<62), 32), "overflows"},
		"half a block":      {with(v3().tensor("w", 12, 0, 128), 32), "rows are not a whole number of blocks of 256"},
		"type":              {with(v3().tensor("w", 99, 0, 1), 32), "type is number 99, which is not known"},
		"type not read":     {with(v3().tensor("w", 16, 0, 256), 32), "type is IQ2_XXS, which is not read"},
		"beyond":            {with(v3().tensor("w", 0, 32, 9), 32), "truncated: its 36 bytes at 32 of the data end beyond"},
		"far beyond":        {with(v3().tensor("w", 0, 1<<62, 1), 32), "lies beyond the file's"},
		"unaligned":         {with(v3().tensor("w", 0, 4, 1), 32), `tensor "w": its data at 4 is not aligned to 32 bytes`},
		"overlap":           {with(v3().tensor("a", 0, 0, 9).tensor("b", 0, 32, 1), 64), `tensor "b": its data at 32 overlaps other data that ends at 36`},
		"same place":        {with(v3().tensor("a", 0, 0, 1).tensor("b", 0, 0, 1), 32), "overlaps"},
		"tensor twice":      {with(v3().tensor("a", 0, 0, 1).tensor("a", 0, 32, 1), 64), `tensor 1 "a": at byte`},
	}
}

func TestLiars(t *testing.T) {
	for name, c := range liars() {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.raw)
			var e *weights.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "gguf: x.gguf: ")
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 400)
		})
	}
}

// A scale that is no number is an error that names the block, in every packed type that can say it.
func TestScales(t *testing.T) {
	for id, form := range forms {
		for _, at := range form.scales {
			for _, bits := range []uint16{0x7e00, 0x7c00, 0xfc00} {
				m := &maker{version: 3, data: make([]byte, 3*form.bytes)}
				binary.LittleEndian.PutUint16(m.data[2*form.bytes+at:], bits)
				f, err := parse(m.tensor("w", id, 0, uint64(3*form.block)).bytes())
				require.NoError(t, err)
				data, err := f.Unpacked().Data("w")
				require.NoError(t, err)
				p := make([]byte, 8*form.block)
				_, err = data.ReadAt(p, 0)
				require.NoError(t, err, "the first blocks are right")
				n, err := data.ReadAt(p, int64(8*form.block))
				require.Zero(t, n)
				require.ErrorContains(t, err, `x.gguf: tensor "w", block 2 at byte`)
				require.ErrorContains(t, err, "its scale is ")
				require.Error(t, Unpack(form.name, make([]float32, 3*form.block), m.data))
			}
		}
	}
	require.ErrorContains(t, Unpack("MXFP4", make([]float32, 32), append([]byte{255}, make([]byte, 16)...)), "its scale is NaN")
	require.ErrorContains(t, Unpack("Q4_0", make([]float32, 31), make([]byte, 18)), "18 bytes of Q4_0 are not the blocks of 31 elements")
	require.ErrorContains(t, Unpack("F32", nil, nil), "no packed type")
	block, size, ok := Packed("Q6_K")
	assert.True(t, ok)
	assert.Equal(t, []int{256, 210}, []int{block, size})
	_, _, ok = Packed("F16")
	assert.False(t, ok)
}

func FuzzParse(f *testing.F) {
	for _, c := range liars() {
		f.Add(c.raw)
	}
	m := &maker{version: 3, data: make([]byte, 256)}
	f.Add(m.pair("general.alignment", kindU32, 32, 0, 0, 0).tensor("w", 12, 0, 256).tensor("v", 2, 160, 32).bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parse(raw)
		if err != nil {
			return
		}
		for _, key := range file.Keys() {
			file.Texts(key)
			file.Ints(key)
			file.Floats(key)
		}
		file.Metadata()
		for _, name := range file.Names() {
			info, ok := file.Info(name)
			require.True(t, ok)
			require.LessOrEqual(t, info.Bytes, int64(len(raw)))
			_, err := weights.Bytes(file, name)
			require.NoError(t, err)
			if info, _ = file.Unpacked().Info(name); info.Bytes < 1<<20 {
				weights.Bytes(file.Unpacked(), name)
			}
		}
	})
}
