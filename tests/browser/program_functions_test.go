package browser_test

import (
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// What takes functions, files, variables and several devices is drawn as a way of computing with a value: ways of testdata/pages/ways.js, and what
// Go's callers write for the same. A function is one of shapely, by number; the page has the same list.

var shapely = []func(x one) one{
	func(x one) one { return x.Mul(x).Add(1) },
	func(x one) one { return x.CumSum(-1) },
	func(x one) one { return x.MaxKeep(-1).Sub(x) },
	func(x one) one { return x.Mul(x.Gt(0).To(x.DType())).Flip(-1) },
	func(x one) one { return x.SumKeep(-1).Mul(x) },
	func(x one) one { return x.Maximum(x.Flip(-1)) },
	func(x one) one { return x.Roll([]int{1}, []int{-1}).Mul(x) },
	func(x one) one { return x.Sigmoid().Mul(x) },
	func(x one) one { return x.Tril(0) },
	func(x one) one { return x.Reshape(-1).SumKeep(0).Add(x) },
}

// smooth ones have gradients without jumps.
var smoothly = []int{0, 1, 4, 6, 7, 8, 9}

func fn(k int) tensor.Fn { return func(in ...one) some { return some{shapely[k](in[0])} } }

const leastAxes = 2 // of a value that a way computes with

// way computes with a value of floats and numbers.
func way(name string, class rune, numbers func(m *maker, x one) []any, apply func(x one, n []int) some) method {
	return method{name, class, numbers, func(x one, a *arguments) some {
		var n []int
		for a.taken < len(a.list) {
			n = append(n, a.integer())
		}
		if !x.DType().IsFloat() || x.DType().IsNarrow() || x.Rank() < leastAxes || x.Numel() == 0 {
			refuse("ways compute with floats of at least two axes")
		}
		return apply(x, n)
	}}
}

func any1(m *maker) float64    { return float64(m.IntN(len(shapely))) }
func smooth1(m *maker) float64 { return float64(smoothly[m.IntN(len(smoothly))]) }

// Two devices of the kind that programs run on here.
const here, second = "INTERP", "INTERP:1"

// uncut refuses what cannot be computed as it is cut, which the page says when it computes it.
func uncut(y one) one {
	if _, err := y.CutAxis(); err != nil {
		refuse("%v", err)
	}
	return y
}

// isWay says whether steps of this name are ways.
func isWay(name string) bool {
	return slices.ContainsFunc(functional, func(m method) bool { return m.name == name }) && !slices.Contains(inPlace, name)
}

// waits are ways that read or write files, run what was captured, or make generators: none of what a captured function may do.
var waits = []string{"saved", "varied", "generator"}

// ofTheWhole are ways that weft.wasm has not.
var ofTheWhole = []string{"saved", "shard", "replicated"}

var inPlace = []string{"addAssign", "subAssign", "mulAssign"}

func changing(name string, f func(x one, v any) one) method {
	return method{name, smooth, func(m *maker, x one) []any { return []any{m.number()} }, func(x one, a *arguments) some {
		v := a.operand()
		a.end()
		return some{f(x, v)}
	}}
}

var functional = []method{
	changing("addAssign", one.AddAssign), changing("subAssign", one.SubAssign), changing("mulAssign", one.MulAssign),
	way("vmap", smooth, func(m *maker, x one) []any { return []any{any1(m), m.axis(x)} }, func(x one, n []int) some {
		if n[0] == 8 && x.Rank() < 3 {
			refuse("a function of matrices")
		}
		return tensor.Vmap(fn(n[0]), tensor.VmapOptions{In: []int{n[1]}, Out: []int{n[1]}})(x)
	}),
	way("vmapShared", smooth, func(m *maker, x one) []any { return []any{any1(m)} }, func(x one, n []int) some {
		if n[0] == 8 && x.Rank() < 3 {
			refuse("a function of matrices")
		}
		f := func(in ...one) some { return some{shapely[n[0]](in[0]).Mul(in[1])} }
		return tensor.Vmap(f, tensor.VmapOptions{In: []int{0, tensor.Same}, Out: []int{-1}})(x, x.At(0))
	}),
	way("scan", touchy, func(m *maker, x one) []any { return []any{smooth1(m), float64(m.IntN(2))} }, func(x one, n []int) some {
		if n[0] == 8 && x.Rank() < 3 {
			refuse("a function of matrices")
		}
		x = x.Detach()
		states, outs := tensor.Scan(func(s, in some) (next, out some) {
			y := shapely[n[0]](s[0]).Sigmoid().Add(in[0])
			return some{y}, some{y.Sub(s[0])}
		}, some{x.At(0)}, some{x}, tensor.ScanOptions{Back: n[1]%2 == 1})
		return some{states[0], outs[0], states[0].Sum().Grad(x)[0]}
	}),
	way("jvp", touchy, func(m *maker, x one) []any { return []any{smooth1(m)} }, func(x one, n []int) some {
		out, moved := tensor.JVP(fn(n[0]), some{x}, some{x.Mul(0.5)})
		return some{out[0], moved[0]}
	}),
	way("vjp", touchy, func(m *maker, x one) []any { return []any{smooth1(m)} }, func(x one, n []int) some {
		out, pull := tensor.VJP(fn(n[0]), x)
		return some{out[0], pull(out[0].Mul(0.5))[0]}
	}),
	way("checkpoint", touchy, func(m *maker, x one) []any { return []any{smooth1(m)} }, func(x one, n []int) some {
		x = x.Detach()
		y := tensor.Checkpoint(fn(n[0]), x)[0]
		return some{y, y.Mul(2).Sum().Grad(x)[0]}
	}),
	way("function", touchy, func(m *maker, x one) []any { return []any{any1(m)} }, func(x one, n []int) some {
		x = x.Detach()
		y := tensor.Function("mine", fn(n[0]), tensor.FunctionOptions{Gradient: func(in, out, seeds []one) []one { return []one{seeds[0].Mul(in[0]).Add(3)} }})(x)[0]
		return some{y, y.Sum().Grad(x)[0]}
	}),
	way("custom", smooth, func(m *maker, x one) []any { return []any{float64(1 + m.IntN(4))} }, func(x one, n []int) some {
		if n[0] < 1 || n[0] > 9 {
			refuse("%d weights", n[0])
		}
		flat := x.Flatten()
		y := tensor.Custom("smeared", flat.Shape(), func(k *tensor.Kernel) one {
			j := k.Range(n[0])
			return k.Sum(k.Load(0, k.At(0).Sub(j)).Mul(j.Add(1).To(x.DType())), j)
		}, some{flat}, tensor.CustomOptions{})
		return some{y.Reshape(x.Shape()...)}
	}),
	way("generator", smooth, func(m *maker, x one) []any { return []any{float64(m.IntN(1000))} }, func(x one, n []int) some {
		if n[0] < 0 {
			refuse("a seed below 0")
		}
		g := tensor.NewGenerator(uint64(n[0]))
		return some{g.Rand(2, 3), g.RandInt(-5, 5, 4), g.Dropout(x, 0.5), g.Randn(3)}
	}),
	way("backward", touchy, func(m *maker, x one) []any { return []any{smooth1(m)} }, func(x one, n []int) some {
		w := x.Detach().RequireGrad()
		defer w.Freeze()
		shapely[n[0]](w).Sum().Backward()
		w.Square().Sum().Backward()
		return some{w.Gradient()}
	}),
	way("vary", smooth, func(m *maker, x one) []any {
		axis := m.IntN(x.Rank())
		lo := 1 + m.IntN(x.Dim(axis))
		hi := lo + m.IntN(x.Dim(axis)-lo+1)
		return []any{float64(axis), float64(lo), float64(hi), float64(lo + m.IntN(hi-lo+1)), float64(m.IntN(4))}
	}, func(x one, n []int) some { return some{reduced(x, n, n[3])} }),
	way("varied", touchy, func(m *maker, x one) []any {
		axis := m.IntN(x.Rank())
		lo := 1 + m.IntN(x.Dim(axis))
		hi := lo + m.IntN(x.Dim(axis)-lo+1)
		return []any{float64(axis), float64(lo), float64(hi), float64(lo + m.IntN(hi-lo+1)), float64(m.IntN(4))}
	}, func(x one, n []int) some { // the page captures it, and runs it with two sizes
		x = x.Detach()
		return some{reduced(x, n, n[3]).Mul(1), reduced(x, n, n[2]).Mul(1)}
	}),
	way("saved", touchy, func(m *maker, x one) []any { return []any{any1(m)} }, func(x one, n []int) some {
		x = x.Detach() // the page writes a file of the function, reads it, and runs what it read
		return some{shapely[n[0]](x).Mul(1), x.Sum().Mul(1)}
	}),
	way("shard", smooth, func(m *maker, x one) []any { return []any{any1(m), m.axis(x)} }, func(x one, n []int) some {
		if axis := n[1]; axis < -x.Rank() || axis >= x.Rank() || x.Dim(axis)%2 != 0 {
			refuse("no such cut")
		}
		s := x.Shard([]string{here, second}, n[1])
		return some{uncut(shapely[n[0]](s)).On(here), uncut(s.Sum(0)).On(here)}
	}),
	way("replicated", touchy, func(m *maker, x one) []any { return []any{smooth1(m)} }, func(x one, n []int) some {
		x = x.Detach()
		y := uncut(shapely[n[0]](x.Shard([]string{here, second}, tensor.Replicated))).Sum().On(here)
		return some{y, y.Grad(x)[0]}
	}),
	way("there", smooth, func(m *maker, x one) []any { return []any{any1(m)} }, func(x one, n []int) some {
		return some{shapely[n[0]](x.On(second)).On(here).Add(x)}
	}),
}

// reduced takes the first size elements of an axis, and what they come to.
func reduced(x one, n []int, size int) one {
	axis, lo, hi := n[0], n[1], n[2]
	if axis < 0 || axis >= x.Rank() || lo < 1 || lo > hi || hi > x.Dim(axis) || size < lo || size > hi {
		refuse("bounds that are none: %v", n)
	}
	part := x.Narrow(axis, 0, tensor.NewVariable("v", lo, hi).Bind(size))
	switch n[4] {
	case 0:
		return part.Sum(axis)
	case 1:
		return part.Mean(axis)
	case 2:
		return part.Sigmoid().CumSum(axis).Narrow(axis, 0, 1)
	}
	return part.Softmax(axis).Square().Sum(axis)
}
