package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// movement tries each movement op alone and chains of them, with and without arithmetic in between.
func movement(s *suite) {
	types := []dtype.DType{dtype.F32, dtype.U8, dtype.I64, dtype.F16, dtype.Bool, dtype.F64, dtype.I16}
	for i := range 200 {
		d := types[i%len(types)]
		start := s.shape(1+s.rng.IntN(4), 400)
		if i%23 == 0 {
			start[s.rng.IntN(len(start))] = 0
		}
		steps := s.chain(start, 1+i%7)
		name := fmt.Sprintf("move %d %v %v:", i, d.Short(), start)
		for _, m := range steps {
			name += " " + m.name
		}
		compute := s.rng.IntN(3) == 0
		s.one(name, Tolerance{}, func(in *Inputs) *uop.UOp {
			u := in.Leaf(d, Distinct, start...)
			for _, m := range steps {
				u = m.apply(u)
				if compute {
					u = u.Equal(u.Int(1)).Where(u.Int(2), u.Max(u.Int(1)))
				}
			}
			return u
		})
	}
	s.reuse()
}

// step is one movement with its arguments.
type step struct {
	name  string
	apply func(u *uop.UOp) *uop.UOp
}

// maxElements bounds what a chain grows to.
const maxElements = 20_000

// chain draws n movements that fit one after the other.
func (s *suite) chain(shape []int, n int) []step {
	var out []step
	t := uop.NewArena()
	u := t.Param(0, uop.Shape(shape).Numel(), dtype.F32).Reshape(shape...)
	for len(out) < n {
		m := s.step(u.Shape())
		if m.apply == nil {
			continue
		}
		v := m.apply(u)
		if v.Shape().Numel() > maxElements || len(v.Shape()) > 6 {
			continue
		}
		u = v
		out = append(out, m)
	}
	return out
}

// step draws a movement that fits an array of this shape.
func (s *suite) step(shape uop.Shape) step {
	r, rank := s.rng, len(shape)
	if rank == 0 {
		return step{"reshape[1 1]", func(u *uop.UOp) *uop.UOp { return u.Reshape(1, 1) }}
	}
	lo, hi := make([]int, rank), make([]int, rank)
	switch r.IntN(7) {
	case 0:
		to := s.factor(shape.Numel())
		return step{fmt.Sprintf("reshape%v", to), func(u *uop.UOp) *uop.UOp { return u.Reshape(to...) }}
	case 1:
		order := r.Perm(rank)
		return step{fmt.Sprintf("permute%v", order), func(u *uop.UOp) *uop.UOp { return u.Permute(order...) }}
	case 2:
		k, n := r.IntN(rank+1), []int{1, 2, 3, 8, 17}[r.IntN(5)]
		thin := append(append(append([]int{}, shape[:k]...), 1), shape[k:]...)
		wide := append([]int{}, thin...)
		wide[k] = n
		return step{fmt.Sprintf("expand%v", wide), func(u *uop.UOp) *uop.UOp { return u.Reshape(thin...).Expand(wide...) }}
	case 3:
		for i := range lo {
			lo[i], hi[i] = r.IntN(4), r.IntN(4)
		}
		return step{fmt.Sprintf("pad%v%v", lo, hi), func(u *uop.UOp) *uop.UOp { return u.Pad(lo, hi) }}
	case 4:
		for i, n := range shape {
			lo[i] = r.IntN(min(n, 4) + 1)
			hi[i] = max(lo[i], n-r.IntN(4))
		}
		return step{fmt.Sprintf("shrink%v%v", lo, hi), func(u *uop.UOp) *uop.UOp { return u.Shrink(lo, hi) }}
	case 5:
		axes := r.Perm(rank)[:1+r.IntN(rank)]
		return step{fmt.Sprintf("flip%v", axes), func(u *uop.UOp) *uop.UOp { return u.Flip(axes...) }}
	}
	if rank < 2 {
		return step{}
	}
	p := r.Perm(rank)
	by, from, n := r.IntN(7)-3, r.IntN(9)-4, r.IntN(shape[p[0]]+5)
	return step{fmt.Sprintf("slide(%d by %d·%d%+d to %d)", p[0], by, p[1], from, n),
		func(u *uop.UOp) *uop.UOp { return u.Slide(p[0], p[1], by, from, n) }}
}

// factor is a shape of n elements.
func (s *suite) factor(n int) []int {
	if n == 0 {
		return []int{[]int{0, 3}[s.rng.IntN(2)], 0}
	}
	var out []int
	for range 3 {
		var divisors []int
		for d := 1; d <= n && d <= 64; d++ {
			if n%d == 0 {
				divisors = append(divisors, d)
			}
		}
		d := divisors[s.rng.IntN(len(divisors))]
		out, n = append(out, d), n/d
	}
	return append(out, n)
}

// reuse asks for several views of one value, and for a value beside what is made of it.
func (s *suite) reuse() {
	for i := range 12 {
		shape := s.shape(2, 400)
		a, b := s.chain(shape, 3), s.chain(shape, 2)
		s.add(fmt.Sprintf("views %d of one value %v", i, shape), Tolerance{}, func(in *Inputs) []*uop.UOp {
			x := in.View(dtype.F32, Exact, shape...)
			y := x.Add(x.Float(0.5)).Mul(x)
			u, v := y, y
			for _, m := range a {
				u = m.apply(u)
			}
			for _, m := range b {
				v = m.apply(v)
			}
			return []*uop.UOp{u, y, v.Add(v.Int(1)), u, x.Flip(0)}
		})
	}
}
