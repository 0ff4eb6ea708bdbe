package convert

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/safetensors"
)

// A number that the new type cannot hold is an error, and nothing is written; infinities and NaN stay what they are.
func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		from, to string
		x        float64
		says     string
	}{
		{"F64", "F32", 1e50, `tensor "x": element 1 is 1e+50, which no type but F64 can hold`},
		{"F64", "BF16", -1e50, "element 1 is -1e+50"},
		{"F64", "F16", 1e39, "element 1 is 1e+39"},
		{"F64", "F16", 1e6, "element 1 is 1e+06, which F16 cannot hold"},
		{"F32", "F16", 1e6, "element 1 is 1e+06, which F16 cannot hold"},
		{"F32", "BF16", math.MaxFloat32, "element 1 is 3.4028235e+38, which BF16 cannot hold"},
		{"F64", "", 1e50, ""},
		{"F64", "F32", math.MaxFloat32, ""},
		{"F64", "F16", math.Inf(1), ""},
		{"F64", "BF16", math.NaN(), ""},
		{"F32", "BF16", math.Inf(-1), ""},
	} {
		var raw []byte
		for _, x := range []float64{1, c.x} {
			if c.from == "F64" {
				raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(x))
			} else {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
			}
		}
		path := filepath.Join(t.TempDir(), "x.safetensors")
		x := Tensor{Name: "x", Shape: []int64{2}, From: c.from, Data: func() ([]byte, error) { return raw, nil }}
		_, err := Write(context.Background(), path, []Tensor{x}, Options{To: c.to})
		if c.says != "" {
			require.ErrorContains(t, err, c.says)
			_, err = os.Stat(path)
			require.ErrorIs(t, err, os.ErrNotExist)
			continue
		}
		require.NoError(t, err)
		f, err := safetensors.Open(path)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}
