package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// indexing tries gathers and scatters on every axis, with indices of several types, some of them outside, and with
// indices that meet.
func indexing(s *suite) {
	types := []dtype.DType{dtype.F32, dtype.I32, dtype.U8, dtype.F64, dtype.Bool, dtype.F16}
	indices := []dtype.DType{dtype.I32, dtype.I64, dtype.U8, dtype.I8}
	i := 0
	for _, shape := range [][]int{{1}, {7}, {100}, {257}, {5, 33}, {33, 5}, {3, 17, 4}, {1, 1}, {0}, {4, 0}, {64, 16}} {
		for axis := range shape {
			for _, n := range []int{0, 1, 9, 65} {
				i++
				d, it := types[i%len(types)], indices[i%len(indices)]
				from := append([]int{}, shape...)
				from[axis] = n
				s.gather(d, it, shape, from, axis)
				for _, m := range []uop.Monoid{uop.Sum, uop.MaxOf, uop.Last, uop.Prod} {
					s.scatter(m, d, it, shape, from, axis)
				}
			}
		}
	}
	s.lookups()
}

func (s *suite) gather(d, it dtype.DType, shape, from []int, axis int) {
	s.one(fmt.Sprintf("gather %v%v[%v%v] on %d", d.Short(), shape, it.Short(), from, axis), Tolerance{}, func(in *Inputs) *uop.UOp {
		return in.View(d, Special, shape...).Gather(in.Index(it, shape[axis], true, from...), axis)
	})
}

func (s *suite) scatter(m uop.Monoid, d, it dtype.DType, shape, from []int, axis int) {
	if d == dtype.Bool && (m == uop.Sum || m == uop.Prod) || d == dtype.F16 && m != uop.Last && m != uop.MaxOf {
		return // the tensor layer widens these
	}
	fill := map[uop.Monoid]Fill{uop.Sum: Exact, uop.Prod: Powers, uop.MaxOf: Special, uop.Last: Special}[m]
	s.one(fmt.Sprintf("scatter %v %v%v[%v%v] on %d", m, d.Short(), shape, it.Short(), from, axis), tolerance["reduce"], func(in *Inputs) *uop.UOp {
		base := in.View(d, fill, shape...)
		return base.Scatter(in.Index(it, shape[axis], true, from...), in.View(d, fill, from...), axis, m)
	})
}

// lookups are gathers and scatters within larger graphs: of computed values, by computed indices, into each
// other, and what one-hot comparisons stand for.
func (s *suite) lookups() {
	for _, c := range [][3]int{{7, 5, 3}, {100, 33, 17}, {257, 16, 65}, {10, 64, 1}, {96, 5, 200}} {
		rows, width, n := c[0], c[1], c[2]
		spread := func(u *uop.UOp) *uop.UOp { return u.Reshape(n, 1).Expand(n, width) }
		s.one(fmt.Sprintf("embedding %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			w := in.View(dtype.F32, Exact, rows, width)
			return w.Add(w).Gather(spread(in.Index(dtype.I32, rows, true, n)), 0).Mul(in.View(dtype.F32, Exact, n, width))
		})
		s.one(fmt.Sprintf("embedding gradient %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			g := in.View(dtype.F32, Exact, n, width)
			zero := g.Int(0).Reshape(1, 1).Expand(rows, width)
			return zero.Scatter(spread(in.Index(dtype.I64, rows, true, n)), g.Mul(g), 0, uop.Sum).Sub(in.View(dtype.F32, Exact, rows, width))
		})
		s.one(fmt.Sprintf("gather of a sum %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, rows, width)
			return x.Reduce(uop.Sum, 1).Gather(in.Index(dtype.I32, rows, true, n), 0).Add(x.Int(1))
		})
		s.one(fmt.Sprintf("computed index %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, rows)
			i := uop.NewIota(n).Cast(dtype.I32)
			return x.Gather(i.Mul(i.Int(3)).Sub(i.Int(2)), 0)
		})
		s.one(fmt.Sprintf("index of an index %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, rows)
			return x.Gather(in.Index(dtype.I32, rows, true, width).Gather(in.Index(dtype.I32, width, true, n), 0), 0)
		})
		s.one(fmt.Sprintf("one-hot product %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			i := in.Index(dtype.I32, rows, true, n).Reshape(n, 1, 1).Expand(n, rows, width)
			hot := uop.NewIota(rows).Cast(dtype.I32).Reshape(1, rows, 1).Expand(n, rows, width).Equal(i)
			w := in.View(dtype.F32, Exact, rows, width).Reshape(1, rows, width).Expand(n, rows, width)
			return hot.Cast(dtype.F32).Mul(w).Reduce(uop.Sum, 1)
		})
		s.one(fmt.Sprintf("scatter then gather %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x, i := in.View(dtype.F32, Exact, rows), in.Index(dtype.I32, rows, true, n)
			return x.Scatter(i, in.View(dtype.F32, Exact, n), 0, uop.Last).Gather(i, 0).Reduce(uop.MaxOf, 0)
		})
		s.one(fmt.Sprintf("counts %v", c), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			i := in.Index(dtype.I32, rows, true, n)
			one := i.Int(1).Reshape(1).Expand(n)
			return i.Int(0).Reshape(1).Expand(rows).Scatter(i, one, 0, uop.Sum)
		})
	}
	s.grids()
}

// grids are index grids: made, compared and reduced.
func (s *suite) grids() {
	for _, n := range []int{0, 1, 5, 33, 257} {
		s.add(fmt.Sprintf("grids %d", n), Tolerance{}, func(in *Inputs) []*uop.UOp {
			i := uop.NewIota(n).Cast(dtype.I32)
			row, col := i.Reshape(1, n).Expand(n, n), i.Reshape(n, 1).Expand(n, n)
			x := in.Leaf(dtype.F32, Exact, n, n)
			return []*uop.UOp{i.Add(i.Int(1)), i.Cast(dtype.F64), row.Equal(col).Cast(dtype.F32), row.Less(col).Where(x, x.Int(0)),
				i.Reduce(uop.Sum, 0), i.Flip(0).Mod(i.Int(7)), row.Equal(col).Where(x, x.Int(0)).Reduce(uop.Sum, 1)}
		})
	}
}
