package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// scans tries running reductions along every axis, at sizes around those of vectors, so long that the scheduler cuts them
// into blocks, and with what may be computed beside them in their kernel.
func scans(s *suite) {
	shapes := [][]int{{1}, {7}, {100}, {257}, {1, 9}, {9, 1}, {5, 33}, {64, 17}, {3, 17, 5}, {2, 3, 4, 5},
		{0, 4}, {4, 0}, {2049}, {5003}, {2500, 3}, {3, 2053, 2}}
	for _, shape := range shapes {
		for axis := range shape {
			s.running(uop.Sum, dtype.F32, Exact, shape, axis)
			s.running(uop.MaxOf, dtype.F32, Special, shape, axis)
			s.running(uop.Prod, dtype.F32, Powers, shape, axis)
			s.running(uop.Sum, s.oneOf(dtype.I32, dtype.I64, dtype.U32, dtype.F64, dtype.U64), Exact, shape, axis)
			s.running(uop.MaxOf, s.oneOf(dtype.I8, dtype.U8, dtype.Bool, dtype.F64, dtype.F16, dtype.BF16, dtype.U64, dtype.I16), Special, shape, axis)
			s.linear(s.oneOf(dtype.F32, dtype.F64), shape, axis)
			s.runningArgMax(s.oneOf(dtype.F32, dtype.I32, dtype.U8), shape, axis)
			s.runningSumExp(shape, axis)
		}
	}
	s.running(uop.Sum, dtype.F32, Exact, []int{257, 16_400}, 1)
	for _, shape := range [][]int{{70_001}, {1 << 16}, {3, 20_000}, {16_500, 5}} {
		for axis := range shape {
			s.running(uop.Sum, dtype.F32, Exact, shape, axis)
			s.running(uop.Sum, dtype.I32, Special, shape, axis)
			s.linear(dtype.F32, shape, axis)
		}
	}
	s.beside()
}

func (s *suite) running(m uop.Monoid, d dtype.DType, fill Fill, shape []int, axis int) {
	s.one(fmt.Sprintf("scan %v %v %v along %d", m, d.Short(), shape, axis), tolerance["reduce"], func(in *Inputs) *uop.UOp {
		return in.View(d, fill, shape...).Scan(m, axis)
	})
}

// linear tries y = a·y′ + b with |a| ≤ 1, both of whose results are wanted.
func (s *suite) linear(d dtype.DType, shape []int, axis int) {
	s.add(fmt.Sprintf("scan linear %v %v along %d", d.Short(), shape, axis), tolerance["moments"], func(in *Inputs) []*uop.UOp {
		a, b := in.View(d, Smooth, shape...).Sin(), in.View(d, Smooth, shape...)
		r := a.Home().ScanParts(uop.Linear, axis, a, b)
		return []*uop.UOp{r.Part(1), r.Part(0)}
	})
}

func (s *suite) runningArgMax(d dtype.DType, shape []int, axis int) {
	for _, m := range []uop.Monoid{uop.ArgMax, uop.ArgLast} {
		s.add(fmt.Sprintf("scan %v %v %v along %d", m, d.Short(), shape, axis), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
			x := in.View(d, Special, shape...)
			r := x.Home().ScanParts(m, axis, x, along(shape, []int{axis}))
			return []*uop.UOp{r.Part(1), r.Part(0)}
		})
	}
}

func (s *suite) runningSumExp(shape []int, axis int) {
	s.add(fmt.Sprintf("scan sumexp %v along %d", shape, axis), tolerance["sumexp"], func(in *Inputs) []*uop.UOp {
		x := in.View(dtype.F32, Finite, shape...)
		r := x.Home().ScanParts(uop.SumExp, axis, x, x.Int(1))
		return []*uop.UOp{r.Part(0), r.Part(1)}
	})
}

