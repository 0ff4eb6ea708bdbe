package variables

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// BenchmarkDecode is a step of decoding with room for 4096 positions of 8 heads of 64 at several lengths: with the length as a variable,
// and beside it, captured for that length alone. A row is written in each step.
func BenchmarkDecode(b *testing.B) {
	const room, heads, d = 4096, 8, 64
	_, err := engine.Use("CPU")
	need.Device(b, "CPU", err)
	zeros := func(shape ...int) *T {
		x := tensor.Zeros(shape...).On("CPU").Own()
		require.NoError(b, x.Realize(ctx))
		return x
	}
	n := tensor.NewVariable("n", 0, room-1)
	q := zeros(heads, d)
	c := caches{zeros(room, heads, d), zeros(room, heads, d)}
	capture := func(at, size any) *tensor.Captured {
		f, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{c.attend(at, size, in[0], in[1], in[2])} }, q, q, q)
		require.NoError(b, err)
		return f
	}
	any := capture(n, n.Plus(1))
	for _, length := range []int{16, 256, 1024, 4096} {
		one := capture(length-1, length)
		for name, f := range map[string]*tensor.Captured{"variable": any.With(tensor.Values{n: length - 1}), "fixed": one} {
			b.Run(fmt.Sprintf("%d/%s", length, name), func(b *testing.B) {
				for b.Loop() {
					outs, err := f.Run(ctx, q, q, q)
					require.NoError(b, err)
					_, err = outs[0].Bytes(ctx)
					require.NoError(b, err)
				}
			})
		}
	}
}

// BenchmarkScores is the product of a row with as many of 4096 rows as count, which is stored.
func BenchmarkScores(b *testing.B) {
	const room, d = 4096, 64
	_, err := engine.Use("CPU")
	need.Device(b, "CPU", err)
	k, q := tensor.Ones(room, d).On("CPU").Own(), tensor.Ones(1, d).On("CPU").Own()
	require.NoError(b, tensor.Realize(ctx, k, q))
	n := tensor.NewVariable("n", 1, room)
	capture := func(size any) *tensor.Captured {
		f, err := tensor.Capture(ctx, func(in ...*T) []*T {
			return []*T{in[0].MatMul(k.Narrow(0, 0, size).Transpose(0, 1)).Contiguous().Sum(1)}
		}, q)
		require.NoError(b, err)
		return f
	}
	any := capture(n)
	for _, length := range []int{16, 1024, 4096} {
		one := capture(length)
		for name, f := range map[string]*tensor.Captured{"variable": any.With(tensor.Values{n: length}), "fixed": one} {
			b.Run(fmt.Sprintf("%d/%s", length, name), func(b *testing.B) {
				for b.Loop() {
					outs, err := f.Run(ctx, q)
					require.NoError(b, err)
					_, err = outs[0].Bytes(ctx)
					require.NoError(b, err)
				}
			})
		}
	}
}
