package devicetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// An index that leaves the 32 bits in which a device counts is outside of the array like any other, for loads and for
// scatters, alone and in lanes: it reads 0, writes nothing, and touches no memory.
func TestIndicesBeyond32Bits(t *testing.T) {
	types := []dtype.DType{dtype.U32, dtype.I64, dtype.U64}
	far := [][]uint64{{3_000_000_000, 1 << 31, 1<<32 - 1}, {1<<32 + 1, 1 << 31, 1<<63 + 2}, {1<<32 + 1, 1 << 63, 1<<64 - 2}}
	for _, device := range []string{"REF", "CPU", "WASM", "INTERP", "WEBGPU"} {
		e, err := engine.Open(device, engine.Options{Unchecked: true, Fence: true})
		need.Device(t, device, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		for i, d := range types {
			for _, n := range []int{1, 4, 17} {
				ids, raw := make([]uint64, n), []byte{}
				for j := range ids {
					if ids[j] = uint64(j % 3); j%2 == 0 {
						ids[j] = far[i][j/2%3]
					}
					for b := range d.Size() {
						raw = append(raw, byte(ids[j]>>(8*b)))
					}
				}
				in := newInputs(e, 1)
				x, base := in.Leaf(dtype.F32, Distinct, 3), in.Leaf(dtype.F32, Distinct, 3)
				at, err := e.FromBytes(d, []int{n}, raw)
				require.NoError(t, err)
				add := in.Leaf(dtype.F32, Exact, n)
				got, sum := x.Gather(at, 0), base.Scatter(at, add, 0, uop.Sum)
				require.NoError(t, e.Realize(context.Background(), got, sum))
				read := func(u *uop.UOp) []uop.Value {
					b := make([]byte, u.Shape().Numel()*4)
					require.NoError(t, e.Read(context.Background(), u, b))
					return decode(u.DType(), b)
				}
				numbers, want, added := read(x), read(base), read(add)
				for j, v := range read(got) {
					expect := uop.Value(0)
					if j%2 == 1 {
						expect = numbers[j%3]
						want[j%3] = uop.FloatValue(dtype.F32, want[j%3].Float()+added[j].Float())
					}
					require.Equal(t, expect.Float(), v.Float(), "%s %v: element %d of %d", device, d, j, n)
				}
				for j, v := range read(sum) {
					require.InDelta(t, want[j].Float(), v.Float(), 1e-4, "%s %v: scattered to %d of %d", device, d, j, n)
				}
			}
		}
	}
}
