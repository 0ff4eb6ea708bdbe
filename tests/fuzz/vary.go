package fuzz

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// varyOp takes a part of an axis whose size is a variable, and what is computed of it has a fixed size again: vary(x, axis, n, how).
const varyOp = "vary"

func init() { functions[varyOp] = reflect.ValueOf(vary) }

// ways are what vary does with elements along an axis that count.
var ways = map[string]struct {
	text string // after the part
	f    func(x T, axis int) T
}{
	"sum":       {".Sum(%[1]d)", func(x T, axis int) T { return x.Sum(axis) }},
	"mean":      {".Mean(%[1]d)", func(x T, axis int) T { return x.Mean(axis) }},
	"max":       {".Max(%[1]d)", func(x T, axis int) T { return x.Max(axis) }},
	"min":       {".MinKeep(%[1]d)", func(x T, axis int) T { return x.MinKeep(axis) }},
	"any":       {".Any(%[1]d)", func(x T, axis int) T { return x.Any(axis) }},
	"argmax":    {".ArgMax(%[1]d)", func(x T, axis int) T { return x.ArgMax(axis) }},
	"logsumexp": {".LogSumExp(%[1]d)", func(x T, axis int) T { return x.LogSumExp(axis) }},
	"softmax":   {".Softmax(%[1]d).Narrow(%[1]d, 0, 1)", func(x T, axis int) T { return x.Softmax(axis).Narrow(axis, 0, 1) }},
	"center":    {".Sub(part.MeanKeep(%[1]d)).Square().Sum(%[1]d)", func(x T, axis int) T { return x.Sub(x.MeanKeep(axis)).Square().Sum(axis) }},
	"last":      {".CumSum(%[1]d).Narrow(%[1]d, -1, 1)", func(x T, axis int) T { return x.CumSum(axis).Narrow(axis, -1, 1) }},
	"product": {".MoveAxis(%[1]d, -1).Mul(2).Unsqueeze(-2).MatMul(part.MoveAxis(%[1]d, -1).Unsqueeze(-1))", func(x T, axis int) T {
		x = x.MoveAxis(axis, -1)
		return x.Mul(2).Unsqueeze(-2).MatMul(x.Unsqueeze(-1))
	}},
	"all": {".Sum()", func(x T, axis int) T { return x.Sum() }},
}

var wayNames = []string{"sum", "mean", "max", "min", "any", "argmax", "logsumexp", "softmax", "center", "last", "product", "all"}

func vary(x T, axis int, n tensor.Variable, how string) T {
	return ways[how].f(x.Narrow(axis, 0, n), axis)
}

// varyText is the op as Go.
func varyText(name string, args []string) string {
	var how string
	_, _ = fmt.Sscanf(args[3], "%q", &how)
	axis := 0
	_, _ = fmt.Sscan(args[1], &axis)
	return fmt.Sprintf("part := %s.Narrow(%s, 0, %s)\n%s := part%s\n", args[0], args[1], args[2], name, fmt.Sprintf(ways[how].text, axis))
}

// numeric are ops whose integers are numbers of a graph rather than what shapes are made of.
var numeric = map[string]bool{"Add": true, "Sub": true, "Mul": true, "Div": true, "Maximum": true, "Minimum": true, "AddAssign": true, "SubAssign": true,
	"MulAssign": true, "DivAssign": true, assignOp: true, setAtOp: true, "At": true, "Lt": true, "Gt": true, "Le": true, "Ge": true, "Eq": true, "Roll": true}

// renumbered is an op of the same form with other numbers, if there is one.
func (o *Op) renumbered(run int) *Op {
	out := *o
	out.Args = slices.Clone(o.Args)
	for i := range out.Args {
		switch a := &out.Args[i]; {
		case a.Kind == Float:
			a.X += float64(run) / 4
		case a.Kind == Int && (o.Name == "Narrow" && i == 2 || numeric[o.Name]):
			a.N = other(a.N, run)
		case a.Kind == Span && a.List[2] == 1 && a.List[0] >= run:
			a.List = []int{a.List[0] - run, a.List[1] - run, 1}
		}
	}
	return &out
}

func other(n, run int) int {
	if n >= run {
		return n - run
	}
	return n + run
}

// boundVar is a variable with a value.
func boundVar(lo, hi, value int) Arg { return Arg{Kind: Bound, List: []int{lo, hi, value}} }

func (a *Arg) variable() tensor.Variable {
	return tensor.NewVariable("v", a.List[0], a.List[1]).Bind(a.List[2])
}

// varying are ops with positions and sizes that vary, and assignments that compute with the old elements.
var varying = []maker{
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		n := g.dim(x, a)
		if n < 1 {
			return none, false
		}
		lo := g.In(1, n)
		hi := g.In(lo, n)
		return on(varyOp, x, num(a), boundVar(lo, hi, g.In(lo, hi)), Arg{Kind: Text, S: pick(g.Rand, wayNames...)})
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		n := g.dim(x, a)
		size := g.In(0, n)
		hi := g.In(0, n-size)
		return on("Narrow", x, num(a), boundVar(0, hi, g.In(0, hi)), num(size))
	}),
	full(func(g *generator, x int) (Op, bool) {
		o, _ := on("At", x)
		return g.atVariable(o, x), true
	}),
	full(func(g *generator, x int) (Op, bool) {
		o, _ := on("WithAt", x, g.scalar(x))
		return g.atVariable(o, x), true
	}),
	full(func(g *generator, x int) (Op, bool) {
		if !g.flow || !g.info[x].leaf || g.info[x].index {
			return none, false
		}
		o, _ := on(setAtOp, x, g.scalar(x))
		return g.atVariable(o, x), true
	}),
	full(func(g *generator, x int) (Op, bool) {
		if !g.flow || !g.info[x].leaf || g.info[x].index {
			return none, false
		}
		return on(pick(g.Rand, "AddAssign", "SubAssign", "MulAssign", "DivAssign"), x, g.scalar(x))
	}),
}

// atVariable indexes the first axis, or the last, by a variable.
func (g *generator) atVariable(o Op, x int) Op {
	if g.One(3) {
		n := g.dim(x, -1)
		o.Args = append(o.Args, Arg{Kind: Dots}, boundVar(0, n-1, g.N(n)))
		return o
	}
	n := g.dim(x, 0)
	lo := g.N(n)
	hi := g.In(lo, n-1)
	o.Args = append(o.Args, boundVar(lo, hi, g.In(lo, hi)))
	return o
}
