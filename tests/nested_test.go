package tests

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Calls within each other are compiled in proportion to how many there are: conversions of float16 in short vectors, square roots, whole parts.
func TestNestedCalls(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	b := newBench(t, "CPU", engine.Options{})
	const depth = 24
	for _, shape := range [][]int{{7}, {64}, {1000}} {
		for _, d := range []dtype.DType{dtype.F16, dtype.F32, dtype.F64} {
			one := b.ints(1, shape...).Add(1).To(d)
			x, y := one, one
			for range depth {
				x, y = x.Mul(0.5).Add(one.Mul(0.5)).Sqrt(), y.Mul(1.5).Trunc()
			}
			got, err := tensor.Data[float32](ctx, x.Sub(y).Abs().To(dtype.F32))
			require.NoError(t, err, "%v %v", d, shape)
			for _, v := range got {
				require.Less(t, math.Abs(float64(v)), 1e-3, "%v %v", d, shape)
			}
		}
	}
}
