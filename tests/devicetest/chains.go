package devicetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// chains are random programs of tensor methods, where graphs are of nodes: what a method is made of must come out right
// whatever it is fused with. Exact chains keep numbers small and whole, so that nothing may differ; smooth ones are also
// differentiated.
func chains(s *suite) {
	for i := range 100 {
		seed := s.rng.Uint64()
		s.add(fmt.Sprintf("chain %d exact", i), tolerance["reduce"], func(in *Inputs) []*uop.UOp {
			c := newChain(in, seed, exactLinks)
			return c.grow(3+i%7, 1+i%3)
		})
	}
	s.ranked()
	for i := range 60 {
		seed := s.rng.Uint64()
		s.add(fmt.Sprintf("chain %d smooth", i), tolerance["chain"], func(in *Inputs) []*uop.UOp {
			c := newChain(in, seed, smoothLinks)
			c.smooth = true
			return c.differentiated(c.grow(2+i%5, 1+i%2))
		})
	}
}

// ranked sums are compared with each other, so that each must be one number wherever it is needed.
func (s *suite) ranked() {
	for i := range 12 {
		n := []int{5, 13, 16}[i%3]
		s.add(fmt.Sprintf("order of sums %d", i), tolerance["chain"], func(in *Inputs) []*uop.UOp {
			x := in.Tensor(dtype.F32, Smooth, 7, n)
			v, at := x.Sum(1).Sort(0, false)
			w, best := x.Mul(x).Sum(1).Sub(1).TopK(3, 0, true)
			return []*uop.UOp{v.Node(), at.Node(), w.Node(), best.Node()}
		})
		s.add(fmt.Sprintf("gradient of the greatest sum %d", i), tolerance["chain"], func(in *Inputs) []*uop.UOp {
			x, y := in.Tensor(dtype.F32, Smooth, 6, 7, n), in.Tensor(dtype.F32, Smooth, 6, 7)
			g := x.Sum(2).Max(1).Mul(2).Add(x.Mul(x).Sum(2).Mul(y).Max(1)).Sum().Grad(x, y)
			return []*uop.UOp{g[0].Node(), g[1].Node()}
		})
	}
}

// link makes a tensor out of another, or nil where it does not fit.
type link func(c *chain, x *tensor.Tensor) *tensor.Tensor

// chain makes tensors out of tensors.
type chain struct {
	in     *Inputs
	r      *rand.Rand
	links  []link
	smooth bool
	leaves []*tensor.Tensor
	pool   []*tensor.Tensor
}

func newChain(in *Inputs, seed uint64, links []link) *chain {
	return &chain{in: in, r: rand.New(rand.NewPCG(seed, 5)), links: links}
}

// maxChain is how many elements a tensor of a chain may have.
const maxChain = 6000

// grow applies n steps, most of them one upon the other, and gives the last results and some before.
func (c *chain) grow(n, roots int) []*uop.UOp {
	var shape []int
	for range 1 + c.r.IntN(4) {
		shape = append(shape, []int{1, 2, 3, 4, 5, 7, 8, 13, 17}[c.r.IntN(9)])
	}
	c.pool = append(c.pool, c.leaf(shape...))
	for tries := 0; len(c.pool) <= n && tries < 40*n; tries++ {
		x := c.pool[len(c.pool)-1]
		if c.r.IntN(5) == 0 {
			x = c.pool[c.r.IntN(len(c.pool))]
		}
		var y *tensor.Tensor
		err := tensor.Try(func() { y = c.links[c.r.IntN(len(c.links))](c, x) })
		if err == nil && y != nil && y.Numel() > 0 && y.Numel() <= maxChain && y.Rank() <= 6 {
			if y.Rank() == 0 {
				y = y.Reshape(1)
			}
			c.pool = append(c.pool, y)
		}
	}
	out := []*uop.UOp{c.pool[len(c.pool)-1].Node()}
	for range roots - 1 {
		out = append(out, c.pool[c.r.IntN(len(c.pool))].Node())
	}
	return out
}

// differentiated adds the gradients of the first root for all leaves.
func (c *chain) differentiated(out []*uop.UOp) []*uop.UOp {
	last := c.pool[len(c.pool)-1]
	if len(c.pool) == 1 {
		return out
	}
	seed := c.in.Tensor(last.DType(), Smooth, last.Shape()...)
	for _, g := range last.GradWith(seed, c.leaves...) {
		out = append(out, g.Node())
	}
	return out
}

// leaf is an array in memory of the kind that the chain wants.
func (c *chain) leaf(shape ...int) *tensor.Tensor {
	if c.smooth {
		t := c.in.Tensor(dtype.F32, Smooth, shape...)
		c.leaves = append(c.leaves, t)
		return t
	}
	return c.in.Tensor([]dtype.DType{dtype.F32, dtype.F32, dtype.I32}[c.r.IntN(3)], Exact, shape...)
}

// like is another operand of x's shape and type: a leaf, a row or column to spread, or something computed before.
func (c *chain) like(x *tensor.Tensor) *tensor.Tensor { return c.operand(x, true) }

// other is like, but in smooth chains nothing that was computed before: where that equals x but for rounding, nobody knows
// which of both is the larger one.
func (c *chain) other(x *tensor.Tensor) *tensor.Tensor { return c.operand(x, !c.smooth) }

func (c *chain) operand(x *tensor.Tensor, computed bool) *tensor.Tensor {
	shape := x.Shape()
	if y := c.pool[c.r.IntN(len(c.pool))]; y.DType() == x.DType() && c.r.IntN(3) > 0 && computed {
		if fits(y.Shape(), shape) {
			return y
		}
		if y.Numel() >= x.Numel() && x.Numel() > 0 {
			return y.Flatten().Narrow(0, y.Numel()-x.Numel(), x.Numel()).Reshape(shape...)
		}
	}
	for i := range shape {
		if c.r.IntN(3) == 0 {
			shape[i] = 1
		}
	}
	return c.typed(c.leaf(shape...), x)
}

func (c *chain) typed(y, x *tensor.Tensor) *tensor.Tensor {
	if y.DType() == x.DType() {
		return y
	}
	return y.To(x.DType())
}

// fits says that a tensor of shape a spreads to b.
func fits(a, b []int) bool {
	if len(a) > len(b) {
		return false
	}
	b = b[len(b)-len(a):]
	for i, n := range a {
		if n != 1 && n != b[i] {
			return false
		}
	}
	return true
}

func (c *chain) axis(x *tensor.Tensor) int {
	if x.Rank() == 0 {
		return 0
	}
	return c.r.IntN(x.Rank())
}

// settle keeps numbers of exact chains between ±4, quarters among floats.
func (c *chain) settle(x *tensor.Tensor) *tensor.Tensor {
	switch {
	case c.smooth || x.DType() == dtype.Bool:
		return x
	case x.IsFloat():
		return x.Clamp(-4, 4).Mul(4).Trunc().Mul(0.25)
	case x.DType().IsUnsigned():
		return x.Minimum(4)
	}
	return x.Clamp(-4, 4)
}
