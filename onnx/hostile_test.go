package onnx

import (
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// simple is a graph of these nodes that takes x and gives y.
func simple(nodes ...message) message {
	return graphMsg(nodes, nil, msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))
}

func withInit(t message) []byte {
	g := graphMsg(msgs(nodeMsg("Add", list("x", "w"), list("y"))), msgs(t), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))
	return modelMsg(g)
}

func outside(entries ...string) message {
	m := message{}.num(1, 2).num(2, int64(Float32)).text(8, "w").num(14, 1)
	for i := 0; i < len(entries); i += 2 {
		m = m.add(13, message{}.text(1, entries[i]).text(2, entries[i+1]))
	}
	return m
}

func nested(depth int) message {
	g := simple(nodeMsg("Relu", list("x"), list("y")))
	for range depth {
		g = graphMsg(msgs(nodeMsg("If", list("c"), list("y"), graphAttr("then_branch", g), graphAttr("else_branch", g[:0:0]))), nil, nil, nil)
	}
	return g
}

func functionMsg(name string, nodes ...message) message {
	return message{}.text(1, name).text(4, "a").text(5, "b").add(7, nodes...).add(9, message{}.text(1, "").num(2, 18)).text(10, "own")
}

func inDomain(node message, domain string) message { return node.text(7, domain) }

