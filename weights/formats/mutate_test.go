package formats

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
	"github.com/weft-ml/weft/weights/llama2c"
	"github.com/weft-ml/weft/weights/numpy"
	"github.com/weft-ml/weft/weights/pytorch"
)

// sample is a file that is right, and its reader.
type sample struct {
	name  string
	raw   []byte
	parse func(raw []byte) (weights.File, error)
}

func samples(t *testing.T) []sample {
	file := func(elem ...string) []byte {
		raw, err := os.ReadFile(filepath.Join(elem...))
		require.NoError(t, err)
		return raw
	}
	np := func(raw []byte) (weights.File, error) {
		return opened(numpy.Parse("x", bytes.NewReader(raw), int64(len(raw))))
	}
	pt := func(raw []byte) (weights.File, error) {
		return opened(pytorch.Parse("x", bytes.NewReader(raw), int64(len(raw))))
	}
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, safetensors.Write(path, []safetensors.Entry{{Name: "a", DType: "F32", Shape: []int64{3}, Data: make([]byte, 12)},
		{Name: "b", DType: "U8", Shape: []int64{2, 2}, Data: make([]byte, 4)}}, map[string]string{"k": "v"}))
	checkpoint := []byte{4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0}
	checkpoint = append(checkpoint, make([]byte, 4*(20+2*92+4+6))...)
	return []sample{
		{"gguf", ggufSample(), func(raw []byte) (weights.File, error) {
			f, err := gguf.Parse("x", bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				return nil, err
			}
			return f.Unpacked(), nil
		}},
		{"zip.pt", file("..", "pytorch", "testdata", "zip.pt"), pt}, {"legacy.pt", file("..", "pytorch", "testdata", "legacy.pt"), pt},
		{"adam.pt", file("..", "pytorch", "testdata", "adam.pt"), pt},
		{"plain.npz", file("..", "numpy", "testdata", "plain.npz"), np}, {"packed.npz", file("..", "numpy", "testdata", "packed.npz"), np},
		{"cube.npy", file("..", "numpy", "testdata", "cube.npy"), np},
		{"safetensors", file(path), func(raw []byte) (weights.File, error) {
			return opened(safetensors.Parse("x", bytes.NewReader(raw), int64(len(raw))))
		}},
		{"llama2.c", checkpoint, func(raw []byte) (weights.File, error) {
			return opened(llama2c.Parse("x", bytes.NewReader(raw), int64(len(raw))))
		}},
	}
}

// ggufSample has a text, a list, and a plain and a packed tensor.
func ggufSample() []byte {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	u64 := func(n uint64) { b = binary.LittleEndian.AppendUint64(b, n) }
	u32 := func(n uint32) { b = binary.LittleEndian.AppendUint32(b, n) }
	text := func(s string) { u64(uint64(len(s))); b = append(b, s...) }
	u64(2)
	u64(2)
	text("name")
	u32(8)
	text("sample")
	text("list")
	u32(9)
	u32(8)
	u64(2)
	text("one")
	text("two")
	for i, id := range []uint32{0, 12} {
		text("tensor" + string(rune('0'+i)))
		u32(1)
		u64([]uint64{8, 512}[i])
		u32(id)
		u64([]uint64{0, 32}[i])
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return append(b, make([]byte, 32+288)...)
}

// mutated is a copy with some bytes, numbers or parts other than they were.
func mutated(r *rand.Rand, raw []byte) []byte {
	raw = slices.Clone(raw)
	for range 1 + r.IntN(4) {
		if len(raw) == 0 {
			return raw
		}
		at := r.IntN(len(raw))
		switch r.IntN(7) {
		case 0:
			raw[at] ^= 1 << r.IntN(8)
		case 1:
			raw[at] = byte(r.Uint32())
		case 2:
			raw = raw[:at]
		case 3: // a number becomes a great one
			n := []uint64{1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1, uint64(len(raw)), uint64(len(raw)) + 1}[r.IntN(9)]
			for i := range min([]int{4, 8}[r.IntN(2)], len(raw)-at) {
				raw[at+i] = byte(n >> (8 * i))
			}
		case 4: // a part comes twice
			end := min(at+1+r.IntN(64), len(raw))
			raw = slices.Insert(raw, at, slices.Clone(raw[at:end])...)
		case 5:
			raw = slices.Delete(raw, at, min(at+1+r.IntN(16), len(raw)))
		case 6: // another part
			from := r.IntN(len(raw))
			copy(raw[at:], slices.Clone(raw[from:min(from+32, len(raw))]))
		}
	}
	return raw
}

// Files that were changed at random give errors or tensors, and nobody reserves memory on the word of a number in them.
func TestMutatedFiles(t *testing.T) {
	each := 1500
	if testing.Short() {
		each = 100
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			_, err := s.parse(s.raw)
			require.NoError(t, err)
			right, before, after := 0, runtime.MemStats{}, runtime.MemStats{}
			for range each {
				raw := mutated(r, s.raw)
				runtime.ReadMemStats(&before)
				f, err := s.parse(raw)
				runtime.ReadMemStats(&after)
				used := after.TotalAlloc - before.TotalAlloc
				require.Less(t, used, uint64(400*len(raw)+1<<20), "%d bytes were reserved for a file of %d", used, len(raw))
				if err != nil {
					continue
				}
				right++
				for _, name := range f.Names() {
					info, ok := f.Info(name)
					require.True(t, ok)
					require.LessOrEqual(t, info.Bytes, int64(1100*len(raw)))
					if data, err := weights.Bytes(f, name); err == nil {
						require.Len(t, data, int(info.Bytes))
					}
				}
			}
			require.NotZero(t, right, "some changes do no harm")
			require.Less(t, right, each)
		})
	}
}
