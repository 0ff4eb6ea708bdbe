package grad

import "github.com/weft-ml/weft/uop"

// The tangents of a loop are a loop of their own, in the same direction, which carries how what is carried moves and goes along what the loop made: forward
// sensitivity equations. Values are not computed again.

// pushedLoop is a loop with the tangents of its results.
type pushedLoop struct {
	of *uop.UOp
	ts []*uop.UOp // by result, nil: 0
}

// pushLoop gives the tangent of a result of a loop; those of the others are found with it.
func pushLoop(known *[]pushedLoop, u *uop.UOp, t []*uop.UOp) *uop.UOp {
	for _, l := range *known {
		if l.of.SameLoop(u) {
			return l.ts[u.Arg().(uop.LoopArg).Out]
		}
	}
	l := loopOf(u)
	l.entries()
	kept := l.kept()
	moving := make([]*uop.UOp, len(l.Params)) // stand-ins of tangents in one step
	move := func(i int) { moving[i] = uop.NewStandIn(l.Params[i].DType(), l.Params[i].Shape()...) }
	for i := range t {
		if t[i] != nil {
			move(i)
		}
	}
	var ts []*uop.UOp // of a step's results
	for more := true; more; {
		along := map[*uop.UOp]*uop.UOp{}
		for i, s := range moving {
			if s != nil {
				along[l.Params[i]] = s
			}
		}
		ts, more = Forward(along, l.Outs...), false
		for k := range l.Carried {
			if ts[k] != nil && moving[k] == nil { // it moves from the next step on
				move(k)
				more = true
			}
		}
	}
	pushed := pushedLoop{u, make([]*uop.UOp, len(l.Outs))}
	l.push(t, moving, kept, ts, pushed.ts)
	*known = append(*known, pushed)
	return pushed.ts[l.Out]
}

// push makes the loop of the tangents ts of a step's results.
func (l *loopGradient) push(t, moving []*uop.UOp, kept map[*uop.UOp]*uop.UOp, ts, out []*uop.UOp) {
	var b uop.LoopBody
	var args []*uop.UOp
	put := func(p, x *uop.UOp) { b.Params, args = append(b.Params, p), append(args, x) }
	tangent := func(i int) {
		switch {
		case moving[i] == nil:
		case t[i] == nil:
			put(moving[i], zeros(moving[i], moving[i].Shape()))
		default:
			put(moving[i], expanded(t[i], l.u.At(i).Shape()))
		}
	}
	var results []int
	for k := range l.Carried {
		if tangent(k); moving[k] != nil {
			if ts[k] == nil { // it does not depend on what moves
				ts[k] = zeros(moving[k], moving[k].Shape())
			}
			b.Outs, results = append(b.Outs, expanded(ts[k], moving[k].Shape())), append(results, k)
		}
	}
	b.Carried = len(b.Params)
	for _, p := range l.each {
		put(p.one, p.all)
	}
	for i := l.Carried; i < l.Carried+l.Along; i++ {
		tangent(i)
	}
	b.Along = len(b.Params) - b.Carried
	for i := l.Carried + l.Along; i < len(l.Params); i++ {
		put(l.Params[i], l.u.At(i))
		tangent(i)
	}
	for i, d := range ts {
		if d != nil && i >= l.Carried {
			b.Outs, results = append(b.Outs, expanded(d, l.Outs[i].Shape())), append(results, i)
		}
	}
	if len(results) == 0 {
		return
	}
	b.Outs = uop.Substitute(l.u.Home(), kept, b.Outs...)
	all := uop.NewLoop(b, l.Steps, l.Back, args...)
	for j, i := range results {
		out[i] = all[j]
	}
}

// expanded is a tangent that may be one number for all elements.
func expanded(t *uop.UOp, shape uop.Shape) *uop.UOp {
	if len(t.Shape()) == 0 && len(shape) > 0 {
		return expand(t, shape)
	}
	return t
}
