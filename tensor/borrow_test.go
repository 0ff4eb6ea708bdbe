package tensor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
)

func TestBorrow(t *testing.T) {
	ctx := context.Background()
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for name, y := range map[string]*tensor.Tensor{"computed": x.Permute(1, 0).Add(1), "a constant": tensor.Ones(3, 2)} {
		want, err := y.Bytes(ctx)
		require.NoError(t, err)
		var got []byte
		require.NoError(t, y.Borrow(ctx, func(d runtime.Device, m runtime.Mem) error {
			got = make([]byte, y.Nbytes())
			return d.Read(ctx, got, m, 0)
		}))
		assert.Equal(t, want, got, name)
	}
	no := errors.New("no")
	assert.ErrorIs(t, x.Borrow(ctx, func(runtime.Device, runtime.Mem) error { return no }), no)
}
