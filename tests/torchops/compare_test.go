package torchops

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

func floats(shape []int, v ...float32) array {
	a := array{dtype.F32, shape, nil}
	for _, x := range v {
		a.bytes = binary.LittleEndian.AppendUint32(a.bytes, math.Float32bits(x))
	}
	return a
}

func longs(v ...int64) array {
	a := array{dtype.I64, []int{len(v)}, nil}
	for _, x := range v {
		a.bytes = binary.LittleEndian.AppendUint64(a.bytes, uint64(x))
	}
	return a
}

func TestCompare(t *testing.T) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	line := []int{1}
	tests := []struct {
		name      string
		got, want array
		rule      rule
		ok        bool
	}{
		{"equal", floats(line, 1), floats(line, 1), rule{}, true},
		{"absolute", floats(line, 1.25), floats(line, 1), rule{atol: 0.25}, true},
		{"relative", floats(line, 110), floats(line, 100), rule{rtol: 0.1}, true},
		{"beyond", floats(line, 111), floats(line, 100), rule{rtol: 0.1}, false},
		{"NaN for NaN", floats(line, nan), floats(line, nan), rule{}, true},
		{"NaN for a number", floats(line, nan), floats(line, 1), rule{atol: 1e9}, false},
		{"a number for NaN", floats(line, 1), floats(line, nan), rule{atol: 1e9}, false},
		{"inf for inf", floats(line, inf), floats(line, inf), rule{}, true},
		{"inf for −inf", floats(line, inf), floats(line, -inf), rule{atol: 1e9, rtol: 1}, false},
		{"a number for inf", floats(line, 3e38), floats(line, inf), rule{rtol: 1}, false},
		{"−0 for 0", floats(line, zero), floats(line, 0), rule{}, true},
		{"−0 for 0 by bits", floats(line, zero), floats(line, 0), rule{bits: true}, false},
		{"NaN by bits", floats(line, -nan), floats(line, nan), rule{bits: true}, true},
		{"shape", floats([]int{1, 1}, 1), floats(line, 1), rule{}, false},
		{"type", longs(1), floats(line, 1), rule{anyInt: true}, false},
		{"integers", longs(1, 2), longs(1, 3), rule{atol: 5}, false},
		{"any integer", longs(200), array{dtype.U8, line, []byte{200}}, rule{anyInt: true}, true},
		{"another integer type", longs(200), array{dtype.U8, line, []byte{200}}, rule{}, false},
		{"empty", floats([]int{0}), floats([]int{0}), rule{}, true},
	}
	for _, c := range tests {
		err := compare(c.got, c.want, c.rule)
		assert.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
	}
	err := compare(floats([]int{2, 2}, 1, 2, 3, 9), floats([]int{2, 2}, 1, 2, 3, 4), rule{})
	assert.ErrorContains(t, err, "[1 1]: got 9, want 4")
}

func TestChecks(t *testing.T) {
	square := []int{2, 2}
	in := floats(square, 0, -2, 3, 1)
	q, r := floats(square, 0, -1, 1, 0), floats(square, 3, 1, 0, 2)
	rule := rule{rtol: 1e-6, atol: 1e-6}
	for _, name := range []string{"reconstruct:qr", "orthonormal:0", "orthonormal:0:rows", "upper:1", "absdiag:1"} {
		assert.NoError(t, check(name, in, []array{q, r}, []array{q, r}, rule), name)
	}
	assert.Error(t, check("reconstruct:qr", in, []array{r, q}, []array{q, r}, rule))
	assert.Error(t, check("orthonormal:1", in, []array{q, r}, []array{q, r}, rule))
	assert.Error(t, check("upper:0", in, []array{q, r}, []array{q, r}, rule))
	assert.Error(t, check("values:0", in, []array{floats([]int{1}, 2)}, []array{floats([]int{1}, 1)}, rule))
	assert.Error(t, check("nonsense:0", in, []array{q, r}, []array{q, r}, rule))
	nan := floats(square, float32(math.NaN()), 0, 0, 1)
	assert.Error(t, check("orthonormal:0", in, []array{nan}, []array{q}, rule))
}