// liars are files that lie, and what their errors say.
func liars() map[string]struct {
	file []byte
	says []string
} {
	relu := nodeMsg("Relu", list("x"), list("y"))
	good := modelMsg(simple(relu))
	type liar = struct {
		file []byte
		says []string
	}
	return map[string]liar{
		"nothing":            {nil, list("no graph")},
		"text":               {[]byte("<!DOCTYPE html><html></html>"), list("field")},
		"cut off":            {good[:len(good)-3], list("field 8", "4 bytes")},
		"a long number":      {[]byte("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), list("64 bits")},
		"a group":            {[]byte{0x0b, 0x01}, list("kind 3")},
		"field 0":            {[]byte{0x02, 0x01, 0x00}, list("no field 0")},
		"more than is there": {[]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f}, list("4294967295 bytes")},
		"two graphs":         {message(good).add(7, simple(relu)), list("two graphs")},
		"a number as graph":  {message{}.num(7, 1), list("graph", "number")},
		"graphs in graphs":   {modelMsg(nested(100)), list("graph", "deep")},
		"a circle": {modelMsg(simple(nodeMsg("Add", list("x", "b"), list("a")), nodeMsg("Relu", list("a"), list("b")),
			nodeMsg("Relu", list("b"), list("y")))), list("node 0", "Add", `"b"`, "circle")},
		"reads itself":       {modelMsg(simple(nodeMsg("Add", list("x", "y"), list("y")))), list("node 0", `"y"`)},
		"a name twice":       {modelMsg(simple(relu, relu)), list("node 1", "Relu", `"y"`, "twice")},
		"an input twice":     {modelMsg(graphMsg(nil, nil, msgs(portMsg("x", Float32), portMsg("x", Float32)), nil)), list(`"x"`, "twice")},
		"no output":          {modelMsg(simple(nodeMsg("Relu", list("x"), list("z")))), list(`"y"`, "nothing gives")},
		"an attribute twice": {modelMsg(simple(nodeMsg("Softmax", list("x"), list("y"), intAttr("axis", 0), intAttr("axis", 1)))), list(`"axis"`, "twice")},
		"no value":           {modelMsg(simple(nodeMsg("Constant", nil, list("y"), message{}.text(1, "value").num(20, 4)))), list("Constant", `"value"`, "not there")},
		"a function of itself": {modelMsg(simple(inDomain(nodeMsg("F", list("x"), list("y")), "own")),
			functionMsg("F", inDomain(nodeMsg("F", list("a"), list("b")), "own"))), list(`"F"`, "calls itself")},
		"functions in a ring": {modelMsg(simple(inDomain(nodeMsg("F", list("x"), list("y")), "own")),
			functionMsg("F", inDomain(nodeMsg("G", list("a"), list("b")), "own")),
			functionMsg("G", inDomain(nodeMsg("F", list("a"), list("b")), "own"))), list(`"F"`, "calls itself")},
		"a function twice": {modelMsg(simple(relu), functionMsg("F", nodeMsg("Relu", list("a"), list("b"))),
			functionMsg("F", nodeMsg("Relu", list("a"), list("b")))), list(`"F"`, "twice")},
		"operators of the future": {message{}.num(1, 9).add(7, simple(relu)).add(8, message{}.num(2, 900)), list("version 900")},
		"unknown operators": {modelMsg(simple(nodeMsg("Frobnicate", list("x"), list("a")), inDomain(nodeMsg("Twist", list("a"), list("b")), "my.own"),
			nodeMsg("Frobnicate", list("b"), list("y")))), list("Frobnicate", "2 nodes", `"the Frobnicate"`, "Twist", "my.own")},
		"sizes overflow":    {withInit(tensorMsg("w", Float32, nil, 1<<31-1, 1<<31-1, 1<<31-1, 1<<31-1)), list(`"w"`, "memory")},
		"a negative size":   {withInit(tensorMsg("w", Float32, nil, -4)), list(`"w"`, "-4")},
		"a size of 2^40":    {withInit(tensorMsg("w", Float32, nil, 1<<40)), list(`"w"`, "axis 0")},
		"a gigabyte in 8":   {withInit(tensorMsg("w", Float32, make([]byte, 8), 1<<28)), list(`"w"`, "8 bytes", "1073741824")},
		"too few":           {withInit(tensorMsg("w", Float32, make([]byte, 7), 2)), list(`"w"`, "7 bytes")},
		"100 axes":          {withInit(tensorMsg("w", Float32, nil, make([]int64, 100)...)), list("100 axes")},
		"type 99":           {withInit(tensorMsg("w", 99, nil, 0)), list(`"w"`, "type 99")},
		"complex":           {withInit(tensorMsg("w", Complex64, nil, 0)), list(`"w"`, "complex64")},
		"strings missing":   {withInit(message{}.num(1, 3).num(2, int64(String)).text(8, "w").text(6, "a")), list(`"w"`, "1 strings")},
		"segments":          {withInit(tensorMsg("w", Float32, nil, 0).add(3, message{}.num(1, 0))), list(`"w"`, "segments")},
		"a weight twice":    {modelMsg(graphMsg(nil, msgs(floatsMsg("w", 1), floatsMsg("w", 2)), nil, nil)), list(`"w"`, "twice")},
		"out of the folder": {withInit(outside("location", "../secret")), list(`"w"`, "../secret", "folder")},
		"from the root":     {withInit(outside("location", "/etc/passwd")), list(`"w"`, "/etc/passwd", "folder")},
		"backslashes":       {withInit(outside("location", `..\secret`)), list(`"w"`, "secret", "folder")},
		"no such file":      {withInit(outside("location", "gone.bin")), list(`"w"`, "gone.bin")},
		"a folder":          {withInit(outside("location", "dir")), list(`"w"`, "dir")},
		"behind the end":    {withInit(outside("location", "w.bin", "offset", "5")), list(`"w"`, "w.bin", "8 bytes")},
		"an offset of 2^63": {withInit(outside("location", "w.bin", "offset", "9223372036854775807")), list(`"w"`, "from byte 9223372036854775807 of \"w.bin\"")},
		"a negative offset": {withInit(outside("location", "w.bin", "offset", "-1")), list(`"w"`, "offset")},
		"another length":    {withInit(outside("location", "w.bin", "length", "4")), list(`"w"`, "4 bytes")},
		"a sparse place": {modelMsg(graphMsg(nil, nil, nil, nil).add(15, message{}.add(1, floatsMsg("s", 1)).add(2, intsMsg("i", 9)).num(3, 4))),
			list(`"s"`, "9 of 4")},
		"a sparse terabyte": {modelMsg(graphMsg(nil, nil, nil, nil).add(15, message{}.add(1, floatsMsg("s", 1)).add(2, intsMsg("i", 9)).num(3, 1<<30).num(3, 64))),
			list(`"s"`, "elements")},
	}
}

var beside = fstest.MapFS{"w.bin": {Data: make([]byte, 8)}, "dir/f": {Data: nil}}

func TestLiars(t *testing.T) {
	for name, l := range liars() {
		_, err := Read(l.file, Options{Name: "liar.onnx", External: beside})
		require.Error(t, err, name)
		for _, s := range append(l.says, "liar.onnx") {
			require.True(t, strings.Contains(err.Error(), s), "%s: %q is not in: %v", name, s, err)
		}
	}
}

// What is no file of a certain size is not read: a pipe would wait, and a device may never end.
func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorContains(t, err, dir+": is not a regular file")
	if goruntime.GOOS == "windows" {
		return // its pipes are no files
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, exec.Command("mkfifo", pipe).Run())
	_, err = Open(pipe)
	require.ErrorContains(t, err, pipe+": is not a regular file")
	path := filepath.Join(dir, "model.onnx")
	require.NoError(t, os.WriteFile(path, withInit(outside("location", "pipe")), 0o600))
	_, err = Open(path)
	require.ErrorContains(t, err, `its data lie in "pipe", which is no ordinary file`)
}

// FuzzRead reads whatever comes: it gives an error or a model.
func FuzzRead(f *testing.F) {
	f.Add(modelMsg(simple(nodeMsg("Relu", list("x"), list("y")))))
	for _, l := range liars() {
		f.Add(l.file)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(b, Options{External: beside})
		if err == nil {
			_ = m.Ops()
		}
		if v, err := ReadTensor(b); err == nil && v.elem != String {
			require.Equal(t, count(v.shape)*v.elem.DType().Size(), len(v.raw))
		}
		_, _ = ReadValue(b, &Type{Kind: IsSequence})
	})
}
