//go:build linux || darwin

package faults

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Where the system gives no more addresses, a device says so in words and goes on.
func TestNoAddresses(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("only Linux keeps to such a limit")
	}
	for device := range caches { // what INTERP computes with is Go's memory, whose end is the process's
		said, ok := finish(t, child(t, "much", device, t.TempDir(), "WEFT_FAULT_ADDRESSES=5000000000"))
		require.True(t, ok, said)
		require.Equal(t, 3, strings.Count(said, "said: "), said)
		require.Contains(t, said, device+": ")
		require.NotContains(t, said, "BUG", said)
	}
}

// A limit of the options is an error that says what was asked for, at whatever it is reached, and less goes on.
func TestMemoryLimit(t *testing.T) {
	ctx := context.Background()
	for _, device := range []string{"CPU", "WASM", "INTERP"} {
		e := open(t, device, engine.Options{MemoryLimit: 4 << 20})
		one, err := e.FromBytes(dtype.F32, []int{1000}, make([]byte, 4000))
		require.NoError(t, err)
		reached := 0
		for n := 100; n <= 4000; n *= 2 { // the arena first, then the result
			x := one.Reshape(1000, 1).Expand(1000, n).Add(one.Shrink([]int{0}, []int{1}).Reshape(1, 1).Expand(1000, n)).Contiguous()
			err := e.Realize(ctx, x)
			if err != nil {
				require.ErrorAs(t, err, new(*runtime.OutOfMemory), "%s %d", device, n)
				require.ErrorContains(t, err, "WEFT_MEM")
				reached++
			}
			y := one.Add(one).Reduce(uop.Sum, 0)
			require.NoError(t, e.Realize(ctx, y), "%s after %d", device, n)
		}
		require.Positive(t, reached, device)
		_, err = e.FromBytes(dtype.F32, []int{2 << 20}, make([]byte, 8<<20))
		require.ErrorAs(t, err, new(*runtime.OutOfMemory))
	}
}
