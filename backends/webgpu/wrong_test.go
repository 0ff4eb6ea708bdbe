package webgpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	. "github.com/weft-ml/weft/tensor"
)

// An array that no binding can hold is refused in words. It may be part of a computation all the same, as long as it need
// not be stored.
func TestLargerThanABinding(t *testing.T) {
	e := open(t)
	engine.Configure(engine.Options{}, "WEBGPU")
	defer engine.Configure(engine.Options{}, "")
	ctx := context.Background()
	n := int(e.Info().Limits.MaxBytes/4) + 1

	err := Ones(n).Add(1).Realize(ctx)
	var large *runtime.TooLarge
	require.ErrorAs(t, err, &large)
	assert.Equal(t, int64(4*n), large.Asked)
	assert.ErrorContains(t, err, "use smaller batches or split the array")

	_, err = Arange(n).Mul(3).Contiguous().Sum().Item(ctx)
	require.ErrorAs(t, err, &large, "in between as well")

	v, err := Ones(n).Add(1).Sum().Item(ctx)
	require.NoError(t, err)
	assert.InDelta(t, float64(2*n), v, float64(n)*1e-5)
}

// The user's own limit is kept, and what is there stays.
func TestMemoryLimit(t *testing.T) {
	open(t)
	e, err := engine.Open("WEBGPU", engine.Options{MemoryLimit: 1 << 20})
	require.NoError(t, err)
	defer e.Close()
	x := floats(t, e, make([]float32, 1000), 1000)
	_, err = e.Empty(x.DType(), []int{1 << 20})
	var full *runtime.OutOfMemory
	require.ErrorAs(t, err, &full)
	require.Equal(t, "WEBGPU", full.Device)
	y := x.Add(x)
	require.NoError(t, e.Realize(context.Background(), y))
	require.Len(t, read(t, e, y), 1000)
}

// One dimension has 65,535 workgroups at most: more are folded into two, and those beyond the end do nothing. Each element
// is looked at, the first and last of each row of workgroups among them.
func TestMoreWorkgroupsThanADimension(t *testing.T) {
	e := open(t)
	ctx := context.Background()
	const rows, cols = 2053, 2069 // 66,369 workgroups of 64, which two rows hold with some to spare
	x, y := make([]float32, rows), make([]float32, cols)
	for i := range x {
		x[i] = float32(i) * 4096
	}
	for i := range y {
		y[i] = float32(i)
	}
	sum := FromNode(floats(t, e, x, rows, 1), e).Add(FromNode(floats(t, e, y, cols), e)).Node()
	view, err := e.Plan(sum)
	require.NoError(t, err)
	require.Len(t, view.Launches(), 1)
	grid := view.Launches()[0].Grid
	require.Equal(t, uint32(2), grid[1], "the case must need a second dimension: %v", grid)
	require.NoError(t, e.Realize(ctx, sum))
	for i, v := range read(t, e, sum) {
		if want := x[i/cols] + y[i%cols]; v != want {
			require.Equal(t, want, v, "element %d", i)
		}
	}
}
