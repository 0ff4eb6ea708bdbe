package devicetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// assignments write buffers in place: whole ones and parts, with values that read them before and after, in one plan.
// What reads an old content must have done so before it is overwritten.
func assignments(s *suite) {
	for i := range 60 {
		seed := s.rng.Uint64()
		s.add(fmt.Sprintf("assign %d", i), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
			return writes(in, rand.New(rand.NewPCG(seed, 5)), 2+i%5)
		})
	}
}

// state is a buffer of a matrix and what it holds after the assignments so far.
type state struct {
	shape  []int
	buffer *uop.UOp // Buffer, or After of it
}

func (s *state) value() *uop.UOp { return s.buffer.Reshape(s.shape...) }

// writes assigns n times to some of three matrices, and gives their last contents, with sums over contents in between.
func writes(in *Inputs, r *rand.Rand, n int) []*uop.UOp {
	states := make([]*state, 3)
	for i := range states {
		shape := [][]int{{9, 17}, {17, 9}, {153, 1}}[r.IntN(3)]
		u := in.Leaf(dtype.F32, Exact, shape...)
		for u.Op() == uop.Reshape {
			u = u.At(0)
		}
		states[i] = &state{shape, u}
	}
	var roots []*uop.UOp
	for range n {
		to, from := states[r.IntN(3)], states[r.IntN(3)]
		v := value(r, from.value())
		if r.IntN(2) == 0 {
			v = small(v.Add(to.value().Reshape(v.Shape()...)))
		}
		if r.IntN(3) == 0 {
			roots = append(roots, to.value().Reduce(uop.Sum, 0)) // as it is before
		}
		v = v.Reshape(to.shape...)
		if r.IntN(3) == 0 { // a part
			lo, hi := []int{r.IntN(to.shape[0]), 0}, []int{to.shape[0], to.shape[1]}
			view := to.value()
			v, view = v.Shrink(lo, hi), view.Shrink(lo, hi)
			if r.IntN(2) == 0 {
				v, view = v.Permute(1, 0), view.Permute(1, 0)
			}
			to.buffer = to.buffer.After(view.Store(v))
			continue
		}
		flat := to.buffer.Shape()
		to.buffer = to.buffer.After(to.buffer.Store(v.Reshape(flat...)))
	}
	for _, s := range states {
		roots = append(roots, s.value().Contiguous().Add(uop.NewInt(dtype.F32, 0)))
	}
	for _, s := range states {
		if s.buffer.Op() == uop.After {
			roots = append(roots, s.value())
		}
	}
	return roots
}

// value is a function of x that reads it at the same place, at others, or at all.
func value(r *rand.Rand, x *uop.UOp) *uop.UOp {
	s := x.Shape()
	switch r.IntN(6) {
	case 0:
		return small(x.Add(x.Int(1)))
	case 1:
		return x.Flip(0)
	case 2:
		return x.Permute(1, 0)
	case 3:
		return small(x.Sub(x.Reduce(uop.MaxOf, 0).Reshape(1, s[1]).Expand(s...)))
	case 4:
		return x.Pad([]int{1, 0}, []int{0, 0}).Shrink([]int{0, 0}, []int{s[0], s[1]})
	}
	return small(x.Mul(x).Neg())
}
