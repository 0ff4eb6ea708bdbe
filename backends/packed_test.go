//go:build !js

package backends_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// The orders in which constants are to lie are kept beside the plans, and an engine that finds them makes the same plan.
func TestOrdersOfConstantsAreKept(t *testing.T) {
	need.Compiler(t)
	dir := t.TempDir()
	schedule := func() string {
		e, err := engine.Open("CPU", engine.Options{CacheDir: dir})
		require.NoError(t, err)
		defer func() { assert.NoError(t, e.Close()) }()
		array := func(n int) *uop.UOp {
			u, err := e.FromBytes(dtype.F32, []int{n, 256}, make([]byte, 4*256*n))
			require.NoError(t, err)
			return u
		}
		x := array(64)
		var weights []*uop.UOp
		for range 9 {
			weights = append(weights, array(256))
		}
		c, err := e.Capture(context.Background(), []*uop.UOp{x}, func() ([]*uop.UOp, error) {
			y := x
			for _, w := range weights { // y·wᵀ
				y = y.Reshape(64, 1, 256).Expand(64, 256, 256).Mul(w.Reshape(1, 256, 256).Expand(64, 256, 256)).Reduce(uop.Sum, 2).Reshape(64, 256).Contiguous()
			}
			return []*uop.UOp{y}, nil
		})
		require.NoError(t, err)
		return c.View().Schedule.String()
	}
	first := schedule()
	kept, err := filepath.Glob(filepath.Join(dir, "plans", "*.plan"))
	require.NoError(t, err)
	assert.Equal(t, first, schedule())
	again, err := filepath.Glob(filepath.Join(dir, "plans", "*.plan"))
	require.NoError(t, err)
	assert.Equal(t, kept, again, "nothing was made again")
	assert.Len(t, kept, 3, "the orders, the plan that brings the weights into them, and the plan that reads them")
}
