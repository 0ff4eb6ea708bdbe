package schedule_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

func steps(w *world, root *uop.UOp) int {
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: root, Dest: -1}}}
	return len(schedule.New(g, schedule.Config{}).Steps)
}

// A long chain is cut into kernels of bounded size, and a ladder of diamonds is not walked once for each of its 2^60 paths.
func TestLargeGraphs(t *testing.T) {
	w := newWorld(1)
	x := w.input(dtype.F32, 4)
	y := x
	for i := range 100_000 {
		y = y.Add(y.Int(i % 7)).Neg()
	}
	start := time.Now()
	n := steps(w, y)
	assert.Less(t, n, 3000)
	t.Logf("chain: %d kernels, %v", n, time.Since(start))

	y = x
	for range 60 {
		y = y.Mul(y).Add(y)
	}
	start = time.Now()
	n = steps(w, y)
	assert.LessOrEqual(t, n, 2)
	t.Logf("ladder: %d kernels, %v", n, time.Since(start))
}
