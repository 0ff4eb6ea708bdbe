package data

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

func idx(magic uint32, body []byte, dims ...uint32) []byte {
	out := binary.BigEndian.AppendUint32(nil, magic)
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, body...)
}

func zip(raw []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(raw)
	w.Close()
	return b.Bytes()
}

// files is a small good data set: 3 and 2 pictures of 2×5.
func files() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte": idx(magicImages, bytes.Repeat([]byte{1, 2, 3}, 10), 3, 2, 5),
		"train-labels-idx1-ubyte": idx(magicLabels, []byte{0, 9, 4}, 3),
		"t10k-images-idx3-ubyte":  idx(magicImages, bytes.Repeat([]byte{7, 255}, 10), 2, 2, 5),
		"t10k-labels-idx1-ubyte":  idx(magicLabels, []byte{1, 2}, 2),
	}
}

func writeAll(t *testing.T, files map[string][]byte) string {
	dir := t.TempDir()
	for name, raw := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), raw, 0o666))
	}
	return dir
}

func TestLoadMNISTSpellings(t *testing.T) {
	want, err := LoadMNIST(writeAll(t, files()))
	require.NoError(t, err)
	assert.Equal(t, Split{Images: bytes.Repeat([]byte{1, 2, 3}, 10), Labels: []byte{0, 9, 4}, N: 3, H: 2, W: 5}, want.Train)
	assert.Equal(t, []byte{255, 7, 255, 7, 255, 7, 255, 7, 255, 7}[1:], want.Test.Image(1)[0:9])
	for _, dot := range []bool{false, true} {
		for _, packed := range []bool{false, true} {
			other := map[string][]byte{}
			for name, raw := range files() {
				if dot {
					name = strings.Replace(name, "-idx", ".idx", 1)
				}
				if packed {
					name, raw = name+".gz", zip(raw)
				}
				other[name] = raw
			}
			got, err := LoadMNIST(writeAll(t, other))
			require.NoError(t, err)
			assert.Equal(t, want.Train, got.Train)
			assert.Equal(t, want.Test, got.Test)
		}
	}
	// A browser may unpack a download and keep its name: the content counts.
	odd := files()
	odd["train-labels-idx1-ubyte.gz"] = odd["train-labels-idx1-ubyte"]
	delete(odd, "train-labels-idx1-ubyte")
	_, err = LoadMNIST(writeAll(t, odd))
	assert.NoError(t, err)
}

