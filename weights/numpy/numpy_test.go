package numpy

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/weights"
)

func open(t *testing.T, name string) *File {
	f, err := Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func floats(t *testing.T, f *File, name string) []float32 {
	raw, err := weights.Bytes(f, name)
	require.NoError(t, err)
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// Files that NumPy wrote: both orders, stored and deflated.
func TestRead(t *testing.T) {
	for name, want := range map[string][]string{"plain.npz": {"a", "f", "s", "b", "e", "h"}, "packed.npz": {"a", "f", "z"}} {
		f := open(t, name)
		assert.Equal(t, want, f.Names())
		for _, array := range []string{"a", "f"} {
			info, ok := f.Info(array)
			require.True(t, ok)
			assert.Equal(t, weights.Info{DType: "F32", Shape: []int64{2, 3}, Bytes: 24}, info)
			assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, floats(t, f, array))
			data, err := f.Data(array)
			require.NoError(t, err)
			p := make([]byte, 4)
			_, err = data.ReadAt(p, 12)
			require.NoError(t, err)
			assert.Equal(t, float32(3), math.Float32frombits(binary.LittleEndian.Uint32(p)))
		}
		assert.Nil(t, f.Metadata())
	}
	f := open(t, "plain.npz")
	info, _ := f.Info("s")
	assert.Equal(t, weights.Info{DType: "I64", Shape: []int64{}, Bytes: 8}, info)
	info, _ = f.Info("e")
	assert.Equal(t, weights.Info{DType: "F64", Shape: []int64{0, 4}}, info)
	raw, err := weights.Bytes(f, "b")
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 0}, raw)
	raw, err = weights.Bytes(open(t, "packed.npz"), "z")
	require.NoError(t, err)
	assert.Equal(t, make([]byte, 40000), raw)

	f = open(t, "cube.npy")
	raw, err = weights.Bytes(f, "cube")
	require.NoError(t, err)
	for i := range 24 {
		assert.Equal(t, uint32(i), binary.LittleEndian.Uint32(raw[4*i:]))
	}
	_, err = f.Data("none")
	require.ErrorContains(t, err, `tensor "none": not among the 1 tensors`)
	for name, want := range map[string]string{"big.npy": "big-endian", "objects.npy": "nothing is executed", "records.npy": "records"} {
		_, err := Open(filepath.Join("testdata", name))
		assert.ErrorContains(t, err, want)
	}
}

// npy is a file of a header and n bytes.
func npy(header string, n int) []byte {
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(header)))
	return append(append(out, header...), make([]byte, n)...)
}

func npz(method uint16, entries ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: entries[i], Method: method})
		w.Write([]byte(entries[i+1]))
	}
	z.Close()
	return b.Bytes()
}

func parseBytes(raw []byte) (*File, error) {
	return Parse("x.npy", bytes.NewReader(raw), int64(len(raw)))
}

func liars() map[string]struct {
	raw  []byte
	want string
} {
	header := func(descr, shape string) string {
		return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }\n"
	}
	good := string(npy(header("'<f4'", "(2,)"), 8))
	bomb := npz(zip.Deflate, "a.npy", good)
	at := bytes.Index(bomb, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(bomb[at+24:], 1<<31) // unpacked size in the directory
	return map[string]struct {
		raw  []byte
		want string
	}{
		"empty":         {nil, "truncated: 0 bytes"},
		"magic":         {make([]byte, 100), "it begins with"},
		"version":       {[]byte(magic + "\x09\x00\x10\x00"), "version 9"},
		"long header":   {[]byte(magic + "\x02\x00\xff\xff\xff\xff"), "a header of 4294967295 bytes"},
		"no dict":       {npy("hello", 0), `"hello" where "{" belongs`},
		"field":         {npy("{'colour': 1}", 0), `unknown field "colour"`},
		"twice":         {npy("{'descr': '<f4', 'descr': '<f4'}", 0), `"descr" occurs twice`},
		"missing":       {npy("{'descr': '<f4'}", 0), "belong into it"},
		"type":          {npy(header("'<f3'", "(2,)"), 8), `type "<f3" is not read`},
		"order":         {npy(header("'!f4'", "(2,)"), 8), `type "!f4" is not read`},
		"text type":     {npy(header("'<U4'", "(2,)"), 8), `type "<U4" is not read`},
		"short type":    {npy(header("'<'", "(2,)"), 8), "is not read"},
		"records":       {npy(header("[('x', '<f4')]", "(2,)"), 8), "records"},
		"truncated":     {npy(header("'<f4'", "(3,)"), 8), "takes 12 bytes, and 8 are there"},
		"more":          {npy(header("'<f4'", "(1,)"), 8), "takes 4 bytes, and 8 are there"},
		"overflow":      {npy(header("'<f8'", "(4294967296, 4294967296)"), 8), "overflows"},
		"negative":      {npy(header("'<f4'", "(-2,)"), 8), "is no size"},
		"huge":          {npy(header("'<f4'", "(99999999999999999999,)"), 8), "is no size"},
		"rank":          {npy(header("'<f4'", "("+strings.Repeat("1,", 65)+")"), 4), "one too many"},
		"junk":          {npy(header("'<f4'", "(2,)")+"x", 8), "follows the dict"},
		"escape":        {npy(header(`'<\x664'`, "(2,)"), 8), "where a text belongs"},
		"open text":     {npy("{'descr", 8), "where a text belongs"},
		"no npy":        {npz(zip.Store, "a.txt", good), `entry "a.txt": is no .npy file`},
		"twice in zip":  {npz(zip.Store, "a.npy", good, "a.npy", good), `entry "a.npy" occurs twice`},
		"bad in zip":    {npz(zip.Deflate, "a.npy", "hello"), `entry "a.npy": bad array: truncated`},
		"bomb":          {bomb, "bytes cannot come of"},
		"long for less": {npz(zip.Deflate, "a.npy", string(npy(header("'<f4'", "(1000000,)"), 8))), "takes 4000000 bytes, and 8 are there"},
	}
}

