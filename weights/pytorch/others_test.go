package pytorch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/weights"
)

// whole are the pieces of a checkpoint around one more entry: a tensor w of two elements lies before and a number after it.
func whole(t *testing.T, entry string) *File {
	t.Helper()
	one, two := number(1)+"\x85", number(2)+"\x85"
	w := tensor(saved("0", "FloatStorage", 2), 0, two, one)
	f, err := parse(archive(pickle("}("+text("w")+w+entry+text("after")+number(7)+"u"), "m/data/0", "\x00\x00\x80\x3f\x00\x00\x00\x40", "m/data/1", strings.Repeat("\x00", 32)))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2}, floats(t, f, "w"))
	assert.Equal(t, "7", f.Metadata()["after"])
	return f
}

// call is a function with arguments.
func called(module, name, args string) string {
	return "c" + module + "\n" + name + "\n(" + args + "tR"
}

// Values that are no tensors do not stand in the way of those that are.
func TestOtherValues(t *testing.T) {
	pair := number(1) + number(2) + "\x86"
	for name, entry := range map[string]string{
		"bytes":          text("x") + called("_codecs", "encode", text("ab")+text("latin1")),
		"no bytes":       text("x") + called("__builtin__", "bytes", ""),
		"short bytes":    text("x") + "C\x02\xff\xfe",
		"long bytes":     text("x") + "\x8e\x02\x00\x00\x00\x00\x00\x00\x00\xff\xfe",
		"bytearray":      text("x") + called("__builtin__", "bytearray", text("a")+text("latin-1")),
		"new bytearray":  text("x") + "\x96\x02\x00\x00\x00\x00\x00\x00\x00\xff\xfe",
		"complex number": text("x") + called("__builtin__", "complex", number(0)+number(1)),
		"set":            text("x") + "\x8f(" + number(1) + number(2) + "\x90",
		"frozenset":      text("x") + "(" + number(1) + "\x91",
		"old frozenset":  text("x") + called("__builtin__", "frozenset", "]"),
		"slice":          text("x") + called("builtins", "slice", number(1)+number(2)+"N"),
		"range":          text("x") + called("__builtin__", "xrange", number(0)+number(3)+number(1)),
		"ellipsis":       text("x") + "c__builtin__\nEllipsis\n",
		"tuple as key":   text("x") + "}" + pair + number(3) + "s",
		"bytes as key":   text("x") + "}C\x01a" + number(3) + "s",
		"type as key":    text("x") + "}ctorch\nfloat32\n" + number(3) + "s",
		"dict in itself": text("x") + "}q\x00" + text("k") + "h\x00s",
		"list in itself": text("x") + "]q\x00h\x00a",
		"counter":        text("x") + called("collections", "Counter", "}("+number(30)+number(1)+number(80)+number(1)+"u"),
		"dict of a dict": text("x") + called("builtins", "dict", "}"+text("k")+number(1)+"s"),
		"a version":      text("x") + called("torch.torch_version", "TorchVersion", text("2.1")),
		"a type":         text("x") + "ctorch\nqint8\n",
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, []string{"w"}, whole(t, entry).Names()) })
	}
	f := whole(t, text("x")+called("collections", "Counter", "}("+number(30)+number(1)+number(80)+number(2)+"u"))
	assert.Equal(t, map[string]string{"x.30": "1", "x.80": "2", "after": "7"}, f.Metadata())
	f = whole(t, text("x")+"}("+pair+number(3)+text("a")+pair+"\x86"+number(4)+"u")
	assert.Equal(t, map[string]string{"x.(1, 2)": "3", "x.(a, (1, 2))": "4", "after": "7"}, f.Metadata())
	wide := "N\x85q\x00"
	for i := range 60 { // a key of 2⁶⁰ parts
		wide += fmt.Sprintf("0h%ch%c\x86q%c", i, i, i+1)
	}
	f = whole(t, text("x")+"}"+wide+number(3)+"s")
	for name := range f.Metadata() {
		assert.Less(t, len(name), 120)
	}
}

