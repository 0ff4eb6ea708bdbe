package tensor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A function that is pushed out before whoever asked for it came to capture it is captured all the same.
func TestJitForgetsBeforeCapture(t *testing.T) {
	ctx := context.Background()
	j := Jit(func(in ...*Tensor) []*Tensor { return []*Tensor{in[0].Mul(2)} })
	first := j.entry("first")
	for i := range mostJitted {
		j.entry(fmt.Sprint(i))
	}
	time.Sleep(10 * time.Millisecond) // what forgets it waits
	x := Of([]float32{1, 2}).On("INTERP")
	c, err := first.capture(ctx, j.f, []*Tensor{x})
	require.NoError(t, err)
	outs, err := c.Run(ctx, x)
	require.NoError(t, err)
	v, err := Data[float32](ctx, outs[0])
	require.NoError(t, err)
	require.Equal(t, []float32{2, 4}, v)
}
