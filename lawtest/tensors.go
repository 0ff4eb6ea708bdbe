package lawtest

import (
	"math/rand/v2"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// tensors draws random graphs of tensors in float64, with masks, padding, gathers, windows that go backwards.
type tensors struct {
	*rand.Rand
	leaves []*uop.UOp
	values map[uint64][]uop.Value // by buffer
	plain  bool                   // leave out casts to narrow types
}

// largest is how many elements a node may have.
const largest = 60

func newTensors(seed uint64) *tensors {
	return &tensors{Rand: rand.New(rand.NewPCG(seed, 0x96ad)), values: map[uint64][]uop.Value{}}
}

// leaf makes a buffer of random numbers.
func (g *tensors) leaf(shape ...int) *uop.UOp {
	n := uop.Shape(shape).Numel()
	id := uint64(1_000_000 + len(g.leaves))
	var v []uop.Value
	for range n {
		v = append(v, uop.FloatValue(dtype.F64, 3*g.Float64()-1.5))
	}
	g.values[id] = v
	u := uop.NewBuffer(id, n, "REF", dtype.F64).Reshape(shape...)
	g.leaves = append(g.leaves, u)
	return u
}

func (g *tensors) data(leaf *uop.UOp) []uop.Value {
	for leaf.Op() == uop.Reshape {
		leaf = leaf.At(0)
	}
	return g.values[leaf.Arg().(uop.BufferArg).ID]
}

func (g *tensors) load(leaf *uop.UOp) []uop.Value { return g.data(leaf) }

// grow makes a graph around an op: things made of leaves below it, and a context above.
func (g *tensors) grow(k kind) *uop.UOp {
	x := g.around(g.leaf(1+g.IntN(3), 2+g.IntN(3)), g.IntN(3))
	y := k.make(g, x)
	if g.IntN(4) == 0 { // a second way
		y = y.Add(g.like(x, y.Shape()))
	}
	return g.around(y, g.IntN(4))
}

// like brings a node to a shape, by cutting and padding.
func (g *tensors) like(x *uop.UOp, shape []int) *uop.UOp {
	n, have := uop.Shape(shape).Numel(), x.Shape().Numel()
	x = x.Reshape(have)
	if have > n {
		lo := g.IntN(have - n + 1)
		x = x.Shrink([]int{lo}, []int{lo + n})
	} else if have < n {
		lo := g.IntN(n - have + 1)
		x = x.Pad([]int{lo}, []int{n - have - lo})
	}
	return x.Reshape(shape...)
}

// other is something else of a shape: a leaf, or an old one again.
func (g *tensors) other(shape []int) *uop.UOp {
	if g.IntN(2) == 0 {
		return g.like(g.leaves[g.IntN(len(g.leaves))], shape)
	}
	return g.leaf(shape...)
}

// positive keeps a node away from zero.
func (g *tensors) positive(x *uop.UOp) *uop.UOp { return x.Mul(x).Add(x.Float(0.5)) }

// index is an array of places on an axis, some outside.
func (g *tensors) index(shape []int, axis, n int) *uop.UOp {
	at := make([]int, len(shape))
	for i := range at {
		at[i] = 1
	}
	at[axis] = shape[axis]
	i := uop.NewIota(shape[axis])
	c := func(n int) *uop.UOp { return uop.NewInt(dtype.Index, n) }
	e := i.Mul(c(g.IntN(7) - 3)).Add(c(g.IntN(9) - 4))
	if g.IntN(2) == 0 {
		e = e.Mod(c(n + g.IntN(2)))
	}
	return e.Cast([]dtype.DType{dtype.I32, dtype.I64}[g.IntN(2)]).Reshape(at...).Expand(shape...)
}

// mask is a condition: on places, or on values.
func (g *tensors) mask(x *uop.UOp) *uop.UOp {
	shape := x.Shape()
	if g.IntN(3) == 0 {
		return x.Less(g.other(shape))
	}
	i := g.index(shape, g.IntN(len(shape)), 3)
	return i.Less(i.Int(g.IntN(3)))
}

// around applies some random ops.
func (g *tensors) around(x *uop.UOp, depth int) *uop.UOp {
	for range depth {
		k := contexts[g.IntN(len(contexts))]
		if y := k(g, g.axes(x)); y.Shape().Numel() > 0 && y.Shape().Numel() <= largest && len(y.Shape()) <= 4 {
			x = y
		}
	}
	return x
}

// axes gives a scalar some.
func (g *tensors) axes(x *uop.UOp) *uop.UOp {
	if len(x.Shape()) == 0 {
		return x.Reshape(1, 1)
	}
	return x
}

func (g *tensors) pad(x *uop.UOp) *uop.UOp {
	lo, hi := make([]int, len(x.Shape())), make([]int, len(x.Shape()))
	lo[g.IntN(len(lo))], hi[g.IntN(len(hi))] = g.IntN(3), g.IntN(3)
	return x.Pad(lo, hi)
}

func (g *tensors) shrink(x *uop.UOp) *uop.UOp {
	lo, hi := make([]int, len(x.Shape())), slices.Clone(x.Shape())
	k := g.IntN(len(lo))
	lo[k] = g.IntN(hi[k])
	hi[k] = lo[k] + 1 + g.IntN(hi[k]-lo[k])
	return x.Shrink(lo, hi)
}

func (g *tensors) slide(x *uop.UOp) *uop.UOp {
	n := len(x.Shape())
	if n < 2 {
		x, n = x.Reshape(append([]int{1}, x.Shape()...)...), n+1
	}
	k := g.IntN(n)
	return x.Slide(k, (k+1+g.IntN(n-1))%n, g.IntN(5)-2, g.IntN(5)-2, 1+g.IntN(4))
}

func (g *tensors) expand(x *uop.UOp) *uop.UOp {
	at := g.IntN(len(x.Shape()) + 1)
	one := slices.Insert(slices.Clone(x.Shape()), at, 1)
	wide := slices.Clone(one)
	wide[at] = 1 + g.IntN(3)
	return x.Reshape(one...).Expand(wide...)
}

func (g *tensors) reshape(x *uop.UOp) *uop.UOp {
	n := x.Shape().Numel()
	var shape []int
	for range 2 {
		if d := 1 + g.IntN(4); n%d == 0 {
			shape, n = append(shape, d), n/d
		}
	}
	return x.Reshape(append(shape, n)...)
}

func (g *tensors) axis(x *uop.UOp) int { return g.IntN(len(x.Shape())) }

func (g *tensors) gather(x *uop.UOp) *uop.UOp {
	k := g.axis(x)
	shape := slices.Clone(x.Shape())
	shape[k] = 1 + g.IntN(5)
	return x.Gather(g.index(shape, k, x.Shape()[k]), k)
}

func (g *tensors) scatter(x *uop.UOp, m uop.Monoid) *uop.UOp {
	k := g.axis(x)
	from := slices.Clone(x.Shape())
	from[k] = 1 + g.IntN(4)
	if g.IntN(2) == 0 {
		return x.Scatter(g.index(from, k, x.Shape()[k]), g.other(from), k, m)
	}
	to := slices.Clone(x.Shape())
	to[k] = 1 + g.IntN(4)
	return g.other(to).Scatter(g.index(x.Shape(), k, to[k]), x, k, m)
}

func (g *tensors) reduce(x *uop.UOp, m uop.Monoid) *uop.UOp {
	k := g.axis(x)
	if j := g.axis(x); j != k && g.IntN(3) == 0 {
		return x.Reduce(m, min(j, k), max(j, k))
	}
	return x.Reduce(m, k)
}

// part is part i of a reduction of x and what more says.
func (g *tensors) part(x *uop.UOp, m uop.Monoid, i int, more func(x *uop.UOp, axis int) []*uop.UOp) *uop.UOp {
	k := g.axis(x)
	return x.Home().ReduceParts(m, []int{k}, more(x, k)...).Part(i)
}
