package pytorch

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights"
)

func floats(t *testing.T, f *File, name string) []float32 {
	raw, err := weights.Bytes(f, name)
	require.NoError(t, err)
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

func open(t *testing.T, path string) *File {
	f, err := Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// Both formats, as PyTorch 2 writes them: views that are not contiguous, many types, parameters, nesting.
func TestBothFormats(t *testing.T) {
	for _, name := range []string{"zip.pt", "legacy.pt"} {
		f := open(t, filepath.Join("testdata", name))
		assert.Equal(t, []string{"model.a", "model.t", "model.cut", "model.row", "model.bf", "model.h", "model.i", "model.b", "model.s", "model.e",
			"model.u8", "list.0", "list.1.0", "5"}, f.Names())
		assert.Equal(t, map[string]string{"epoch": "3", "lr": "0.5", "name": "net", "flag": "true"}, f.Metadata())
		a := floats(t, f, "model.a")
		require.Len(t, a, 24)
		for i, x := range a {
			assert.Equal(t, float32(i), x)
		}
		assert.Equal(t, []float32{0, 6, 12, 18, 1, 7, 13, 19}, floats(t, f, "model.t")[:8])
		assert.Equal(t, []float32{6, 8, 10, 12, 14, 16}, floats(t, f, "model.cut"))
		assert.Equal(t, []float32{12, 13, 14, 15, 16, 17}, floats(t, f, "model.row"))
		assert.Equal(t, []float32{7, 8}, floats(t, f, "list.0"))
		for tensor, want := range map[string]weights.Info{
			"model.t": {DType: "F32", Shape: []int64{6, 4}, Bytes: 96}, "model.bf": {DType: "BF16", Shape: []int64{3}, Bytes: 6},
			"model.h": {DType: "F16", Shape: []int64{1, 1}, Bytes: 2}, "model.i": {DType: "I64", Shape: []int64{2}, Bytes: 16},
			"model.b": {DType: "BOOL", Shape: []int64{2}, Bytes: 2}, "model.s": {DType: "F64", Shape: []int64{}, Bytes: 8},
			"model.e": {DType: "F32", Shape: []int64{0, 3}}, "list.1.0": {DType: "I32", Shape: []int64{1}, Bytes: 4}, "5": {DType: "I8", Shape: []int64{1}, Bytes: 1},
		} {
			info, ok := f.Info(tensor)
			require.True(t, ok)
			assert.Equal(t, want, info, tensor)
			_, err := weights.Bytes(f, tensor)
			require.NoError(t, err, tensor)
		}
		raw, err := weights.Bytes(f, "model.i")
		require.NoError(t, err)
		assert.Equal(t, uint64(1<<40), binary.LittleEndian.Uint64(raw[8:]))
		raw, err = weights.Bytes(f, "model.bf")
		require.NoError(t, err)
		assert.Equal(t, []byte{0xc0, 0x3f, 0, 0xc0, 0x80, 0x7f}, raw)
		_, err = weights.Bytes(f, "none")
		require.ErrorContains(t, err, `tensor "none": not among the 14 tensors`)
	}
	for _, name := range []string{"newer.pt", "proto4.pt"} {
		f := open(t, filepath.Join("testdata", name))
		info, _ := f.Info("f8")
		assert.Equal(t, weights.Info{DType: "F8_E4M3", Shape: []int64{2}, Bytes: 2}, info)
		raw, err := weights.Bytes(f, "u16")
		require.NoError(t, err)
		assert.Equal(t, []byte{1, 0, 255, 255}, raw)
	}
	assert.Equal(t, []float32{1, 2, 3}, floats(t, open(t, "testdata/one.pt"), "tensor"))
	adam := open(t, "testdata/adam.pt")
	assert.Contains(t, adam.Names(), "optimizer.state.0.exp_avg")
	assert.Equal(t, "0.999", adam.Metadata()["optimizer.param_groups.0.betas.1"])
}

func TestRecordedWeights(t *testing.T) {
	f := open(t, need.Data(t, "models", "mnist-cnn-weights", "mnist.pt"))
	list, err := os.ReadFile(need.Data(t, "models", "mnist-cnn-weights", "tensors.tsv"))
	require.NoError(t, err)
	seen := 0
	for line := range strings.Lines(string(list)) {
		col := strings.Split(strings.TrimSpace(line), "\t")
		if col[0] != "mnist.pt" {
			continue
		}
		seen++
		raw, err := weights.Bytes(f, col[1])
		require.NoError(t, err)
		sum := sha256.Sum256(raw)
		assert.Equal(t, col[4], hex.EncodeToString(sum[:]), col[1])
	}
	assert.Equal(t, 20, seen)
	assert.Len(t, f.Names(), 20)
}

func parse(raw []byte) (*File, error) { return Parse("x.pt", bytes.NewReader(raw), int64(len(raw))) }

// archive is a zip file of data.pkl and other entries.
func archive(pickle string, entries ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	put := func(name, data string) {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		w.Write([]byte(data))
	}
	put("m/data.pkl", pickle)
	for i := 0; i < len(entries); i += 2 {
		put(entries[i], entries[i+1])
	}
	z.Close()
	return b.Bytes()
}

// Pieces of pickles.
func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func saved(key, class string, count int) string {
	return "(" + text("storage") + "ctorch\n" + class + "\n" + text(key) + text("cpu") + number(count) + "tQ"
}

func number(n int) string { return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }

func tensor(storage string, offset int, shape, strides string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + shape + strides + "\x89ccollections\nOrderedDict\n)RtR"
}

// seen is a tensor of which key is said behind its hooks; of "" there is no dict.
func seen(key, value string) string {
	said := "}" + text(key) + value + "s"
	if key == "" {
		said = text("x")
	}
	one := number(1) + "\x85"
	return "ctorch._utils\n_rebuild_tensor_v2\n(" + saved("0", "FloatStorage", 2) + number(0) + one + one + "\x89}" + said + "tR"
}

func pickle(body string) string { return "\x80\x02" + body + "." }

// liars are files that claim what is not so, or ask for what is not given.
func liars() map[string]struct {
	raw  []byte
	want string
} {
	const data = "m/data/0"
	eight := strings.Repeat("\x00", 8)
	w := func(body string) []byte { return archive(pickle("}"+text("w")+body+"s"), data, eight) }
	two := number(2) + "\x85"
	one := number(1) + "\x85"
	f32 := saved("0", "FloatStorage", 2)
	huge := "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x40\x85" // 1 << 62
	deep := strings.Repeat("(", 200) + tensor(f32, 0, two, one) + strings.Repeat("t", 200)
	doubling := tensor(f32, 0, two, one) + "q\x000"
	for i := range 40 {
		doubling += "(h" + string(rune(i)) + "h" + string(rune(i)) + "tq" + string(rune(i+1)) + "0"
	}
	doubling += "h\x28"
	again := "](" + strings.Repeat("("+text("a")+number(1)+"t", 50) + "eq\x010" + "}("
	for i := range 100 {
		again += number(i) + "ccollections\nOrderedDict\nh\x01\x85R"
	}
	again += "u"
	flipped := archive(pickle(tensor(f32, 0, two, one)), data, eight)
	return map[string]struct {
		raw  []byte
		want string
	}{
		"empty":             {nil, "truncated: 0 bytes"},
		"neither":           {[]byte("hello world"), "neither a zip file nor a pickle"},
		"broken zip":        {[]byte("PK\x03\x04 and no more"), "bad zip file"},
		"two pickles":       {archive(pickle("}"), "n/data.pkl", "."), "2 entries named data.pkl"},
		"program":           {archive(pickle("}"), "m/constants.pkl", "."), "a model of torch.jit"},
		"big-endian":        {archive(pickle("}"), "m/byteorder", "big"), `m/byteorder: is "big"; only little-endian`},
		"entry twice":       {archive(pickle("}"), data, "a", data, "b"), `entry "m/data/0" occurs twice`},
		"cut pickle":        {archive("\x80\x02}"), "truncated"},
		"gadget":            {archive(pickle("cos\nsystem\n" + text("true") + "\x85R")), `the file asks for "os.system"`},
		"gadget by stack":   {archive("\x80\x04" + "\x8c\x05posix\x8c\x06system\x93" + "\x8c\x04true\x85R."), `asks for "posix.system"`},
		"builtins eval":     {archive(pickle("c__builtin__\neval\n" + text("1") + "\x85R")), `asks for "__builtin__.eval"`},
		"instance":          {archive(pickle("(" + text("x") + "ios\nsystem\n")), "opcode 0x69"},
		"object":            {archive(pickle("(cos\nsystem\no")), `asks for "os.system"`},
		"extension":         {archive(pickle("\x82\x01")), "opcode 0x82"},
		"new of a type":     {archive(pickle("ctorch\nfloat32\n)\x81")), "the file calls torch.float32"},
		"protocol 0":        {archive("\x80\x00."), "protocol 0; 2 to 5 are read"},
		"empty stack":       {archive("\x80\x02t."), "no mark on the stack"},
		"left over":         {archive("\x80\x02NN."), "1 values are left over"},
		"forgotten":         {archive(pickle("h\x05")), "value 5 was not remembered"},
		"odd items":         {archive(pickle("}(" + text("k") + "u")), "a key without a value"},
		"not UTF-8":         {archive(pickle("U\x01\xff")), "not valid UTF-8"},
		"deep":              {archive(pickle(deep), data, eight), "lies deeper than 64"},
		"doubling":          {archive(pickle(doubling), data, eight), `two tensors|so many places`},
		"again and again":   {archive(pickle(again)), "called with the same items again and again"},
		"no tensors":        {archive(pickle("}")), "holds a dict without tensors"},
		"not a storage":     {w("(" + text("module") + "NNNNtQ"), "a persistent name that is not that of a storage"},
		"storage class":     {w(tensor("("+text("storage")+"ccollections\nOrderedDict\n"+text("0")+text("cpu")+number(2)+"tQ", 0, two, one)), "as the class of a storage"},
		"no storage":        {w(tensor(saved("7", "FloatStorage", 2), 0, two, one)), `tensor "w": its storage "7" is not in the file`},
		"storage too large": {w(tensor(saved("0", "FloatStorage", 3), 0, two, one)), `its storage "0" should have 3 elements and has 8 bytes`},
		"two widths":        {archive(pickle("}("+text("v")+tensor(f32, 0, two, one)+text("w")+tensor(saved("0", "LongStorage", 1), 0, one, one)+"u"), data, eight), "has elements of 4 and of 8 bytes"},
		"beyond":            {w(tensor(f32, 1, two, one)), "its last element is number 2 of a storage of 2"},
		"negative offset":   {w(tensor(f32, -1, two, one)), "begins 1 elements before its storage"},
		"negative stride":   {w(tensor(f32, 0, two, number(-1)+"\x85")), "strides: size 0 is an integer, not a number from 0 on"},
		"huge stride":       {w(tensor(f32, 0, two, huge)), "its last element is number"},
		"overflow":          {w(tensor(f32, 0, huge, huge)), "overflows"},
		"dims and strides":  {w(tensor(f32, 0, two, number(1)+number(1)+"\x86")), "1 dims and 2 strides"},
		"shape of texts":    {w(tensor(f32, 0, text("a")+"\x85", one)), "size 0 is a text"},
		"seen as a number":  {w(seen("neg", number(1))), `"neg" is an integer, not a bool`},
		"seen as what":      {w(seen("", "")), "a text for what is done to a tensor that is read"},
		"compressed":        {compressed(), "is compressed (method 8)"},
		"legacy magic":      {[]byte(pickle("K\x01")), "magic number: is not that of torch.save"},
		"cut zip":           {flipped[:len(flipped)-30], "bad zip file"},
		"legacy cut":        {[]byte(pickle("\x8a\x0a" + string(legacyMagic))), "version: at byte 15"},
	}
}

func compressed() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, _ := z.Create("m/data.pkl")
	w.Write([]byte(pickle("}")))
	z.Close()
	return b.Bytes()
}

func TestLiars(t *testing.T) {
	for name, c := range liars() {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.raw)
			var e *weights.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "pytorch: x.pt: ")
			assert.Regexp(t, pattern(c.want), err.Error())
			assert.Less(t, len(err.Error()), 400)
		})
	}
	_, err := Open("testdata/module.pt")
	assert.ErrorContains(t, err, "save its state_dict()")
	_, err = Open("testdata/none.pt")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// pattern quotes all but |.
