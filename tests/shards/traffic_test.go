package shards

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/shard"
	"github.com/weft-ml/weft/tensor"
)

// received counts what came to each device while f ran.
func received(t *testing.T, devices []string, f func()) []int64 {
	t.Helper()
	count := func() (out []int64) {
		for _, d := range devices {
			e, err := engine.Use(d)
			require.NoError(t, err)
			out = append(out, e.Stats().Received)
		}
		return out
	}
	before := count()
	f()
	after := count()
	for i := range after {
		after[i] -= before[i]
	}
	return after
}

// moved are the bytes that a schedule says come to each device.
func moved(t *testing.T, devices []string, x *T) []int64 {
	t.Helper()
	view, err := x.Schedule()
	require.NoError(t, err)
	out := make([]int64, len(devices))
	for _, s := range view.Stages() {
		for _, m := range s.Moves {
			require.NotEqual(t, m.From, m.To)
			for i, d := range devices {
				if m.To == d {
					out[i] += int64(m.Bytes)
				}
			}
		}
	}
	return out
}

// Each device receives in a ring 2·(n−1)/n of the array, in the graph as when it runs, and by the direct way n−1 arrays.
func TestRing(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8} {
		devices := on(t, "INTERP", n)
		size := n * (shard.RingBytes/4/n + 1) // elements
		parts := tensor.Randn(n, size)
		require.NoError(t, parts.Realize(ctx))
		x := parts.Shard(devices, 0)
		sum := x.Sum(0)
		want := make([]int64, n)
		for i := range want {
			want[i] = int64(2*(n-1)*size/n) * 4
		}
		require.Equal(t, want, moved(t, devices, sum), "%d devices", n)
		require.Equal(t, want, received(t, devices, func() { near(t, list(t, parts.Sum(0)), list(t, sum), 1e-6) }), "%d devices", n)

		little := x.Narrow(1, 0, 10).Contiguous()
		for i := range want {
			want[i] = int64(n-1) * 10 * 4
		}
		sum = little.Sum(0)
		require.Equal(t, want, moved(t, devices, sum), "%d devices", n)
		require.Equal(t, want, received(t, devices, func() { near(t, list(t, parts.Narrow(1, 0, 10).Sum(0)), list(t, sum), 1e-6) }), "%d devices", n)
	}
}

// Sizes that chunks do not divide, and other ways of merging, go round as well; every device ends with the same bits.
func TestRingOfAnything(t *testing.T) {
	devices := on(t, "INTERP", 3)
	size := shard.RingBytes/4 + 1000
	parts := tensor.Randn(3, size)
	require.NoError(t, parts.Realize(ctx))
	x := parts.Shard(devices, 0)
	for name, f := range map[string]func(x *T) *T{
		"sum":  func(x *T) *T { return x.Sum(0) },
		"max":  func(x *T) *T { return x.Max(0) },
		"prod": func(x *T) *T { return x.Prod(0) },
	} {
		near(t, list(t, f(parts)), list(t, f(x)), 1e-6)
		each := f(x).Mul(1.5).Unsqueeze(0).Expand(3, size) // every device keeps its own copy
		rows := list(t, each.Add(tensor.Zeros(3, size).Shard(devices, 0)))
		for i := range size {
			require.Equal(t, rows[i], rows[size+i], name)
			require.Equal(t, rows[i], rows[2*size+i], name)
		}
	}
}

// What is whole is cut without any traffic; what is cut along one axis comes to be cut along another by pieces.
func TestRecut(t *testing.T) {
	devices := on(t, "INTERP", 4)
	x := tensor.Randn(8, 12)
	require.NoError(t, x.Realize(ctx))
	want := list(t, x)
	bytes := int64(8 * 12 * 4)
	for _, from := range []int{tensor.Replicated, 0, 1} {
		y := x.Shard(devices, from)
		require.NoError(t, y.Realize(ctx))
		for _, to := range []int{tensor.Replicated, 0, 1} {
			z := y.Shard(devices, to)
			each := int64(0)
			switch {
			case from == to || from == tensor.Replicated:
			case to == tensor.Replicated:
				each = bytes * 3 / 4
			default:
				each = bytes * 3 / 16
			}
			require.Equal(t, []int64{each, each, each, each}, moved(t, devices, z), "from %d to %d", from, to)
			near(t, want, list(t, z.Mul(1)), 0)
			axis, err := z.CutAxis()
			require.NoError(t, err)
			require.Equal(t, to, axis)
		}
	}
}
