package dtype_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

// What PyTorch 2.15 computed on a CPU, as SHA-256 of its bytes: the values of all 256 codes, and the codes of 2²⁰ float32 whose bits are
// a multiple of 4096, which are all exponents with all upper 11 bits of mantissas, infinities and NaN; and of every value that a code has,
// the middle of every two neighbours, and the float32 before and after that: where rounding changes, and so all of it.
var torch = []struct {
	name          string
	dtype         dtype.DType
	values, sweep string
	edges         string
}{
	{"e4m3fn", dtype.F8E4M3, "422eccfaa21e72a6b26855bb10cdcfead6c1ce3262ecd813c99d8cbf9677f2e2", "42e830dacc29fcdbddd86d43b44efa34e1d2a71265574d738cc77aadf96e30ee", "e9ab7e1c1867387313c2fab5c598f42a3a2799a24ae83807b135e5fd854a4a7d"},
	{"e5m2", dtype.F8E5M2, "229a94c5f728edf2259da970a0e1dfb45cc1d69cce2b30e37659f3212ec4b8b9", "abc22ffcea1b6a809adf390a9c1c9c77a60ea0d4557019f96e46df9a8d482944", "dd7fdbb835f3a49140327203d8154ae60f2914fc6dd5c831116deea3f6eb2911"},
}

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func TestFloat8(t *testing.T) {
	t.Parallel()
	for _, c := range torch {
		var values []byte
		var finite []float32
		for b := range 256 {
			v := float32(c.dtype.Decode(uint64(b)))
			bits := math.Float32bits(v)
			if v != v { // which NaN it is differs
				bits = 0x7fc00000
			}
			values = binary.LittleEndian.AppendUint32(values, bits)
			if v == v && !math.IsInf(float64(v), 0) && !slices.Contains(finite, v) { // one zero
				finite = append(finite, v)
			}
			if v == v {
				require.Equal(t, uint8(b), uint8(c.dtype.Encode(float64(v))), "%s %x", c.name, b)
			}
		}
		require.Equal(t, c.values, digest(values), c.name)
		var sweep []byte
		for i := range uint32(1 << 20) {
			v := math.Float32frombits(i << 12)
			code := uint8(c.dtype.Encode(float64(v)))
			if v != v {
				code &= 0x7f
			}
			sweep = append(sweep, code)
		}
		require.Equal(t, c.sweep, digest(sweep), c.name)
		slices.Sort(finite)
		var mid, above, below []float32
		for i := range finite[1:] {
			m := float32((float64(finite[i]) + float64(finite[i+1])) / 2)
			mid, above, below = append(mid, m), append(above, math.Nextafter32(m, float32(math.Inf(1)))), append(below, math.Nextafter32(m, float32(math.Inf(-1))))
		}
		last := []float32{448, 464, math.Nextafter32(464, 500), 480, 57344, 61439.996, 61440, 65536, float32(math.Inf(1)), float32(math.Inf(-1))}
		var edges []byte
		for _, v := range slices.Concat(finite, mid, above, below, last) {
			edges = append(edges, uint8(c.dtype.Encode(float64(v))))
		}
		require.Equal(t, c.edges, digest(edges), c.name)
	}
	// From float64 it is rounded once.
	require.Equal(t, uint64(0x38), dtype.F8E4M3.Encode(1.0625))
	require.Equal(t, uint64(0x39), dtype.F8E4M3.Encode(1.0625+0x1p-50))
	require.Equal(t, uint64(0x7e), dtype.F8E4M3.Encode(464))
	require.Equal(t, uint64(0x7e), dtype.F8E4M3.Encode(1e300))
	require.Equal(t, uint64(0xfc), dtype.F8E5M2.Encode(-1e300))
	require.Equal(t, uint64(0x80), dtype.F8E5M2.Encode(-1e-300))
}
