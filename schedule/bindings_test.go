package schedule

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A sum of forty arrays, with movement between, needs several kernels where eight buffers can be bound.
func TestBindings(t *testing.T) {
	arena := uop.NewArena()
	g := &Graph{Table: arena}
	var sum *uop.UOp
	for i := range 40 {
		g.Inputs = append(g.Inputs, Input{DType: dtype.F32, N: 12})
		x := arena.Param(i, 12, dtype.F32).Reshape(3, 4)
		if i%3 == 1 {
			x = x.Flip(1)
		}
		if sum == nil {
			sum = x
		} else {
			sum = sum.Add(x.Mul(x)).Permute(1, 0).Exp2().Permute(1, 0)
		}
	}
	g.Roots = []Root{{Value: sum, Dest: -1}}
	for _, most := range []int{0, 8, 4, 3} {
		r := New(g, Config{MaxBindings: most})
		kernels := 0
		for _, s := range r.Steps {
			if s.Spec == nil {
				continue
			}
			kernels++
			seen := map[int]bool{}
			for _, b := range s.Bufs {
				seen[b] = true
			}
			if most > 0 {
				assert.LessOrEqual(t, len(seen), most)
			}
		}
		if most > 0 {
			require.GreaterOrEqual(t, kernels, 39/(most-1))
		}
	}
}
