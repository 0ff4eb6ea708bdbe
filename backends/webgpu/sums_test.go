package webgpu_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	. "github.com/weft-ml/weft/tensor"
)

// Long sums of nearly equal terms keep their digits where reductions depend on each other, as mean and variance do: added
// one by one, their errors all go in one direction.
func TestMomentsOfABackground(t *testing.T) {
	open(t)
	engine.Configure(engine.Options{}, "WEBGPU")
	defer engine.Configure(engine.Options{}, "")
	ctx := context.Background()
	const n, c, hw = 64, 8, 400
	data := make([]float32, n*c*hw)
	for i := range data {
		if data[i] = 0.1234; i%7 == 0 {
			data[i] = 0.1134
		}
	}
	mean, variance := Of(data, n, c, 20, 20).Add(Zeros(c, 1, 1)).ReLU().ChannelMoments(0)
	require.NoError(t, Realize(ctx, mean, variance))
	means, err := Data[float32](ctx, mean)
	require.NoError(t, err)
	variances, err := Data[float32](ctx, variance)
	require.NoError(t, err)
	for k := range c {
		var m, v float64
		for i := range n {
			for _, x := range data[(i*c+k)*hw : (i*c+k+1)*hw] {
				m += float64(x) / (n * hw)
			}
		}
		for i := range n {
			for _, x := range data[(i*c+k)*hw : (i*c+k+1)*hw] {
				v += math.Pow(float64(x)-m, 2) / (n * hw)
			}
		}
		assert.InEpsilon(t, m, means[k], 1e-5)
		assert.InEpsilon(t, v, variances[k], 1e-5)
	}
}
