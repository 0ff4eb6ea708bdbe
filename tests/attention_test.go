package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Attention whose keys end within a block of weights, whose rows and values fill no tile, and masks of all kinds: the same as two
// products and a softmax, within fences, and the same bits for any number of threads.
func TestAttentionOfAnySize(t *testing.T) {
	for _, c := range []struct {
		batch, heads, groups, n, m, d int
		mode                          string
	}{
		{1, 2, 2, 64, 128, 16, ""}, {1, 8, 8, 33, 129, 20, ""}, {1, 3, 3, 197, 197, 64, ""}, {2, 2, 1, 40, 131, 40, ""}, {1, 1, 1, 50, 577, 80, "add"},
		{1, 2, 2, 130, 130, 96, "causal"}, {1, 1, 1, 37, 1031, 128, "bool"}, {1, 1, 1, 32, 640, 160, ""}, {1, 9, 9, 41, 200, 8, "causal"}, {1, 4, 2, 64, 255, 5, "inf"},
	} {
		var want []float32
		for _, o := range []struct {
			device string
			engine.Options
		}{{"REF", engine.Options{}}, {"CPU", engine.Options{Threads: 1}}, {"CPU", engine.Options{Threads: 3, Fence: true}}} {
			b := newBench(t, o.device, o.Options)
			q, k, v := b.floats(c.batch, c.heads, c.n, c.d), b.floats(c.batch, c.groups, c.m, c.d), b.floats(c.batch, c.groups, c.m, c.d)
			a := tensor.Attention{Grouped: c.groups != c.heads, Causal: c.mode == "causal"}
			switch c.mode {
			case "add":
				a.Mask = b.floats(1, 1, c.n, c.m)
			case "bool":
				a.Mask = b.floats(1, 1, c.n, c.m).Gt(0)
			case "inf": // all of a few rows, and half of the others
				row, column := tensor.Arange(c.n).Reshape(1, 1, -1, 1), tensor.Arange(c.m).Reshape(1, 1, 1, -1)
				a.Mask = column.Mod(2).Eq(0).And(row.Lt(3).Not())
			}
			got, err := tensor.Data[float32](context.Background(), tensor.ScaledDotProduct(q, k, v, a))
			require.NoError(t, err, "%v on %s", c, o.device)
			if o.device == "REF" {
				want = got
				continue
			}
			for i := range want {
				same := math.IsNaN(float64(want[i])) && math.IsNaN(float64(got[i]))
				require.True(t, same || math.Abs(float64(want[i]-got[i])) <= 1e-4, "%v on %s, %d threads: element %d is %g, not %g", c, o.device, o.Threads, i, got[i], want[i])
			}
			if o.Threads == 1 {
				want = got
			} else {
				require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "%v", c)
			}
		}
	}
}

// Exponentials that a machine computes with instructions of its own have the bits of those that are composed.
func TestExp2HasTheSameBits(t *testing.T) {
	var in []byte
	add := func(x uint32) { in = binary.LittleEndian.AppendUint32(in, x) }
	for x := uint64(0); x < 1<<32; x += 4099 {
		add(uint32(x))
	}
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, 127, 128, 129, -126, -127, -148.5, -149, -149.5, -150, -150.5, -151, 1e10, -1e10, math.Inf(1), math.Inf(-1), math.NaN()} {
		for d := range 3 {
			add(math.Float32bits(float32(x)) + uint32(d) - 1)
		}
	}
	var want []uint32
	for _, device := range []string{"INTERP", "CPU"} {
		b := newBench(t, device, engine.Options{})
		for _, n := range []int{len(in) / 4, 3} { // lanes, and one by one
			from := in[len(in)-4*n:]
			got := b.bytes(b.leaf(dtype.F32, from, n).Exp2())[0]
			for i := 0; i < len(got); i += 4 {
				y := binary.LittleEndian.Uint32(got[i:])
				if math.IsNaN(float64(math.Float32frombits(y))) {
					y = 0x7fc00000
				}
				if device == "INTERP" {
					want = append(want, y)
					continue
				}
				require.Equal(t, want[0], y, "2^%g", math.Float32frombits(binary.LittleEndian.Uint32(from[i:])))
				want = want[1:]
			}
		}
	}
}
