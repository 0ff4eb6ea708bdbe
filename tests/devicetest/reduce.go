package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// reductions tries every monoid over every subset of axes, at sizes around those of vectors, and so long that the
// scheduler splits them.
func reductions(s *suite) {
	shapes := [][]int{{0}, {1}, {7}, {33}, {100}, {257}, {1000}, {5003}, {7, 33}, {33, 7}, {1, 100}, {100, 1}, {65, 129}, {0, 5}, {5, 0},
		{3, 17, 5}, {2, 100, 9}, {17, 1, 16}, {2, 3, 4, 5}, {1, 3, 1, 7}}
	for _, shape := range shapes {
		for _, axes := range subsets(len(shape)) {
			s.simple(uop.Sum, dtype.F32, Exact, shape, axes)
			s.simple(uop.MaxOf, dtype.F32, Special, shape, axes)
			s.simple(uop.Prod, dtype.F32, Powers, shape, axes)
			s.simple(uop.Sum, s.oneOf(dtype.I32, dtype.I64, dtype.U32, dtype.F64, dtype.U64), Exact, shape, axes)
			s.simple(uop.MaxOf, s.oneOf(dtype.I8, dtype.U8, dtype.Bool, dtype.F64, dtype.F16, dtype.BF16, dtype.U64, dtype.I16), Special, shape, axes)
			s.argMax(s.oneOf(dtype.F32, dtype.F64, dtype.I32, dtype.U8, dtype.F16), shape, axes)
			s.sumExp(dtype.F32, shape, axes)
			s.moments(s.oneOf(dtype.F32, dtype.F64), shape, axes)
		}
	}
	for _, c := range []struct {
		shape []int
		axes  []int
	}{{[]int{300_000}, []int{0}}, {[]int{4, 70_001}, []int{1}}, {[]int{70_001, 3}, []int{0}}, {[]int{100, 33, 100}, []int{0, 2}}, {[]int{2, 50_000, 2}, []int{1}}} {
		s.simple(uop.Sum, dtype.F32, Powers, c.shape, c.axes)
		s.simple(uop.Sum, dtype.I32, Special, c.shape, c.axes)
		s.simple(uop.MaxOf, dtype.F32, Special, c.shape, c.axes)
		s.argMax(dtype.F32, c.shape, c.axes[:1])
		s.sumExp(dtype.F32, c.shape, c.axes)
		s.moments(dtype.F32, c.shape, c.axes)
	}
	s.nested()
}

func (s *suite) oneOf(types ...dtype.DType) dtype.DType { return types[s.rng.IntN(len(types))] }

// subsets lists all sets of axes that are not empty.
func subsets(rank int) [][]int {
	var out [][]int
	for bits := 1; bits < 1<<rank; bits++ {
		var axes []int
		for i := range rank {
			if bits>>i&1 == 1 {
				axes = append(axes, i)
			}
		}
		out = append(out, axes)
	}
	return out
}

func (s *suite) simple(m uop.Monoid, d dtype.DType, fill Fill, shape, axes []int) {
	s.one(fmt.Sprintf("reduce %v %v %v over %v", m, d.Short(), shape, axes), tolerance["reduce"], func(in *Inputs) *uop.UOp {
		return in.View(d, fill, shape...).Reduce(m, axes...)
	})
}

// along is 0, 1, … along the reduced axes, taken in order.
func along(shape, axes []int) *uop.UOp {
	n := 1
	one := make([]int, len(shape))
	for i := range one {
		one[i] = 1
	}
	for _, a := range axes {
		n *= shape[a]
		one[a] = shape[a]
	}
	return uop.NewIota(n).Cast(dtype.I32).Reshape(one...).Expand(shape...)
}

func (s *suite) argMax(d dtype.DType, shape, axes []int) {
	if uop.Shape(shape).Numel() == 0 {
		return
	}
	s.add(fmt.Sprintf("reduce argmax %v %v over %v", d.Short(), shape, axes), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
		x := in.View(d, Special, shape...)
		r := x.Home().ReduceParts(uop.ArgMax, axes, x, along(shape, axes))
		return []*uop.UOp{r.Part(1), r.Part(0)}
	})
}

func (s *suite) sumExp(d dtype.DType, shape, axes []int) {
	s.add(fmt.Sprintf("reduce sumexp %v %v over %v", d.Short(), shape, axes), sequential("sumexp", shape), func(in *Inputs) []*uop.UOp {
		x, f := in.View(d, Finite, shape...), in.View(d, Positive, shape...)
		r := x.Home().ReduceParts(uop.SumExp, axes, x, f)
		return []*uop.UOp{r.Part(0), r.Part(1)}
	})
}

func (s *suite) moments(d dtype.DType, shape, axes []int) {
	s.add(fmt.Sprintf("reduce moments %v %v over %v", d.Short(), shape, axes), sequential("moments", shape), func(in *Inputs) []*uop.UOp {
		x := in.View(d, Smooth, shape...)
		r := x.Home().ReduceParts(uop.Moments, axes, x.Int(1).Reshape(ones(len(shape))...).Expand(shape...), x, x.Int(0).Reshape(ones(len(shape))...).Expand(shape...))
		return []*uop.UOp{r.Part(0), r.Part(1), r.Part(2)}
	})
}

// sequential is the tolerance of a reduction that carries rounded values.
func sequential(name string, shape []int) Tolerance {
	if uop.Shape(shape).Numel() > 100_000 {
		name = "long"
	}
	return tolerance[name]
}

func ones(rank int) []int {
	s := make([]int, rank)
	for i := range s {
		s[i] = 1
	}
	return s
}

// nested reduces what depends on reductions: siblings, chains, and reductions inside reductions.
func (s *suite) nested() {
	for _, shape := range [][]int{{7, 33}, {33, 65}, {1, 100}, {100, 1}, {3, 17, 16}, {257, 3}} {
		rank := len(shape)
		keep := append([]int{}, shape...)
		keep[rank-1] = 1
		s.add(fmt.Sprintf("siblings %v", shape), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
			x := in.View(dtype.F32, Exact, shape...)
			return []*uop.UOp{x.Reduce(uop.Sum, rank-1), x.Reduce(uop.MaxOf, rank-1), x.Mul(x).Reduce(uop.Sum, rank-1), x.Reduce(uop.Sum, 0), x.Add(x.Int(1))}
		})
		s.one(fmt.Sprintf("centred %v", shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, shape...)
			c := x.Sub(x.Reduce(uop.MaxOf, rank-1).Reshape(keep...).Expand(shape...))
			return c.Sub(c.Reduce(uop.Sum, rank-1).Reshape(keep...).Expand(shape...))
		})
		s.one(fmt.Sprintf("twice %v", shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, shape...)
			return x.Reduce(uop.Sum, rank-1).Add(x.Int(1)).Reduce(uop.MaxOf, 0).Neg()
		})
		s.one(fmt.Sprintf("epilogue %v", shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, shape...)
			return x.Reduce(uop.Sum, 0).Max(x.Int(0)).Add(in.View(dtype.F32, Exact, shape[1:]...))
		})
		s.one(fmt.Sprintf("padded max %v", shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x := in.View(dtype.F32, Exact, shape...).Sub(in.Leaf(dtype.F32, Positive, 1).Reshape().Add(uop.NewInt(dtype.F32, 9)))
			pad := ones(rank)
			return x.Pad(pad, pad).Reduce(uop.MaxOf, 0)
		})
	}
}