// beside tries what the scheduler may put into the kernel of a scan, and what it must not.
func (s *suite) beside() {
	row := func(x *uop.UOp, axis int) *uop.UOp { // a sum, spread again
		one := append([]int{}, x.Shape()...)
		one[axis] = 1
		return x.Reduce(uop.Sum, axis).Reshape(one...).Expand(x.Shape()...)
	}
	for _, c := range []struct {
		name string
		f    func(x, y *uop.UOp) *uop.UOp
	}{
		{"of a product", func(x, y *uop.UOp) *uop.UOp { return x.Mul(y).Scan(uop.Sum, 1) }},
		{"of a transposed array", func(x, y *uop.UOp) *uop.UOp { return x.Permute(1, 0).Scan(uop.Sum, 1).Permute(1, 0).Add(y) }},
		{"of differences of rows", func(x, y *uop.UOp) *uop.UOp { return x.Sub(row(x, 1)).Scan(uop.Sum, 1) }},
		{"of differences of columns", func(x, y *uop.UOp) *uop.UOp { return x.Sub(row(x, 0)).Scan(uop.Sum, 1) }},
		{"beside sums", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Add(row(x, 1)).Add(row(y, 0)) }},
		{"twice", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Scan(uop.Sum, 0) }},
		{"twice along an axis", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Scan(uop.Sum, 1) }},
		{"two along an axis", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Mul(y.Scan(uop.MaxOf, 1)) }},
		{"two along both axes", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Add(y.Scan(uop.Sum, 0)) }},
		{"backwards", func(x, y *uop.UOp) *uop.UOp { return x.Flip(1).Scan(uop.Sum, 1).Flip(1).Add(y) }},
		{"masked behind", func(x, y *uop.UOp) *uop.UOp {
			n := x.Shape()[1]
			late := uop.NewIota(n).Less(uop.NewInt(dtype.Index, n/2)).Not().Reshape(1, n).Expand(x.Shape()...)
			return late.Where(late.Where(x, x.Int(0)).Scan(uop.Sum, 1).Add(x.Scan(uop.Sum, 1)), y)
		}},
		{"padded before and behind", func(x, y *uop.UOp) *uop.UOp {
			return x.Pad([]int{0, 3}, []int{1, 2}).Scan(uop.Sum, 1).Add(x.Int(1)).Pad([]int{1, 0}, []int{0, 4})
		}},
		{"narrowed", func(x, y *uop.UOp) *uop.UOp {
			return x.Scan(uop.Sum, 1).Cast(dtype.U8).Cast(dtype.I32).Add(y.Cast(dtype.I32))
		}},
		{"to a byte", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.MaxOf, 0).Less(y) }},
		{"gathered with", func(x, y *uop.UOp) *uop.UOp { // what it reads is a reduction at its index
			at := x.Cast(dtype.I32).And(uop.NewInt(dtype.I32, 3)).Scan(uop.MaxOf, 1)
			return y.Reshape(1, y.Shape()[0], y.Shape()[1]).Expand(2, y.Shape()[0], y.Shape()[1]).Reduce(uop.Sum, 0).Gather(at, 1)
		}},
		{"summed", func(x, y *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, 1).Mul(y).Reduce(uop.Sum, 1) }},
		{"gathered", func(x, y *uop.UOp) *uop.UOp {
			return x.Scan(uop.Sum, 1).Gather(y.Cast(dtype.I32).And(uop.NewInt(dtype.I32, 3)), 1)
		}},
		{"scattered into", func(x, y *uop.UOp) *uop.UOp {
			return x.Scan(uop.Sum, 0).Scatter(y.Cast(dtype.I32).And(uop.NewInt(dtype.I32, 3)), y.Scan(uop.Sum, 1), 1, uop.Sum)
		}},
	} {
		for _, shape := range [][]int{{7, 9}, {16, 64}, {65, 33}, {4, 2100}} {
			s.one(fmt.Sprintf("scan %s %v", c.name, shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				return c.f(in.View(dtype.F32, Exact, shape...), in.View(dtype.F32, Exact, shape...))
			})
		}
	}
}
