package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// single is the number that a byte stands for, rounded the byte of a number, sigmoid what it says.
func single(x *uop.UOp, scale, zero float64) *uop.UOp {
	f := x.Cast(dtype.F32)
	return f.Add(f.Float(-zero)).Mul(f.Float(scale))
}

func rounded(f *uop.UOp, d dtype.DType, scale, zero float64) *uop.UOp {
	lo, hi := 0.0, 255.0
	if d == dtype.I8 {
		lo, hi = -128, 127
	}
	f = f.Div(f.Float(scale)).RoundEven().Add(f.Float(zero)).Max(f.Float(lo))
	return f.Neg().Max(f.Float(-hi)).Neg().Cast(d)
}

func sigmoid(f *uop.UOp) *uop.UOp {
	return f.Float(1).Div(f.Mul(f.Float(-1.4427)).Exp2().Add(f.Float(1)))
}

// A function of one byte, through other bytes or not, is a table of its values, which the plan brings; what depends on two bytes is none, but what each of
// these is of another is.
func TestFunctionsOfOneByte(t *testing.T) {
	for _, d := range []dtype.DType{dtype.U8, dtype.I8} {
		silu := func(x *uop.UOp) *uop.UOp {
			f := single(x, 0.05, 3)
			s := rounded(sigmoid(f), dtype.U8, 1.0/256, 0)
			return rounded(f.Mul(single(s, 1.0/256, 0)), d, 0.04, 5)
		}
		for _, c := range []struct {
			name   string
			of     func(x, y *uop.UOp) *uop.UOp
			tables int
			exp    bool // the kernel computes an exponential itself
		}{
			{"of one byte", func(x, _ *uop.UOp) *uop.UOp { return silu(x) }, 1, false},
			{"of a function", func(x, _ *uop.UOp) *uop.UOp { return silu(silu(x)) }, 1, false},
			{"of two bytes", func(x, y *uop.UOp) *uop.UOp {
				return rounded(sigmoid(single(x, 0.05, 3).Mul(single(y, 0.05, 3))), d, 0.01, 0)
			}, 0, true},
			{"of two functions", func(x, y *uop.UOp) *uop.UOp {
				return rounded(single(silu(x), 0.05, 3).Add(single(silu(y.Add(y)), 0.05, 3)), d, 0.08, 3)
			}, 2, false},
			{"of what is made of two", func(x, y *uop.UOp) *uop.UOp { return silu(x.Add(y)) }, 1, false},
			{"of a byte where it counts", func(x, y *uop.UOp) *uop.UOp { return silu(y.Less(x).Where(x, x.Int(0))) }, 1, false},
			{"in floats", func(x, _ *uop.UOp) *uop.UOp { return sigmoid(single(x, 0.05, 3)) }, 0, true},
		} {
			t.Run(c.name+" "+d.String(), func(t *testing.T) {
				for _, lookup := range []int{0, 1} {
					w := newWorld(5)
					x, y := w.input(d, 40, 130), w.input(d, 40, 130)
					v := c.of(x, y)
					r := w.checkGraph(t, &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: v, Dest: -1}}}, schedule.Config{Lookup: lookup})
					require.Len(t, r.Steps, 1)
					tables, exp := 0, false
					for i, b := range r.Steps[0].Bufs {
						if r.Bufs[b].Kind == schedule.ConstantBuf {
							tables++
							require.Equal(t, []int{256}, r.Steps[0].Spec.Params[i].Dims)
						}
					}
					for _, u := range uop.Topo(r.Steps[0].Spec.Outs[0].Value) {
						exp = exp || u.Op() == uop.Exp2
					}
					if lookup == 0 {
						require.Zero(t, tables)
						continue
					}
					require.Equal(t, c.tables, tables, r)
					require.Equal(t, c.exp, exp, r)
				}
			})
		}
	}
}

// Tables are made where they save more than they cost, and kernels have no more arrays than may be.
func TestTablesThatPay(t *testing.T) {
	for _, c := range []struct{ n, lookup, most, tables int }{
		{256, 1, 0, 0}, {1024, 1, 0, 0}, {4096, 1, 0, 1}, {4096, 0, 0, 0}, {4096, 25, 0, 0}, {1 << 15, 25, 0, 1}, {1 << 15, 40, 0, 0}, {4096, 1, 2, 0}, {4096, 1, 3, 1},
	} {
		w := newWorld(6)
		v := rounded(sigmoid(single(w.input(dtype.U8, c.n), 0.05, 3)), dtype.U8, 0.01, 0)
		r := w.checkGraph(t, &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: v, Dest: -1}}}, schedule.Config{Lookup: c.lookup, MaxBindings: c.most})
		require.Equal(t, c.tables, len(r.Constants), "%+v\n%v", c, r)
	}
}
