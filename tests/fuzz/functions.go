package fuzz

import (
	"github.com/weft-ml/weft/tensor"
)

// What takes functions of tensors is drawn with one of these, by number.
var shapely = []func(x T) T{
	func(x T) T { return x.Mul(x).Add(1) },
	func(x T) T { return x.CumSum(-1) },
	func(x T) T { return x.MaxKeep(-1).Sub(x) },
	func(x T) T { return x.Mul(x.Gt(0).To(x.DType())).Flip(-1) },
	func(x T) T { return x.SumKeep(-1).Mul(x) },
	func(x T) T { return x.Maximum(x.Flip(-1)) },
	func(x T) T { return x.Roll([]int{1}, []int{-1}).Mul(x) },
	func(x T) T { y, _ := x.CumMax(-1); return y },
	func(x T) T { return x.Tril(0) },
}

// fn is one of them as a function for Vmap and its like.
func fn(k int) tensor.Fn {
	n := len(shapely)
	return func(in ...T) []T { return []T{shapely[(k%n+n)%n](in[0])} }
}

// Pushed is the tangent of function k at x along v.
func Pushed(x, v T, k int) T {
	_, moved := tensor.JVP(fn(k), []T{x}, []T{v})
	return moved[0]
}

// Pulled is the gradient of function k at x, of a result that counts v.
func Pulled(x, v T, k int) T {
	_, pull := tensor.VJP(fn(k), x)
	return pull(v)[0]
}

// Mapped is function k of each part of x along an axis.
func Mapped(x T, k, axis int) T {
	return tensor.Vmap(fn(k), tensor.VmapOptions{In: []int{axis}, Out: []int{axis}})(x)[0]
}

// Checkpointed is function k, and the gradient of its sum, begun again from x.
func Checkpointed(x T, k int) T {
	y := tensor.Checkpoint(fn(k), x)[0]
	return y.Add(y.Mul(2).Sum().Grad(x)[0])
}

// Smeared is a kernel of one's own: each element of a list and the weighted ones size before it.
func Smeared(x T, size int) T {
	flat := x.Flatten()
	return tensor.Custom("smeared", flat.Shape(), func(k *tensor.Kernel) T {
		j := k.Range(size)
		return k.Sum(k.Load(0, k.At(0).Sub(j)).Mul(j.Add(1).To(x.DType())), j)
	}, []T{flat}, tensor.CustomOptions{}).Reshape(x.Shape()...)
}

// recurrences are steps of loops: of two tensors that are carried, an entry and a tensor that is the same in all steps.
var recurrences = []func(a, b, in, w T) (next []T, out T){
	func(a, b, in, w T) ([]T, T) { return []T{a.Mul(0.5).Add(in), b.Sub(a)}, a.Mul(w) },
	func(a, b, in, w T) ([]T, T) {
		s := a.Mul(w).SumKeep(-1).Tanh()
		return []T{s.Mul(in), b.Add(s).Sigmoid()}, s.Add(b)
	},
	func(a, b, in, w T) ([]T, T) { return []T{b.Flip(-1), a.Maximum(in).Mul(w.Sigmoid())}, b.CumSum(-1) },
	func(a, b, in, w T) ([]T, T) { return []T{in, a}, w.Sub(b) },
	func(a, b, in, w T) ([]T, T) {
		over := a.Gt(w).Where(a.Mul(0.25), in)
		return []T{over, b.Mul(0.5).Add(over.MaxKeep(-1))}, over
	},
	func(a, b, in, w T) ([]T, T) { return []T{a.Sin().Add(w.Softmax(-1)), b}, in.Mul(b).MeanKeep(-1).Mul(a) },
	func(a, b, in, w T) ([]T, T) {
		return []T{a.Mul(w.Sigmoid()).Add(in.Mul(b.Tanh())), b.Mul(0.5).Sub(in)}, a.Mul(in).SumKeep(-1)
	},
	func(a, b, in, w T) ([]T, T) { // a delay line
		line := tensor.Cat(-1, in.Narrow(-1, 0, 1), a.Narrow(-1, 0, a.Dim(-1)-1))
		return []T{line, b.Mul(0.5).Add(line.Select(-1, -1).Unsqueeze(-1))}, line.Mul(a).SumKeep(-1)
	},
	func(a, b, in, w T) ([]T, T) { // products of small matrices
		m := a.Unsqueeze(-1).Mul(w.Unsqueeze(-2)).Tanh()
		return []T{m.Mul(b.Unsqueeze(-2)).Sum(-1).Mul(0.25).Add(in), in.Gt(b).Where(b, a.Mul(0.5))}, m.Sum(-2)
	},
	func(a, b, in, w T) ([]T, T) {
		first := a.Select(-1, 0).Unsqueeze(-1)
		return []T{a.Sub(first).Mul(0.5).Add(in), b.Maximum(in)}, in.Square().SumKeep(-1)
	},
}

// Scanned goes along multiples of x, and gives a result, or its gradient.
func Scanned(x, w T, k, steps, way int) T {
	list := make([]T, max(1, min(steps, 9)))
	for i := range list {
		list[i] = x.Mul(float64(i+1) / float64(len(list)))
	}
	step := recurrences[(k%len(recurrences)+len(recurrences))%len(recurrences)]
	states, outs := tensor.Scan(func(s, in []T) (next, out []T) {
		next, y := step(s[0], s[1], in[0], w)
		return next, []T{y}
	}, []T{w.Tanh(), tensor.ZerosLike(x)}, []T{tensor.Stack(0, list...)}, tensor.ScanOptions{Back: way&1 != 0})
	if way>>1&7 == 3 { // what is left in the end
		last := len(list) - 1
		if way&1 != 0 {
			last = 0
		}
		return states[0].Select(0, last).Add(states[1].Select(0, last))
	}
	y := append(states, outs...)[(way>>1&3)%3]
	if way&8 == 0 {
		return y.Sum(0)
	}
	g := y.Sin().Add(states[0]).Sum().Grad(x, w)
	return g[way>>4&1]
}

func (g *generator) shapely() Arg { return num(g.N(len(shapely))) }

// functional are the makers of what takes functions.
var functional = []maker{
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("Pushed", x, val(g.of(x, g.t(x).Shape())), g.shapely())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("Pulled", x, val(g.of(x, g.t(x).Shape())), g.shapely())
	})),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 3 {
			return none, false
		}
		return on("Mapped", x, g.shapely(), num(g.axis(x)))
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("Checkpointed", x, g.shapely())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("Scanned", x, val(g.of(x, g.t(x).Shape())), num(g.N(len(recurrences))), num(g.In(2, 9)), num(g.N(32)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) { return on("Smeared", x, num(g.In(1, 5))) })),
	floating(func(g *generator, x int) (Op, bool) { return on("ContiguousBackward", x) }),
}