// Arguments find their parameters by position, by name, by second name, and as a rest.
func TestBind(t *testing.T) {
	sig := parseSignature("input|values, dim=None, *, keepdim=False, pair=(1, 2.5), mode='mean'")
	c := bind("op", sig, []any{7}, map[string]any{"dim": []any{0, 1}})
	assert.Equal(t, 7, c.Int("input"))
	assert.Equal(t, []int{0, 1}, c.Ints("dim"))
	assert.False(t, c.Bool("keepdim"))
	assert.Equal(t, []float64{1, 2.5}, c.Floats("pair"))
	assert.Equal(t, "mean", c.Str("mode"))
	assert.Equal(t, 3, bind("op", sig, nil, map[string]any{"values": 3}).Int("input"))

	rest := parseSignature("self, *size")
	assert.Equal(t, []int{2, 3}, bind("op", rest, []any{0, 2, 3}, nil).Ints("size"))
	assert.Equal(t, []int{2, 3}, bind("op", rest, []any{0, []any{2, 3}}, nil).Ints("size"))
	assert.Equal(t, []int{}, bind("op", rest, []any{0}, nil).Ints("size"))

	for name, f := range map[string]func(){
		"missing": func() { bind("op", sig, nil, nil) },
		"unknown": func() { bind("op", sig, []any{1}, map[string]any{"nonsense": 1}) },
		"twice":   func() { bind("op", sig, []any{1}, map[string]any{"input": 1}) },
		"many":    func() { bind("op", parseSignature("a"), []any{1, 2}, nil) },
		"kind":    func() { bind("op", sig, []any{1.5}, nil).Int("input") },
	} {
		assert.Panics(t, f, name)
	}
}

// A folder that is damaged is refused with the line, not run in part.
func TestLoadRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":        `{"id":`,
		"no op":          `{"id":"a"}`,
		"beyond the end": `{"id":"a","op":"torch.abs","args":[{"t":{"dtype":"float32","shape":[2],"off":4,"n":8}}]}`,
		"wrong size":     `{"id":"a","op":"torch.abs","args":[{"t":{"dtype":"float32","shape":[3],"off":0,"n":8}}]}`,
		"negative":       `{"id":"a","op":"torch.abs","args":[{"t":{"dtype":"float32","shape":[0],"off":-1,"n":0}}]}`,
		"unknown type":   `{"id":"a","op":"torch.abs","args":[{"t":{"dtype":"float7","shape":[0],"off":0,"n":0}}]}`,
		"no pair":        `{"id":"a","op":"torch.abs","args":[{"c":{"dtype":"float32","shape":[1],"off":0,"n":4}}]}`,
		"cotangents":     `{"id":"a","op":"torch.abs","args":[],"out":[1],"cot":[null,null]}`,
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tensors.bin"), make([]byte, 8), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(line+"\n"), 0o600))
		_, err := Load(dir)
		assert.ErrorContains(t, err, "cases.jsonl:1", name)
	}
	_, err := Load(t.TempDir())
	assert.Error(t, err)
}

// Numbers keep the difference between 2 and 2.0, and infinities have a spelling.
func TestDecodeValue(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tensors.bin"), nil, 0o600))
	line := `{"id":"a","op":"b","args":[2, 2.0, 1e3, {"f":"-inf"}, {"slice":[1,null,-1]}, {"dtype":"int8"}, {"newaxis":true}, {"ellipsis":true}]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(line), 0o600))
	cases, err := Load(dir)
	require.NoError(t, err)
	one, last := 1, -1
	assert.Equal(t, []any{2, 2.0, 1000.0, math.Inf(-1), Slice{&one, nil, &last}, DTypeName("int8"), NewAxis{}, Ellipsis{}}, cases[0].Args)
}