func pattern(s string) string {
	r := strings.NewReplacer("(", `\(`, ")", `\)`, ".", `\.`, "[", `\[`, "]", `\]`, "^", `\^`)
	return r.Replace(s)
}

// Entries that share bytes.
func TestOverlappingEntries(t *testing.T) {
	raw := archive(pickle("}"), "m/data/0", "aaaaaaaa", "m/data/1", "bbbbbbbb")
	// The second storage's record in the directory points to the first one's header.
	at := bytes.LastIndex(raw, []byte("m/data/1")) - 46
	first := bytes.LastIndex(raw, []byte("m/data/0")) - 46
	copy(raw[at+42:at+46], raw[first+42:first+46])
	_, err := parse(raw)
	require.ErrorContains(t, err, "shares bytes with another")
}

func FuzzParse(f *testing.F) {
	for _, c := range liars() {
		f.Add(c.raw)
	}
	for _, name := range []string{"zip.pt", "legacy.pt", "newer.pt", "proto4.pt", "adam.pt"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parse(raw)
		if err != nil {
			return
		}
		file.Metadata()
		for _, name := range file.Names() {
			info, ok := file.Info(name)
			require.True(t, ok)
			require.LessOrEqual(t, info.Bytes, int64(max(len(raw), maxRepeated)))
			if file.unread[name] != "" || info.Bytes > 1<<20 {
				continue
			}
			_, err := weights.Bytes(file, name)
			require.NoError(t, err)
		}
	})
}

// FuzzPickle is FuzzParse without a zip file around: it changes the program itself.
func FuzzPickle(f *testing.F) {
	for _, name := range []string{"zip.pt", "newer.pt", "proto4.pt", "adam.pt"} {
		z, err := zip.OpenReader(filepath.Join("testdata", name))
		require.NoError(f, err)
		for _, e := range z.File {
			if strings.HasSuffix(e.Name, "data.pkl") {
				r, err := e.Open()
				require.NoError(f, err)
				var b bytes.Buffer
				b.ReadFrom(r)
				f.Add(b.Bytes())
			}
		}
		z.Close()
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parse(archive(string(raw), "m/data/0", strings.Repeat("x", 96), "m/data/1", strings.Repeat("y", 16)))
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			if info, _ := file.Info(name); file.unread[name] != "" || info.Bytes > 1<<20 {
				continue
			}
			_, err := weights.Bytes(file, name)
			require.NoError(t, err)
		}
	})
}
