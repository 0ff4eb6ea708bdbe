package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// besides joins matrices with as many rows, as tensors do.
func (w *world) besides(us ...*uop.UOp) *uop.UOp {
	total := 0
	for _, u := range us {
		total += u.Shape()[1]
	}
	var out *uop.UOp
	end := total
	for i := len(us) - 1; i >= 0; i-- {
		begin := end - us[i].Shape()[1]
		part := us[i].Pad([]int{0, begin}, []int{0, total - end})
		if out != nil {
			at := w.t.Iota(total).Reshape(1, total).Expand(part.Shape()...)
			part = at.Less(at.Int(end)).Where(part, out)
		}
		out, end = part, begin
	}
	return out
}

// What is joined of arrays is computed part by part, if threads can share the rows or one does all of it; parts too short stay together.
func TestJoinedArraysAreCut(t *testing.T) {
	t.Parallel()
	limits := codegen.NestLimits{Most: 8, Flops: 1 << 20, Bytes: 1 << 20, Rows: 8}
	cut := func(w *world, limits codegen.NestLimits, root *uop.UOp) []codegen.Out {
		g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: root, Dest: -1}}}
		r := w.checkGraph(t, g, schedule.Config{Nests: limits})
		require.Len(t, r.Steps, 1, r)
		return r.Steps[0].Spec.Outs
	}
	parts := func(rows int, sizes ...int) (*world, *uop.UOp) {
		w := newWorld(1)
		var us []*uop.UOp
		for _, n := range sizes {
			us = append(us, w.input(dtype.F32, rows, n))
		}
		x := w.besides(us...)
		return w, x.Mul(x)
	}
	w, x := parts(9, 20, 16, 40)
	outs := cut(w, limits, x)
	assert.Len(t, outs, 3)
	for _, o := range outs {
		for _, u := range uop.Topo(o.Value) {
			assert.NotEqual(t, uop.Less, u.Op(), "nothing is selected")
		}
	}
	w, x = parts(9, 20, 5, 11, 40)
	assert.Len(t, cut(w, limits, x), 3, "one part has two arrays")
	w, x = parts(9, 5, 30)
	assert.Len(t, cut(w, limits, x), 1, "nothing is long enough to be a part beside it")
	w, x = parts(9, 20, 30)
	assert.Len(t, cut(w, codegen.NestLimits{}, x), 1)

	few := codegen.NestLimits{Most: 8, Flops: 1, Bytes: 1, Rows: 8}
	w, x = parts(9, 20, 30)
	assert.Len(t, cut(w, few, x), 2, "threads share the rows")
	w, x = parts(9, 20, 30)
	assert.Len(t, cut(w, few, x.Permute(1, 0)), 1, "each thread has columns of all")
	w, x = parts(9, 20, 30)
	assert.Len(t, cut(w, limits, x.Reduce(uop.Sum, 1)), 1, "what is summed is one sum")
}
