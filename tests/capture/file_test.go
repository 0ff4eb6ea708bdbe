package capture

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Captured functions, assignments and gradients take tensors of a file as any others.
func TestFileTensorsAreTensors(t *testing.T) {
	ctx := onCPU(t)
	var raw bytes.Buffer
	for i := range 64 {
		require.NoError(t, binary.Write(&raw, binary.LittleEndian, float32(i)))
	}
	f := tensor.OpenReader("table", bytes.NewReader(raw.Bytes()), int64(raw.Len()))
	of := func(offset int64, shape ...int) *tensor.Tensor {
		x, err := f.Tensor(dtype.F32, offset, shape...)
		require.NoError(t, err)
		return x
	}
	w := of(0, 8, 8)
	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{w.Narrow(0, 2, 1).Mul(in[0]).Sum()}
	}, tensor.Zeros(8))
	require.NoError(t, err)
	for range 2 {
		out, err := step.Run(ctx, of(0, 8)) // an input that is not there yet
		require.NoError(t, err)
		assert.Equal(t, []float32{1*17 + 2*18 + 3*19 + 4*20 + 5*21 + 6*22 + 7*23}, values(t, out[0]))
	}
	u := of(8, 4)
	u.Assign(u.Add(1))
	assert.Equal(t, []float32{3, 4, 5, 6}, values(t, u))
	v := of(0, 4)
	require.NoError(t, v.Narrow(0, 1, 2).Square().Sum().Realize(ctx))
	assert.Equal(t, []float32{0, 2, 4, 0}, values(t, v.Narrow(0, 1, 2).Square().Sum().Grad(v)[0]))
	rows, err := step.RunInto(ctx, []*tensor.Tensor{of(4)}, of(0, 8))
	require.NoError(t, err)
	assert.Equal(t, []float32{588}, values(t, rows[0]))
}
