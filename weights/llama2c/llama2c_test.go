package llama2c

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights"
)

func TestStories(t *testing.T) {
	f, err := Open(need.Data(t, "models", "stories260k", "stories260K.bin"))
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, Config{Dim: 64, Hidden: 172, Layers: 5, Heads: 8, KVHeads: 4, Vocab: 512, Length: 512, Shared: true}, f.Config())
	assert.Equal(t, "5", f.Metadata()["n_layers"])
	assert.Len(t, f.Names(), 2+9*5)
	info, ok := f.Info("layers.4.attention.wk.weight")
	require.True(t, ok)
	assert.Equal(t, weights.Info{DType: "F32", Shape: []int64{32, 64}, Bytes: 8192}, info)
	raw, err := weights.Bytes(f, "norm.weight")
	require.NoError(t, err)
	for i := 0; i < len(raw); i += 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))
		assert.True(t, x > 0.1 && x < 20, "a norm's weight is %v", x)
	}
	_, err = weights.Bytes(f, "output.weight")
	require.ErrorContains(t, err, "not among the 47 tensors")
}

// checkpoint has a header and n floats that count up.
func checkpoint(n int, header ...int32) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, header)
	for i := range n {
		binary.Write(&b, binary.LittleEndian, float32(i))
	}
	return b.Bytes()
}

func parse(raw []byte) (*File, error) { return Parse("x.bin", bytes.NewReader(raw), int64(len(raw))) }

// All tensors lie one after the other, in both versions.
func TestPlaces(t *testing.T) {
	// dim 4, hidden 3, 2 layers, 2 heads, 1 of keys, 5 tokens, length 3
	const floats = 5*4 + 2*(4+16+8+8+16+4+12+12+12) + 4
	shared := checkpoint(floats+2*3, 4, 3, 2, 2, 1, 5, 3)
	own := checkpoint(floats+2*3+20, 4, 3, 2, 2, 1, -5, 3)
	head := []int32{magic, 1, 4, 3, 2, 2, 1, 5, 3, 1}
	first := checkpoint(floats, append(head, make([]int32, 54)...)...)
	for name, c := range map[string]struct {
		raw   []byte
		first string
	}{"shared": {shared, "tok_embeddings.weight"}, "own": {own, "tok_embeddings.weight"}, "version 1": {first, "layers.0.attention_norm.weight"}} {
		f, err := parse(c.raw)
		require.NoError(t, err, name)
		assert.Equal(t, c.first, f.Names()[0])
		next := float32(0)
		for _, tensor := range f.Names() {
			raw, err := weights.Bytes(f, tensor)
			require.NoError(t, err)
			if tensor == "output.weight" {
				next += 6 // the tables of angles
			}
			for i := 0; i < len(raw); i += 4 {
				require.Equal(t, next, math.Float32frombits(binary.LittleEndian.Uint32(raw[i:])), "%s: %s", name, tensor)
				next++
			}
		}
		_, ok := f.Info("output.weight")
		assert.Equal(t, name == "own", ok)
		assert.Equal(t, name != "own", f.Config().Shared)
	}
}

func liars() map[string]struct {
	raw  []byte
	want string
} {
	pad := make([]byte, 37)
	return map[string]struct {
		raw  []byte
		want string
	}{
		"empty":        {nil, "truncated"},
		"version":      {append(checkpoint(0, magic, 2), pad...), "version 2, which is not read"},
		"zero":         {append(checkpoint(0, 0, 3, 2, 2, 1, 5, 3), pad...), "number 0, dim, is 0"},
		"negative":     {append(checkpoint(0, 4, -3, 2, 2, 1, 5, 3), pad...), "number 1, hidden dim, is -3"},
		"many layers":  {append(checkpoint(0, 4, 3, 1<<30, 2, 1, 5, 3), pad...), "layers, is 1073741824"},
		"vocabulary":   {append(checkpoint(0, 4, 3, 2, 2, 1, math.MinInt32, 3), pad...), "vocabulary, is 16777217"},
		"heads":        {append(checkpoint(0, 4, 3, 2, 3, 1, 5, 3), pad...), "do not divide"},
		"odd heads":    {append(checkpoint(0, 6, 3, 2, 2, 1, 5, 3), pad...), "even parts"},
		"heads of key": {append(checkpoint(0, 8, 3, 2, 4, 3, 5, 3), pad...), "do not divide"},
		"short":        {checkpoint(200, 4, 3, 2, 2, 1, 5, 3), "and the file has 828"},
		"overflow":     {append(checkpoint(0, 1<<24, 1<<24, 1<<16, 2, 1, 1<<24, 3), pad...), "and the file has 65"},
		"shared":       {append(checkpoint(0, magic, 1, 4, 3, 2, 2, 1, 5, 3), append([]byte{7}, pad...)...), "0 or 1, not 7"},
	}
}

func TestLiars(t *testing.T) {
	for name, c := range liars() {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.raw)
			var e *weights.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "llama2.c: x.bin: header: ")
			assert.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range liars() {
		f.Add(c.raw)
	}
	f.Add(checkpoint(20+2*92+4+6, 4, 3, 2, 2, 1, 5, 3))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parse(raw)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			_, err := weights.Bytes(file, name)
			require.NoError(t, err)
		}
	})
}
