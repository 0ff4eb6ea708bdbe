package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/uop"
)

// integers are few numbers, so that there are equal ones, and the extremes among them.
func (w *world) integers(d dtype.DType, shape ...int) *uop.UOp {
	u := w.input(d, shape...)
	lo, hi := uop.IntLimits(d)
	for i, v := range w.values[len(w.values)-1] {
		switch w.rng.IntN(6) {
		case 0:
			v = lo
		case 1:
			v = hi
		case 2:
			v = uop.IntValue(d, w.rng.Int64())
		}
		w.values[len(w.values)-1][i] = v
	}
	return u
}

// A sort is what the reference says after each phase on every kind of target, around the sizes from which rows are sorted by digits, padded
// and cut into blocks.
func TestSorts(t *testing.T) {
	tables := schedule.Config{Tables: true, Nests: codegen.NestLimits{Most: 12, Rows: 2}}
	for _, c := range []struct {
		d     dtype.DType
		shape uop.Shape
		schedule.Config
	}{
		{dtype.I32, uop.Shape{3, 0}, tables},
		{dtype.I32, uop.Shape{3, 1}, tables},
		{dtype.I64, uop.Shape{2, 3, 7}, tables},
		{dtype.U8, uop.Shape{3, 258}, tables},
		{dtype.I8, uop.Shape{257}, tables},
		{dtype.I16, uop.Shape{257}, schedule.Config{Tables: true, StoreAll: true}},
		{dtype.I32, uop.Shape{2, 257}, tables},
		{dtype.U32, uop.Shape{8195}, tables},
		{dtype.I64, uop.Shape{257}, tables},
		{dtype.U64, uop.Shape{257}, tables},
		{dtype.U8, uop.Shape{2, 257}, schedule.Config{}},
		{dtype.I8, uop.Shape{257}, schedule.Config{Parallel: 1 << 12}},
		{dtype.I16, uop.Shape{321}, schedule.Config{StoreAll: true}},
	} {
		w := newWorld(1)
		x := w.integers(c.d, c.shape...)
		g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: x.ArgSort(), Dest: -1}}}
		check := evaluate.New()
		check.Most = 40_000_000
		_, err := check.Schedule(g, c.Config)
		require.NoError(t, err, "%v%v %+v", c.d, c.shape, c.Config)
		assert.Zero(t, check.TooLarge.Load(), "%v%v", c.d, c.shape)
	}
}

// Each digit takes the same kernels, the first and the last without what they have no need of; elements of few bits have few digits.
func TestKernelsOfSorts(t *testing.T) {
	for _, c := range []struct {
		d       dtype.DType
		kernels int
	}{{dtype.U8, 5}, {dtype.I16, 9}, {dtype.I32, 17}, {dtype.I64, 33}} {
		w := newWorld(1)
		x := w.integers(c.d, 1<<14)
		r := schedule.New(&schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: x.ArgSort(), Dest: -1}}}, schedule.Config{Tables: true})
		different := map[string]bool{}
		for _, s := range r.Steps {
			require.NotNil(t, s.Spec)
			different[codegen.PrintSpec(s.Spec)] = true
		}
		assert.Len(t, r.Steps, c.kernels, c.d)
		assert.LessOrEqual(t, len(different), 8, c.d)
	}
}
