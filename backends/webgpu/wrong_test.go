package webgpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
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
	var large *webgpu.TooLarge
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
