package uop

import (
	"fmt"
	"slices"
)

// LoopBody is what a loop does in each of its steps, as a graph over stand-ins: what it carries from step to step, then entries of arrays that it goes
// along, then what is the same in all steps. It uses nothing else but constants.
type LoopBody struct {
	Params  []*UOp // stand-ins, no two of them equal
	Carried int    // of Params: the first so many results of a step are what these are in the next
	Along   int    // of Params, behind those that are carried
	Outs    []*UOp // results of a step, with what they state of their derivatives
	Given   int    // of Outs: those that the loop was made for. The others are what derivatives read of a step
	Pure    []*UOp // Outs without what derivatives alone read
}

// LoopArg is one result of a loop: that of all steps, stacked. The operands are what is carried, as it is before the first step, arrays with an entry
// for each step, and what is the same in all steps.
type LoopArg struct {
	*LoopBody
	Steps int
	Back  bool // the last entry comes first
	Out   int
}

func (LoopArg) arg() {}

// leastKept is how many terms a sum has that derivatives read instead of computing it again.
const leastKept = 8

// kept says that derivatives read a node of a step instead of computing it again: a long sum, or a function whose slope is made of its value.
func (u *UOp) kept() bool {
	switch a := u.arg.(type) {
	case ReduceArg:
		return u.dtype.IsFloat() && a.Parts == 1 && u.src[0].shape.Numel() >= leastKept*u.shape.Numel()
	case nil:
		return u.op == Detach && len(u.src) > 1 && u.dtype.IsFloat() && len(u.shape) > 0 && slow(u.src[0])
	}
	return false
}

// slow says that a value is a function that takes many operations, of what other functions, sums and arrays give.
func slow(u *UOp) (found bool) {
	Walk([]*UOp{u}, func(u *UOp) bool { return !u.op.Elementwise() }, func(u *UOp) {
		found = found || u.op == Exp2 || u.op == Log2 || u.op == Sin
	})
	return found
}

// NewLoop gives the results of a loop of a body, whose Params, Carried, Along and Outs are known. Params that no result depends on are left out, with
// their operands.
func NewLoop(b LoopBody, steps int, back bool, args ...*UOp) []*UOp {
	b.Outs = Inline(b.Outs...)
	b.Given = len(b.Outs)
	reached := map[*UOp]bool{}
	var kept []*UOp
	for _, u := range Topo(b.Outs...) {
		reached[u] = true
		if u.kept() && !slices.Contains(b.Outs, u) {
			kept = append(kept, u)
		}
	}
	b.Outs = append(slices.Clone(b.Outs), kept...)
	var params, operands []*UOp
	along := 0
	for i, p := range b.Params {
		inside := i >= b.Carried && i < b.Carried+b.Along
		if i >= b.Carried && !reached[p] {
			continue
		}
		if inside {
			along++
		}
		params, operands = append(params, p), append(operands, args[i])
	}
	if len(params) == 0 { // all steps give the same
		out := make([]*UOp, len(b.Outs))
		for i, o := range b.Outs {
			out[i] = o.Reshape(append([]int{1}, o.shape...)...).Expand(append([]int{steps}, o.shape...)...)
		}
		return out
	}
	b.Params, b.Along = params, along
	b.Pure = Bare(b.Outs...)
	return LoopArg{LoopBody: &b, Steps: steps, Back: back}.Results(operands...)
}

// Bare are graphs without what derivatives alone read.
func Bare(roots ...*UOp) []*UOp {
	var done Map[*UOp]
	get := func(u *UOp) *UOp {
		v, _ := done.Get(u)
		return v
	}
	operands := func(u *UOp) []*UOp {
		if u.op == Detach {
			return u.src[:1]
		}
		return u.src
	}
	WalkBy(roots, operands, func(*UOp) bool { return false }, func(u *UOp) {
		if u.op == Detach {
			done.Set(u, get(u.src[0]))
		} else {
			done.Set(u, u.WithSrc(u.home, get))
		}
	})
	out := make([]*UOp, len(roots))
	for i, r := range roots {
		out[i] = get(r)
	}
	return out
}

// Results are the results for operands, a node each.
func (a LoopArg) Results(args ...*UOp) []*UOp {
	for i, p := range a.Params {
		x, shape := args[i], p.shape
		if i >= a.Carried && i < a.Carried+a.Along {
			shape = append(Shape{a.Steps}, shape...)
		}
		if !x.shape.Equal(shape) || x.dtype != p.dtype {
			panic(fmt.Sprintf("BUG: a loop has the operand %v %v for %v %v", x.dtype, x.shape, p.dtype, shape))
		}
	}
	outs := make([]*UOp, len(a.Outs))
	for i, o := range a.Outs {
		a.Out = i
		outs[i] = args[0].home.Make(Loop, o.dtype, a, args...)
	}
	return outs
}

func loopShape(u *UOp) Shape {
	a := u.arg.(LoopArg)
	return append(Shape{a.Steps}, a.Outs[a.Out].shape...)
}

// SameLoop says that two nodes are results of one loop.
func (u *UOp) SameLoop(v *UOp) bool {
	a, b := u.arg.(LoopArg), v.arg.(LoopArg)
	b.Out = a.Out
	return a == b && slices.Equal(u.src, v.src)
}

// Step is the number of the entry that comes i-th.
func (a LoopArg) Step(i int) int {
	if a.Back {
		return a.Steps - 1 - i
	}
	return i
}

// Unrolled are the results as graphs over operands, without a loop.
func (a LoopArg) Unrolled(args ...*UOp) []*UOp {
	state := slices.Clone(args[:a.Carried])
	list := make([][]*UOp, len(a.Outs))
	for i := range list {
		list[i] = make([]*UOp, a.Steps)
	}
	for i := range a.Steps {
		at, with := a.Step(i), map[*UOp]*UOp{}
		for k, p := range a.Params {
			switch {
			case k < a.Carried:
				with[p] = state[k]
			case k < a.Carried+a.Along:
				lo, hi := make([]int, len(p.shape)+1), append([]int{at + 1}, p.shape...)
				lo[0] = at
				with[p] = args[k].Shrink(lo, hi).Reshape(p.shape...)
			default:
				with[p] = args[k]
			}
		}
		outs := Substitute(args[0].home, with, a.Outs...)
		for k, u := range outs {
			if k < a.Carried {
				u = u.Contiguous() // the next step reads it many times
				state[k] = u
			}
			list[k][at] = u.Reshape(append([]int{1}, u.shape...)...)
		}
	}
	out := make([]*UOp, len(a.Outs))
	starts := make([]int, a.Steps)
	for i := range starts {
		starts[i] = i
	}
	for k := range out {
		out[k] = Join(0, a.Steps, starts, list[k])
	}
	return out
}