func TestLoadMNISTRefuses(t *testing.T) {
	huge := uint32(0xffffffff)
	for name, c := range map[string]struct {
		file string
		raw  []byte
		want []string
	}{
		"missing":        {"t10k-labels-idx1-ubyte", nil, []string{"holds no t10k-labels-idx1-ubyte"}},
		"empty":          {"train-images-idx3-ubyte", []byte{}, []string{"train-images-idx3-ubyte", "after 0 of 16 bytes"}},
		"half header":    {"train-images-idx3-ubyte", idx(magicImages, nil, 3), []string{"after 8 of 16 bytes"}},
		"swapped":        {"train-images-idx3-ubyte", files()["train-labels-idx1-ubyte"], []string{"holds labels (2049) where images (2051) are expected"}},
		"text":           {"train-labels-idx1-ubyte", []byte("<html>not found</html>"), []string{"not an idx file of labels", "0x3c68746d"}},
		"float idx":      {"train-images-idx3-ubyte", idx(0x0d03, make([]byte, 120), 3, 2, 5), []string{"idx elements of type 0x0d"}},
		"truncated":      {"train-images-idx3-ubyte", idx(magicImages, make([]byte, 29), 3, 2, 5), []string{"truncated", "promises 30 bytes, 29 are there"}},
		"truncated gz":   {"train-images-idx3-ubyte", zip(idx(magicImages, make([]byte, 29), 3, 2, 5)), []string{"truncated", "30 bytes, 29 are there"}},
		"cut gz":         {"train-images-idx3-ubyte", cut(zip(files()["train-images-idx3-ubyte"]), 9), []string{"broken gzip", "unexpected EOF"}},
		"gz header":      {"train-images-idx3-ubyte", []byte{0x1f, 0x8b, 8}, []string{"broken gzip header", "unexpected EOF"}},
		"gz checksum":    {"train-images-idx3-ubyte", flip(zip(files()["train-images-idx3-ubyte"]), 6), []string{"broken gzip data", "checksum"}},
		"gz then junk":   {"train-images-idx3-ubyte", append(zip(files()["train-images-idx3-ubyte"]), "junk"...), []string{"broken gzip data"}},
		"trailing":       {"train-images-idx3-ubyte", idx(magicImages, make([]byte, 33), 3, 2, 5), []string{"3 bytes follow the 30"}},
		"trailing gz":    {"train-images-idx3-ubyte", zip(idx(magicImages, make([]byte, 33), 3, 2, 5)), []string{"bytes follow the 30"}},
		"lying":          {"train-images-idx3-ubyte", idx(magicImages, make([]byte, 30), 30_000, 200, 200), []string{"1200000000 bytes, 30 are there"}},
		"lying gz":       {"train-images-idx3-ubyte", zip(idx(magicImages, make([]byte, 30), 30_000, 200, 200)), []string{"which a gzip file of", "cannot hold"}},
		"overflow":       {"train-images-idx3-ubyte", idx(magicImages, make([]byte, 30), huge, huge, huge), []string{"claims more than"}},
		"no pictures":    {"train-images-idx3-ubyte", idx(magicImages, nil, 0, 28, 28), []string{"dim 0", "is 0"}},
		"no columns":     {"train-images-idx3-ubyte", idx(magicImages, nil, 3, 28, 0), []string{"dim 2", "is 0"}},
		"count mismatch": {"train-labels-idx1-ubyte", idx(magicLabels, []byte{1, 2}, 2), []string{"train-labels", "2 labels for the 3 pictures"}},
		"big label":      {"train-labels-idx1-ubyte", idx(magicLabels, []byte{1, 10, 2}, 3), []string{"train-labels", "label 1 is 10, outside 0..9"}},
		"sizes differ":   {"t10k-images-idx3-ubyte", idx(magicImages, make([]byte, 20), 2, 5, 2), []string{"2×5", "5×2"}},
	} {
		t.Run(name, func(t *testing.T) {
			set := files()
			if set[c.file] = c.raw; c.raw == nil {
				delete(set, c.file)
			}
			dir := writeAll(t, set)
			_, err := LoadMNIST(dir)
			var fe *FileError
			require.ErrorAs(t, err, &fe)
			for _, w := range append(c.want, dir, "; ") {
				assert.ErrorContains(t, err, w)
			}
			assert.NotEmpty(t, fe.Remedy)
		})
	}
}

func cut(b []byte, n int) []byte { return b[:len(b)-n] }

func flip(b []byte, fromEnd int) []byte {
	b[len(b)-fromEnd] ^= 1
	return b
}

func TestLoadMNISTBadFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := LoadMNIST(dir)
	assert.ErrorContains(t, err, "holds no train-images-idx3-ubyte")
	_, err = LoadMNIST(filepath.Join(dir, "nowhere"))
	assert.ErrorContains(t, err, "no such folder")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	_, err = LoadMNIST(file)
	assert.ErrorContains(t, err, "is a file, not a folder")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "train-images-idx3-ubyte"), 0o777))
	_, err = LoadMNIST(dir)
	assert.ErrorContains(t, err, "is not a regular file")
}

func TestRealMNIST(t *testing.T) {
	set, err := LoadMNIST(need.Data(t, "mnist"))
	require.NoError(t, err)
	assert.Equal(t, []int{60_000, 28, 28}, []int{set.Train.N, set.Train.H, set.Train.W})
	assert.Equal(t, []int{10_000, 28, 28}, []int{set.Test.N, set.Test.H, set.Test.W})
	assert.Equal(t, []byte{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
	sum := 0.0
	for _, p := range set.Train.Images {
		sum += float64(p)
	}
	assert.InDelta(t, 0.13066, sum/255/float64(len(set.Train.Images)), 1e-5)
}

func FuzzIDX(f *testing.F) {
	for _, raw := range files() {
		f.Add(raw, true)
		f.Add(zip(raw), false)
	}
	f.Add(idx(magicImages, make([]byte, 30), 30_000, 200, 200), true)
	f.Fuzz(func(t *testing.T, raw []byte, images bool) {
		magic := uint32(magicLabels)
		if images {
			magic = magicImages
		}
		dims, body, err := readIDX("fuzz", bytes.NewReader(raw), int64(len(raw)), magic)
		if err != nil {
			assert.Nil(t, body)
			return
		}
		n := 1
		for _, d := range dims {
			n *= d
		}
		assert.Len(t, body, n)
	})
}
