package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// Layers that differ in constants only are the same kernels, which get the constants as arrays: so many elements as there are different ones, in an array of each type,
// those without a fraction as integers; what all have stays a constant. Where few nodes are the same the kernels stay as they are.
func TestAlikeButForConstants(t *testing.T) {
	specs := func(r *schedule.Result) int {
		seen := map[string]bool{}
		for _, s := range r.Steps {
			seen[fmt.Sprintf("%p %v", s.Spec.Outs[0].Value, s.Spec.Params)] = true
		}
		return len(seen)
	}
	for _, align := range []int{0, 256} {
		for alike, want := range map[int]int{0: 6, 1: 2, 1000: 6} {
			w := newWorld(2)
			y, m := w.input(dtype.F32, 4, 8), w.input(dtype.F32, 8, 8)
			for i := range 6 {
				scale, zero := y.Float(0.15+0.3*float64(i)), y.Float(float64(2*i-5))
				y = w.matmul(y, m).Div(scale).RoundEven().Add(zero).Max(y.Float(-5)).Mul(scale).Add(y.Float(0.25)).Contiguous()
			}
			r := w.checkGraph(t, &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: y, Dest: -1}}}, schedule.Config{Alike: alike, Align: align})
			require.Equal(t, want, specs(r), "alike %d\n%v", alike, r)
			if alike != 1 {
				assert.Empty(t, r.Constants)
				continue
			}
			require.Len(t, r.Constants, 2)
			for _, s := range r.Steps[1:] { // the first reads an array of other dims
				require.Equal(t, []codegen.Param{{DType: dtype.F32, Dims: []int{1}}, {DType: dtype.I32, Dims: []int{1}}}, s.Spec.Params[len(s.Spec.Params)-2:])
				for p, b := range s.Bufs {
					if align > 0 && r.Bufs[b].Kind == schedule.ConstantBuf {
						require.Zero(t, s.From[p]*4%align)
					}
				}
			}
		}
	}
}

// What a table is read at is a byte, however the float was computed that it is made of: tables behind quantised sums are read so.
func TestTablesReadAtBytesAreAlike(t *testing.T) {
	w := newWorld(4)
	table, y, m := w.input(dtype.F32, 256), w.input(dtype.F32, 8, 8), w.input(dtype.F32, 8, 8)
	for i := range 6 {
		scaled := w.matmul(y, m).Div(y.Float(0.15 + 0.3*float64(i))).RoundEven().Add(y.Float(float64(2*i - 5)))
		at := scaled.Max(y.Float(0)).Neg().Max(y.Float(-255)).Neg().Cast(dtype.U8).Cast(dtype.I32)
		y = table.Gather(at.Reshape(64), 0).Reshape(8, 8).Contiguous()
	}
	r := w.checkGraph(t, &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: y, Dest: -1}}}, schedule.Config{Alike: 1})
	seen := map[*uop.UOp]bool{}
	for _, s := range r.Steps {
		seen[s.Spec.Outs[0].Value] = true
	}
	require.Len(t, seen, 2, "%v", r) // the first reads an array of other dims
}

// Constants of indices, but for where masks begin, and of selections are none of those; −0 is no integer; kernels of the same constants share theirs.
func TestConstantsThatStay(t *testing.T) {
	w := newWorld(3)
	x, m, list := w.input(dtype.F32, 5), w.input(dtype.Bool, 5), w.input(dtype.I32, 5)
	var roots []schedule.Root
	for i := range 8 {
		zero := x.Float(float64(i / 2))
		if i == 0 {
			zero = x.Float(0).Neg()
		}
		v := m.Where(x, x.Float(float64(i/2))).Add(zero).Sin().Contiguous()
		at := list.Add(list.Int(i / 2)).Max(list.Int(0)).Neg().Max(list.Int(-4)).Neg()
		roots = append(roots, schedule.Root{Value: v, Dest: -1}, schedule.Root{Value: x.Gather(at, 0).Mul(x.Float(3)).Contiguous(), Dest: -1}, schedule.Root{Value: x.Add(x.Float(float64(i / 2))).Exp2().Mul(x).Contiguous(), Dest: -1})
	}
	r := w.checkGraph(t, &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: roots}, schedule.Config{Alike: 1, MaxBindings: 3})
	for _, b := range r.Bufs {
		if b.Kind == schedule.ConstantBuf {
			require.Len(t, r.Constants[b.Index], b.N)
		}
	}
	for _, s := range r.Steps {
		if s.Spec == nil {
			continue
		}
		require.LessOrEqual(t, len(s.Bufs), 3, r)
		kinds := map[schedule.BufKind]bool{}
		indexed := false
		for _, b := range s.Bufs {
			kinds[r.Bufs[b].Kind] = true
			indexed = indexed || r.Bufs[b].DType == dtype.I32 && r.Bufs[b].Kind == schedule.InputBuf
		}
		require.False(t, indexed && kinds[schedule.ConstantBuf], r)
		for _, o := range s.Spec.Outs {
			for _, u := range uop.Topo(o.Value) {
				if u.Op() == uop.Where && u.At(1).DType() == dtype.F32 {
					require.Equal(t, uop.Const, u.At(2).Op(), r)
				}
			}
		}
	}
}