// A tensor of a kind that is not read is an error when it is read, with a remedy where there is one.
func TestOtherTensors(t *testing.T) {
	one, two, nine := number(1)+"\x85", number(2)+"\x85", number(9)+"\x85"
	plain := func(class string) string { return tensor(saved("1", class, 2), 0, two, one) }
	typed := func(dtype string) string {
		return called("torch._utils", "_rebuild_tensor_v3", saved("1", "FloatStorage", 2)+number(0)+two+one+"\x89}"+"ctorch\n"+dtype+"\n}")
	}
	layout := called("torch.serialization", "_get_layout", text("torch.sparse_coo"))
	for name, c := range map[string]struct {
		value string
		info  weights.Info
		says  string
	}{
		"negated":     {seen("neg", "\x88"), weights.Info{DType: "F32", Shape: []int64{1}}, "it is negated when it is read, which is not supported; save a copy: t.resolve_neg()"},
		"conjugated":  {seen("conj", "\x88"), weights.Info{DType: "F32", Shape: []int64{1}}, "t.resolve_conj()"},
		"complex":     {plain("ComplexDoubleStorage"), weights.Info{DType: "complex128", Shape: []int64{2}}, "its elements are complex128, which are not read"},
		"of a type":   {typed("complex32"), weights.Info{DType: "complex32", Shape: []int64{2}}, "its elements are complex32"},
		"meta":        {called("torch._utils", "_rebuild_meta_tensor_no_storage", "ctorch\nfloat32\n"+nine+one+"\x89"), weights.Info{DType: "F32", Shape: []int64{9}}, "it is a meta tensor: it has a shape and no elements"},
		"quantised":   {called("torch._utils", "_rebuild_qtensor", saved("1", "QInt8Storage", 2)+number(0)+two+one+"(ctorch\nper_tensor_affine\n"+number(1)+number(0)+"t\x89}"), weights.Info{DType: "qint8", Shape: []int64{2}}, "save t.dequantize()"},
		"sparse":      {called("torch._utils", "_rebuild_sparse_tensor", layout+"("+plain("LongStorage")+plain("LongStorage")+nine+"\x88t"), weights.Info{DType: "sparse", Shape: []int64{9}}, "save t.to_dense()"},
		"of a future": {called("torch._utils", "_rebuild_nested_tensor", number(1)), weights.Info{DType: "other"}, "it is built by torch._utils._rebuild_nested_tensor, which is not supported"},
		"parameter":   {called("torch._utils", "_rebuild_parameter", typed("complex128")+"\x88}"), weights.Info{DType: "complex128", Shape: []int64{2}}, "complex128"},
	} {
		t.Run(name, func(t *testing.T) {
			f := whole(t, text("x")+c.value)
			assert.Equal(t, []string{"w", "x"}, f.Names())
			info, ok := f.Info("x")
			require.True(t, ok)
			assert.Equal(t, c.info, info)
			_, err := weights.Bytes(f, "x")
			require.ErrorContains(t, err, `pytorch: x.pt: tensor "x": `)
			require.ErrorContains(t, err, c.says)
		})
	}
	f := whole(t, text("x.k")+plain("FloatStorage")+text("x")+"}"+text("k")+plain("FloatStorage")+"s")
	assert.Equal(t, []string{"w", "x.k"}, f.Names())
	_, err := weights.Bytes(f, "x.k")
	require.ErrorContains(t, err, "two tensors have this name")
}

// Tensors that are expanded are written out, as long as all of them together are not too large.
func TestExpanded(t *testing.T) {
	expanded := func(n int) string {
		return tensor(saved("0", "FloatStorage", 2), 1, number(n)+number(2)+"\x86", number(0)+number(0)+"\x86")
	}
	assert.Equal(t, []float32{2, 2, 2, 2, 2, 2}, floats(t, whole(t, text("x")+expanded(3)), "x"))
	f := whole(t, text("x")+expanded(maxRepeated/16)+text("y")+expanded(maxRepeated/16)+text("z")+expanded(1))
	info, _ := f.Info("y")
	assert.Equal(t, int64(maxRepeated/2), info.Bytes)
	_, err := weights.Bytes(f, "z")
	require.NoError(t, err)
	f = whole(t, text("x")+expanded(maxRepeated/16)+text("y")+expanded(maxRepeated/16)+text("z")+expanded(2))
	_, err = weights.Bytes(f, "z")
	require.ErrorContains(t, err, "it repeats elements: 16 bytes from a storage of 8")
	require.ErrorContains(t, err, "save a copy that is not expanded")
	f = open(t, "testdata/expanded.pt")
	for _, name := range f.Names() {
		_, err := weights.Bytes(f, name)
		require.NoError(t, err)
	}
}
