package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Numbers of loops that are cut into parts.
const (
	leastInScan = 1 << 4 // steps that are worth a loop of them
	fewerSteps  = 4      // how many times fewer steps parts have, so that they divide the loop
)

// stepsAtOnce is how many steps a kernel does: not more than may take an invocation too long, nor so many that what is carried, of which the last entry
// alone is read, takes much memory.
func (s *scheduler) stepsAtOnce(results []*uop.UOp, last map[*uop.UOp]bool) int {
	l, bytes := results[0].Arg().(uop.LoopArg), 0
	if slices.ContainsFunc(results, func(u *uop.UOp) bool { return last[u] && u.DType().Bits() < leastFinal }) {
		for _, p := range l.Params[:l.Carried] { // as parts of the loop pass them on
			bytes += p.Shape().Numel() * p.DType().Size()
		}
	}
	n := l.Steps
	if s.config.Steps > 0 {
		n = min(n, s.config.Steps)
	}
	if n*bytes > mostPassing {
		n = max(leastInScan, mostPassing/bytes)
	}
	return n
}

// inParts gives the results of a loop as those of loops of at most n steps, one after the other. Where the steps are not divided by a number that is about
// that, the last of them are a loop by themselves.
func (s *scheduler) inParts(results, args []*uop.UOp, n int, last map[*uop.UOp]bool) []*uop.UOp {
	l := results[0].Arg().(uop.LoopArg)
	only, needed := make([]bool, len(l.Pure)), make([]bool, len(l.Pure))
	for _, u := range results {
		i := u.Arg().(uop.LoopArg).Out
		only[i], needed[i] = last[u], true
	}
	for m := n; m >= leastInScan && m > n/fewerSteps; m-- {
		if l.Steps%m == 0 {
			return s.loopOfLoops(l, args, m, only)
		}
	}
	n = codegen.CeilDiv(l.Steps, codegen.CeilDiv(l.Steps, n))
	if l.Steps%n == 0 {
		return s.loopOfLoops(l, args, n, only)
	}
	begin, rest := l, l
	begin.Steps, rest.Steps = l.Steps/n*n, l.Steps%n
	passed := slices.Clone(only) // what is carried and not asked for has to be known in the end
	for k := range l.Carried {
		passed[k] = passed[k] || !needed[k]
	}
	first, from := 0, begin.Steps // entries of the two
	if l.Back {
		first, from = rest.Steps, 0
	}
	with, behind := slices.Clone(args), slices.Clone(args)
	for k := l.Carried; k < l.Carried+l.Along; k++ {
		with[k], behind[k] = entries(args[k], first, begin.Steps), entries(args[k], from, rest.Steps)
	}
	begun := s.loopOfLoops(begin, with, n, passed)
	for k, u := range begun[:l.Carried] {
		behind[k] = entries(u, begin.Step(begin.Steps-1), 1).Reshape(l.Params[k].Shape()...)
	}
	outs := s.loopOfLoops(rest, behind, rest.Steps, only)
	for i, u := range outs {
		switch {
		case only[i]:
			outs[i] = onlyEntry(u, rest.Step(rest.Steps-1), l.Steps)
		case l.Back:
			outs[i] = uop.Join(0, l.Steps, []int{0, rest.Steps}, []*uop.UOp{u, begun[i]})
		default:
			outs[i] = uop.Join(0, l.Steps, []int{0, begin.Steps}, []*uop.UOp{begun[i], u})
		}
	}
	return outs
}

// entries are n entries of an array, from one on.
func entries(u *uop.UOp, from, n int) *uop.UOp {
	lo, hi := make([]int, len(u.Shape())), slices.Clone(u.Shape())
	lo[0], hi[0] = from, from+n
	return u.Shrink(lo, hi)
}

// loopOfLoops gives the results of a loop as those of a loop of loops of n steps. Of some the last entry alone is read.
func (s *scheduler) loopOfLoops(l uop.LoopArg, args []*uop.UOp, n int, only []bool) []*uop.UOp {
	cut := func(shape uop.Shape) []int { return append([]int{n}, shape...) }
	params, operands := slices.Clone(l.Params), slices.Clone(args)
	for k := l.Carried; k < l.Carried+l.Along; k++ {
		shape := cut(l.Params[k].Shape())
		params[k] = uop.NewStandIn(args[k].DType(), shape...)
		operands[k] = args[k].Reshape(append([]int{l.Steps / n}, shape...)...)
	}
	inner := uop.LoopArg{LoopBody: l.LoopBody, Steps: n, Back: l.Back}.Results(params...)
	end := 0
	if !l.Back {
		end = n - 1
	}
	body := &uop.LoopBody{Params: params, Carried: l.Carried, Along: l.Along}
	for k, u := range inner[:l.Carried] {
		body.Outs = append(body.Outs, entries(u, end, 1).Reshape(l.Params[k].Shape()...))
	}
	body.Outs = append(body.Outs, inner...)
	body.Given, body.Pure = len(body.Outs), body.Outs
	outer := uop.LoopArg{LoopBody: body, Steps: l.Steps / n, Back: l.Back}.Results(operands...)
	outs := make([]*uop.UOp, len(inner))
	for i, u := range outer[l.Carried:] {
		outs[i] = u.Reshape(append([]int{l.Steps}, l.Outs[i].Shape()...)...)
	}
	end = 0
	if !l.Back {
		end = l.Steps/n - 1
	}
	for i, yes := range only {
		if yes {
			outs[i] = onlyEntry(outer[i], end, l.Steps)
		}
	}
	return outs
}
