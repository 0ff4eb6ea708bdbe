//go:build !js

package backends_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// Narrow numbers are converted and multiplied by what instructions a processor has, or by none, with the same bits: machines are told
// apart by what the compiler may use.
func TestNarrowNumbersOnPoorerProcessors(t *testing.T) {
	cc := need.Compiler(t)
	for _, flags := range []string{"", " -mno-avx512vnni -mno-avxvnni", " -mno-avx512f -mno-avxvnni", " -mno-avx512f -mno-f16c -mno-avx2"} {
		t.Run("with"+flags, func(t *testing.T) {
			e, err := engine.Open("CPU", engine.Options{CC: cc + flags})
			if err == nil {
				t.Cleanup(func() { assert.NoError(t, e.Close()) })
				err = probe(e)
			}
			if err != nil && flags != "" && strings.Contains(err.Error(), "-mno-") {
				t.Skip("another kind of processor: its compiler does not know these flags")
			}
			require.NoError(t, err)
			checkHalves(t, e)
			for _, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.I16} {
				checkPairs(t, e, d)
			}
		})
	}
}

// probe compiles something.
func probe(e *engine.Engine) error {
	u, err := e.FromBytes(dtype.F32, []int{1}, make([]byte, 4))
	if err != nil {
		return err
	}
	return e.Realize(context.Background(), u.Add(u))
}

// computed realizes u of n elements and gives its bytes.
func computed(t *testing.T, e *engine.Engine, u *uop.UOp, bytes int) []byte {
	t.Helper()
	require.NoError(t, e.Realize(context.Background(), u))
	raw := make([]byte, bytes)
	require.NoError(t, e.Read(context.Background(), u, raw))
	return raw
}

// checkHalves reads all float16 and writes float32 around each of them.
func checkHalves(t *testing.T, e *engine.Engine) {
	const n = 1 << 16
	halves := make([]byte, 2*n)
	singles := make([]byte, 0, 4*5*n)
	for h := range n {
		binary.LittleEndian.PutUint16(halves[2*h:], uint16(h))
		bits := math.Float32bits(dtype.FromF16(uint16(h)))
		for _, near := range []uint32{0, 1, 0xfff, 0x1000, 0x1001} {
			singles = binary.LittleEndian.AppendUint32(singles, bits+near)
		}
	}
	x, err := e.FromBytes(dtype.F16, []int{n}, halves)
	require.NoError(t, err)
	bad := 0
	for i, raw := 0, computed(t, e, x.Cast(dtype.F32), 4*n); i < n; i++ {
		got, want := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])), dtype.FromF16(uint16(i))
		if math.Float32bits(got) != math.Float32bits(want) && !(got != got && want != want) {
			bad++
		}
	}
	require.Zero(t, bad, "float16 read wrongly")
	y, err := e.FromBytes(dtype.F32, []int{5 * n}, singles)
	require.NoError(t, err)
	for i, raw := 0, computed(t, e, y.Cast(dtype.F16), 2*5*n); i < 5*n; i++ {
		f := math.Float32frombits(binary.LittleEndian.Uint32(singles[4*i:]))
		got, want := dtype.FromF16(binary.LittleEndian.Uint16(raw[2*i:])), dtype.FromF16(dtype.ToF16(float64(f)))
		if math.Float32bits(got) != math.Float32bits(want) && !(got != got && want != want) {
			bad++
		}
	}
	require.Zero(t, bad, "float16 written wrongly")
}

// checkPairs multiplies matrices of all numbers of a type, of an odd number of steps, with sums that wrap.
func checkPairs(t *testing.T, e *engine.Engine, d dtype.DType) {
	const m, k, n = 37, 301, 83
	r := rand.New(rand.NewPCG(5, 6))
	numbers := func(count int) (v []int64, raw []byte) {
		lowest, _ := uop.IntLimits(d)
		for range count {
			x := uop.IntValue(d, int64(r.Uint32()))
			if r.IntN(8) == 0 {
				x = lowest
			}
			v = append(v, x.Int())
			raw = binary.LittleEndian.AppendUint64(raw, uop.ToBits(d, x))[:len(raw)+d.Size()]
		}
		return v, raw
	}
	a, x := numbers(m * k)
	b, y := numbers(k * n)
	left, err := e.FromBytes(d, []int{m, k}, x)
	require.NoError(t, err)
	right, err := e.FromBytes(d, []int{k, n}, y)
	require.NoError(t, err)
	wide := dtype.Accumulator(d)
	product := left.Cast(wide).Reshape(m, k, 1).Expand(m, k, n).Mul(right.Cast(wide).Reshape(1, k, n).Expand(m, k, n)).Reduce(uop.Sum, 1)
	raw := computed(t, e, product, 4*m*n)
	for i := range m {
		for j := range n {
			var want int64
			for s := range k {
				want += a[i*k+s] * b[s*n+j]
			}
			require.Equal(t, uint32(want), binary.LittleEndian.Uint32(raw[4*(i*n+j):]), "%v: row %d, column %d", d, i, j)
		}
	}
}
