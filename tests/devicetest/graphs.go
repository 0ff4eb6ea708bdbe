package devicetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// graphs are random programs: movement, arithmetic, reductions, gathers and scatters over and beside each other, with
// several results. Numbers stay small and whole, so that every result is exact.
func graphs(s *suite) {
	for i := range 120 {
		seed := s.rng.Uint64()
		s.add(fmt.Sprintf("graph %d", i), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
			g := grower{in: in, r: rand.New(rand.NewPCG(seed, 3))}
			return g.grow(10 + i%20)
		})
	}
}

// grower makes nodes out of nodes.
type grower struct {
	in   *Inputs
	r    *rand.Rand
	pool []*uop.UOp
}

func (g *grower) grow(n int) []*uop.UOp {
	for _, shape := range [][]int{{5, 33}, {2, 17, 6}, {70}, {9, 16}} {
		g.pool = append(g.pool, g.in.View(dtype.F32, Exact, shape...), g.in.View(dtype.I32, Exact, shape...))
	}
	for tries := 0; len(g.pool) < n+8 && tries < 50*n; tries++ {
		x := g.pool[len(g.pool)-1-g.r.IntN(min(6, len(g.pool)))]
		if u := g.next(x); u != nil && u.Shape().Numel() <= 4000 && len(u.Shape()) <= 5 {
			g.pool = append(g.pool, u)
		}
	}
	var roots []*uop.UOp
	for range 1 + g.r.IntN(4) {
		roots = append(roots, g.pool[len(g.pool)-1-g.r.IntN(min(10, len(g.pool)))])
	}
	return roots
}

// small keeps numbers between ±4, quarters among floats.
func small(u *uop.UOp) *uop.UOp {
	if u.DType().IsFloat() {
		return u.Max(u.Int(-4)).Min(u.Int(4)).Mul(u.Int(4)).Trunc().Mul(u.Float(0.25))
	}
	return u.Max(u.Int(-4)).Min(u.Int(4))
}

// next applies something random to x, or gives nil where it does not fit.
func (g *grower) next(x *uop.UOp) *uop.UOp {
	r, shape := g.r, x.Shape()
	if len(shape) == 0 || shape.Numel() == 0 {
		return nil
	}
	axis := r.IntN(len(shape))
	keep := append([]int{}, shape...)
	keep[axis] = 1
	s := suite{rng: r}
	switch r.IntN(12) {
	case 0, 1, 2:
		if m := s.step(shape); m.apply != nil {
			return m.apply(x)
		}
		return nil
	case 3, 4:
		return g.join(x)
	case 5:
		return small(x.Reduce(uop.Sum, axis))
	case 6:
		return x.Reduce(uop.MaxOf, axis)
	case 7: // a reduction beside what it reduces
		return small(x.Sub(x.Reduce(uop.Sum, axis).Reshape(keep...).Expand(shape...)))
	case 8:
		return g.lookup(x, axis)
	case 9: // a product
		n := 1 + r.IntN(20)
		wide := append(append([]int{}, shape...), n)
		last := len(shape) - 1
		w := g.in.Leaf(x.DType(), Exact, shape[last], n)
		one := ones(len(wide))
		one[last], one[last+1] = shape[last], n
		if uop.Shape(wide).Numel() > 200_000 {
			return nil
		}
		return small(x.Reshape(append(append([]int{}, shape...), 1)...).Expand(wide...).Mul(w.Reshape(one...).Expand(wide...)).Reduce(uop.Sum, last))
	case 10:
		p := x.Home().ReduceParts(uop.ArgMax, []int{axis}, x, along(shape, []int{axis}))
		return p.Part(1).Cast(x.DType())
	}
	return small(x.Mul(x).Sub(x.Int(3)))
}

// join brings another node to x's form and type, and combines both.
func (g *grower) join(x *uop.UOp) *uop.UOp {
	y := g.pool[g.r.IntN(len(g.pool))]
	n, have := x.Shape().Numel(), y.Shape().Numel()
	flat := y.Reshape(have)
	if have > n {
		flat = flat.Shrink([]int{have - n}, []int{have})
	} else {
		flat = flat.Pad([]int{0}, []int{n - have})
	}
	y = flat.Reshape(x.Shape()...).Cast(x.DType())
	switch g.r.IntN(4) {
	case 0:
		return x.Max(y)
	case 1:
		return x.Less(y).Where(x, y.Neg())
	case 2:
		return small(x.Mul(y))
	}
	return small(x.Add(y))
}

func (g *grower) lookup(x *uop.UOp, axis int) *uop.UOp {
	shape := x.Shape()
	it := []dtype.DType{dtype.I32, dtype.I64, dtype.U8}[g.r.IntN(3)]
	from := append([]int{}, shape...)
	from[axis] = 1 + g.r.IntN(20)
	index := g.in.Index(it, shape[axis], g.r.IntN(2) == 0, from...)
	if g.r.IntN(2) == 0 {
		return x.Gather(index, axis)
	}
	m := []uop.Monoid{uop.Sum, uop.Last, uop.MaxOf}[g.r.IntN(3)]
	return small(x.Scatter(index, g.in.View(x.DType(), Exact, from...), axis, m))
}
