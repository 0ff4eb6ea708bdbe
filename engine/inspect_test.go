package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

func TestPlan(t *testing.T) {
	e := open(t, engine.Options{})
	x := floats(t, e, []float32{1, 2, 3, 4}, 2, 2)
	v, err := e.Plan(x.Add(x), x.Permute(1, 0).Mul(x))
	require.NoError(t, err)
	require.Len(t, v.Launches(), 1)
	assert.Equal(t, int64(8), v.Flops())
	tree, err := v.Tree(0)
	require.NoError(t, err)
	assert.Contains(t, tree, "store")
	assert.Contains(t, v.String(), v.Launches()[0].Source)
	assert.Contains(t, v.String(), "1 launches, arena 0 bytes")
	_, err = v.Tree(1)
	assert.ErrorContains(t, err, "the plan has 1 launches")
	assert.Zero(t, e.Stats().Plays, "nothing was computed")

	ref, err := engine.Open("REF", engine.Options{})
	require.NoError(t, err)
	_, err = ref.Plan(floats(t, ref, []float32{1}, 1).Neg())
	assert.ErrorContains(t, err, "REF evaluates graphs and has no plans")
}

func TestWatch(t *testing.T) {
	e := open(t, engine.Options{})
	var seen []string
	stop := engine.Watch(func(device string, k *plan.Kernel, tree string) { seen = append(seen, device+" "+k.Name+" "+tree) })
	x := floats(t, e, []float32{1, 2, 3}, 3)
	require.NoError(t, e.Realize(context.Background(), x.Add(x.Int(1))))
	stop()
	require.NoError(t, e.Realize(context.Background(), x.Mul(x)))
	require.Len(t, seen, 1)
	assert.Contains(t, seen[0], "CPU E_")
	assert.Contains(t, seen[0], "store p0")
}

// An array that was flattened and shaped back, as a captured function fills its inputs in, is read as it lies: windows over its padding know
// their rows and columns without dividing.
func TestReshapesOfAnArrayAreOne(t *testing.T) {
	e := open(t, engine.Options{})
	x := floats(t, e, make([]float32, 3*9*9), 3, 9, 9)
	windows := func(u *uop.UOp) *uop.UOp {
		u = u.Pad([]int{0, 1, 1}, []int{0, 1, 1}).Reshape(3, 11, 11, 1, 1).Expand(3, 11, 11, 5, 5)
		return u.Slide(1, 3, 1, -2, 9).Slide(2, 4, 1, -2, 9).Reduce(uop.Sum, 0, 3, 4)
	}
	want, err := e.Plan(windows(x))
	require.NoError(t, err)
	got, err := e.Plan(windows(x.Reshape(3*9*9).Reshape(3, 9, 9)))
	require.NoError(t, err)
	assert.Equal(t, want.String(), got.String())
}