// What is unpacked and put in order at its first reading is so once, whoever reads.
func TestReadByManyGoroutines(t *testing.T) {
	f := open(t, "packed.npz")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, array := range []string{"a", "f"} {
				raw, err := weights.Bytes(f, array)
				assert.NoError(t, err)
				var got []float32
				for ; len(raw) > 0; raw = raw[4:] {
					got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
				}
				assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, got)
			}
		})
	}
	all.Wait()
}

func TestLiars(t *testing.T) {
	for name, c := range liars() {
		t.Run(name, func(t *testing.T) {
			_, err := parseBytes(c.raw)
			var e *weights.Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "numpy: x.npy: ")
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 400)
		})
	}
}

// What was changed after it was compressed is found when it is read.
func TestChecksum(t *testing.T) {
	raw := npz(zip.Store, "a.npy", string(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }", 9)))
	packed, err := os.ReadFile(filepath.Join("testdata", "packed.npz"))
	require.NoError(t, err)
	_, err = parseBytes(raw)
	require.NoError(t, err)
	at := bytes.Index(packed, []byte("PK\x01\x02"))
	packed[at+16] ^= 1 // the checksum of the first array in the directory
	f, err := parseBytes(packed)
	require.NoError(t, err)
	_, err = weights.Bytes(f, "a")
	require.ErrorIs(t, err, zip.ErrChecksum)
}

// A small file does not become gigabytes: what its compressed arrays take together is bounded before any of it is unpacked.
func TestBomb(t *testing.T) {
	noise := make([]byte, 2500000)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	bomb := func(count int) []byte { // of arrays of 2 GiB, as the file says
		var entries []string
		for i := range count {
			entries = append(entries, fmt.Sprint("a", i, ".npy"), string(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (536870880,), }", 0))+string(noise))
		}
		raw := npz(zip.Deflate, entries...)
		for at := 0; ; at += 4 {
			next := bytes.Index(raw[at:], []byte("PK\x01\x02"))
			if next < 0 {
				return raw
			}
			at += next
			binary.LittleEndian.PutUint32(raw[at+24:], uint32(len(entries[1])-len(noise)+4*536870880))
		}
	}
	f, err := parseBytes(bomb(1))
	require.NoError(t, err)
	_, err = f.Data("a0")
	require.ErrorContains(t, err, `numpy: x.npy: tensor "a0": its 25`)
	require.ErrorContains(t, err, "bytes are 2147483")
	require.ErrorContains(t, err, "save it with numpy.savez")
	f, err = parseBytes(bomb(5)) // 12.5 MB may become 2.3 GB
	require.NoError(t, err)
	_, err = f.Data("a0")
	require.NoError(t, err)
	_, err = f.Data("a1")
	require.ErrorContains(t, err, "are unpacked at most")
}

func FuzzParse(f *testing.F) {
	for _, c := range liars() {
		f.Add(c.raw)
	}
	for _, name := range []string{"plain.npz", "packed.npz", "cube.npy"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := parseBytes(raw)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			info, ok := file.Info(name)
			require.True(t, ok)
			require.LessOrEqual(t, info.Bytes, 1100*int64(len(raw)))
			weights.Bytes(file, name) // the bytes may not be what they should
		}
	})
}
