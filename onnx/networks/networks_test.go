package networks

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/tensor"
)

// small ones of each kind are read, and give numbers of the shapes that they promise, which are not all the same.
func TestNetworks(t *testing.T) {
	ctx := context.Background()
	for name, n := range map[string]*Network{
		"resnet": resnet(32, 10, 4), "encoder": encoder(sizes{2, 64, 4, 100, 32}, 16),
		"decoder": decoder(sizes{2, 64, 4, 100, 32}, 7, 32), "packed decoder": decoder(sizes{2, 64, 4, 100, 32}, 7, 4),
	} {
		m, err := onnx.Read(n.Model, onnx.Options{Name: name, Device: "INTERP"})
		require.NoError(t, err, name)
		in := map[string]*tensor.Tensor{}
		for _, i := range n.Inputs {
			d := map[string]dtype.DType{"float32": dtype.F32, "int64": dtype.I64}[i.DType]
			in[i.Name] = tensor.FromBytes(d, i.Shape, i.Data).On("INTERP")
		}
		out, err := m.Run(ctx, in)
		require.NoError(t, err, name)
		require.Len(t, n.Outputs, len(m.Outputs()), name)
		for _, p := range m.Outputs() {
			b, err := out[p.Name].Bytes(ctx)
			require.NoError(t, err, name)
			want := 4
			for _, d := range p.Type.Dims {
				want *= d.Size
			}
			require.Len(t, b, want, "%s: %s", name, p.Name)
			seen := map[uint32]bool{}
			for i := 0; i < len(b); i += 4 {
				bits := binary.LittleEndian.Uint32(b[i:])
				seen[bits] = true
				f := float64(math.Float32frombits(bits))
				require.False(t, math.IsNaN(f) || math.Abs(f) > 1e4, "%s: %s has %v", name, p.Name, f)
			}
			assert.Greater(t, len(seen), 5, "%s: %s", name, p.Name)
		}
	}
}

// The same calls give the same bytes.
func TestSameBytes(t *testing.T) {
	assert.Equal(t, resnet(32, 10, 4), resnet(32, 10, 4))
	assert.Equal(t, decoder(sizes{1, 32, 2, 50, 8}, 3, 4), decoder(sizes{1, 32, 2, 50, 8}, 3, 4))
}
